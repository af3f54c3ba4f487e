"""The epsilon ball of a continuous attack, for examples of one shape.

Sizes are shares of the range of the inputs, so that one number means the same for pixels, series, columns and
embeddings: linf, the largest change of an entry; l2, the root mean square change over the entries that may be changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from regard.attacks._goal import Goal
from regard.desk.questions import batch_function
from regard.errors import InputError, phrase
from regard.protocols import BatchFunction, Case
from regard.records import Example, Floats

MOST_ENTRIES = 1 << 24
"""Maximum numbers in one batch: large pictures run a few at a time."""
Norm = Literal["linf", "l2"]
SCALES = (1.0, 16.0, 255.0)
"""Usual ranges of pictures; the smallest one that covers the data applies."""


@dataclass(frozen=True)
class Arena:
    """Examples of one shape. y: the predicted class. target_class: of a targeted attack, or None.

    room: (rows, ...) the range of each entry; low, high: its bounds (infinite for embeddings). eps: share of room.
    """

    f: BatchFunction
    positions: tuple[int, ...]
    y: Tensor
    target_class: int | None
    room: Tensor
    low: Tensor
    high: Tensor
    eps: float
    norm: Norm
    budget: int

    @property
    def x(self) -> Tensor:
        inputs: Tensor = self.f.x
        return inputs

    def inside(self, x: Tensor, rows: Sequence[int]) -> Tensor:
        """Project onto the ball and the bounds."""
        indices = list(rows)
        start, room, free = self.x[indices], self.room[indices], self.f.free[indices]
        change = torch.where(free, (x - start) / room, torch.zeros_like(x))
        if self.norm == "linf":
            change = change.clamp(-self.eps, self.eps)
        else:
            size = self.size(change, free)
            change = change * (self.eps / size.clamp(min=self.eps))
        return torch.maximum(torch.minimum(start + change * room, self.high[indices]), self.low[indices])

    @staticmethod
    def size(change: Tensor, free: Tensor) -> Tensor:
        """Return (rows, 1, ...) root mean square change over the free entries."""
        axes = tuple(range(1, change.dim()))
        count = free.sum(axes, keepdim=True).clamp(min=1)
        return (change.square().sum(axes, keepdim=True) / count).sqrt()

    def step(self, gradient: Tensor, rows: Sequence[int], length: float) -> Tensor:
        """Return the steepest step of this length (in shares of the range)."""
        indices = list(rows)
        room, free = self.room[indices], self.f.free[indices]
        slope = torch.where(free, gradient * room, torch.zeros_like(gradient))
        if self.norm == "linf":
            return length * slope.sign() * room
        return length * slope / self.size(slope, free).clamp(min=1e-12) * room

    def started(self, rows: Sequence[int], case: Case, *keys: object) -> Tensor:
        """Return a random starting point in the ball, seeded per example."""
        starts = []
        for row in rows:
            shape = tuple(self.x.shape[1:])
            noise = case.rng(self.positions[row], *keys).uniform(-1, 1, shape)
            starts.append(torch.from_numpy(noise).to(self.x))
        change = torch.stack(starts) * self.eps * self.room[list(rows)]
        return self.inside(self.x[list(rows)] + change, rows)

    def log_odds(self, logits: Tensor, rows: Sequence[int]) -> Tensor:
        """Return (rows,) the loss to minimize: log-odds of the predicted class, or minus those of the target.

        Cross-entropy is a monotone function of it, so both have the same sign of gradient; this one does not vanish
        where the model is sure.
        """
        y = self._about(rows)
        own = logits.gather(1, y[:, None]).squeeze(1)
        rest = logits.scatter(1, y[:, None], float("-inf")).logsumexp(1)
        return (own - rest) * (1 if self.target_class is None else -1)

    def margin(self, logits: Tensor, rows: Sequence[int]) -> Tensor:
        """Return (rows,) the logit of the predicted class minus the runner-up; negated for a target."""
        y = self._about(rows)
        own = logits.gather(1, y[:, None]).squeeze(1)
        rest = logits.scatter(1, y[:, None], float("-inf")).amax(1)
        return (own - rest) * (1 if self.target_class is None else -1)

    def _about(self, rows: Sequence[int]) -> Tensor:
        y = self.y[list(rows)]
        return y if self.target_class is None else torch.full_like(y, self.target_class)


def bounds_of(case: Case, given: Sequence[float] | None) -> tuple[Floats, Floats] | None:
    """Return (low, high) in the user's units; None for a text, whose embeddings are unbounded.

    Given bounds hold for every entry. Defaults: for images 0 to the smallest of 1, 16, 255 that covers them all, or
    their own range; for series and rows the range of each channel or column in the data.
    """
    if not case.examples or "text" in case.examples[0].inputs:
        return None
    if given is not None:
        if len(given) != 2 or not given[0] < given[1]:
            raise InputError(
                "bounds", expected=phrase("errors.attacks.two_numbers_lower_one_first"), got=str(list(given))
            )
        return np.array(float(given[0])), np.array(float(given[1]))
    entry = next(iter(case.examples[0].inputs))
    # the companions are the same for every shard of an audit, so the bounds are too
    data = [np.asarray(e.inputs[entry], np.float64) for e in (*case.companions.examples, *case.examples)]
    if entry == "image":
        if any(np.asarray(e.inputs[entry]).dtype == np.uint8 for e in case.examples):
            return np.array(0.0), np.array(255.0)
        low, high = min(float(a.min()) for a in data), max(float(a.max()) for a in data)
        fits = next((s for s in SCALES if low >= 0 and high <= s), None)
        return (np.array(0.0), np.array(fits)) if fits is not None else (np.array(low), np.array(high))
    columns = [a.reshape(-1, a.shape[-1]) if a.ndim > 1 else a[None] if entry == "row" else a[:, None] for a in data]
    table = np.concatenate(columns)
    return table.min(0), table.max(0)


def arena(
    case: Case,
    goal: Goal,
    positions: Sequence[int],
    eps: float,
    norm: Norm,
    budget: int,
    bounds: tuple[Floats, Floats] | None,
) -> Arena:
    """Build the arena of the examples in these positions, which share a shape."""
    if not eps > 0:
        raise InputError("eps", expected=phrase("errors.attacks.share_range_inputs_above"), got=str(eps))
    f = batch_function(case, positions)
    x: Tensor = f.x
    y = torch.tensor([goal.before[i] for i in positions], device=x.device)
    if bounds is None:
        free = f.free.to(x)
        axes = tuple(range(1, x.dim()))
        spread = ((x.square() * free).sum(axes, keepdim=True) / free.sum(axes, keepdim=True).clamp(min=1)).sqrt()
        room = spread.expand_as(x)
        low, high = torch.full_like(x, -torch.inf), torch.full_like(x, torch.inf)
    else:
        low, high = (torch.from_numpy(np.asarray(b)).to(x).expand_as(x) for b in bounds)
        room = (high - low).clamp(min=1e-12)
        low, high = torch.minimum(low, x), torch.maximum(high, x)  # an example may lie outside of the data's range
    return Arena(
        f=f,
        positions=tuple(positions),
        y=y,
        target_class=goal.target_class,
        room=room,
        low=low,
        high=high,
        eps=eps,
        norm=norm,
        budget=budget,
    )


def alike(case: Case, positions: Sequence[int], most: int) -> list[list[int]]:
    """Yield batches of positions of examples with the same shape."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for i in positions:
        shapes = [np.shape(v) for k, v in sorted(case.examples[i].inputs.items()) if not isinstance(v, str)]
        key = (len(case.units[i]), int(case.units[i].special.sum()), *shapes)
        groups.setdefault(key, []).append(i)
    batches = []
    for group in groups.values():
        entries = sum(int(np.size(v)) for v in case.examples[group[0]].inputs.values() if not isinstance(v, str))
        size = max(1, min(most, MOST_ENTRIES // max(entries, 1)))
        batches += [group[k : k + size] for k in range(0, len(group), size)]
    return batches


def renamed(example: Example, attack: str) -> Example:
    """Return the changed example under its own id."""
    return replace(example, id=f"{example.id}~{attack}", rationale=None, parent=example.parent or example.id)
