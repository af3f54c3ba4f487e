"""Encode an example once: planning, the desk, its variants and the checks share the encoded form."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Hashable
from weakref import WeakKeyDictionary

import numpy as np

from regard.protocols import Encoded, Model
from regard.records import Example

LIMIT = 1 << 27
"""Bytes of encoded examples to cache per model; the oldest are dropped first."""
UNITS = 2048
"""Approximate bytes of the units of an encoded example, beside its inputs."""


class EncodedCache:
    """Cache of encoded examples of one model, by their inputs."""

    def __init__(self) -> None:
        self._encoded: OrderedDict[Hashable, tuple[Encoded, int]] = OrderedDict()
        self._bytes = 0

    def encode(self, model: Model, example: Example) -> Encoded:
        key = example.id, *((name, _digest(value)) for name, value in sorted(example.inputs.items()))
        if key not in self._encoded:
            size = UNITS + sum(np.asarray(value).nbytes for value in example.inputs.values())
            self._encoded[key] = model.encode(example), size
            self._bytes += size
            while self._bytes > LIMIT and len(self._encoded) > 1:
                _, (_, oldest) = self._encoded.popitem(last=False)
                self._bytes -= oldest
        return self._encoded[key][0]


_CACHES: WeakKeyDictionary[Model, EncodedCache] = WeakKeyDictionary()


def encoded_once(model: Model, example: Example) -> Encoded:
    """Return the encoded example, from the cache if possible."""
    return _CACHES.setdefault(model, EncodedCache()).encode(model, example)


def forget_encoded(model: Model) -> None:
    """Drop every encoded example of a model, because a stream does not reread them."""
    _CACHES.pop(model, None)


def _digest(value: object) -> Hashable:
    if isinstance(value, str):
        return value
    array = np.asarray(value)
    return str(array.dtype), array.shape, hashlib.blake2b(np.ascontiguousarray(array).tobytes()).digest()
