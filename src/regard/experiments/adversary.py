"""Adversarial attention for each example."""

from __future__ import annotations

import numpy as np

from regard.experiments._many import Linear, answers, decided, edits, given, linear
from regard.experiments._map import Map, maps, setting
from regard.experiments._search import Answer, Found, linear_answer, padded, search
from regard.measures.divergence import jsd, tvd
from regard.measures.exclusivity import most_distant
from regard.protocols import Case, Findings
from regard.records import Floats, Json, Score
from regard.registry import experiment

START = 3.0
SEARCHED = 100
"""Steps where every step is a pass through the model: the last of 500 add little."""


@experiment(
    question="Are there very different attentions that leave the prediction as it is?",
    needs=("attention", "gradient"),
    cite="Jain & Wallace 2019; the exact optimum for linear decoders",
    formula="max JSD(alpha', alpha) with TVD(prediction', prediction) <= cap, over K alternatives that also differ "
    "among themselves, and exactly, over all attentions on one or two units, where the answer is linear in the attention",
    cost="one gradient, and nothing more, where the answer is linear; else up to 100 gradients of each alternative and "
    "cap above the attention",
    misleads="existence is nearly guaranteed where there are many more units than classes: compare with the feasible "
    "maximum, with random attention within the cap, with what another seed does; the search is a lower bound",
)
def adversary(
    case: Case,
    *,
    alternatives: int = 5,
    steps: int = 500,
    caps: tuple[float, ...] = (0.01, 0.05, 0.1),
    layers: str | int = "last",
    heads: str | int = "mean",
) -> Findings:
    """How far can attention be from what it is while the prediction stays within a cap?

    Comes out: `adversary_jsd` at each cap (`where["cap"]`), in nats, 0..ln 2, by `search` (best of the alternatives, a
    lower bound), by `exact` (the optimum; only where the answer is linear in the attention), by `random` (the null: as
    many random attentions, those within the cap) and of `feasible` (the ceiling: attention on the least likely unit,
    without a cap); column `change`, what a pass of the model says the accepted one does to the prediction, never above
    the cap. `adversary_accepted`: share of the alternatives within the cap. `adversary_spread`: mean divergence among
    these. A candidate that the pass puts beyond the cap is dropped; 0 is alpha itself. Undefined below two units.
    Deviations: penalty and acceptance have the same cap, and each alternative keeps its best point, not its last; the
    alternatives differ by the divergence from their mean.
    """
    found = maps(case, layers, heads, "adversary")
    base, own = decided(case)
    lines = linear(case, found)
    width = max((len(m) for m in found), default=0)
    alpha = padded([m.alpha for m in found], width)
    real = padded([np.ones(len(m)) for m in found], width)
    starts = padded([_starts(case, i, len(m), alternatives) for i, m in enumerate(found)], width)
    lots = [case.rng(i, "adversary", "random").dirichlet(np.ones(len(m)), alternatives) for i, m in enumerate(found)]
    short = np.array([len(m) < 2 for m in found])
    feasible = np.array([max(float(jsd(np.eye(len(m))[t], m.alpha)) for t in range(len(m))) for m in found])
    where: dict[str, Json] = setting(layers, heads)
    scores = [_score(case, "adversary_jsd", "feasible", feasible, short, {**where, "role": "ceiling"})]
    for cap in caps:
        if lines is not None:
            single = [line.values(given(m, np.eye(len(m)))) for line, m in zip(lines, found, strict=True)]
            p = base[np.arange(len(own)), own]
            answer = linear_answer(padded(single, width), p)
            best = search(alpha, real, starts, answer, cap=cap * SAFE, steps=steps)
        else:
            best = _through_the_model(case, found, base, starts, cap=cap * SAFE, steps=min(steps, SEARCHED))
        tried = {"search": [best.best[i, :, : len(m)] for i, m in enumerate(found)], "random": lots}
        if lines is not None:
            tried["exact"] = [_exact(m, line, cap * SAFE) for m, line in zip(found, lines, strict=True)]
        for name, shares in tried.items():
            said = answers(case, found, [given(m, s) for m, s in zip(found, shares, strict=True)], None)
            rows = [
                _accepted(m, s, tvd(q, base[i][None]), cap)
                for i, (m, s, q) in enumerate(zip(found, shares, said, strict=True))
            ]
            at: dict[str, Json] = {
                **where, "cap": cap, "role": ROLES.get(name, "method"),
                "bound": "exact" if name == "exact" else "lower",
            }  # fmt: skip
            values = np.array([row[0] for row in rows])
            change = np.array([row[1] for row in rows])[:, None]
            assert (change <= cap).all(), "a candidate beyond its cap was accepted"
            scores.append(_score(case, "adversary_jsd", name, values, short, at, {"change": change}))
            if name == "search":
                scores.append(_score(case, "adversary_accepted", name, np.array([row[2] for row in rows]), short, at))
                scores.append(_score(case, "adversary_spread", name, np.array([row[3] for row in rows]), short, at))
    return scores


