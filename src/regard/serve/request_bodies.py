"""Bodies of requests: KServe v1, Open Inference Protocol v2 and citations, checked field by field."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from regard.errors import InputError, Text, phrase
from regard.files import parse_json
from regard.records import Example, Json, Spec
from regard.registry import arguments, entry
from regard.serve.limits import ServiceLimits
from regard.store.ledger import canonical

ENTRIES: Mapping[str, tuple[str, ...]] = {
    "text": ("text", "text_pair"),
    "image": ("image",),
    "audio": ("audio", "rate"),
    "series": ("series",),
    "tabular": ("row",),
}
"""Modality of a model -> the inputs of an instance."""
OPTIONS = ("methods", "target", "units", "budget_ms")
EXPLANATION = "explanation"
LONGEST_BUDGET = 600_000


@dataclass(frozen=True, slots=True)
class ExplainOptions:
    """Options of an explanation. units: "unit" as the model reads them, or "word". budget_ms: None for no budget."""

    methods: tuple[str, ...]
    target: int | str | None = None
    units: Literal["unit", "word"] = "unit"
    budget_ms: int | None = None


@dataclass(frozen=True, slots=True)
class InferRequest:
    """Inputs of one request. options: None for predictions alone. outputs: of v2, empty for all.

    binary: which of `outputs` the client wants as bytes; ("*",) for all of an answer without a list of outputs.
    """

    examples: tuple[Example, ...]
    options: ExplainOptions | None
    id: str = ""
    outputs: tuple[str, ...] = ()
    binary: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceForm:
    """Facts for parsing a body: modality and classes of the model, default methods, limits."""

    modality: str
    labels: tuple[str, ...]
    methods: tuple[str, ...]
    limits: ServiceLimits


def parse_body(body: bytes) -> dict[str, Any]:
    """Parse the JSON object of a body."""
    try:
        value = parse_json(body)
    except (ValueError, RecursionError):
        raise InputError("body", expected="JSON", got=phrase("errors.common.something_else")) from None
    return _object(value, "body")


def read_v1(body: Mapping[str, Any], form: ServiceForm, *, explain: bool) -> InferRequest:
    """Parse {"instances": [...], "parameters": {...}}; the options may also be beside `instances`."""
    _known("body", body, ("instances", "parameters", "id", *OPTIONS))
    instances = _list(body.get("instances"), "instances", form.limits.instances)
    examples = tuple(_example(value, form, f"instances[{i}]") for i, value in enumerate(instances))
    parameters = _object(body.get("parameters") or {}, "parameters")
    options = {**parameters, **{name: body[name] for name in OPTIONS if name in body}}
    return InferRequest(examples, _options(options, form) if explain else None, _id(body))


def read_v2(body: Mapping[str, Any], form: ServiceForm) -> InferRequest:
    """Parse {"id", "inputs": [{"name", "shape", "datatype", "data"}], "parameters", "outputs": [{"name"}]}.

    Clients of KServe repeat the model's name in the body; the path decides.
    """
    _known("body", body, ("id", "inputs", "parameters", "outputs", "model_name", "model_version"))
    tensors = [_object(value, "inputs") for value in _list(body.get("inputs"), "inputs", len(ENTRIES["text"]))]
    columns = dict(_tensor(tensor, form) for tensor in tensors)
    counts = {len(rows) for rows in columns.values()}
    if len(counts) != 1 or len(columns) != len(tensors):
        raise InputError(
            "inputs", expected=phrase("errors.serve.tensors_different_names_and_equal"), got=str(sorted(counts))
        )
    rows = [{name: rows[i] for name, rows in columns.items()} for i in range(counts.pop())]
    requested = body.get("outputs")
    outputs = [_object(value, "outputs") for value in _list(requested, "outputs", 16)] if requested else []
    names = tuple(_text(output.get("name"), "outputs[].name", 64) for output in outputs)
    parameters = dict(_object(body.get("parameters") or {}, "parameters"))
    wants = bool(parameters.pop("explain", False)) or EXPLANATION in names
    all_binary = parameters.pop("binary_data_output", False) is True
    binary = tuple(name for name, output in zip(names, outputs, strict=True) if _is_binary(output, all_binary))
    examples = tuple(_example(row, form, phrase("errors.serve.inputs_row", i=i)) for i, row in enumerate(rows))
    options = _options(_unpacked(parameters), form) if wants else None
    return InferRequest(examples, options, _id(body), names, binary if names or not all_binary else ("*",))


def read_cite(body: Mapping[str, Any], limits: ServiceLimits) -> dict[str, Any]:
    """Parse the arguments of `surveys.cite.cite`."""
    texts = ("answer", "separator", "prefix", "units", "contrast")
    _known("body", body, ("messages", "prompt", "sources", "documents", "span", "check", "new_tokens", *texts))
    if ("messages" in body) == ("prompt" in body):
        raise InputError(
            "body",
            expected=phrase("errors.serve.messages_or_prompt"),
            got=phrase("errors.common.both") if "prompt" in body else phrase("errors.common.neither"),
        )
    size = len(json.dumps(body))
    if size > limits.characters:
        raise InputError(
            "body", expected=phrase("errors.serve.at_most_characters", characters=limits.characters), got=str(size)
        )
    fields: dict[str, Any] = {
        name: _text(body[name], name, limits.characters) for name in texts if body.get(name) is not None
    }
    if "prompt" in body:
        fields["messages"] = _text(body["prompt"], "prompt", limits.characters)
    else:
        fields["messages"] = [_message(m) for m in _list(body["messages"], "messages", limits.instances)]
    if body.get("documents"):
        fields["documents"] = [_message(d) for d in _list(body["documents"], "documents", limits.instances)]
    for name, largest in (("check", 8), ("new_tokens", 512)):
        if body.get(name) is not None:
            fields[name] = _whole(body[name], name, 1, largest)
    sources, span = body.get("sources"), body.get("span")
    if sources is not None and not isinstance(sources, str):
        fields["sources"] = [_text(s, "sources", limits.characters) for s in _list(sources, "sources", 256)]
    elif sources is not None:
        fields["sources"] = sources
    if isinstance(span, list):
        fields["span"] = tuple(_whole(end, "span", 0, limits.characters) for end in span)
    elif span is not None:
        fields["span"] = _text(span, "span", limits.characters)
    return fields


def content_id(inputs: Mapping[str, Any]) -> str:
    """A name that equal inputs share, so that random choices about them are equal, too."""
    digest = hashlib.sha256()
    for name, value in sorted(inputs.items()):
        digest.update(name.encode())
        array = value if isinstance(value, np.ndarray) else None
        digest.update(canonical(value).encode() if array is None else repr(array.shape).encode() + array.tobytes())
    return digest.hexdigest()[:24]


# ---------------------------------------------------------------------- parts


def _example(value: Any, form: ServiceForm, subject: Text) -> Example:
    names = ENTRIES.get(form.modality, ("text",))
    if isinstance(value, str) or not isinstance(value, Mapping):
        value = {names[0]: value}
    _known(subject, value, names)
    if names[0] not in value:
        raise InputError(
            subject,
            expected=phrase("errors.serve.field_names", names=repr(names[0])),
            got=", ".join(map(str, value)) or phrase("errors.common.none"),
        )
    if form.modality == "text":
        inputs: dict[str, Any] = {
            name: _text(
                value[name], phrase("errors.serve.field_in_place", place=subject, field=name), form.limits.characters
            )
            for name in names
            if value.get(name) is not None
        }
        if not inputs.get("text", "").strip():
            raise InputError(
                phrase("errors.serve.field_in_place", place=subject, field="text"),
                expected=phrase("errors.common.text"),
                got=phrase("errors.common.empty_one"),
            )
    else:
        inputs = {
            name: _array(value[name], phrase("errors.serve.field_in_place", place=subject, field=name), form.limits)
            for name in names
            if name in value
        }
        if "rate" in inputs:
            inputs["rate"] = int(inputs["rate"].reshape(-1)[0])
    return Example(content_id(inputs), inputs)


def _array(value: Any, subject: Text, limits: ServiceLimits) -> Any:
    try:
        array = np.asarray(value, np.float64)
    except (ValueError, TypeError, OverflowError):
        raise InputError(subject, expected=phrase("errors.common.numbers"), got=_kind(value)) from None
    if array.size > limits.numbers or not array.size or array.ndim > 4 or not np.isfinite(array).all():
        raise InputError(
            subject,
            expected=phrase("errors.serve.finite_numbers", numbers=limits.numbers),
            got=phrase("errors.common.shape_shape", shape=array.shape),
        )
    return array


def _options(options: Mapping[str, Any], form: ServiceForm) -> ExplainOptions:
    _known("parameters", options, OPTIONS)
    methods = options.get("methods") or list(form.methods)
    if isinstance(methods, str):
        methods = [methods]
    names = tuple(_method(name) for name in _list(methods, "methods", form.limits.methods))
    units = options.get("units", "unit")
    if units not in ("unit", "word"):
        raise InputError("units", expected=phrase("errors.serve.unit_or_word"), got=str(units)[:40])
    budget = options.get("budget_ms")
    return ExplainOptions(
        methods=tuple(dict.fromkeys(names)),
        target=_target(options.get("target"), form.labels),
        units=units,
        budget_ms=None if budget is None else _whole(budget, "budget_ms", 1, LONGEST_BUDGET),
    )


def _method(name: Any) -> str:
    """Parse a method name; refuse methods that read files or run code of the user."""
    spec = Spec.parse("explainer", _text(name, "methods", 200))
    arguments(spec)
    if entry("explainer", spec.name).facts.get("adapter"):
        raise InputError(
            phrase("errors.common.method_name", name=spec.name),
            expected=phrase("errors.serve.method_regard"),
            got=phrase("errors.serve.adapter_for_other_code"),
        )
    return str(spec)


def _target(value: Any, labels: Sequence[str]) -> int | None:
    """Index of a class by its name or number."""
    if value is None:
        return None
    if isinstance(value, str) and value in labels:
        return list(labels).index(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(labels):
        return value
    raise InputError(
        "target",
        expected=phrase(
            "errors.serve.class_labels", labels=", ".join(labels) or phrase("errors.serve.this_model_none")
        ),
        got=repr(value)[:40],
    )


def _is_binary(output: Mapping[str, Any], default: bool) -> bool:
    parameters = _object(output.get("parameters") or {}, "outputs[].parameters")
    return bool(parameters.get("binary_data", default))


def _tensor(tensor: Mapping[str, Any], form: ServiceForm) -> tuple[str, list[Any]]:
    """Parse (name, one value per row) of a v2 tensor; data may be nested or flat."""
    _known("inputs[]", tensor, ("name", "shape", "datatype", "data", "parameters"))
    name = _text(tensor.get("name"), "inputs[].name", 64)
    if "data" not in tensor:
        raise InputError(
            phrase("errors.common.input_number", number=name),
            expected=phrase("errors.serve.data_json"),
            got=phrase("errors.common.none"),
        )
    shape = [
        _whole(n, phrase("errors.serve.shape_name", name=name), 0, form.limits.numbers)
        for n in _list(tensor.get("shape"), "shape", 5)
    ]
    datatype, data = tensor.get("datatype"), tensor["data"]
    if (datatype == "BYTES") != (form.modality == "text"):
        expected = "BYTES" if form.modality == "text" else phrase("errors.serve.number_type")
        raise InputError(phrase("errors.serve.datatype_name", name=name), expected=expected, got=str(datatype)[:20])
    if form.modality == "text":
        rows = _flat_texts(data, name, form.limits)
        if len(rows) != shape[0] or math.prod(shape) != shape[0]:
            raise InputError(
                phrase("errors.serve.shape_name", name=name),
                expected=phrase("errors.serve.data_n", n=len(rows)),
                got=str(shape),
            )
        return name, rows
    array = _array(data, phrase("errors.common.input_number", number=name), form.limits)
    if array.size != math.prod(shape) or not 0 < shape[0] <= form.limits.instances:
        raise InputError(
            phrase("errors.serve.shape_name", name=name),
            expected=phrase("errors.serve.values_data", size=array.size),
            got=str(shape),
        )
    return name, list(array.reshape(shape))


def _flat_texts(data: Any, name: str, limits: ServiceLimits) -> list[str]:
    rows = []
    for value in _list(data, phrase("errors.serve.data_name", name=name), limits.instances):
        while isinstance(value, list) and len(value) == 1:
            value = value[0]
        rows.append(_text(value, phrase("errors.serve.data_name", name=name), limits.characters))
    return rows


def _unpacked(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Unpack v2 parameters, which are texts, numbers or booleans: a list of methods is a text with commas."""
    methods = parameters.get("methods")
    split = {"methods": [m for m in methods.split(";") if m.strip()]} if isinstance(methods, str) else {}
    return {**parameters, **split}


