"""What an engine runs: made once per worker (`open_model`), then called for every task (`do_shard`). JSON in."""

from __future__ import annotations

import base64
import importlib
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from regard.errors import InputError
from regard.evaluate.shard import Settings, compute
from regard.protocols import Model
from regard.records import Example, Json, Spec
from regard.store.pages import Page

SETUP = "regard.evaluate.work:open_model"
WORK = "regard.evaluate.work:do_shard"


def named_function(name: str) -> Callable[..., Any]:
    """The function called "package.module:function".

    >>> named_function("regard.records:frozen")([1.0, 2.0]).tolist()
    [1.0, 2.0]
    """
    module, colon, function = name.partition(":")
    if not colon:
        raise InputError(f"work {name!r}", expected="package.module:function", got="no colon")
    return cast("Callable[..., Any]", getattr(importlib.import_module(module), function))


def open_model(payload: Mapping[str, Any]) -> Model:
    """The model of a Spec, with a worker's share of the processor."""
    import torch

    torch.set_num_threads(int(payload["threads"]))
    spec = Spec.from_json(payload["model"])
    if spec.kind == "function":  # a model of somebody's own: "package.module:function"
        return cast("Model", named_function(spec.name)(**spec.params))
    from regard.models.load import rebuild

    return rebuild(spec)


def do_shard(model: Model, payload: Mapping[str, Any]) -> Page:
    """The page of one shard."""
    examples = [example_from_json(value) for value in payload["examples"]]
    return compute(model, examples, Settings.from_json(payload["settings"]), keep=payload["keep"])


def example_to_json(example: Example) -> dict[str, Json]:
    """An example that can travel; arrays keep every bit."""
    places = example.rationale
    # only where there is one: the fingerprints of data without alignments stay what they were
    links = example.alignment
    aligned: dict[str, Json] = {} if links is None else {"alignment": [list(link) for link in links]}
    return aligned | {
        "id": example.id, "inputs": {name: _wrap(value) for name, value in example.inputs.items()},
        "label": example.label, "rationale": None if places is None else [list(place) for place in places],
        "group": example.group, "parent": example.parent, "slices": dict(example.slices),
    }  # fmt: skip


def example_from_json(value: Mapping[str, Any]) -> Example:
    rationale, links = value["rationale"], value.get("alignment")
    return Example(
        value["id"], {name: _unwrap(v) for name, v in value["inputs"].items()}, value["label"],
        None if rationale is None else tuple(tuple(place) for place in rationale),
        value["group"], value["parent"], value["slices"],
        None if links is None else tuple((a, b, c, d) for a, b, c, d in links),
    )  # fmt: skip


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
