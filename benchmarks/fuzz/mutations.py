"""Damage to bytes, texts and JSON values, drawn by a seeded generator."""

from __future__ import annotations

import copy
import json
import struct
from collections.abc import Callable
from random import Random
from typing import Any

CONTROLS = (
    "\x00", "\x07", "\x08", "\x1b[31mred", "\x1b]0;title\x07", "\x1b]8;;http://127.0.0.1/\x07link", "\x7f", "\x9b31m",
    "\u2028", "\u2029", "\x85", "\u202egnp.exe", "\u2066", "\ufeff", "\r", "\n", "\t", "\u0300" * 50, "\U0001f600",
)  # fmt: skip
STRINGS = (
    "", " ", "x" * 5000, "9" * 5000, "-1", "0", "1e999", "nan", "inf", "None", "true", "%s%n", "{0}", "{x.__class__}",
    "[red]", "[/]", "<script>alert(1)</script>", "'; DROP TABLE task; --", "../up", "../../up/up", "a/b", "a:b=c",
    "a:b=[", "a:b=" + "[" * 2000, "evil.py:make", "given:function=evil.py:make", "kernels-community/attn", "-", "--",
    "--help", "@x", "$(touch x)", "`touch x`", "a,b,,c", ",", ":", "=", "\\", '"', "'", "null", "0x10", "1_000", "١٢",
)  # fmt: skip
HUGE, DEEP, BARE_NAN = "@huge@", "@deep@", "@nan@"
"""Marks in JSON that `dumps` exchanges for what Python's own encoder refuses to write."""
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 7, 10**7, 2**31, 2**63, -(2**63), 2**64, 10**30, 0.5, -0.5, 1e308, 1e-320, "", "x",
    [], {}, [[]], [None], {"": None}, [0] * 50, ["x"] * 50, HUGE, DEEP, BARE_NAN,
)  # fmt: skip
DEPTH = 100_000


def string(rng: Random) -> str:
    """Return a hostile text, alone or around harmless text."""
    one = rng.choice(CONTROLS + STRINGS)
    return rng.choice((one, f"good {one} film", one + rng.choice(CONTROLS)))


def value(rng: Random) -> Any:
    """Return a hostile JSON value."""
    return string(rng) if rng.random() < 0.4 else copy.deepcopy(rng.choice(VALUES))


def dumps(damaged: Any, **how: Any) -> str:
    """Replace marks in JSON by numbers of 5,000 digits, 100,000 brackets and bare NaN."""
    text = json.dumps(damaged, **{"ensure_ascii": False, **how})
    deep = "[" * DEPTH + "]" * DEPTH
    return text.replace(f'"{HUGE}"', "9" * 5000).replace(f'"{DEEP}"', deep).replace(f'"{BARE_NAN}"', "NaN")


def json_value(original: Any, rng: Random) -> Any:
    """Return a copy with one to three changes: another value, a key removed, renamed or added, an item duplicated."""
    damaged = copy.deepcopy(original)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        damaged = _one_place(damaged, rng)
    return damaged


def _one_place(root: Any, rng: Random) -> Any:
    places = [(None, None), *_places(root)]
    holder, key = rng.choice(places)
    if holder is None:
        return value(rng) if rng.random() < 0.3 else root
    how = rng.random()
    if how < 0.55:
        holder[key] = value(rng)
    elif how < 0.7:
        del holder[key]
    elif how < 0.8 and isinstance(holder, dict):
        holder[string(rng)] = holder.pop(key)
    elif how < 0.9 and isinstance(holder, dict):
        holder[rng.choice(("extra", "trust_remote_code", "auto_map", string(rng)))] = value(rng)
    elif isinstance(holder, list):
        holder.extend(copy.deepcopy(holder))
    else:
        holder[key] = [holder[key]]
    return root


def _places(node: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, inner in items:
        found.append((node, key))
        found += _places(inner)
    return found


def data(original: bytes, rng: Random) -> bytes:
    """Change one to three bytes or ranges of bytes."""
    damaged = original
    for _ in range(rng.choice((1, 1, 2, 3))):
        damaged = rng.choice(BYTES)(damaged, rng)
    return damaged


def _flip(text: bytes, rng: Random) -> bytes:
    if not text:
        return text
    changed = bytearray(text)
    for _ in range(rng.choice((1, 1, 4, 64))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(text: bytes, rng: Random) -> bytes:
    return text[: rng.choice((0, 1, 5, rng.randrange(len(text) + 1), max(0, len(text) - 1)))]


def _without_a_piece(text: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at + rng.choice((1, 16, 512)) :]


def _piece_twice(text: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at : at + rng.choice((1, 40, 4096))] + text[at:]


def _inserted(text: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(text) + 1)
    piece = rng.choice(
        (string(rng).encode("utf-8", "surrogatepass"), b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b'"', b"{")
    )
    return text[:at] + piece + text[at:]


def _zeroed(text: bytes, rng: Random) -> bytes:
    at, size = rng.randrange(len(text) + 1), rng.choice((1, 8, 256))
    return text[:at] + b"\x00" * len(text[at : at + size]) + text[at + size :]


def _number(text: bytes, rng: Random) -> bytes:
    """Return a wrong length or offset."""
    at = rng.randrange(max(1, len(text) - 7))
    lie = struct.pack("<Q", rng.choice((0, 1, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 1)))
    return text[:at] + lie[: rng.choice((4, 8))] + text[at + 8 :]


def _carriage_returns(text: bytes, rng: Random) -> bytes:
    return text.replace(b"\n", rng.choice((b"\r", b"\r\n", b"\n\n", b"\x0b", b"\xe2\x80\xa8", b"\x85")))


def _encoding(text: bytes, rng: Random) -> bytes:
    kind = rng.choice(("utf-16", "utf-32", "utf-16-le", "utf-8-sig"))
    return text.decode("utf-8", "replace").encode(kind)


BYTES: tuple[Callable[[bytes, Random], bytes], ...] = (
    _flip, _flip, _cut, _cut, _without_a_piece, _piece_twice, _inserted, _inserted, _zeroed, _number,
    _carriage_returns, _encoding,
)  # fmt: skip