def _message(value: Any) -> dict[str, str]:
    fields = _object(value, "messages[]")
    return {str(name): _text(text, f"messages[].{name}"[:60], 1 << 20) for name, text in fields.items()}


def _known(subject: Text, value: Mapping[str, Any], names: Sequence[str]) -> None:
    if others := [name for name in value if name not in names]:
        raise InputError(
            subject, expected=phrase("errors.serve.fields_names", names=", ".join(names)), got=repr(str(others[0])[:40])
        )


def _object(value: Any, subject: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(subject, expected=phrase("errors.common.json_object"), got=_kind(value))
    return value


def _list(value: Any, subject: Text, longest: int) -> list[Any]:
    if not isinstance(value, list) or not 0 < len(value) <= longest:
        got = phrase("errors.serve.items_n", n=len(value)) if isinstance(value, list) else _kind(value)
        raise InputError(subject, expected=phrase("errors.serve.list_items", longest=longest), got=got)
    return value


def _text(value: Any, subject: Text, longest: int) -> str:
    if not isinstance(value, str) or len(value) > longest:
        got = phrase("errors.common.characters_n", n=len(value)) if isinstance(value, str) else _kind(value)
        raise InputError(subject, expected=phrase("errors.serve.text_at_most_characters", longest=longest), got=got)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(
            subject, expected=phrase("errors.serve.unicode_text"), got=phrase("errors.serve.lone_surrogate")
        ) from None
    return value


def _whole(value: Any, subject: Text, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(
            subject, expected=phrase("errors.serve.whole_number_in_range", least=least, most=most), got=repr(value)[:40]
        )
    return value


def _id(body: Mapping[str, Any]) -> str:
    return "" if body.get("id") is None else _text(body["id"], "id", 128)


def _kind(value: Json | Any) -> Text:
    if value is None:
        return "null"
    kinds = {
        dict: phrase("errors.serve.an_object"),
        list: phrase("errors.serve.a_list"),
        str: phrase("errors.serve.a_text"),
        bool: phrase("errors.serve.a_boolean"),
    }
    return kinds.get(type(value), phrase("errors.serve.a_number"))
