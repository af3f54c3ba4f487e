"""Attention during `generate()`: the ragged steps of each site, stitched into one record."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import torch
from torch import Tensor, nn

from regard.errors import CaptureError, phrase
from regard.records import Check
from regard.tap.blockwise import PiecedAttention
from regard.tap.capture_call import Taps, capture_call
from regard.tap.site_attention import DenseAttention, Real

T = TypeVar("T")


def capture_generation(
    module: nn.Module, call: Callable[[], T], *, check: Check = "first", key_padding: Tensor | None = None
) -> tuple[T, Taps]:
    """Return the output of `call`, which runs `module.generate(...)`, and one site for each attention over all steps.

    Rows are the positions in the order they were computed: those of the prompt, then one for each step; columns are the
    positions attended to (the growing past, or for cross-attention the source). Weights that did not exist at a step
    are 0. For greedy search and sampling, with or without a cache; beam search, which reorders rows, is refused.
    key_padding: (batch, prompt) mask, 1 where the prompt (for encoder-decoders: the source) is real.
    """
    reordered = ReorderWatch()
    with reordered:
        out, taps = capture_call(module, call, mode="weights", check=check)
    if reordered.seen:
        raise _moved()
    groups: dict[tuple[str, int], list[DenseAttention]] = {}
    calls: Counter[tuple[int, str]] = Counter()
    for site, step in zip(taps.sites, taps.steps, strict=True):
        ordinal = calls[step, site.site.name]
        calls[step, site.site.name] += 1
        groups.setdefault((site.site.name, ordinal), []).append(_dense(site))
    sites = [_stitched(ordinal, parts, key_padding) for (_, ordinal), parts in groups.items()]
    return out, Taps(list(sites), taps.rejected, taps.checked)


def _moved() -> CaptureError:
    return CaptureError(
        phrase("errors.tap.attention_during_generation"),
        expected=phrase("errors.tap.rows_that_stay_in_place"),
        got=phrase("errors.tap.beam_search"),
        remedy="num_beams=1",
    )


def _dense(site: object) -> DenseAttention:
    if isinstance(site, PiecedAttention):
        return site.whole()
    if not isinstance(site, DenseAttention):
        raise CaptureError(
            phrase("errors.tap.attention_during_generation"),
            expected=phrase("errors.tap.weights_every_step"),
            got=type(site).__name__,
        )
    return site


class ReorderWatch:
    """Detector of reordered caches, which only a beam search has."""

    def __init__(self) -> None:
        from transformers.cache_utils import Cache

        self._class: type = Cache
        self._own: Callable[..., None] | None = None
        self.seen = False

    def __enter__(self) -> ReorderWatch:
        self._own = own = getattr(self._class, "reorder_cache", None)

        def reorder(cache: object, beams: Tensor) -> None:
            self.seen = self.seen or not torch.equal(beams.cpu(), torch.arange(len(beams)))
            if own is not None:
                own(cache, beams)

        setattr(self._class, "reorder_cache", reorder)  # noqa: B010
        return self

    def __exit__(self, *error: object) -> None:
        setattr(self._class, "reorder_cache", self._own)  # noqa: B010


def _stitched(ordinal: int, parts: list[DenseAttention], padding: Tensor | None) -> DenseAttention:
    if len({p.shape[:2] for p in parts}) != 1:
        raise CaptureError(
            phrase("errors.tap.site_during_generation", site=parts[0].site.name),
            expected=phrase("errors.tap.same_batch_and_heads_in_step"),
            got=f"{sorted({p.shape[:2] for p in parts})}",
        )
    parts = _new_rows(parts)
    keys = max(p.shape[3] for p in parts)
    weights = torch.cat([torch.nn.functional.pad(p.held, (0, keys - p.shape[3])) for p in parts], 2)
    sinks = [p.sink for p in parts if p.sink is not None]
    kind = parts[0].site.kind
    if kind == "self" and parts[-1].shape[3] > parts[0].shape[3]:
        kind = "causal"  # a first step of one position cannot show it, a growing past can
    site = replace(parts[0].site, call=ordinal, kind=kind)
    real = _real(site.kind, parts[0].shape, weights.shape, padding)
    return DenseAttention(
        site, weights, real, torch.cat(sinks, 2) if len(sinks) == len(parts) else None, parts[0].checked
    )


def _new_rows(parts: list[DenseAttention]) -> list[DenseAttention]:
    """Return the new rows of a step: without a cache every step computes all rows again."""
    first = parts[0]
    again = len(parts) > 1 and all(p.shape[2] == first.shape[2] + i for i, p in enumerate(parts)) and first.shape[2] > 0
    if not again or parts[1].shape[2] == 1:
        return parts
    steps = [first]
    for before, part in itertools.pairwise(parts):
        overlap = part.held[:, :, : before.shape[2], : before.shape[3]]
        if not torch.allclose(overlap, before.held, atol=1e-3, equal_nan=True):
            raise _moved()
        sink = None if part.sink is None else part.sink[:, :, -1:]
        steps.append(replace(part, held=part.held[:, :, -1:], sink=sink))
    return steps


def _real(kind: str, prompt: tuple[int, int, int, int], shape: torch.Size, padding: Tensor | None) -> Real:
    if padding is None:
        return Real()
    mask = padding.detach().to("cpu", torch.bool)
    keys = None
    if mask.shape[1] == prompt[3] or (kind == "cross" and mask.shape[1] == shape[3]):
        keys = torch.nn.functional.pad(mask, (0, shape[3] - mask.shape[1]), value=True)
    queries = None
    if kind != "cross" and mask.shape[1] == prompt[2]:
        queries = torch.nn.functional.pad(mask, (0, shape[2] - mask.shape[1]), value=True)
    return Real(queries, keys)
