"""Runner for continuous attacks on all examples of a case, with verification of every success.

An attack returns points in the space of the user's own numbers. The runner converts each to an input, encodes it afresh
and queries the model: only that prediction counts, and a mismatch with the attack's own is an error, not a success.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from regard.attacks._epsilon_ball import Arena, Norm, alike, arena, bounds_of, renamed
from regard.attacks._goal import TIE, Goal, goal_of
from regard.desk.questions import answers_to
from regard.errors import CaptureError, Unsupported, phrase
from regard.protocols import Case
from regard.records import Attacked, Floats, Message, Threat

TOGETHER = 64
"""Examples per model batch."""
SAME = 1e-3
"""Tolerance between probabilities of the attacked function and of the re-encoded input."""


@dataclass
class PointSearch:
    """Best point per row so far and its cost. `score` falls towards the goal."""

    arena: Arena
    best: Tensor
    score: Floats
    reached: list[bool]
    queries: list[int]
    curves: list[list[tuple[int, float]]]
    notes: list[Message] = field(default_factory=list)

    @property
    def open(self) -> list[int]:
        """Rows that have not reached the goal and have queries left."""
        return [r for r, done in enumerate(self.reached) if not done and self.queries[r] < self.arena.budget]

    def saw(self, rows: Sequence[int], x: Tensor, logits: Tensor) -> None:
        """Count one query per row and keep each point that is the best so far."""
        detached = logits.detach()
        margin = self.arena.margin(detached, rows).double().cpu().numpy()
        probabilities = (
            torch.softmax(detached.double(), -1).gather(1, self.arena.y[list(rows)][:, None])[:, 0].cpu().numpy()
        )
        for k, row in enumerate(rows):
            self.queries[row] += 1
            reached = bool(margin[k] < -TIE)
            if not self.reached[row] and (reached or margin[k] < self.score[row] - TIE):
                self.best[row] = x[k].detach()
                self.score[row], self.reached[row] = margin[k], reached
                self.curves[row].append((self.queries[row], float(probabilities[k])))

    def look(self, rows: Sequence[int], x: Tensor) -> None:
        """Evaluate points without a gradient."""
        with torch.no_grad():
            self.saw(rows, x, self.arena.f.logits(x, rows))

    def slope(
        self, rows: Sequence[int], x: Tensor, loss: Callable[[Tensor, Sequence[int]], Tensor]
    ) -> tuple[Tensor, Tensor]:
        """Return (gradient, loss) at points; each costs one query."""
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            logits = self.arena.f.logits(x, rows)
            value = loss(logits, rows)
            (gradient,) = torch.autograd.grad(value.sum(), x)
        self.saw(rows, x, logits)
        return gradient, value.detach()


Run: TypeAlias = Callable[[PointSearch], None]


def continuous_attack(
    case: Case, threat: Threat, name: str, run: Run, *, eps: float, norm: Norm, bounds: Sequence[float] | None
) -> list[Attacked]:
    """Run an attack on every eligible example; return one record per example, in order."""
    if any(example.inputs.get("categories") for example in case.examples):
        raise Unsupported(
            phrase("errors.attacks.attack"),
            expected=phrase("errors.attacks.rows_of_numbers"),
            got=phrase("errors.attacks.category_columns"),
        )
    goal = goal_of(case, threat)
    limits = bounds_of(case, bounds)
    records: dict[int, Attacked] = {}
    for positions in alike(case, [i for i, why in enumerate(goal.why) if not why], TOGETHER):
        place = arena(case, goal, positions=positions, eps=eps, norm=norm, budget=threat.budget, bounds=limits)
        n = len(positions)
        points = PointSearch(
            arena=place,
            best=place.x.clone(),
            score=np.full(n, np.inf),
            reached=[False] * n,
            queries=[0] * n,
            curves=[[] for _ in range(n)],
        )
        run(points)
        records.update(_proved(case, goal, points, name))
    skipped = {
        i: Attacked(
            case.ids[i],
            name,
            "skipped",
            before=goal.before[i],
            said_before=tuple(map(float, goal.distributions[i])),
            why=why,
        )
        for i, why in enumerate(goal.why)
        if why
    }
    return [(records | skipped)[i] for i in range(len(case.ids))]


def _proved(case: Case, goal: Goal, points: PointSearch, name: str) -> dict[int, Attacked]:
    place = points.arena
    with torch.no_grad():
        logits = place.f.logits(points.best, list(range(len(place.positions))))
    rows = torch.softmax(logits.double(), -1).cpu().numpy()
    examples = None
    if place.f.user:
        examples = [renamed(place.f.back(r, points.best[r]), name) for r in range(len(rows))]
        fresh = answers_to(case.subset(place.positions), [[example] for example in examples]).distribution
        assert fresh is not None
        gap = float(np.abs(fresh - rows).max(initial=0.0))
        exact = place.f.exact and all(np.asarray(v).dtype.kind == "f" for e in examples[:1] for v in e.inputs.values())
        if exact and not gap <= SAME:
            raise CaptureError(
                phrase("errors.attacks.inputs_that_found", name=name),
                expected=phrase("errors.attacks.same_predictions_for_freshly"),
                got=phrase("errors.attacks.probabilities_that_differ_by_gap", gap=gap),
                remedy=phrase("errors.attacks.report_this_encoding_changes"),
            )
        rows = fresh
    records = {}
    change = (points.best - place.x).abs() / place.room
    for r, i in enumerate(place.positions):
        reached = bool(goal.reached(i, rows[r : r + 1])[0])
        size = (
            float(change[r].max())
            if place.norm == "linf"
            else float(
                place.size(
                    (points.best[r : r + 1] - place.x[r : r + 1]) / place.room[r : r + 1], place.f.free[r : r + 1]
                )
            )
        )
        notes = [*points.notes, *([] if examples is not None else [Message("attack.note.embeddings")])]
        if points.reached[r] and not reached:
            notes.append(Message("attack.note.rounded"))
        away = float((points.best[r] - place.x[r]).norm() / place.x[r].norm().clamp(min=1e-12))
        records[i] = Attacked(
            id=case.ids[i],
            attack=name,
            status="success" if reached else "failed",
            queries=points.queries[r],
            example=None if examples is None else examples[r],
            before=goal.before[i],
            after=goal.predicted(i, rows[r]),
            said_before=tuple(map(float, goal.distributions[i])),
            said_after=tuple(map(float, rows[r])),
            perturbed=size,
            similarity=1 - away,
            similarity_is="norm_ratio",
            curve=tuple(points.curves[r]),
            notes=tuple(notes),
        )
    return records
