"""The binary tensor extension of the Open Inference Protocol: tensors as bytes after the JSON of a body.

The header `Inference-Header-Content-Length` holds the length of the JSON. A tensor with `binary_data_size` in its
parameters has that many of the bytes that follow, in order. Numbers are little-endian; an element of BYTES has its
length, four bytes, in front.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.errors import InputError, phrase
from regard.records import Json
from regard.serve.request_bodies import parse_body

LENGTH_HEADER = "inference-header-content-length"
NUMBERS = {"BOOL": "?", "FP16": "<f2", "FP32": "<f4", "FP64": "<f8"} | {
    f"{sign}INT{8 * size}": f"<{kind}{size}" for sign, kind in (("", "i"), ("U", "u")) for size in (1, 2, 4, 8)
}
"""Datatype of the protocol -> numpy type."""


@dataclass(frozen=True, slots=True)
class BinaryBody:
    """A body with tensors as bytes. json_size: length of its first part."""

    content: bytes
    json_size: int


def unpacked_body(content: bytes, json_size: str) -> dict[str, Any]:
    """Return the JSON object of a body, with the data of binary tensors in its `inputs`."""
    if not (json_size.isascii() and json_size.isdigit() and len(json_size) < 12 and int(json_size) <= len(content)):
        raise InputError(LENGTH_HEADER, expected=phrase("errors.serve.json_length"), got=repr(json_size[:20]))
    body, rest = parse_body(content[: int(json_size)]), content[int(json_size) :]
    tensors = body.get("inputs")
    for tensor in tensors if isinstance(tensors, list) else ():
        parameters = tensor.get("parameters") if isinstance(tensor, dict) else None
        size = parameters.pop("binary_data_size", None) if isinstance(parameters, dict) else None
        if size is None:
            continue
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= len(rest):
            raise InputError(
                "binary_data_size", expected=phrase("errors.serve.up_to_body", rest=len(rest)), got=repr(size)[:40]
            )
        tensor["data"] = _values(rest[:size], tensor.get("datatype"))
        rest = rest[size:]
    if rest:
        raise InputError(
            "body", expected=phrase("errors.serve.tensor_bytes"), got=phrase("errors.serve.bytes_more", rest=len(rest))
        )
    return body


def packed_answer(answer: Mapping[str, Any], names: tuple[str, ...]) -> BinaryBody:
    """Build an answer with these outputs as bytes."""
    outputs: list[Json] = []
    parts: list[bytes] = []
    for tensor in answer["outputs"]:
        if tensor["name"] not in names:
            outputs.append(tensor)
            continue
        parts.append(_bytes(tensor["data"], tensor["datatype"]))
        facts = {key: value for key, value in tensor.items() if key != "data"}
        outputs.append({**facts, "parameters": {"binary_data_size": len(parts[-1])}})
    head = json.dumps({**answer, "outputs": outputs}, allow_nan=False, ensure_ascii=False).encode()
    return BinaryBody(b"".join([head, *parts]), len(head))


def _values(content: bytes, datatype: Any) -> list[Any]:
    if datatype == "BYTES":
        return _texts(content)
    kind = np.dtype(NUMBERS[datatype]) if isinstance(datatype, str) and datatype in NUMBERS else None
    if kind is None or len(content) % kind.itemsize:
        raise InputError(
            "datatype",
            expected=phrase("errors.serve.bytes_or_numbers", numbers=", ".join(NUMBERS)),
            got=repr(datatype)[:40],
        )
    values: list[Any] = np.frombuffer(content, kind).tolist()
    return values


def _texts(content: bytes) -> list[str]:
    """
    >>> _texts(_bytes(["a", "é"], "BYTES"))
    ['a', 'é']
    """
    texts, start = [], 0
    while start < len(content):
        (size,) = struct.unpack_from("<I", content, start) if start + 4 <= len(content) else (len(content),)
        start += 4
        if start + size > len(content):
            raise InputError(
                phrase("errors.serve.binary_data"),
                expected=phrase("errors.serve.length_and_bytes"),
                got=phrase("errors.serve.fewer_bytes"),
            )
        try:
            texts.append(content[start : start + size].decode())
        except UnicodeDecodeError:
            raise InputError(
                phrase("errors.serve.binary_data"), expected="UTF-8", got=phrase("errors.common.other_bytes")
            ) from None
        start += size
    return texts


def _bytes(data: list[Any], datatype: str) -> bytes:
    if datatype != "BYTES":
        return np.asarray(data, NUMBERS[datatype]).tobytes()
    texts = [str(value).encode() for value in data]
    return b"".join(struct.pack("<I", len(text)) + text for text in texts)
