"""Activation patching: take the output of one attention site from another example and keep everything else.

Where the output of a site is, is not read off names: it is the first tensor behind the site that a module is given or
gives and that moves when the weights are zero. It must move in proportion to the weights (then it is the weighted sum,
perhaps projected, perhaps with a residual stream beside it); what attention added there is the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_unflatten

from regard.errors import Text, Unsupported, phrase
from regard.models.adapter import TorchModel, as_answers, own
from regard.models.ask.capability import capability
from regard.models.ask.layer_variants import rows_first
from regard.models.read.encoded import Item
from regard.models.weight_versions import weight_versions
from regard.protocols import Encoded, Read, Target
from regard.records import Answers, Site
from regard.tap.capture_call import rewritten_call
from regard.tap.pass_history import forgettable

LINEAR = 1e-3
"""How far half of the weights may be from half of the way, relative to the whole way."""
SMALLEST_CHANGE = 1e-6
Donor = tuple[Encoded, Target, Sequence[Read]]


@dataclass(frozen=True, slots=True)
class _Place:
    """The input ("begin") or output ("end") of the n-th call of a module after the site."""

    module: str
    what: str
    time: int


_PLACES: WeakKeyDictionary[nn.Module, dict[tuple[object, ...], _Place]] = forgettable(WeakKeyDictionary())
_Gifts = dict[tuple[object, ...], tuple[Item, tuple[Tensor, bool]]]
_GIFTS: WeakKeyDictionary[nn.Module, _Gifts] = forgettable(WeakKeyDictionary())


@capability(needs="attention")
def patched_output(
    model: TorchModel, encoded: Encoded, target: Target, reads: Sequence[Read], donors: Sequence[Donor]
) -> Answers:
    """Patch the attention *output* of each donor into the rows that the objective reads, and change nothing else.

    One answer per donor. The rows of a donor stand for those of the example; where their numbers differ, their mean.
    """
    item, rows = own(encoded), len(donors)
    about = [target] * rows
    with torch.inference_mode():
        placed = [(read, place) for read in reads if (place := _place(model, item, target, read)) is not None]
        tensors, request = model.tensors([item] * rows, about)
        if placed:
            watch = _Watch(model.module)
            for read, place in placed:
                gifts = [
                    _gift(model, own(donor), theirs, theirs=_same_site(rows_read, read), ours=read, place=place)
                    for donor, theirs, rows_read in donors
                ]
                watch.at[place, read.site] = _adding(read, gifts, rows, watch)
            swapped = [read for read, _ in placed]
            with watch.on():
                outputs, _ = rewritten_call(
                    model.module, lambda: model.run(tensors, request), lambda known: _Scaled(swapped, 0.0, watch)
                )
        else:  # an output that nothing reads can be exchanged without any change
            outputs = model.run(tensors, request)
        return as_answers(rows, [(list(range(rows)), model.row.read(outputs, request, about))])


def _same_site(theirs: Sequence[Read], ours: Read) -> Read:
    for read in theirs:
        if read.site == ours.site:
            return read
    raise _refused(
        ours.site,
        phrase("errors.models.donor_with_same_site"),
        ", ".join(read.site for read in theirs) or phrase("errors.common.none"),
    )


def _gift(model: TorchModel, item: Item, target: Target, theirs: Read, ours: Read, place: _Place) -> Tensor:
    """(row, feature) the attention output of a donor in its read rows; their mean where the row counts differ."""
    gifts = _GIFTS.setdefault(model.module, {})
    key = (id(item), theirs, place, weight_versions(model.module))
    if key not in gifts or gifts[key][0] is not item:
        gifts[key] = item, _given(model, item, target, theirs, place)
    rows, rowwise = gifts[key][1]
    return rows.mean(0, keepdim=True) if rowwise and len(rows) != len(ours.queries) else rows


def _given(model: TorchModel, item: Item, target: Target, theirs: Read, place: _Place) -> tuple[Tensor, bool]:
    """Return (row, feature), and whether rows are those that the objective reads; behind a pooling of rows they are
    not.
    """
    with_it, without = (_seen(model, item, target, read=theirs, factor=factor, place=place) for factor in (1.0, 0.0))
    difference = with_it.view - without.view
    return (difference[list(theirs.queries)], True) if len(difference) == with_it.queries else (difference, False)


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """(query, feature) the states at a place, and the number of queries of the site."""

    view: Tensor
    queries: int


def _seen(model: TorchModel, item: Item, target: Target, read: Read, factor: float, place: _Place) -> _Seen:
    outputs: list[Tensor] = []
    watch = _Watch(model.module)
    watch.at[place, read.site] = lambda tensor: outputs.append(tensor.clone())
    _run(model, item, target, reads=[read], factor=factor, watch=watch)
    if not outputs:
        raise _refused(
            read.site,
            phrase("errors.models.run_for_every_example", module=place.module),
            phrase("errors.models.no_run"),
        )
    site, queries = watch.site_queries[read.site]
    return _Seen(rows_first(outputs[0], 1, site, queries)[0], queries)


def _adding(read: Read, gifts: Sequence[Tensor], rows: int, watch: _Watch) -> Callable[[Tensor], Tensor]:
    def add(tensor: Tensor) -> Tensor:
        patched = tensor.clone(memory_format=torch.contiguous_format)
        site, queries = watch.site_queries[read.site]
        view = rows_first(patched, rows, site, queries)
        rows_read = list(read.queries) if view.shape[1] == queries else slice(None)
        for row, gift in enumerate(gifts):
            view[row, rows_read] += gift.to(view)
        return patched

    return add


# ---------------------------------------------------------------------- where the output is


def _place(model: TorchModel, item: Item, target: Target, read: Read) -> _Place | None:
    """Find the place where a site's output can be patched; None where nothing after it depends on its weights."""
    places = _PLACES.setdefault(model.module, {})
    key = (read.site, read.heads)
    if key not in places:
        place = _find(model, item, target, read)
        if place is None:  # perhaps of this example only: the next one is looked at again
            return None
        places[key] = place
    return places[key]


