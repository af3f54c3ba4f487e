"""LIME: a local linear model around the input."""

from __future__ import annotations

import numpy as np

from regard.errors import InputError, phrase
from regard.protocols import Case
from regard.records import Bools, Floats, Relevance
from regard.registry import explainer


@explainer(
    needs=("removal",),
    signed=True,
    cite="Ribeiro et al. 2016",
    formula="r = argmin over w of sum over samples s of pi(s) (f(s) - w_0 - w . s)^2 + ridge ||w||^2",
    cost="`samples` forwards",
    passes_per="setting",
    misleads="if no linear model fits (see `fit`); with more units than samples the ridge penalty decides",
)
def lime(
    case: Case, *, samples: int = 200, width: float = 0.25, ridge: float = 0.1, operator: str | None = None
) -> Relevance:
    """Weights of a local linear model of the objective, fitted to inputs with random units removed.

    Returns one signed value per unit, the effect of its presence; special units stay and get 0.
    Each sample draws the number of removed units (uniform), then the units. Its weight is sqrt(exp(-d^2 / width^2)), d
    being the cosine distance between the remainder and the input; ridge is the penalty on the squared weights.
    Conservation: none in general; on an objective that is a sum over units and with ridge=0 the values are exact and
    sum to f(x) - f(nothing). Extras, one value per example: `fit` (weighted R^2 of the linear model), `intercept`.

    >>> from regard.testing.toy import ToyCase
    >>> lime(ToyCase(("wonderful film",)), ridge=0.0)[0].round(2).tolist()
    [0.0, 2.0, 0.11]
    """
    if samples < 1 or width <= 0 or ridge < 0:
        settings = f"{samples}, {width}, {ridge}"
        raise InputError("lime", expected=phrase("errors.explainers.samples_at_least_width_above"), got=settings)
    base = case.base()
    drops = [drawn(case.rng(i, "lime"), units.free, samples) for i, units in enumerate(case.units)]
    answers = case.removed(drops, operator)
    rows, fits, starts = [], [], []
    for i, (units, drop) in enumerate(zip(case.units, drops, strict=True)):
        values = np.zeros(len(units))
        present = np.concatenate([np.ones((1, int(units.free.sum()))), ~drop[:, units.free]])
        responses = np.concatenate([base.value[i : i + 1], answers.value[answers.rows(i)]])
        weight = nearness(present, width)
        values[units.free], start, fit = fitted(present, responses, weight, ridge)
        rows.append(values)
        fits.append(fit)
        starts.append(start)
    extras = {"fit": np.array(fits), "intercept": np.array(starts)}
    return Relevance.of("lime", case.ids, rows, signed=True, extras=extras)


def drawn(rng: np.random.Generator, free: Bools, samples: int) -> Bools:
    """Sample (samples, n) units to remove: between one and all free units, each count equally likely."""
    n = int(free.sum())
    drop = np.zeros((samples if n else 0, len(free)), np.bool_)
    if n:
        sizes = rng.integers(1, n + 1, size=samples)
        drop[:, free] = rng.random((samples, n)).argsort(-1) < sizes[:, None]
    return drop


def nearness(there: Floats, width: float) -> Floats:
    """Return (samples,) kernel weights of the cosine distance between presence and the whole input."""
    distance = 1 - np.sqrt(there.mean(-1)) if there.shape[1] else np.zeros(len(there))
    return np.asarray(np.exp(-(distance**2) / width**2 / 2))


def fitted(there: Floats, said: Floats, weight: Floats, ridge: float) -> tuple[Floats, float, float]:
    """Return slopes, intercept and weighted R^2 of a ridge regression with unpenalized intercept."""
    share = weight / weight.sum()
    middle, centre = share @ there, float(share @ said)
    x, y = there - middle, said - centre
    gram = (x * weight[:, None]).T @ x + ridge * np.eye(x.shape[1])
    # lstsq, as without penalty and with few samples several models fit: the smallest of them
    slopes = np.linalg.lstsq(gram, (x * weight[:, None]).T @ y, rcond=None)[0]
    total = float(share @ y**2)
    fit = 1.0 - float(share @ (y - x @ slopes) ** 2) / total if total > 0 else 1.0
    return slopes, centre - float(middle @ slopes), fit
