"""Continuous attacks on all examples of a case, and the proof of what they found.

An attack gives points in the space of the user's own numbers. Each is made an input again, read afresh, and asked
about: what counts is that answer, and if it is not the one that the attack saw, that is an error and not a success.
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
from regard.errors import CaptureError
from regard.protocols import Case
from regard.records import Attacked, Floats, Threat

TOGETHER = 64
"""Examples that go through the model at a time."""
SAME = 1e-3
"""How far probabilities of the attacked function and of the input read afresh may be apart."""


@dataclass
class Shots:
    """The best point for each row so far, and what it cost. `score` falls as the goal comes nearer."""

    arena: Arena
    best: Tensor
    score: Floats
    there: list[bool]
    queries: list[int]
    curves: list[list[tuple[int, float]]]
    notes: list[str] = field(default_factory=list)

    @property
    def open(self) -> list[int]:
        """Rows that are not there yet and have questions left."""
        return [r for r, done in enumerate(self.there) if not done and self.queries[r] < self.arena.budget]

    def saw(self, rows: Sequence[int], x: Tensor, logits: Tensor) -> None:
        """One question for each of these rows: keep the point if it is the best."""
        seen = logits.detach()
        margin = self.arena.margin(seen, rows).double().cpu().numpy()
        shown = torch.softmax(seen.double(), -1).gather(1, self.arena.y[list(rows)][:, None])[:, 0].cpu().numpy()
        for k, row in enumerate(rows):
            self.queries[row] += 1
            reached = bool(margin[k] < -TIE)
            if not self.there[row] and (reached or margin[k] < self.score[row] - TIE):
                self.best[row] = x[k].detach()
                self.score[row], self.there[row] = margin[k], reached
                self.curves[row].append((self.queries[row], float(shown[k])))

    def look(self, rows: Sequence[int], x: Tensor) -> None:
        """Ask about points without a gradient."""
        with torch.no_grad():
            self.saw(rows, x, self.arena.f.logits(x, rows))

    def slope(
        self, rows: Sequence[int], x: Tensor, loss: Callable[[Tensor, Sequence[int]], Tensor]
    ) -> tuple[Tensor, Tensor]:
        """(gradient, loss) at points; each is a question."""
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            logits = self.arena.f.logits(x, rows)
            value = loss(logits, rows)
            (found,) = torch.autograd.grad(value.sum(), x)
        self.saw(rows, x, logits)
        return found, value.detach()


Run: TypeAlias = Callable[[Shots], None]


def shoot(
    case: Case, threat: Threat, name: str, run: Run, *, eps: float, norm: Norm, bounds: Sequence[float] | None
) -> list[Attacked]:
    """The attack `run` on every example that is to be attacked; one record each, in order."""
    goal = goal_of(case, threat)
    limits = bounds_of(case, bounds)
    found: dict[int, Attacked] = {}
    for positions in alike(case, [i for i, why in enumerate(goal.why) if not why], TOGETHER):
        place = arena(case, goal, positions, eps, norm, threat.budget, limits)
        n = len(positions)
        shots = Shots(place, place.x.clone(), np.full(n, np.inf), [False] * n, [0] * n, [[] for _ in range(n)])
        run(shots)
        found.update(_proved(case, goal, shots, name))
    skipped = {
        i: Attacked(case.ids[i], name, "skipped", before=goal.before[i], said_before=tuple(map(float, goal.said[i])),
                    why=why) for i, why in enumerate(goal.why) if why
    }  # fmt: skip
    return [(found | skipped)[i] for i in range(len(case.ids))]


def _proved(case: Case, goal: Goal, shots: Shots, name: str) -> dict[int, Attacked]:
    place = shots.arena
    with torch.no_grad():
        logits = place.f.logits(shots.best, list(range(len(place.positions))))
    rows = torch.softmax(logits.double(), -1).cpu().numpy()
    made = None
    if place.f.user:
        made = [renamed(place.f.back(r, shots.best[r]), name) for r in range(len(rows))]
        fresh = answers_to(case.subset(place.positions), [[example] for example in made]).distribution
        assert fresh is not None
        gap = float(np.abs(fresh - rows).max(initial=0.0))
        exact = all(np.asarray(v).dtype.kind == "f" for e in made[:1] for v in e.inputs.values())
        if exact and not gap <= SAME:
            raise CaptureError(
                f"the inputs that {name} found", expected="the same answers when they are read afresh",
                got=f"probabilities that differ by {gap:.2g}", remedy="report this: the inputs are read otherwise",
            )  # fmt: skip
        rows = fresh
    found = {}
    change = (shots.best - place.x).abs() / place.room
    for r, i in enumerate(place.positions):
        reached = bool(goal.reached(i, rows[r : r + 1])[0])
        size = (
            float(change[r].max())
            if place.norm == "linf"
            else float(
                place.size(
                    (shots.best[r : r + 1] - place.x[r : r + 1]) / place.room[r : r + 1], place.f.free[r : r + 1]
                )
            )
        )
        notes = [*shots.notes, *([] if made is not None else ["in the space of embeddings: there is no such text"])]
        if shots.there[r] and not reached:
            notes.append("reached, but lost when the numbers were rounded to the user's whole ones")
        away = float((shots.best[r] - place.x[r]).norm() / place.x[r].norm().clamp(min=1e-12))
        found[i] = Attacked(
            case.ids[i], name, "success" if reached else "failed", shots.queries[r], None if made is None else made[r],
            goal.before[i], goal.predicted(i, rows[r]), tuple(map(float, goal.said[i])), tuple(map(float, rows[r])),
            size, 1 - away, "1 - norm of the change / norm of the input", tuple(shots.curves[r]), notes=tuple(notes),
        )  # fmt: skip
    return found
