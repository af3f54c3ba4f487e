"""Keyed random generators: the stream of (seed, example id, method) never depends on order.

`measures.keyed_random` has the faster streams; this part is on the lowest layer because records use it.
"""

from __future__ import annotations

import hashlib

import numpy as np


def keyed_rng(seed: int, *keys: object) -> np.random.Generator:
    """Return a generator for (seed, *keys): the 128-bit BLAKE2b hash of the keys seeds a PCG64.

    Keys may be str, bytes, bool, int, float, None and (nested) tuples or lists of them; numpy scalars count as
    the Python value they hold. Different types are different keys: 1, 1.0 and "1" have three streams.

    >>> keyed_rng(0, "review-17", "random").integers(1000, size=3).tolist()
    [689, 976, 503]
    >>> keyed_rng(0, "review-17", "random").integers(1000, size=3).tolist()
    [689, 976, 503]
    """
    digest = hashlib.blake2b(key_bytes((int(seed), *keys)), digest_size=16).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))


def key_bytes(key: object) -> bytes:
    """Encode keys as bytes, different for different keys."""
    if isinstance(key, np.generic):
        key = key.item()
    if isinstance(key, (tuple, list)):
        body = b"".join(map(key_bytes, key))
        tag = b"t"
    elif isinstance(key, bytes):
        tag, body = b"b", key
    elif key is None or isinstance(key, (str, bool, int, float)):
        tag, body = type(key).__name__.encode(), str(key).encode("utf-8", "surrogatepass")
    else:
        # repr() of a stranger may hold an address, and then the numbers would change from run to run
        raise TypeError(f"a key must be str, bytes, bool, int, float, None or a tuple of them, not {type(key)!r}")
    # the length keeps ("ab", "c") apart from ("a", "bc")
    return tag + b":" + str(len(body)).encode() + b":" + body
