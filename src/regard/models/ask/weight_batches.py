"""Batched attention replacement: many weight arrays per example; only the layers above the sites run again.

`with_weights` returns answers; `weight_function` is the differentiable form. Both compute everything below the lowest
changed site once per example, whatever the number of attention maps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from regard.errors import InputError, UnknownName, Unsupported, phrase
from regard.models.adapter import TorchModel, as_answers, own
from regard.models.ask.capability import capability
from regard.models.objective import TensorAnswers
from regard.models.passes import key_padding
from regard.models.read.encoded import Item
from regard.models.recorded_layers import layers_below
from regard.models.tasks import Request
from regard.protocols import Encoded, Target, WeightFunction
from regard.records import Answers, Edit, Site
from regard.tap.capture_call import rewritten_call
from regard.tap.capture_plan import plan_of
from regard.tap.pass_history import forgettable
from regard.tap.replay_cache import Resume

POSITIONS, POOLED = 2048, 1 << 15
"""Maximum positions per pass above a site; there is little above a pooling."""
CHECKED = 4
"""Rows to compute from the bottom, once, to test whether the lower part may be shared."""

_TRUSTED: WeakKeyDictionary[nn.Module, dict[tuple[str, ...], bool]] = forgettable(WeakKeyDictionary())


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Weights (row, head, query, key) of rows start..stop of the batch, at the place."""

    start: int
    stop: int
    place: Edit
    values: Tensor


@dataclass(slots=True, eq=False)
class _Put:
    """Replace a site's weights by given ones; gradients flow to them."""

    parts: Mapping[str, list[_Part]]

    def wants(self, site: Site) -> bool:
        return site.key in self.parts

    def scores(self, site: Site, scores: Tensor) -> Tensor:
        return scores

    def weights(self, site: Site, weights: Tensor, scores: Tensor) -> Tensor:
        replaced = weights.clone()
        for part in self.parts[site.key]:
            _, heads, queries, keys = weights.shape
            h, q, k = (
                torch.arange(size) if chosen is None else torch.tensor(chosen)
                for chosen, size in ((part.place.heads, heads), (part.place.queries, queries), (part.place.keys, keys))
            )
            rows = torch.arange(part.start, part.stop)[:, None, None, None]
            values = part.values.to(weights.device, weights.dtype)
            try:
                replaced[rows, h[:, None, None], q[:, None], k] = values
            except (RuntimeError, IndexError) as problem:
                raise InputError(
                    phrase("errors.common.weights_for_site", site=site.key),
                    expected=f"{(part.stop - part.start, len(h), len(q), len(k))}",
                    got=str(tuple(values.shape)),
                ) from problem
        return replaced


@dataclass(slots=True, eq=False)
class _Batch:
    """Examples of one length, run once up to the first of the sites."""

    model: TorchModel
    items: Sequence[Item]
    targets: Sequence[Target]
    sites: tuple[str, ...]
    tensors: dict[str, Tensor] = field(init=False)
    request: Request = field(init=False)
    below: Resume | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.tensors, self.request = self.model.tensors(self.items, self.targets)
        if _trusted(self.model.module).get(self.sites, True):
            self.below = layers_below(self.model.module, self.items, self.targets, self.sites, self._whole)

    @property
    def most(self) -> int:
        """Positions that may be computed at a time."""
        plan = plan_of(self.model.module, switched=False)
        kinds = {site.kind for site in plan.sites() if site.key in self.sites} if plan is not None else set()
        return POOLED if kinds == {"pooling"} else POSITIONS

    def _whole(self) -> object:
        return self.model.run(self.tensors, self.request)

    def answers(self, rows: Sequence[int], parts: Mapping[str, list[_Part]]) -> TensorAnswers:
        """Answer these rows (item numbers) with these weights."""
        trusted = _trusted(self.model.module)
        if self.below is None:
            return self._computed(rows, parts, None)
        try:
            answers = self._computed(rows, parts, self.below.for_rows(rows))
        except (RuntimeError, IndexError, ValueError):
            # what is below cannot be spread over more rows (a bias without a batch axis): computed again instead
            trusted[self.sites], self.below = False, None
            return self._computed(rows, parts, None)
        if self.sites not in trusted:
            with torch.no_grad():
                few = min(CHECKED, len(rows))
                whole = self._computed(rows[:few], _first(parts, few), None)
            trusted[self.sites] = bool(torch.allclose(answers.value[:few], whole.value, rtol=1e-4, atol=1e-4))
            if not trusted[self.sites]:
                self.below = None
                return self._computed(rows, parts, None)
        return answers

    def _computed(self, rows: Sequence[int], parts: Mapping[str, list[_Part]], resume: Resume | None) -> TensorAnswers:
        index = torch.tensor(list(rows))
        tensors = {
            name: t.index_select(0, index.to(t.device)) if t.dim() and len(t) == len(self.items) else t
            for name, t in self.tensors.items()
        }
        request = Request([self.items[r] for r in rows], tensors, self.request.positions)
        outputs, _ = rewritten_call(
            self.model.module,
            lambda: self.model.run_read(tensors, request, tapped=True),
            lambda known: _Put(_known(parts, known)),
            key_padding=key_padding(tensors),
            resume=resume,
        )
        return self.model.row.read(outputs, request, [self.targets[r] for r in rows])


