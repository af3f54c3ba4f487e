"""Examples as JSON and back, bit for bit."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from regard.records import Example, Json


def example_to_json(example: Example) -> dict[str, Json]:
    """Serialize an example; arrays keep every bit."""
    places = example.rationale
    # only where there is one: the fingerprints of data without alignments stay what they were
    links = example.alignment
    aligned: dict[str, Json] = {} if links is None else {"alignment": [list(link) for link in links]}
    return aligned | {
        "id": example.id,
        "inputs": {name: _wrap(value) for name, value in example.inputs.items()},
        "label": example.label,
        "rationale": None if places is None else [list(place) for place in places],
        "group": example.group,
        "parent": example.parent,
        "slices": dict(example.slices),
    }


def example_from_json(value: Mapping[str, Any]) -> Example:
    rationale, links = value["rationale"], value.get("alignment")
    return Example(
        value["id"],
        {name: _unwrap(v) for name, v in value["inputs"].items()},
        value["label"],
        None if rationale is None else tuple(tuple(place) for place in rationale),
        value["group"],
        value["parent"],
        value["slices"],
        None if links is None else tuple((a, b, c, d) for a, b, c, d in links),
    )


def _wrap(value: Any) -> Json:
    if isinstance(value, np.ndarray):
        body = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"array": body, "dtype": value.dtype.str, "shape": list(value.shape)}
    return {"value": value}


def _unwrap(value: Mapping[str, Any]) -> Any:
    if "array" in value:
        data = base64.b64decode(value["array"])
        return np.frombuffer(data, np.dtype(value["dtype"])).reshape(value["shape"])
    return value["value"]