SAFE = 1 - 1e-3
"""The search stays this much within the cap, so that rounding in the pass that checks it does not decide."""
ROLES = {"random": "null", "exact": "ceiling"}


def _score(
    case: Case, metric: str, method: str, values: Floats, short: np.ndarray, where: dict[str, Json],
    curves: dict[str, Floats] | None = None,
) -> Score:  # fmt: skip
    return Score(metric, method, case.ids, np.where(short, np.nan, values), "none", where, curves or {})


def _starts(case: Case, i: int, n: int, alternatives: int) -> Floats:
    return START * case.rng(i, "adversary", "starts").standard_normal((alternatives, n))


def _exact(m: Map, line: Linear, cap: float) -> Floats:
    """(1, unit) the optimum."""
    single = line.values(given(m, np.eye(len(m))))
    p = 1 / (1 + np.exp(-float(m.alpha @ single)))
    low, high = (min(max(q, 1e-12), 1 - 1e-12) for q in (p - cap, p + cap))
    return most_distant(m.alpha, single, float(np.log(low / (1 - low))), float(np.log(high / (1 - high))))[1][None]


def _accepted(m: Map, shares: Floats, change: Floats, cap: float) -> tuple[float, float, float, float]:
    """(divergence, change) of the most distant one within the cap, the share that is, their mean divergence."""
    inside = np.flatnonzero(change <= cap)
    far = np.array([float(jsd(shares[k], m.alpha)) for k in inside])
    pairs = [float(jsd(shares[j], shares[k])) for j in inside for k in inside if j < k]
    spread = float(np.mean(pairs)) if pairs else float("nan")
    if not len(inside):
        return 0.0, 0.0, 0.0, spread
    best = int(far.argmax())
    return float(far[best]), float(change[inside[best]]), len(inside) / len(shares), spread


def _through_the_model(case: Case, found: list[Map], base: Floats, starts: Floats, *, cap: float, steps: int) -> Found:
    """Every step a pass above the attention, forth and back, of all alternatives of an example."""
    best, far = np.zeros_like(starts), np.zeros(starts.shape[:2])
    for i, m in enumerate(found):
        n = len(m)
        if n > 1:
            one = search(
                m.alpha[None],
                np.ones((1, n)),
                starts[i : i + 1, :, :n],
                _steered(case, i, m, base[i]),
                cap=cap,
                steps=steps,
            )
            best[i, :, :n], far[i] = one.best[0], one.far[0]
        else:
            best[i, :, :n] = m.alpha
    return Found(best, far)


def _steered(case: Case, i: int, m: Map, base: Floats) -> Answer:
    import torch

    function = case.steered(i, edits(m, given(m, m.alpha[None])))
    opened = [
        (torch.from_numpy(r.open.astype(np.float32)), torch.from_numpy(r.weights.sum(-1, keepdims=True)).float())
        for r in m.sites
    ]
    said = torch.from_numpy(np.asarray(base)).float()

    def answer(share: Floats) -> tuple[Floats, Floats]:
        with torch.inference_mode(False), torch.enable_grad():
            x = torch.from_numpy(share[0]).float().requires_grad_()
            weights = []
            for seen, mass in opened:
                part = x[:, None, None, :] * seen
                weights.append(mass * part / part.sum(-1, keepdim=True).clamp(min=1e-12))
            p = function(weights)
            change = 0.5 * (p - said.to(p.device)).abs().sum(-1)
            (slope,) = torch.autograd.grad(change.sum(), x)
        return change.detach().double().cpu().numpy()[None], slope.double().cpu().numpy()[None]

    return answer
