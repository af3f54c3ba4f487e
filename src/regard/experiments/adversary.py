"""Adversarial attention for each example."""

from __future__ import annotations

import numpy as np

from regard.desk.questions import weight_function
from regard.experiments._finding import finding
from regard.experiments._map import Map, setting
from regard.experiments._search import Answer, linear_answer, linear_answer_of_many, padded, search
from regard.experiments._weight_batches import Linear, answers, changes, decided, edits, given, logits, read
from regard.measures.divergence import jsd
from regard.measures.exclusivity import log_odds_within, most_distant
from regard.measures.exclusivity_of_many import most_distant_of_many
from regard.protocols import Case, Findings
from regard.records import Floats, Json, Score
from regard.registry import InProfile, experiment

START = 3.0
STEPS, SEARCHED = 500, 30
"""Steps for each cap; fewer if every step is a pass through the model."""


@experiment(
    question="Are there very different attention maps with the same prediction?",
    needs=("attention", "gradient"),
    cite="Jain & Wallace 2019; the exact optimum for linear decoders",
    formula="max JSD(alpha', alpha) with TVD(prediction', prediction) <= cap, over K alternatives that also differ "
    "among themselves, and, where the logits are linear in alpha, over all attentions on one or two units: exactly for "
    "two classes, between two bounds for more",
    cost="one gradient, or with more classes a forward per unit, and a forward of each candidate, where the answer is "
    "linear; else 30 gradients of each alternative and cap, above the attention",
    misleads="with many more units than classes such maps nearly always exist: compare with the feasible maximum, "
    "with random attention within the cap, and with another seed; the search gives a lower bound",
    profile=(
        InProfile(("standard",), 13, "share=0.1"),
        InProfile(("full",), 13, "share=0.25"),
    ),
)
def adversary(
    case: Case,
    *,
    alternatives: int = 5,
    caps: tuple[float, ...] = (0.01, 0.05, 0.1),
    share: float = 1.0,
    layers: str | int = "last",
    heads: str | int = "mean",
) -> Findings:
    """Maximum divergence of attention while the prediction stays within a cap.

    Returns `adversary_jsd` at each cap (`where["cap"]`), in nats, 0..ln 2, by `search` (best of the alternatives, a
    lower bound), by `exact` (the optimum; only for two classes where the answer is linear in the attention), by
    `enumerated` (more classes and linear logits: the best of all attentions on one or two units and of the search, with
    the column `upper`, beyond which there is provably none; bound "exact" where the two meet in all examples), by
    `random` (the null: as many random attentions, those within the cap) and of `feasible` (the ceiling: attention on
    the least likely unit, without a cap); column `change`, what a pass of the model says the accepted one does to the
    prediction, never above the cap. `adversary_accepted`: share of the alternatives within the cap. `adversary_spread`:
    mean divergence among these. A candidate that the pass puts beyond the cap is dropped; 0 is alpha itself. Undefined
    below two units.
    share: the part of the examples, drawn by lot, that is searched where every step is a pass through the model.
    Deviations: penalty and acceptance have the same cap, each alternative keeps its best point, not its last, and the
    alternatives differ by the divergence from their mean.
    """
    map_list, lines = read(case, layers, heads, "adversary")
    singles = logits(case, map_list) if lines is None else None
    if lines is None and singles is None and share < 1:
        sample = [i for i in range(len(map_list)) if case.rng(i, "adversary", "share").random() < share]
        case, map_list = case.subset(sample), [map_list[i] for i in sample]
        if not map_list:
            return []
    base, own = decided(case)
    starts = [starting(case, i, len(m), alternatives) for i, m in enumerate(map_list)]
    safe = [cap * SAFE for cap in caps]
    if lines is not None:
        single = [line.values(given(m, np.eye(len(m)))) for line, m in zip(lines, map_list, strict=True)]
        sought = through_lines([m.alpha for m in map_list], single, base[np.arange(len(own)), own], starts, safe)
    elif singles is not None:
        sought = _through_logits([m.alpha for m in map_list], singles, base, starts, safe)
    else:
        sought = [
            _through_the_model(case, i, m=m, base=base[i], starts=starts[i], caps=safe) for i, m in enumerate(map_list)
        ]
    lots = [case.rng(i, "adversary", "random").dirichlet(np.ones(len(m)), alternatives) for i, m in enumerate(map_list)]
    short = np.array([len(m) < 2 for m in map_list])
    feasible = np.array([max(float(jsd(np.eye(len(m))[t], m.alpha)) for t in range(len(m))) for m in map_list])
    where: dict[str, Json] = setting(layers, heads)
    scores = [
        _score(
            case, "adversary_jsd", method="feasible", values=feasible, short=short, where={**where, "role": "ceiling"}
        )
    ]
    for k, cap in enumerate(caps):
        share_lists = {"search": [some[k] for some in sought], "random": lots}
        if lines is not None:
            share_lists["exact"] = [_exact(m, line, safe[k]) for m, line in zip(map_list, lines, strict=True)]
        brackets = []
        if singles is not None:
            brackets = [
                most_distant_of_many(m.alpha, z, base[i], safe[k], sought[i][k])
                for i, (m, z) in enumerate(zip(map_list, singles, strict=True))
            ]
            share_lists["enumerated"] = [bracket.other[None] for bracket in brackets]
        for name, shares in share_lists.items():
            # whatever found them, the model itself is asked about every candidate
            outputs = answers(case, map_list, [given(m, s) for m, s in zip(map_list, shares, strict=True)], None)
            far = changes(outputs, base)
            rows = np.array([_accepted(m, s, f, cap) for m, s, f in zip(map_list, shares, far, strict=True)])
            assert (rows[:, 1] <= cap).all(), "a candidate beyond its cap was accepted"
            closed = name == "enumerated" and all(b.proved for b, few in zip(brackets, short, strict=True) if not few)
            bound = "exact" if name == "exact" or closed else "lower"
            at: dict[str, Json] = {**where, "cap": cap, "role": ROLES.get(name, "method"), "bound": bound}
            columns = {"change": rows[:, 1:2]}
            if name == "enumerated":
                columns["upper"] = np.array([[b.upper] for b in brackets])
            scores.append(
                _score(case, "adversary_jsd", method=name, values=rows[:, 0], short=short, where=at, curves=columns)
            )
            if name == "search":
                scores.append(_score(case, "adversary_accepted", method=name, values=rows[:, 2], short=short, where=at))
                scores.append(_score(case, "adversary_spread", method=name, values=rows[:, 3], short=short, where=at))
    return scores


