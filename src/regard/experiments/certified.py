"""Certified robustness by randomized smoothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from statistics import NormalDist

import numpy as np

from regard.desk.questions import batch_function
from regard.errors import InputError, Unsupported, phrase
from regard.experiments._finding import finding
from regard.experiments._robustness import MODEL, distribution, modality, sampled, truth
from regard.measures.intervals import clopper_pearson
from regard.protocols import Case, Findings
from regard.records import Bools, Floats, Ints, Json, Score
from regard.registry import InProfile, experiment

FIRST = 20
"""Draws that choose the class; separate draws estimate its share."""
LOOKS = (0.25, 0.5, 1.0)
"""Parts of the masked copies after which an example may stop; every look spends an equal part of alpha."""
WORDS = (1, 2, 3, 4, 5)
SHARES = (0.25, 0.5, 1.0, 1.5, 2.0)
"""Radii to report: words, or multiples of the standard deviation of the noise."""


@experiment(
    question="How far can any change of the input go before the smoothed model's prediction can flip?",
    cite="Zeng et al. 2021 (RanMASK); Levine & Feizi 2020; Cohen et al. 2019",
    formula="majority over masked or noisy copies; lower Clopper-Pearson bound p of its share: words d with "
    "p - (1 - C(n-d, k) / C(n, k)) > 1/2, or radius sigma x (inverse normal of p), in deviations of the data",
    cost="`samples` + 20 forwards per example; fewer where no further masked copy can change the radius",
    misleads="it certifies the smoothed model (a vote over many copies), which differs from yours and is often "
    "less accurate; words may be replaced, not inserted or deleted",
    profile=(
        InProfile(("standard",), 23, "samples=200,share=0.15"),
        InProfile(("full",), 25, "samples=1000"),
    ),
)
def certified(
    case: Case, *, samples: int = 100, keep: float = 0.3, sigma: float = 0.25, alpha: float = 0.001, share: float = 0.25
) -> Findings:
    """Certified accuracy of a vote over masked (text) or noisy (image, series, row) copies.

    Returns, per example: `smoothed_accuracy` (right and not abstained), `abstained` (no class is certainly in the
    majority), `certified_radius` (words that may be replaced by any others; else an L2 distance, each column or channel
    measured by its deviation in the data; 0 where it abstains), and `certified_accuracy` by radius: right, whatever is
    done within it. keep: share of the words that a copy keeps. sigma: deviation of the noise as a share of that of the
    data (16 companions), the same for every example. alpha: the chance that one example's certificate is wrong. Masked
    copies are drawn in three parts: an example stops when no vote that is left can change its radius, and each look has
    a third of alpha (a union bound, so the certificate holds as stated).
    """
    name = "certified"
    if samples < 10 or not 0 < keep < 1 or sigma <= 0 or not 0 < alpha < 1:
        raise InputError(
            phrase("errors.experiments.experiment_name", name=name),
            expected=phrase("errors.experiments.samples_at_least_keep_and_alpha"),
            got=f"{samples}, {keep}, {alpha}, {sigma}",
        )
    kind = modality(case, name)
    positions = sampled(case, share)
    if not positions:
        return []
    part = case.subset(positions)
    distribution(part.base(), name)
    masked = kind == "text"
    top_classes, radius = np.full(len(part.ids), -1), np.zeros(len(part.ids))
    if masked:
        bounds = _masked_bounds(part, samples, keep, alpha)
    else:
        bounds = [_bound(votes, alpha) for votes in _noisy_votes(part, samples + FIRST, sigma, kind)]
    for i, (top, low) in enumerate(bounds):
        if low > 0.5:
            top_classes[i] = top
            radius[i] = _words(low, *_sizes(part, i, keep)) if masked else sigma * NormalDist().inv_cdf(low)
    radii = WORDS if masked else tuple(round(s * sigma, 6) for s in SHARES)
    smoothing: dict[str, Json] = {"smoothing": f"masks, {keep:g} kept"} if masked else {"smoothing": "Gaussian"}
    where: dict[str, Json] = {**smoothing, "sigma": None if masked else sigma, "samples": samples, "alpha": alpha}
    return _scores(part, truth(part), chosen=top_classes, radius=radius, radii=radii, where=where)


def _scores(
    case: Case, classes: Ints, chosen: Ints, radius: Floats, radii: tuple[float, ...], where: dict[str, Json]
) -> list[Score]:
    scores = [
        finding("abstained", case.ids, (chosen < 0).astype(np.float64), where, method=MODEL, better="lower"),
        finding("certified_radius", case.ids, radius, where, method=MODEL, better="higher"),
    ]
    if (classes < 0).all():
        return scores
    right = np.where(classes >= 0, chosen == classes, np.nan)
    scores.append(finding("smoothed_accuracy", case.ids, right, where, method=MODEL, better="higher"))
    for r in radii:
        certified_right = np.where(np.isnan(right), np.nan, (right > 0) & (radius >= r - 1e-12))
        scores.append(
            finding(
                "certified_accuracy", case.ids, certified_right, {**where, "radius": r}, method=MODEL, better="higher"
            )
        )
    return scores


def _sizes(case: Case, i: int, keep: float) -> tuple[int, int]:
    """Return the number of words of an example, and how many of them a copy keeps."""
    n = int(case.units[i].groups.max(initial=-1)) + 1
    return n, max(1, min(n - 1, round(keep * n))) if n > 1 else 1


def _words(low: float, n: int, kept: int) -> float:
    """Return the certified number of replaced words: a copy avoids d changed ones with probability C(n-d, k) / C(n, k).

    >>> _words(0.95, 20, 2), _words(0.95, 20, 10), _words(0.51, 20, 2)
    (5.0, 0.0, 0.0)
    """
    radius = 0
    while radius < n - kept:
        unseen = math.comb(n - radius - 1, kept) / math.comb(n, kept)
        if low - (1 - unseen) <= 0.5:
            break
        radius += 1
    return float(radius)


def _bound(votes: Ints, alpha: float) -> tuple[int, float]:
    """Return the class that the first draws choose, and the lower bound of its share among the others."""
    top = int(np.bincount(votes[:FIRST]).argmax())
    rest = votes[FIRST:]
    return top, clopper_pearson(int((rest == top).sum()), len(rest), level=1 - 2 * alpha)[0]


def _masked_bounds(case: Case, samples: int, keep: float, alpha: float) -> list[tuple[int, float]]:
    """Return per example the chosen class and the best lower bound of its share, over all looks that it needed."""
    looks = sorted({max(1, math.ceil(part * samples)) for part in LOOKS})
    level = alpha / len(looks)
    masks = _masks(case, samples + FIRST, keep)
    votes = [np.zeros(0, np.int64) for _ in case.ids]
    bounds = [(-1, 0.0) for _ in case.ids]
    drawing = set(range(len(case.ids)))
    for look in looks:
        ends = [FIRST + look if i in drawing else len(votes[i]) for i in range(len(votes))]
        further = [rows[len(seen) : end] for rows, seen, end in zip(masks, votes, ends, strict=True)]
        votes = [np.append(seen, new) for seen, new in zip(votes, _classes_without(case, further), strict=True)]
        for i in sorted(drawing):
            top, low = _bound(votes[i], level)
            bounds[i] = top, max(low, bounds[i][1])
            agreeing = int((votes[i][FIRST:] == top).sum())
            later = [clopper_pearson(agreeing + n - look, n, level=1 - 2 * level)[0] for n in looks if n > look]
            words = partial(_certain_words, n_and_kept=_sizes(case, i, keep))
            if words(max(later, default=0.0)) <= words(bounds[i][1]):
                drawing.remove(i)
    return bounds


def _certain_words(low: float, n_and_kept: tuple[int, int]) -> float:
    """Return the certified number of words, -1 if the vote abstains."""
    return _words(low, *n_and_kept) if low > 0.5 else -1.0


def _masks(case: Case, draws: int, keep: float) -> list[Bools]:
    """Return per example (draws, units): all but k random words are removed."""
    masks = []
    for i, units in enumerate(case.units):
        n, kept_count = _sizes(case, i, keep)
        rng = case.rng(i, "certified", draws, kept_count)
        away = np.ones((draws, n + 1), np.bool_)
        away[:, n] = False  # where special units (group -1) look
        for row in away if n else ():
            row[rng.choice(n, kept_count, replace=False)] = False
        masks.append(away[:, units.groups])
    return masks


def _classes_without(case: Case, drops: Sequence[Bools]) -> list[Ints]:
    """Return per example the class of every copy without these units."""
    if not any(len(rows) for rows in drops):
        return [np.zeros(0, np.int64) for _ in drops]
    operator = "mask" if "mask" in case.operators else case.operators[0]
    answers = case.removed(drops, operator)
    rows = distribution(answers, "certified")
    return [rows[answers.rows(i)].argmax(-1) for i in range(len(case.ids))]


def _scale(case: Case, kind: str) -> Floats:
    """Return the standard deviation of the companions' inputs, per column or channel, or over all pixels.

    A constant column or channel has scale 1.
    """
    each = [_array(e.inputs) for e in (case.companions.examples or case.examples)]
    if kind == "audio":  # sounds of any length
        return np.array([float(np.concatenate(each).std()) or 1.0])
    arrays = np.stack(each)
    own = arrays.reshape(-1, arrays.shape[-1]) if kind in ("table", "series") else arrays.reshape(-1, 1)
    spread = own.std(0)
    return np.where(spread > 0, spread, 1.0)


def _array(inputs: object) -> Floats:
    values = [v for v in dict(inputs).values() if not isinstance(v, str)]  # type: ignore[call-overload]
    if not values:
        raise Unsupported(
            phrase("errors.experiments.experiment_certified"),
            expected=phrase("errors.experiments.numbers_add_noise"),
            got=phrase("errors.common.none"),
        )
    return np.asarray(values[0], np.float64)


def _noisy_votes(case: Case, draws: int, sigma: float, kind: str) -> list[Ints]:
    """Return per example the class of every copy with Gaussian noise in the user's own units."""
    import torch

    spread, votes = sigma * _scale(case, kind), []
    for i in range(len(case.ids)):
        together = batch_function(case, [i])
        if not together.user:
            raise Unsupported(
                phrase("errors.experiments.experiment_certified"),
                expected=phrase("errors.experiments.inputs_in_user_own_units"),
                got=phrase("errors.experiments.embeddings"),
            )
        normals = case.rng(i, "certified", draws).standard_normal((draws, *together.x.shape[1:]))
        noise = (
            torch.from_numpy(normals).to(together.x)
            * torch.from_numpy(spread).to(together.x)
            * together.free.to(together.x)
        )
        votes.append(_classes(together.logits, together.x + noise))
    return votes


def _classes(logits: Callable[..., object], x: object, batch: int = 64) -> Ints:
    import torch

    with torch.no_grad():
        rows = [logits(part, [0] * len(part)) for part in torch.split(x, batch)]  # type: ignore[arg-type]
    return np.asarray(torch.cat(rows).argmax(-1).cpu().numpy(), np.int64)  # type: ignore[arg-type]