def _find(model: TorchModel, item: Item, target: Target, read: Read) -> _Place | None:
    passes = []
    for factor in (1.0, 0.0, 0.5):
        watch = _Watch(model.module, everything=True)
        _run(model, item, target, reads=[read], factor=factor, watch=watch)
        passes.append(watch)
    whole, nothing, half = passes
    weights = whole.weights[read.site]
    for (place, tensor), (_, without), (_, between) in zip(whole.outputs, nothing.outputs, half.outputs, strict=False):
        if tensor.shape != without.shape or _same_numbers(tensor, weights):
            continue
        way = (tensor - without).float()
        size = float(way.abs().max()) if way.numel() else 0.0
        if size <= SMALLEST_CHANGE * max(1.0, float(tensor.float().abs().max())):
            continue
        off = float((between.float() - without.float() - way / 2).abs().max())
        if off > LINEAR * size:
            raise _refused(
                read.site,
                phrase("errors.models.output_that_can_seen_before"),
                phrase("errors.models.behind_bend", module=place.module),
            )
        return place
    return None


def _same_numbers(tensor: Tensor, weights: Tensor) -> bool:
    """Return whether a tensor is the weights themselves, in any layout (a dropout, a softmax module)."""
    if tensor.numel() != weights.numel():
        return False
    return bool(torch.allclose(tensor.float().flatten().sort()[0], weights.float().flatten().sort()[0], atol=1e-6))


def _run(model: TorchModel, item: Item, target: Target, reads: Sequence[Read], factor: float, watch: _Watch) -> None:
    tensors, request = model.tensors([item], [target])
    with watch.on():
        rewritten_call(model.module, lambda: model.run(tensors, request), lambda known: _Scaled(reads, factor, watch))


@dataclass(slots=True, eq=False)
class _Scaled:
    """Multiply the read weights by a factor, and report when their site passes."""

    reads: Sequence[Read]
    factor: float
    watch: _Watch

    def wants(self, site: Site) -> bool:
        return any(read.site == site.key for read in self.reads)

    def scores(self, site: Site, scores: Tensor) -> Tensor:
        return scores

    def weights(self, site: Site, weights: Tensor, scores: Tensor) -> Tensor:
        self.watch.met(site, weights)
        scaled = weights.clone()
        for read in self.reads:
            if read.site == site.key:
                heads = list(range(weights.shape[1])) if read.heads is None else list(read.heads)
                rows = list(read.queries)
                if max(rows) >= weights.shape[2]:
                    raise _refused(
                        site.key,
                        phrase("errors.models.row_read", rows=max(rows)),
                        phrase("errors.models.rows_shape", shape=weights.shape[2]),
                    )
                index = torch.tensor(heads)[:, None], torch.tensor(rows)
                scaled[:, index[0], index[1]] = scaled[:, index[0], index[1]] * self.factor
        return scaled


@dataclass(slots=True, eq=False)
class _Watch:
    """Hooks that observe or change the inputs and outputs of modules after a site has run."""

    root: nn.Module
    everything: bool = False
    at: dict[tuple[_Place, str], Callable[[Tensor], Tensor | None]] = field(default_factory=dict)
    outputs: list[tuple[_Place, Tensor]] = field(default_factory=list)
    weights: dict[str, Tensor] = field(default_factory=dict)
    site_queries: dict[str, tuple[Site, int]] = field(default_factory=dict)
    _times: dict[str, dict[tuple[str, str], int]] = field(default_factory=dict)

    def met(self, site: Site, weights: Tensor) -> None:
        self.weights[site.key], self.site_queries[site.key] = weights, (site, weights.shape[2])
        self._times[site.key] = {}
        self.outputs.clear()

    @contextmanager
    def on(self) -> Iterator[None]:
        names = {place.module for place, _ in self.at}
        handles = []
        try:
            for name, module in self.root.named_modules():
                if (self.everything or name in names) and not isinstance(module, torch.jit.ScriptModule):
                    handles.append(module.register_forward_pre_hook(self._before(name), with_kwargs=True))
                    handles.append(module.register_forward_hook(self._after(name)))
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _before(self, name: str) -> Callable[..., Any]:
        def hook(module: nn.Module, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
            return self._look(name, "begin", (args, dict(keywords)))

        return hook

    def _after(self, name: str) -> Callable[..., Any]:
        def hook(module: nn.Module, args: tuple[Any, ...], out: Any) -> Any:
            return self._look(name, "end", out)

        return hook

    def _look(self, name: str, what: str, tree: Any) -> Any:
        """Return the tree with its changes; None where nothing changes."""
        patched = None
        for key, times in self._times.items():
            time = times.get((name, what), 0)
            times[name, what] = time + 1
            place = _Place(name, what, time)
            leaves, shape = tree_flatten(tree)
            at = next((i for i, t in enumerate(leaves) if _states(t)), None)
            if at is None:
                continue
            if self.everything:
                self.outputs.append((place, leaves[at].clone()))
            act = self.at.get((place, key))
            new = act(leaves[at]) if act is not None else None
            if new is not None:
                tree = patched = tree_unflatten([*leaves[:at], new, *leaves[at + 1 :]], shape)
        return patched


def _states(leaf: Any) -> bool:
    return isinstance(leaf, Tensor) and leaf.is_floating_point() and leaf.ndim >= 2


def _refused(site: str, expected: Text, got: Text) -> Unsupported:
    return Unsupported(phrase("errors.models.route_through", site=site), expected=expected, got=got)
