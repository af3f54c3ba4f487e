"""PGD on the explanation of an image, series or row with a fixed prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard.attacks._drift import drift, shares
from regard.attacks._epsilon_ball import Arena, alike, arena, bounds_of, renamed
from regard.attacks._goal import Goal, goal_of
from regard.desk.questions import answers_to
from regard.errors import Unsupported, phrase
from regard.protocols import Case
from regard.records import Attacked, Floats, Message, Threat
from regard.registry import attack

STRIDE = 2.5
LARGEST_OVERLAP = 0.5
"""Success threshold: at most this share of the k most relevant units remains among them."""
TOGETHER = 16
Aim = Literal["top_k", "centre"]


@attack(
    access="white box",
    modality=("image", "audio", "series", "tabular", "embeddings"),
    goal="explanation",
    cite="Ghorbani et al. 2019",
    formula="ascent on -(mass of input x gradient on its first k units), or on the way of its centre, in the linf ball",
    cost="steps double backwards",
    misleads="it attacks input x gradient; other explanations may be stable",
)
def explanation_pgd(
    case: Case,
    threat: Threat,
    *,
    eps: float = 0.03,
    steps: int = 20,
    k: int = 5,
    aim: Aim = "top_k",
    bounds: tuple[float, ...] | None = None,
) -> Sequence[Attacked]:
    """Move input x gradient within the ball while the prediction stays: one record per example.

    aim: away from the first k units, or the centre of relevance away from where it was. extras: overlap of the k most
    relevant units, mass left on them, Spearman and Jensen-Shannon; a success if at most half of them remain among the
    first k. eps and bounds: as for fgsm.
    """
    goal = goal_of(case, Threat(budget=threat.budget))
    limits = bounds_of(case, bounds)
    records: dict[int, Attacked] = {}
    for positions in alike(case, [i for i, why in enumerate(goal.why) if not why], TOGETHER):
        place = arena(case, goal, positions=positions, eps=eps, norm="linf", budget=threat.budget, bounds=limits)
        records.update(_moved(case, goal, place=place, steps=min(steps, threat.budget - 1), k=k, aim=aim))
    for i, why in enumerate(goal.why):
        if why:
            records[i] = Attacked(case.ids[i], "explanation_pgd", "skipped", before=goal.before[i], why=why)
    return [records[i] for i in range(len(case.ids))]


def relevance(place: Arena, x: Tensor, *, graph: bool) -> tuple[Tensor, Tensor]:
    """Return ((rows, units) |sum per unit of input x gradient of the log-odds|, logits), with a graph on request."""
    rows = range(len(x))
    with sdpa_kernel(SDPBackend.MATH), torch.enable_grad():  # fused attention has no second derivative
        logits = place.f.logits(x, rows)
        (slope,) = torch.autograd.grad(place.log_odds(logits, rows).sum(), x, create_graph=graph)
        owner = place.f.owner.flatten(1)
        product = (x * slope).flatten(1) * (owner >= 0)
        units = int(owner.max()) + 1
        total = torch.zeros(len(x), units, dtype=x.dtype, device=x.device)
        return total.scatter_add(1, owner.clamp(min=0), product).abs(), logits.detach()


def _moved(case: Case, goal: Goal, place: Arena, steps: int, k: int, aim: Aim) -> dict[int, Attacked]:
    rows = list(range(len(place.positions)))
    start, _ = relevance(place, place.x.clone().requires_grad_(), graph=False)
    before = start.detach() / start.detach().sum(1, keepdim=True).clamp(min=1e-12)
    top = torch.zeros_like(before).scatter(1, before.topk(min(k, before.shape[1]), 1).indices, 1.0)
    best, least = place.x.clone(), torch.full((len(rows),), torch.inf)
    curves: list[list[tuple[int, float]]] = [[] for _ in rows]
    # at x itself the objective may be flat: the first step is a small random one
    x = place.x + 0.1 * (place.started(rows, case, "explanation_pgd") - place.x)
    for step in range(steps + 1):
        x = x.detach().requires_grad_()
        relevances, logits = relevance(place, x, graph=step < steps)
        now = relevances / relevances.sum(1, keepdim=True).clamp(min=1e-12)
        mass = (now * top).sum(1) if aim == "top_k" else -_way(now - before, _centres(case, place, x))
        unflipped = logits.argmax(1) == place.y
        for r in rows:
            if bool(unflipped[r]) and float(mass.detach()[r]) < float(least[r]):
                least[r], best[r] = float(mass.detach()[r]), x[r].detach()
                curves[r].append((step + 1, float((now * top).sum(1).detach()[r])))
        if step == steps:
            break
        if not mass.requires_grad:
            raise Unsupported(
                "explanation_pgd",
                expected=phrase("errors.attacks.model_with_second_derivatives"),
                got=phrase("errors.common.none"),
            )
        (slope,) = torch.autograd.grad(mass.sum(), x)
        x = place.inside(x.detach() - place.step(slope, rows, STRIDE * place.eps / steps), rows)
    return _records(case, goal, place=place, best=best, curves=curves, queries=steps + 1, k=k)


def _centres(case: Case, place: Arena, like: Tensor) -> Tensor:
    """Return (rows, units, axes) centres: (row, column) of a patch, time of a step, number of a column."""
    arrays = []
    for i in place.positions:
        places = case.units[i].places
        half = places.shape[1] // 2
        arrays.append((places[:, :half] + places[:, half:]) / 2 if half else places)
    return torch.from_numpy(np.stack(arrays)).to(like)


def _way(moved: Tensor, centres: Tensor) -> Tensor:
    """Return (rows,) the distance that the centre of relevance moved."""
    return (torch.einsum("ru,rua->ra", moved, centres).square().sum(1) + 1e-12).sqrt()


def _records(
    case: Case, goal: Goal, place: Arena, best: Tensor, curves: list[list[tuple[int, float]]], queries: int, k: int
) -> dict[int, Attacked]:
    """Build the records from freshly encoded inputs: class and explanation."""
    first = _shares(case, place, place.x)
    last = _shares(case, place, best)
    examples = None
    with torch.no_grad():
        rows: Floats = torch.softmax(place.f.logits(best, range(len(best))).double(), -1).cpu().numpy()
    if place.f.user:
        examples = [renamed(place.f.back(r, best[r]), "explanation_pgd") for r in range(len(best))]
        fresh = answers_to(case.subset(place.positions), [[e] for e in examples]).distribution
        assert fresh is not None
        rows = fresh
    out = {}
    for r, i in enumerate(place.positions):
        distances = drift(first[r], last[r], k)
        same = goal.predicted(i, rows[r]) == goal.before[i]
        away = float((best[r] - place.x[r]).norm() / place.x[r].norm().clamp(min=1e-12))
        out[i] = Attacked(
            id=case.ids[i],
            attack="explanation_pgd",
            status="success" if same and distances["top_k_overlap"] <= LARGEST_OVERLAP else "failed",
            queries=queries,
            example=None if examples is None else examples[r],
            before=goal.before[i],
            after=goal.predicted(i, rows[r]),
            said_before=tuple(map(float, goal.distributions[i])),
            said_after=tuple(map(float, rows[r])),
            perturbed=float(((best[r] - place.x[r]).abs() / place.room[r]).max()),
            similarity=1 - away,
            similarity_is="norm_ratio",
            curve=tuple(curves[r]),
            extras=distances,
            notes=() if examples is not None else (Message("attack.note.embeddings"),),
        )
    return out


def _shares(case: Case, place: Arena, x: Tensor) -> list[Floats]:
    relevances, _ = relevance(place, x.detach().clone().requires_grad_(), graph=False)
    every = relevances.detach().double().cpu().numpy()
    return [shares(every[r][np.flatnonzero(case.units[i].free)]) for r, i in enumerate(place.positions)]
