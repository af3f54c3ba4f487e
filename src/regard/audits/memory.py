"""Memory plan of an audit, before its model is loaded: one sentence, batches, and the number of workers that fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from regard.audits.options import AuditOptions
from regard.desk.batching import TOKENS
from regard.files import shown_size
from regard.protocols import Model
from regard.records import Message, Text


def announced_memory(model: str | Model, options: AuditOptions, say: Callable[[Text], None]) -> int | None:
    """Announce the memory plan of a Hugging Face directory or id; return how many workers fit, None if unknown."""
    if not isinstance(model, str):
        return None
    from regard.models.open.memory_plan import memory_plan
    from regard.models.open.placement import placement

    plan = memory_plan(model, placement(options.dtype, options.device_map, options.quantize), rows=options.batch)
    if plan is None:
        return None
    sizes = {name: shown_size(getattr(plan, name)) for name in ("weights", "activations", "capture", "worker", "free")}
    say(Message.of("memory.plan", length=plan.length, rows=plan.rows, **sizes))
    if not plan.fits and options.device_map is None:
        say(Message.of("memory.too_large", worker=sizes["worker"], free=sizes["free"]))
    return plan.workers


def batch_tokens(model: Model) -> int:
    """Positions per batch, from the architecture and its precision alone: the same on every machine."""
    config = getattr(getattr(model, "traits", None), "config", None)
    if not isinstance(config, Mapping):
        return TOKENS
    from regard.models.open.memory_plan import batch_positions

    dtype = getattr(model, "dtype", None)
    return min(TOKENS, batch_positions(config, dtype.itemsize if dtype is not None else 4))
