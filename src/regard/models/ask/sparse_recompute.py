"""Approximate answers to variants of one example, for models whose layers have a feed-forward part.

A variant differs from the example in few positions, and most positions change little. Attention is computed in full;
the feed-forward part, two thirds of the work, only for the positions whose input changed most. The others keep their
feed-forward output for the example. With all positions the answer is exact.

The only assumption about the architecture: in every layer of the longest `ModuleList`, one linear map widens and a
later one narrows again, and between them positions do not interact. The first use on a model verifies this: an
unchanged example must come out unchanged, and with all positions the answers must equal a plain forward.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import InputError, Text, Unsupported, phrase
from regard.models.adapter import TorchModel, as_answers, own
from regard.models.ask.capability import capability
from regard.models.objective import TensorAnswers
from regard.models.read.encoded import Item
from regard.models.weight_versions import weight_versions
from regard.protocols import Encoded, Target
from regard.records import Answers
from regard.tap.pass_history import forgettable

EXACT = phrase("errors.models.leave_one_out_is_exact")
TOLERANCE = 2e-4
"""Tolerance of the verification: hidden states, and values of the objective, relative to the largest."""


@capability(needs="removal")
def approximately(
    model: TorchModel, encoded: Encoded, target: Target, variants: Sequence[Encoded], schedule: Sequence[float]
) -> Answers:
    """Approximate `forward` of variants of one example, recomputing a share of the positions in each layer.

    schedule: the share of positions for each layer, stretched to the depth.
    """
    runs = model.once("sparse runs", SparseRuns)
    items = [own(variant) for variant in variants]
    parts = [
        (group, runs.answers(model, own(encoded), target, [items[i] for i in group], schedule))
        for group in model.pieces(items)
    ]
    return as_answers(len(items), parts)


@dataclass(slots=True)
class _FeedForward:
    """The up- and down-projection of one layer, with the example's activations: (n, width) in and out."""

    widen: nn.Module
    narrow: nn.Module
    enters: Tensor | None = None
    leaves: Tensor | None = None
    calls: int = 0
    off: float = 0.0
    """Distance of recomputed rows from the stored ones, relative to the largest: 0 for an unchanged example."""


class SparseRuns:
    """Cache the last example; verify the approximation once per model, or refuse."""

    def __init__(self) -> None:
        self.clear()
        forgettable(self)

    def clear(self) -> None:
        """Forget the last example and the verification."""
        self._item: Item | None = None
        self._key: tuple[object, ...] = ()
        self._kept: list[_FeedForward] = []
        self._proved = False

    def answers(
        self, model: TorchModel, item: Item, target: Target, variants: Sequence[Item], schedule: Sequence[float]
    ) -> TensorAnswers:
        """The objective of each variant; schedule: the share of positions for each layer, stretched to the depth."""
        if not len(schedule) or not all(0 < share <= 1 for share in schedule):
            raise InputError(
                "schedule", expected=phrase("errors.models.shares_above_and_up_from_first"), got=str(list(schedule))
            )
        if any(variant.length != item.length for variant in variants):
            raise _refused(model, phrase("errors.models.removal_that_changes_length"), 'operator="mask"')
        self._keep(model, item, target)
        if not self._proved:
            self._prove(model, item, target, variants)
        return _sparse(model, self._kept, variants, target, stretched(schedule, len(self._kept)))

    def _keep(self, model: TorchModel, item: Item, target: Target) -> None:
        stamp = weight_versions(model.module)
        key = (str(target), stamp)
        if item is self._item and key == self._key:
            return
        parts = _feed_forwards(model)
        with torch.inference_mode(), _watched(parts):
            _run(model, [item], target)
        if any(one.calls != 1 or one.enters is None or one.enters.shape != _shape(one.leaves) for one in parts):
            raise _refused(model, phrase("errors.models.layers_whose_feed_forward_part"))
        self._item, self._kept, self._key = item, parts, key

    def _prove(self, model: TorchModel, item: Item, target: Target, variants: Sequence[Item]) -> None:
        items = [item, *variants[:3]]
        with torch.inference_mode():
            plain = _run(model, items, target).value
        _sparse(model, self._kept, [item], target, [0.5] * len(self._kept), proving=True)
        off = max(part.off for part in self._kept)
        whole = _sparse(model, self._kept, items, target, [1.0] * len(self._kept)).value
        gap = float((whole - plain).abs().max()) / max(1.0, float(plain.abs().max()))
        if not max(off, gap) <= TOLERANCE:
            reason = phrase("errors.models.feed_forward_parts_in_positions", off=max(off, gap))
            raise _refused(model, reason)
        self._proved = True


