"""Safe configs: a config.json or adapter_config.json may select installed code only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from regard.errors import InputError, Text, Unsupported, phrase
from regard.message import Message

ATTENTION = ("eager", "sdpa")
EXPERTS = ("eager", "batched_mm", "grouped_mm")
"""Implementations that a shared config may select; any other may come from the hub as a compiled kernel."""
QUANTIZATION = (
    "aqlm",
    "auto-round",
    "awq",
    "bitnet",
    "bitsandbytes",
    "bitsandbytes_4bit",
    "bitsandbytes_8bit",
    "compressed-tensors",
    "gptq",
    "higgs",
    "hqq",
    "quanto",
    "quark",
    "spqr",
    "torchao",
    "vptq",
)
"""Quantization methods that need an installed package only; the others fetch kernels from the hub."""
_CHOICES = (("_attn_implementation", "attention", ATTENTION), ("_experts_implementation", "experts", EXPERTS))


def without_kernels(config: Any, subject: str) -> list[Text]:
    """Replace unsupported implementations by the default, in place, with a note for each.

    A quantization method that would fetch kernels is refused, because the weights cannot be read without it.
    """
    notes: list[Text] = []
    for place, part in _parts(config):
        for attribute, what, allowed in _CHOICES:
            implementation = getattr(part, f"{attribute}_internal", None)
            if implementation is None or implementation in allowed:
                continue
            setattr(part, f"{attribute}_internal", None)
            values = {"what": what, "asked": _shown(implementation), "place": place, "allowed": ", ".join(allowed)}
            notes.append(Message("model_note.implementation", values))
        _refuse_quantization(getattr(part, "quantization_config", None), subject)
        if getattr(part, "use_pretrained_backbone", False):
            part.use_pretrained_backbone = (
                False  # its weights are in the checkpoint; asking for others would fetch them
            )
    return notes


def refuse_adapter_code(about: Mapping[str, Any], subject: Text) -> None:
    """Raise if an adapter names a Python module or further adapters to load."""
    for key in ("megatron_config", "adapters"):
        if about.get(key):
            raise InputError(
                subject,
                expected=phrase("errors.models.adapter_that_names_no_code"),
                got=phrase("errors.models.in_config", key=key),
                remedy=phrase("errors.models.merge_into_base_model_where_trained"),
            )


def _parts(config: Any) -> Iterator[tuple[str, Any]]:
    """(path, part) of a config and of every config inside it."""
    waiting, visited = [("", config)], set[int]()
    while waiting:
        place, part = waiting.pop(0)
        if id(part) in visited:
            continue
        visited.add(id(part))
        yield place, part
        for name, value in vars(part).items():
            if hasattr(value, "_attn_implementation_internal"):
                waiting.append((f" in {name}", value))


def _refuse_quantization(asked: Any, subject: str) -> None:
    if asked is None:
        return
    method = asked.get("quant_method") if isinstance(asked, Mapping) else getattr(asked, "quant_method", None)
    bits = isinstance(asked, Mapping) and (asked.get("load_in_4bit") or asked.get("load_in_8bit"))
    name = str(getattr(method, "value", method) or ("bitsandbytes" if bits else None))
    if name not in QUANTIZATION:
        raise Unsupported(
            phrase("errors.common.model_live", live=subject),
            expected=phrase("errors.models.weights_that_not_quantized", quantization=", ".join(QUANTIZATION)),
            got=phrase("errors.models.quant_method_which_may_fetch", name=_shown(name)),
            remedy=phrase("errors.models.use_checkpoint_in_float"),
        )


def _shown(value: object) -> str:
    return repr(value)[:60]
