"""Capture of selected rows: the model runs unchanged, and memory grows with the rows, not with the prompt.

    out, sites = capture_rows(model, lambda: model(input_ids), rows="last")
    out, sites = capture_rows(model, lambda: model.generate(input_ids, max_new_tokens=8), rows="new")
    sites.sites[0].rows(example=0, queries=[-1])

For models of transformers that look their attention up in its registry. The function put there runs the model's own
implementation (so every output is bit-equal), copies the queries and the mask of the wanted rows, and refers to the
keys, which the cache holds anyway. The mask function put beside it builds the masks as before and notes at which
positions queries and keys of a step begin; without it masks would be silently dropped.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from regard.errors import CaptureError, InputError, Unsupported, phrase
from regard.records import Check
from regard.tap.attention_interface import registry_hosts
from regard.tap.blocks import PIECES
from regard.tap.row_collector import RowCollector, Rows, RowTaps
from regard.tap.stitch_steps import ReorderWatch

T = TypeVar("T")

_PREFIX = "regard_rows_"
_ACTIVE = threading.local()


def capture_rows(
    module: nn.Module,
    call: Callable[[], T],
    rows: Rows,
    *,
    check: Check = "first",
    whole: Callable[[str], bool] = lambda name: False,
) -> tuple[T, RowTaps]:
    """Return the output of `call`, and the selected rows of every attention in it.

    rows: a slice or positions (negative ones from the end of what was read so far), "last", or "new" for
    `module.generate(...)`: the rows that predict the generated tokens. A row that several steps compute is kept once.
    whole: by the name of a site, whether the queries of all its rows are kept too (`RowTaps.whole`).
    check: "first" compares one row of each site with the output of its attention, "always" one of each step.
    Beam search is refused: it moves rows. Read the rows before the keys of a dynamic cache are cropped.
    """
    collector = RowCollector(_checked_names(module, rows), rows, check, _device(module), whole)
    beams = ReorderWatch()
    with beams, _watched(collector), _switched(module), _active(collector):
        out = call()
    if beams.seen:
        raise CaptureError(
            phrase("errors.tap.rows_during_generation"),
            expected=phrase("errors.tap.rows_that_stay_in_place"),
            got=phrase("errors.tap.beam_search"),
            remedy="num_beams=1",
        )
    if not collector.sites:
        raise Unsupported(
            phrase("errors.tap.row_capture", type=type(module).__name__),
            expected=phrase("errors.tap.attention_through_registry"),
            got=phrase("errors.tap.none_in_this_call"),
            remedy=phrase("errors.tap.regard_capture_without_rows"),
        )
    taps = collector.finish()
    if not taps.sites:
        raise InputError(
            "rows", expected=phrase("errors.tap.rows_that_exist", rejected=taps.rejected[0][1]), got=repr(rows)
        )
    return out, taps


def _checked_names(module: nn.Module, rows: Rows) -> dict[nn.Module, str]:
    if isinstance(rows, str) and rows not in ("last", "new"):
        raise InputError("rows", expected=phrase("errors.tap.slice_positions_last_or_new"), got=repr(rows))
    if not isinstance(rows, (str, slice)) and not list(rows):
        raise InputError("rows", expected=phrase("errors.tap.at_least_one_row"), got=phrase("errors.common.none"))
    if not registry_hosts(module) or any(type(inner).__name__ in PIECES for inner in module.modules()):
        raise Unsupported(
            phrase("errors.tap.row_capture", type=type(module).__name__),
            expected=phrase("errors.tap.model_transformers_that_looks"),
            got=phrase("errors.tap.another_model"),
            remedy=phrase("errors.tap.regard_capture_without_rows"),
        )
    return {inner: name for name, inner in module.named_modules()}


def _device(module: nn.Module) -> torch.device:
    return next((p.device for p in module.parameters()), torch.device("cpu"))


@contextmanager
def _active(collector: RowCollector) -> Iterator[None]:
    outer = getattr(_ACTIVE, "collector", None)
    _ACTIVE.collector = collector
    try:
        yield
    finally:
        _ACTIVE.collector = outer


@contextmanager
def _watched(collector: RowCollector) -> Iterator[None]:
    """Note the attention modules that run, and those that attend to another sequence."""

    def next_step(*_: object) -> None:
        collector.calls.clear()

    def before(inner: nn.Module, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        collector.ran.add(collector.names[inner])
        collector.release(collector.names[inner])
        others = (keywords.get("key_value_states"), keywords.get("encoder_hidden_states"))
        if any(isinstance(states, Tensor) for states in others):
            collector.cross.add(inner)

    attentions = [inner for inner in collector.names if "attention" in type(inner).__name__.lower()]
    handles = [inner.register_forward_pre_hook(before, with_kwargs=True) for inner in attentions]
    root = next(iter(collector.names))
    handles.append(root.register_forward_pre_hook(next_step))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def _switched(module: nn.Module) -> Iterator[None]:
    """Put our functions in front of the implementations of every model inside `module`."""
    configs = {id(host.config): host.config for host in registry_hosts(module)}
    before = [(config, config._attn_implementation_internal) for config in configs.values()]
    try:
        for config, name in before:
            config._attn_implementation_internal = _registered("eager" if name in ("eager", None) else "sdpa")
        yield
    finally:
        for config, name in before:
            config._attn_implementation_internal = name


def _registered(implementation: str) -> str:
    """Register our functions for one implementation; return their name."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, eager_mask, sdpa_mask

    eager = implementation == "eager"
    make_mask: Callable[..., Any] = eager_mask if eager else sdpa_mask

    def mask(*args: Any, **keywords: Any) -> Any:
        collector: RowCollector | None = getattr(_ACTIVE, "collector", None)
        if collector is not None and "kv_length" in keywords:
            sizes = int(keywords["q_length"]), int(keywords["kv_length"])
            places = int(keywords.get("q_offset", 0)), int(keywords.get("kv_offset", 0))
            collector.offsets[sizes] = places
        return make_mask(*args, **keywords)

    def attention(
        module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **keywords: Any
    ) -> Any:
        return _attention(module, query, key, value, attention_mask=attention_mask, keywords=keywords, eager=eager)

    name = f"{_PREFIX}{implementation}"
    AttentionInterface.register(name, attention)
    AttentionMaskInterface.register(name, mask)
    return name


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    attention_mask: Tensor | None,
    keywords: dict[str, Any],
    eager: bool,
) -> Any:
    """Run the model's own attention, then store the selected part of it."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    forward: Callable[..., Any] = _eager(module) if eager else sdpa_attention_forward
    out = forward(module, query, key, value, attention_mask, **keywords)
    collector: RowCollector | None = getattr(_ACTIVE, "collector", None)
    if collector is None:
        return out
    flag = keywords.get("is_causal")
    causal = bool(getattr(module, "is_causal", True) if flag is None else flag)
    causal = causal and not eager and attention_mask is None and query.shape[2] > 1
    kept = collector.collect(module, query, key, attention_mask, causal=causal, details=keywords)
    name = collector.names[module]
    if name in collector.whole and query.shape[2] == collector.whole[name].positions:
        collector.prove_whole(collector.whole[name], value, out[0])
    first_part = kept is not None and len(kept.site.parts) == 1
    if kept is not None and (collector.check == "always" or (collector.check == "first" and first_part)):
        collector.prove(kept, value, out[0])
    return out


def _eager(module: nn.Module) -> Callable[..., Any]:
    """Eager attention in the file that defines the class of `module`."""
    for kind in type(module).__mro__:
        function: Callable[..., Any] | None = getattr(sys.modules.get(kind.__module__), "eager_attention_forward", None)
        if function is not None:
            return function
    raise Unsupported(
        phrase("errors.tap.row_capture", type=type(module).__name__),
        expected=phrase("errors.tap.eager_attention_beside_class"),
        got=phrase("errors.common.none"),
        remedy='attn_implementation="sdpa"',
    )
