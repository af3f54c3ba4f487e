"""Provenance: decide which softmax is attention by carrying facts about tensors from operation to operation.

A product of two computed tensors marks its output as scores; a softmax of scores marks its output as weights; a
weighted sum over the same axis (matmul, bmm, einsum, or multiply and sum) confirms the weights and shows the values.
Marks are attributes of the tensors themselves, so nothing is kept alive and no identity is ever mistaken.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import torch
from torch import Tensor

from regard.tap.layout import Step, find_layout
from regard.tap.operations import Op
from regard.tap.tensor_facts import Mark, Scores, Softmax, Weighted, Weights

_MARK = "_regard_mark"


@dataclass(slots=True, eq=False)
class Provenance:
    """Follows every tensor of one pass."""

    softmaxes: list[Softmax] = field(default_factory=list)
    _marked: list[weakref.ref[Tensor]] = field(default_factory=list)
    _count: Iterator[int] = field(default_factory=itertools.count)
    _states: set[int] = field(default_factory=set)  # roots that are computed states, not masks and not parameters

    def mark(self, tensor: Tensor) -> Mark | None:
        mark = tensor.__dict__.get(_MARK) if hasattr(tensor, "__dict__") else None
        return mark if mark is not None and mark.book is self else None

    def _put(self, tensor: Tensor, mark: Mark) -> None:
        tensor.__dict__[_MARK] = mark
        self._marked.append(weakref.ref(tensor))

    def close(self) -> None:
        """Remove every mark from the tensors."""
        for reference in self._marked:
            tensor = reference()
            if tensor is not None:
                tensor.__dict__.pop(_MARK, None)
        self._marked.clear()

    def enter(self, tensors: Sequence[Tensor], *, outermost: bool) -> None:
        """Mark the inputs of a composite module: everything inside is traced back to them."""
        fresh: dict[int, int] = {}
        for tensor in tensors:
            if isinstance(tensor, torch.nn.Parameter):
                continue
            old = self.mark(tensor) or Mark(self)
            roots = old.roots
            if tensor.is_floating_point() and tensor.ndim >= 2:
                place = _address(tensor)
                roots = frozenset((fresh.setdefault(place, next(self._count)),))
                self._states |= roots if old.data and old.learned else frozenset()
            self._put(tensor, replace(old, roots=roots, data=old.data or outermost))

    def inside(self, tensors: Sequence[Tensor]) -> tuple[frozenset[int], bool, bool]:
        """(roots, made from data, made from parameters) of an operation's inputs."""
        roots: frozenset[int] = frozenset()
        data = learned = False
        for tensor in tensors:
            if isinstance(tensor, torch.nn.Parameter):
                learned = True
            elif (mark := self.mark(tensor)) is not None:
                roots |= mark.roots
                data |= mark.data
                learned |= mark.learned
        return roots, data, learned

    def is_learned(self, tensor: Tensor) -> bool:
        if isinstance(tensor, torch.nn.Parameter):
            return True
        mark = self.mark(tensor)
        return mark is not None and mark.learned and not mark.data

    def softmax(self, scores: Tensor, axis: int, weights: Tensor, logs: Tensor | None = None) -> Softmax:
        """Record a softmax; `logs`: the model received the logarithms of its weights."""
        mark = self.mark(scores) or Mark(self, learned=isinstance(scores, torch.nn.Parameter))
        softmax = Softmax(weights, axis % max(weights.ndim, 1), mark.scores, mark.data or not mark.learned)
        if mark.scores is not None and mark.scores.q is not None and mark.scores.k is not None:
            softmax.query, softmax.key = self.mark(mark.scores.q), self.mark(mark.scores.k)
        softmax.roots = mark.roots
        self.softmaxes.append(softmax)
        derived = Weights(softmax, log=logs is not None)
        self._put(weights if logs is None else logs, replace(mark, scores=None, weights=derived, weighted=None))
        return softmax

    def follow(
        self, op: Op, function: Callable[..., Any], args: tuple[Any, ...], keywords: Mapping[str, Any], out: Any
    ) -> None:
        """Carry the facts about the inputs of one operation to its output."""
        tensors = _tensors(args, keywords)
        roots, data, learned = self.inside(tensors)
        outs = [out] if isinstance(out, Tensor) else [o for o in out if isinstance(o, Tensor)] if _many(out) else []
        if not outs:
            return
        first = tensors[0] if tensors else outs[0]
        inputs = [(t, m) for t in tensors if (m := self.mark(t)) is not None]
        for n, result in enumerate(outs):
            if isinstance(result, torch.nn.Parameter):
                continue
            mark = Mark(self, roots, data, learned)
            match op:
                case Op.SHAPE | Op.CAST:
                    step = None if op is Op.CAST else _step(function, args, keywords, n if _many(out) else None)
                    mark = self._rearranged(mark, self.mark(first), step)
                case Op.EXP:
                    mark = self._carried(mark, inputs, result, changed=True)
                    if (old := self.mark(first)) is not None and old.weights is not None and old.weights.log:
                        mark = replace(mark, weights=replace(old.weights, log=False))
                case Op.CARRY | Op.DROPOUT | Op.TIMES:
                    mark = self._carried(mark, inputs, result, changed=op is not Op.DROPOUT)
                    if op is Op.TIMES and len(tensors) == 2:
                        mark = replace(mark, weighted=self._weighted(tensors[0], tensors[1]))
                case Op.PRODUCT | Op.ADDED_PRODUCT | Op.LINEAR:
                    left, right = _factors(op, function, args, keywords, tensors)
                    mark = replace(mark, scores=self._product(left, right, result, op))
                    self._consumed_by_product(left, right, result, op)
                case Op.EINSUM:
                    mark = replace(mark, scores=self._einsum(args, tensors, result))
                case Op.TOTAL:
                    self._consumed_by_sum(first, args, keywords, result)
                case Op.SELECT:
                    self._selected(first)
                case _:
                    pass
            if mark.roots or mark.data or mark.learned or mark.scores or mark.weights:
                self._put(result, mark)

    # -- carrying -----------------------------------------------------------------------------------------------

    def _rearranged(self, mark: Mark, old: Mark | None, step: Step | None) -> Mark:
        if old is None:
            return mark
        extra = () if step is None else (step,)
        scores, weights = old.scores, old.weights
        if scores is not None and scores.steps is not None:
            scores = replace(scores, steps=scores.steps + extra)
        if weights is not None:
            weights = replace(weights, steps=weights.steps + extra)
        return replace(mark, scores=scores, weights=weights, weighted=old.weighted if step is None else None)

    def _carried(self, mark: Mark, marked: list[tuple[Tensor, Mark]], result: Tensor, *, changed: bool) -> Mark:
        scores = weights = weighted = None
        for tensor, old in marked:
            if old.scores is not None and (scores is None or (scores.linear and not old.scores.linear)):
                scores = old.scores if tensor.shape == result.shape else replace(old.scores, steps=None)
            if old.weights is not None and weights is None and tensor.shape == result.shape:
                # dropout that is switched off gives the same memory back
                same = not changed and result.data_ptr() == tensor.data_ptr()
                weights = old.weights if same else replace(old.weights, changed=True)
            if old.weighted is not None and not changed:
                weighted = old.weighted
        return replace(mark, scores=scores, weights=weights, weighted=weighted)

    def _weighted(self, a: Tensor, b: Tensor) -> Weighted | None:
        for weights, values in ((a, b), (b, a)):
            mark = self.mark(weights)
            if mark is not None and mark.weights is not None and not mark.weights.log:
                return Weighted(mark.weights, weights, values)
        return None

    def _selected(self, tensor: Tensor) -> None:
        mark = self.mark(tensor)
        if mark is not None and mark.weights is not None:
            mark.weights.softmax.selected = True

    # -- products as scores -------------------------------------------------------------------------------------

    def _product(self, left: Tensor, right: Tensor, result: Tensor, op: Op) -> Scores:
        if op is Op.LINEAR:
            if not self.is_learned(right):
                return Scores(left, right)
            return Scores(shape=tuple(result.shape), features=(result.ndim - 1,) if right.ndim > 1 else ())
        shape, factors = tuple(result.shape), (left, right)
        if self.is_learned(right):
            return Scores(shape=shape, features=(result.ndim - 1,) if right.ndim > 1 else (), factors=factors)
        if self.is_learned(left):
            return Scores(shape=shape, features=(result.ndim - 2,) if left.ndim > 1 else (), factors=factors)
        return Scores(left, right)

    def _einsum(self, args: tuple[Any, ...], tensors: list[Tensor], result: Tensor) -> Scores | None:
        if len(tensors) < 2 or not isinstance(args[0], str):
            return None
        labels = _labels(args[0], tensors, result)
        if labels is None:
            return None
        *terms, out = labels
        computed = [(t, term) for t, term in zip(tensors, terms, strict=True) if not self.is_learned(t)]
        for factor, term_of_factor in computed:
            others = [(t, term) for t, term in computed if t is not factor]
            if others:
                self._consumed_by_einsum(factor, term_of_factor, others[0][0], "".join(term for _, term in others), out)
        if len(computed) > 1:
            return Scores(computed[0][0], computed[1][0])
        learned = {c for t, term in zip(tensors, terms, strict=True) if self.is_learned(t) for c in term}
        return Scores(shape=tuple(result.shape), features=tuple(i for i, c in enumerate(out) if c in learned))

    def _consumed_by_einsum(self, used: Tensor, mine: str, values: Tensor, other: str, out: str) -> None:
        summed = [c for c in mine if c in other and c not in out]
        if len(summed) > 1 and not set(other) - set(mine):
            return  # a number, not a state
        for over in summed:  # heads may be summed along with the keys: the keys are what the softmax ran over
            roles = {
                i: "k" if c == over else "b" if c in other else "q"
                for i, c in enumerate(mine)
                if c in other or c in out
            }
            self._consumed(used, values, roles)

    # -- weights consumed ---------------------------------------------------------------------------------------

    def _consumed_by_product(self, left: Tensor, right: Tensor, result: Tensor, op: Op) -> None:
        if op is Op.LINEAR:
            right_roles = {right.ndim - 1: "k", right.ndim - 2: "q"} if right.ndim > 1 else {0: "k"}
        elif right.ndim > 1:
            right_roles = {right.ndim - 2: "k", right.ndim - 1: "q"}
        else:
            right_roles = {0: "k"}
        left_roles = {left.ndim - 1: "k", left.ndim - 2: "q"} if left.ndim > 1 else {0: "k"}
        for i in range(left.ndim - 2):
            left_roles[i] = "b"
        for i in range(right.ndim - 2):
            right_roles[i] = "b"
        self._consumed(left, right, left_roles)
        self._consumed(right, left, right_roles)

    def _consumed_by_sum(
        self, product: Tensor, args: tuple[Any, ...], keywords: Mapping[str, Any], result: Tensor
    ) -> None:
        mark = self.mark(product)
        if mark is None or mark.weighted is None:
            return
        axes = keywords.get("dim", keywords.get("axis", args[1] if len(args) > 1 else None))
        if axes is None:
            axes = list(range(product.ndim))
        axes = [axes] if isinstance(axes, int) else list(axes)
        factor, values = mark.weighted.used, mark.weighted.values
        summed = {a % product.ndim for a in axes}
        roles: dict[int, str] = {}
        for i in range(factor.ndim):
            at = i + product.ndim - factor.ndim
            axis = at - (product.ndim - values.ndim)
            shared = axis >= 0 and values.shape[axis] > 1
            if at in summed:
                roles[i] = "k"
            elif factor.shape[i] > 1:
                roles[i] = "b" if shared else "q"
        long = [i for i, r in roles.items() if r == "k" and factor.shape[i] > 1]
        softmax = mark.weighted.weights.softmax
        if not long and softmax.weights.shape[softmax.axis] == 1:
            long = [i for i, r in roles.items() if r == "k"][:1]  # one key: its sum is a sum all the same
        for i in [i for i, r in roles.items() if r == "k" and i not in long[:1]]:
            del roles[i]
        if len(long) <= 1:
            state = any(n > 1 for n in values.shape[: -factor.ndim]) or any(
                n > 1 == m for n, m in zip(values.shape[::-1], factor.shape[::-1], strict=False)
            )
            self._consumed(factor, values, roles, weights=mark.weighted.weights, state=state)

    def _consumed(
        self,
        used: Tensor,
        values: Tensor,
        roles: Mapping[int, str],
        *,
        weights: Weights | None = None,
        state: bool = True,
    ) -> None:
        mark = self.mark(used)
        weights = weights or (mark.weights if mark is not None else None)
        if weights is None or weights.log or "k" not in roles.values() or self.is_learned(values):
            return
        softmax = weights.softmax
        layout_before = None if softmax.total and state else softmax.layout
        if (
            (layout_before is not None and not layout_before.first and not layout_before.last)
            or not softmax.of_data
            or softmax.over_features()
        ):
            return
        layout = find_layout(softmax.weights.shape, softmax.axis, weights.steps, roles, used.ndim)
        if layout is None:
            softmax.summed_elsewhere = True
            return
        if layout_before is not None:
            # some columns go into one sum and some into another (BigBird, Longformer): only what is in none is a sink
            softmax.layout = replace(
                layout_before, first=min(layout_before.first, layout.first), last=min(layout_before.last, layout.last)
            )
            return
        softmax.layout, softmax.values, softmax.total = layout, values, not state
        softmax.used, softmax.steps, softmax.changed = used, weights.steps, weights.changed
        self._asked_from_elsewhere(softmax, self.mark(values))

    def _asked_from_elsewhere(self, softmax: Softmax, values: Mark | None) -> None:
        """Find the query of additive scores, which have no explicit query and key: every source besides the values."""
        if softmax.query is None and values is not None and values.roots & softmax.roots:
            others = (softmax.roots - values.roots) & self._states
            if others:
                softmax.query, softmax.key = Mark(self, others, data=True, learned=True), values


