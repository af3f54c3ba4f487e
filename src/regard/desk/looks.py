"""What was seen inside the model: kept for whoever asks again, within a limit of memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.desk.finite_answers import known_parts, known_weight_slopes, known_zeroed
from regard.models.ask.decomposition import decomposition
from regard.models.ask.value_zeroing import value_zeroing
from regard.models.ask.weight_slopes import weight_slopes
from regard.protocols import Encoded, Model, Parts, SiteAttention, Target, WeightGradientKind, WeightSlopes, Zeroed
from regard.records import Attention, Site

LIMIT = 1 << 28
"""Bytes of arrays; the oldest go first."""
Key = tuple[str, ...]


class Looks:
    """Questions about one example that are answered with large arrays. `pay` is told what a new answer cost."""

    def __init__(self, model: Model, pay: Callable[..., None]) -> None:
        self._model, self._pay = model, pay
        self._held: dict[Key, Any] = {}
        self._bytes: dict[Key, int] = {}

    def knows(self, key: Key) -> bool:
        return key in self._held

    def weight_slopes(
        self, names: Sequence[str], encoded: Sequence[Encoded], targets: Sequence[Target], kind: WeightGradientKind
    ) -> Sequence[WeightSlopes]:
        """Of the first of these examples; where it is not known, of all of them in one pass."""
        known: Sequence[WeightSlopes] | None = self._held.get((names[0], kind))
        if known is None:
            found = self._known([*weight_slopes(self._model, encoded, targets, kind)])
            if not self.hold(names, encoded, found, kind):
                # padding that is not at the end: one by one, which is right whatever the layout
                each = zip(encoded, targets, strict=True)
                self._keep_each(
                    names, self._known([weight_slopes(self._model, [e], [t], kind)[0] for e, t in each]), kind
                )
            known = self._held[names[0], kind]
            self._pay(forwards=len(names), backwards=len(names))
        self._pay(requests=1)
        return known

    def hold(
        self, names: Sequence[str], encoded: Sequence[Encoded], found: Sequence[Sequence[WeightSlopes]],
        kind: WeightGradientKind,
    ) -> bool:  # fmt: skip
        """Keep the slopes of a pass of these examples; False, and nothing kept, where its padding cannot be cut off."""
        self._known(found)
        lengths = [e.length for e in encoded]
        if len(set(lengths)) > 1:
            cut = [_cut(slopes, length, max(lengths)) for slopes, length in zip(found, lengths, strict=True)]
            if not all(cut):
                return False
            found = [c for c in cut if c is not None]
        self._keep_each(names, found, kind)
        return True

    def _known(self, found: Sequence[Sequence[WeightSlopes]]) -> Sequence[Sequence[WeightSlopes]]:
        for slopes in found:
            known_weight_slopes(slopes, self._model.name)
        return found

    def _keep_each(
        self, names: Sequence[str], found: Sequence[Sequence[WeightSlopes]], kind: WeightGradientKind
    ) -> None:
        for name, slopes in reversed([*zip(names, found, strict=True)]):  # the one that was asked for goes last
            self._keep((name, kind), slopes, slopes)

    def parts(self, name: str, keys: Sequence[str], encoded: Encoded, target: Target) -> Sequence[Parts]:
        known = {key: self._held[name, "parts", key] for key in keys if (name, "parts", key) in self._held}
        new = [key for key in keys if key not in known]
        for part in known_parts(decomposition(self._model, encoded, target, new), self._model.name) if new else ():
            known[part.site.key] = part
            self._keep((name, "parts", part.site.key), part, [part])
        # each site is reached once, and the layers together are then asked for each head
        self._pay(requests=1, forwards=1 + len(new) + max(known[k].site.heads for k in new) if new else 0)
        return [known[key] for key in keys]

    def zeroed(self, name: str, keys: Sequence[str], encoded: Encoded, target: Target) -> Sequence[Zeroed]:
        known = {key: self._held[name, "zeroed", key] for key in keys if (name, "zeroed", key) in self._held}
        new = [key for key in keys if key not in known]
        for one in known_zeroed(value_zeroing(self._model, encoded, target, new), self._model.name) if new else ():
            known[one.site.key] = one
            self._keep((name, "zeroed", one.site.key), one, [one])
        self._pay(requests=1, forwards=1 + len(new) + max(known[k].distance.shape[1] for k in new) if new else 0)
        return [known[key] for key in keys]

    def _keep(self, key: Key, seen: Any, records: Sequence[Any]) -> None:
        self._held[key] = seen
        self._bytes[key] = sum(array.nbytes for record in records for array in _arrays(record))
        while len(self._held) > 1 and sum(self._bytes.values()) > LIMIT:
            oldest = next(iter(self._held))
            del self._held[oldest], self._bytes[oldest]


@dataclass(frozen=True, slots=True, eq=False)
class RowOf:
    """Implements `protocols.SiteAttention`: one example of a batch of examples of one length."""

    whole: SiteAttention
    row: int

    @property
    def site(self) -> Site:
        return self.whole.site

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return (1, *self.whole.shape[1:])

    def rows(self, example: int, queries: Sequence[int], heads: Sequence[int] | None = None) -> NDArray[np.float32]:
        return self.whole.rows(self.row + example, queries, heads)

    def dense(self) -> Attention:
        everything = self.whole.dense()
        here = slice(self.row, self.row + 1)
        sink = None if everything.sink is None else everything.sink[here]
        return Attention(everything.site, everything.weights[here], sink, everything.checked)


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Implements `protocols.SiteAttention` over weights that are there: (1, head, query, key)."""

    held: Attention

    @property
    def site(self) -> Site:
        return self.held.site

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return self.held.shape

    def rows(self, example: int, queries: Sequence[int], heads: Sequence[int] | None = None) -> NDArray[np.float32]:
        chosen: NDArray[np.float32] = self.held.weights[example][:, list(queries)]
        return chosen if heads is None else np.asarray(chosen[list(heads)])

    def dense(self) -> Attention:
        return self.held


def taken_apart(sites: Sequence[Attention], lengths: Sequence[int]) -> list[Sequence[SiteAttention]] | None:
    """The sites of each example of a padded batch, without the padding; None where it is not all at the end."""
    found: list[Sequence[SiteAttention]] = []
    for row, length in enumerate(lengths):
        mine = []
        for whole in sites:
            weights = whole.weights[row : row + 1]
            if whole.shape[3] != max(lengths) or weights[..., length:].any():
                return None
            sink = None if whole.sink is None else whole.sink[row : row + 1]
            mine.append(Held(Attention(whole.site, np.array(weights[..., :length]), sink, whole.checked)))
        found.append(mine)
    return found


def _cut(slopes: Sequence[WeightSlopes], length: int, widest: int) -> list[WeightSlopes] | None:
    """Without the padding of a batch; None where it is not all at the end."""
    if any(s.weights.shape[-1] != widest or s.weights[..., length:].any() for s in slopes):
        return None
    return [WeightSlopes(s.site, s.weights[..., :length], s.gradient[..., :length]) for s in slopes]


def _arrays(record: Any) -> list[np.ndarray[Any, Any]]:
    return [value for f in fields(record) if isinstance(value := getattr(record, f.name), np.ndarray)]