def stretched(schedule: Sequence[float], depth: int) -> list[float]:
    """The schedule for this many layers: the share at the same relative depth.

    >>> stretched([0.1, 1.0], 4)
    [0.1, 0.1, 1.0, 1.0]
    """
    return [float(schedule[min(len(schedule) - 1, int((k + 0.5) * len(schedule) / depth))]) for k in range(depth)]


def _refused(model: TorchModel, got: Text, remedy: Text = EXACT) -> Unsupported:
    return Unsupported(
        phrase("errors.models.sparse_recomputation", model=model.name),
        expected=phrase("errors.models.stack_layers_with_feed_forward"),
        got=got,
        remedy=remedy,
    )


def _shape(tensor: Tensor | None) -> tuple[int, ...]:
    return () if tensor is None else tuple(tensor.shape)


def _feed_forwards(model: TorchModel) -> list[_FeedForward]:
    stacks = [list(inner) for inner in model.module.modules() if isinstance(inner, nn.ModuleList) and len(inner)]
    if not stacks:
        raise _refused(model, phrase("errors.models.no_modulelist_layers"))
    # an inner list (experts, heads) never has more modules inside than the stack of layers
    layers = max(stacks, key=lambda stack: sum(1 for layer in stack for _ in layer.modules()))
    parts = []
    for layer in layers:
        maps = [m for m in layer.modules() if isinstance(m, nn.Linear)]
        pairs = [
            (up, down)
            for i, up in enumerate(maps)
            for down in maps[i + 1 :]
            if up.out_features > up.in_features == down.out_features
            and up.out_features % down.in_features == 0
            and down.in_features > down.out_features
        ]
        if not pairs:
            raise _refused(model, phrase("errors.models.layer_without_linear_map"))
        parts.append(_FeedForward(pairs[0][0], pairs[-1][1]))
    return parts


def _run(model: TorchModel, items: Sequence[Item], target: Target) -> TensorAnswers:
    targets = [target] * len(items)
    tensors, request = model.tensors(items, targets)
    return model.row.read(model.run(tensors, request), request, targets)


@contextmanager
def _watched(parts: Sequence[_FeedForward]) -> Iterator[None]:
    """Record the input and output of every feed-forward part."""
    with ExitStack() as stack:
        for part in parts:

            def before(module: nn.Module, args: Any, part: _FeedForward = part) -> None:
                part.calls += 1
                part.enters = args[0][0] if args[0].dim() == 3 else None

            def after(module: nn.Module, args: Any, out: Tensor, part: _FeedForward = part) -> None:
                part.leaves = out[0] if out.dim() == 3 else None

            stack.callback(part.widen.register_forward_pre_hook(before).remove)
            stack.callback(part.narrow.register_forward_hook(after).remove)
        yield


def _sparse(
    model: TorchModel,
    parts: Sequence[_FeedForward],
    items: Sequence[Item],
    target: Target,
    schedule: Sequence[float],
    *,
    proving: bool = False,
) -> TensorAnswers:
    """Run each feed-forward part on selected rows only; the other rows keep the example's activations."""
    with torch.inference_mode(), ExitStack() as stack:
        for part, share in zip(parts, schedule, strict=True):
            rows: list[Tensor] = []

            def before(
                module: nn.Module, args: Any, part: _FeedForward = part, share: float = share, rows: list[Tensor] = rows
            ) -> Any:
                rows.clear()
                states: Tensor = args[0]
                count = max(1, -int(-share * states.shape[1] // 1))
                if count >= states.shape[1] or part.enters is None:
                    return None
                change = (states - part.enters).square().sum(-1)
                rows.append(change.topk(count, dim=-1).indices[..., None])
                return states.gather(1, rows[0].expand(-1, -1, states.shape[-1])), *args[1:]

            def after(
                module: nn.Module, args: Any, out: Tensor, part: _FeedForward = part, rows: list[Tensor] = rows
            ) -> Any:
                if not rows or part.leaves is None:
                    return None
                whole = part.leaves.expand(len(out), -1, -1).clone()
                if proving:
                    gap = (whole.gather(1, rows[0].expand_as(out)) - out).abs().max()
                    part.off = float(gap / part.leaves.abs().max().clamp(min=1e-12))
                return whole.scatter_(1, rows[0].expand_as(out), out)

            stack.callback(part.widen.register_forward_pre_hook(before).remove)
            stack.callback(part.narrow.register_forward_hook(after).remove)
        try:
            return _run(model, items, target)
        except (RuntimeError, IndexError) as problem:
            if isinstance(problem, RuntimeError) and "size" not in str(problem) and "shape" not in str(problem):
                raise
            raise _refused(model, phrase("errors.models.feed_forward_parts_that_also")) from problem