def _address(tensor: Tensor) -> int:
    try:
        return tensor.untyped_storage().data_ptr() or id(tensor)
    except (RuntimeError, NotImplementedError):  # tensors without a storage (meta, nested, wrapped)
        return id(tensor)


def _many(out: object) -> bool:
    return isinstance(out, (tuple, list))


def _tensors(args: tuple[Any, ...], keywords: Mapping[str, Any]) -> list[Tensor]:
    tensors = []
    for value in itertools.chain(args, keywords.values()):
        if isinstance(value, Tensor):
            tensors.append(value)
        elif isinstance(value, (tuple, list)):
            tensors.extend(v for v in value if isinstance(v, Tensor))
    return tensors


def _step(function: Callable[..., Any], args: tuple[Any, ...], keywords: Mapping[str, Any], pick: int | None) -> Step:
    if args and isinstance(args[0], Tensor):
        return function, args[1:], keywords, pick
    rest = {k: v for k, v in keywords.items() if k not in ("input", "self")}
    return function, args, rest, pick


def _factors(
    op: Op, function: Callable[..., Any], args: tuple[Any, ...], keywords: Mapping[str, Any], tensors: list[Tensor]
) -> tuple[Tensor, Tensor]:
    if op is Op.ADDED_PRODUCT:
        by_name = [keywords.get(n) for n in ("batch1", "mat1")], [keywords.get(n) for n in ("batch2", "mat2")]
        left = next((t for t in by_name[0] if t is not None), None)
        right = next((t for t in by_name[1] if t is not None), None)
        positional = [a for a in args if isinstance(a, Tensor)]
        return (
            cast(Tensor, left if left is not None else positional[1]),
            cast(Tensor, right if right is not None else positional[2]),
        )
    if getattr(function, "__name__", "") == "__rmatmul__":
        return tensors[1], tensors[0]
    return tensors[0], tensors[1]


def _labels(equation: str, tensors: list[Tensor], result: Tensor) -> list[str] | None:
    """Labels of each axis of the operands and of the result, with an ellipsis spelled out in capitals.

    >>> _labels("...qd,...kd->...qk", [torch.ones(2, 3, 4), torch.ones(2, 5, 4)], torch.ones(2, 3, 5))
    ['Zqd', 'Zkd', 'Zqk']
    """
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(tensors):
        return None
    if not arrow:
        letters = "".join(terms).replace(".", "")
        output = ("..." if "..." in inputs else "") + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    spelled = []
    for term, tensor in zip([*terms, output], [*tensors, result], strict=True):
        dots = tensor.ndim - len(term.replace("...", ""))
        spelled.append(term.replace("...", "ZYXWVUT"[:dots][::-1]))
    return spelled