SAFE = 1 - 1e-3
"""Safety margin of the search within the cap, so that rounding in the verifying pass does not decide."""
ROLES = {"random": "null", "exact": "ceiling", "enumerated": "ceiling"}


def _score(
    case: Case,
    metric: str,
    method: str,
    values: Floats,
    short: np.ndarray,
    where: dict[str, Json],
    curves: dict[str, Floats] | None = None,
) -> Score:
    return finding(metric, case.ids, np.where(short, np.nan, values), where, method=method, curves=curves or {})


def starting(case: Case, i: int, n: int, alternatives: int) -> Floats:
    return START * case.rng(i, "adversary", "starts").standard_normal((alternatives, n))


def _exact(m: Map, line: Linear, cap: float) -> Floats:
    """Return (1, unit) the optimum."""
    single = line.values(given(m, np.eye(len(m))))
    p = 1 / (1 + np.exp(-float(m.alpha @ single)))
    return most_distant(m.alpha, single, *log_odds_within(p, cap))[1][None]


def _accepted(m: Map, shares: Floats, change: Floats, cap: float) -> tuple[float, float, float, float]:
    """Return (divergence, change) of the most distant map within the cap, the accepted share, the mean divergence."""
    inside = np.flatnonzero(change <= cap)
    far = np.array([float(jsd(shares[k], m.alpha)) for k in inside])
    pairs = [float(jsd(shares[j], shares[k])) for j in inside for k in inside if j < k]
    spread = float(np.mean(pairs)) if pairs else float("nan")
    if not len(inside):
        return 0.0, 0.0, 0.0, spread
    best = int(far.argmax())
    other = float((far > 1e-6).sum())  # alpha itself is no alternative
    return float(far[best]), float(change[inside[best]]), other / len(shares), spread


def through_lines(
    alphas: list[Floats], singles: list[Floats], p: Floats, starts: list[Floats], caps: list[float], steps: int = STEPS
) -> list[Floats]:
    """Return per example (caps, alternatives, unit), for all examples at once and without a model pass.

    alphas, singles: (unit,) attention, and the log-odds under attention on one unit. p: of the predicted class.
    """
    width = max((len(a) for a in alphas), default=0)
    return _searched(alphas, starts, linear_answer(padded(singles, width), p), caps, steps)


def _through_logits(
    alphas: list[Floats], singles: list[Floats], base: Floats, starts: list[Floats], caps: list[float]
) -> list[Floats]:
    """Search with several classes; singles: (unit, class) logits, base: (examples, classes)."""
    width = max((len(a) for a in alphas), default=0)
    rows = np.stack([np.pad(z, ((0, width - len(z)), (0, 0))) for z in singles])
    return _searched(alphas, starts, linear_answer_of_many(rows, base), caps, STEPS)


def _searched(
    alphas: list[Floats], starts: list[Floats], answer: Answer, caps: list[float], steps: int
) -> list[Floats]:
    width = max((len(a) for a in alphas), default=0)
    real = padded([np.ones(len(a)) for a in alphas], width)
    best = search(padded(alphas, width), real, padded(starts, width), answer, caps=caps, steps=steps).best
    return [best[:, i, :, : len(a)] for i, a in enumerate(alphas)]


def _through_the_model(case: Case, i: int, m: Map, base: Floats, starts: Floats, caps: list[float]) -> Floats:
    """Search with passes above the attention: (caps, alternatives, unit); one forward and backward per step."""
    if len(m) < 2:
        return np.ones((len(caps), len(starts), len(m)))
    answer = _steered(case, i, m, base)
    return search(m.alpha[None], np.ones((1, len(m))), starts[None], answer, caps=caps, steps=SEARCHED).best[:, 0]


def _steered(case: Case, i: int, m: Map, base: Floats) -> Answer:
    import torch

    function = weight_function(case, i, edits(m, given(m, m.alpha[None])))
    masks = [
        (
            torch.from_numpy(r.open.astype(np.float32)),
            torch.from_numpy(r.weights.sum(-1, keepdims=True)).float(),
            None if r.within is None else (torch.from_numpy(r.owner), torch.from_numpy(r.within).float()),
        )
        for r in m.sites
    ]
    base_distribution = torch.from_numpy(np.asarray(base)).float()

    def answer(share: Floats) -> tuple[Floats, Floats]:
        with torch.inference_mode(False), torch.enable_grad():
            x = torch.from_numpy(share[0]).float().requires_grad_()
            weights = []
            for visible, mass, positions in masks:
                part = x[:, None, None, :] * visible
                shared = mass * part / part.sum(-1, keepdim=True).clamp(min=1e-12)
                weights.append(shared if positions is None else shared[..., positions[0]] * positions[1])
            p = function(weights)
            change = 0.5 * (p - base_distribution.to(p.device)).abs().sum(-1)
            (slope,) = torch.autograd.grad(change.sum(), x)
        return change.detach().double().cpu().numpy()[None], slope.double().cpu().numpy()[None]

    return answer