def _trusted(module: nn.Module) -> dict[tuple[str, ...], bool]:
    return _TRUSTED.setdefault(module, {})


def _known(parts: Mapping[str, list[_Part]], sites: Sequence[Site]) -> Mapping[str, list[_Part]]:
    for key in parts:
        if key not in {site.key for site in sites}:
            raise UnknownName("site", key, [site.key for site in sites])
    return parts


def _first(parts: Mapping[str, list[_Part]], rows: int) -> dict[str, list[_Part]]:
    return {
        key: [_Part(p.start, min(p.stop, rows), p.place, p.values[: rows - p.start]) for p in some if p.start < rows]
        for key, some in parts.items()
    }


@capability(needs="attention")
def with_weights(
    model: TorchModel, batch: Sequence[Encoded], targets: Sequence[Target], edits: Sequence[Sequence[Edit]]
) -> Answers:
    """Run many attention maps of each example: one row per map, example after example.

    edits[i]: one `replace` for each site that is changed, whose values have the attentions of example i as their first
    axis: (attention, head, query, key). Everything below the lowest changed site is computed once per example.
    """
    parts = list(_swept(model, [own(encoded) for encoded in batch], targets, edits))
    return as_answers(sum(len(rows) for rows, _ in parts), parts)


def _swept(
    model: TorchModel, items: Sequence[Item], targets: Sequence[Target], edits: Sequence[Sequence[Edit]]
) -> Iterator[tuple[list[int], TensorAnswers]]:
    """Yield (indices of the answers, answers), example after example, map after map."""
    counts = [_count(piece) for piece in edits]
    starts = np.concatenate([[0], np.cumsum(counts)]).tolist()
    groups: dict[tuple[object, ...], list[int]] = {}
    for i, item in enumerate(items):  # no padding: keys are counted as in the example alone
        sites = tuple(sorted({e.site for e in edits[i]}))
        groups.setdefault((item.length, *(a.shape for a in item.arrays.values()), sites), []).append(i)
    with torch.no_grad():
        for group in groups.values():
            batch = _Batch(model, [items[i] for i in group], [targets[i] for i in group], _sites(edits[group[0]]))
            size = max(1, batch.most // max(1, items[group[0]].length))
            for piece in _pieces([counts[i] for i in group], size):
                rows: list[int] = []
                places: list[int] = []
                parts: dict[str, list[_Part]] = {}
                for b, first, last in piece:
                    for edit in edits[group[b]]:
                        assert edit.values is not None
                        values = torch.from_numpy(np.ascontiguousarray(edit.values[first:last]))
                        parts.setdefault(edit.site, []).append(_Part(len(rows), len(rows) + last - first, edit, values))
                    places += range(starts[group[b]] + first, starts[group[b]] + last)
                    rows += [b] * (last - first)
                yield places, batch.answers(rows, parts)


def _sites(edits: Sequence[Edit]) -> tuple[str, ...]:
    return tuple(sorted({e.site for e in edits}))


def _count(edits: Sequence[Edit]) -> int:
    sizes = {0 if e.values is None else len(e.values) for e in edits}
    if len(sizes) != 1 or any(e.what != "replace" or e.values is None or e.values.ndim != 4 for e in edits):
        raise InputError(
            "attentions",
            expected=phrase("errors.models.for_each_site_replace_with_values"),
            got=", ".join(f"{e.what} {None if e.values is None else e.values.shape}" for e in edits)
            or phrase("errors.models.no_site"),
        )
    return sizes.pop()


def _pieces(counts: Sequence[int], size: int) -> Iterator[list[tuple[int, int, int]]]:
    """(example, first, last map) in pieces of at most `size` maps."""
    piece: list[tuple[int, int, int]] = []
    room = size
    for b, count in enumerate(counts):
        first = 0
        while first < count:
            last = min(count, first + room)
            piece.append((b, first, last))
            room -= last - first
            first = last
            if not room:
                yield piece
                piece, room = [], size
    if piece:
        yield piece


@capability(needs="gradient")
def weight_function(model: TorchModel, encoded: Encoded, target: Target, places: Sequence[Edit]) -> WeightFunction:
    """Return the answer as a function of the weights at `places`: `replace` edits, whose values are ignored."""
    return _WeightFunction(model, own(encoded), target, places)


class _WeightFunction:
    """Implements `protocols.WeightFunction`."""

    def __init__(self, model: TorchModel, item: Item, target: Target, places: Sequence[Edit]) -> None:
        self._model, self._places = model, tuple(places)
        with torch.inference_mode(False), torch.no_grad():
            self._batch = _Batch(model, [item], [target], _sites(places))

    def __call__(self, weights: Sequence[Tensor]) -> Tensor:
        rows = len(weights[0])
        parts: dict[str, list[_Part]] = {}
        for place, values in zip(self._places, weights, strict=True):
            parts.setdefault(place.site, []).append(_Part(0, rows, place, values))
        with torch.inference_mode(False), torch.enable_grad(), self._model.backward_allowed():
            answers = self._batch.answers([0] * rows, parts)
        if answers.distribution is None:
            raise Unsupported(
                phrase("errors.models.steering_model", model=self._model.name),
                expected=phrase("errors.common.model_that_decides_among_classes"),
                got=phrase("errors.common.another_task"),
            )
        return answers.distribution
