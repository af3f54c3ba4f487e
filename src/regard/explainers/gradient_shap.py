"""GradientSHAP: expected gradients."""

from __future__ import annotations

import numpy as np

from regard.desk.questions import slopes_at
from regard.errors import InputError, phrase
from regard.protocols import Case, Point
from regard.records import Relevance
from regard.registry import explainer


@explainer(
    needs=("gradient",),
    signed=True,
    cite="Lundberg & Lee 2017; Erion et al. 2021",
    formula="r_j = mean over draws of (x_j - b_j) . df/dx_j at b + u (x + noise - b), u uniform in 0..1",
    cost="`samples` forwards and backwards, up to `samples` + 1 forwards",
    passes_per="setting",
    misleads="with few samples it is noisy (see `spread`); sampled baselines may mean nothing to the user",
)
def gradient_shap(case: Case, *, samples: int = 20, baseline: str | None = None, noise: float = 0.0) -> Relevance:
    """Expected gradients: (input - baseline) x gradient, averaged over random baselines and interpolation points.

    Returns one signed value per unit in the units of the objective. Special units are 0.
    baseline: "resample" (default where the model has it) draws another input for every sample, from the vocabulary or
    the background; any other name is one fixed baseline. noise: as in `smooth_grad`, added to the input.
    Conservation: in expectation the values sum to f(x) - mean f(baseline); extras, one value per example: `difference`
    (that), `completeness_error` (how far the sum is off), `spread` (mean standard error of a unit).

    >>> from regard.testing.toy import ToyCase
    >>> gradient_shap(ToyCase(("wonderful film",)))[0].round(2).tolist()
    [0.0, 2.0, 0.11]
    """
    if samples < 1 or noise < 0:
        raise InputError(
            "gradient_shap", expected=phrase("errors.explainers.samples_and_noise"), got=f"{samples}, {noise}"
        )
    start = baseline or ("resample" if "resample" in case.baselines else case.baselines[0])
    rng = case.rng(None, "gradient_shap")
    places, draws = rng.random(samples), rng.integers(2**62, size=samples)
    points = [
        Point(alpha=float(place), baseline=start, noise=noise, draw=int(draw))
        for place, draw in zip(places, draws, strict=True)
    ]
    rows, differences, errors, spreads = [], [], [], []
    for units, slopes in zip(case.units, slopes_at(case, points), strict=True):
        whole = slopes.dot.mean(0)
        differences.append(slopes.end_values[0] - slopes.end_values[1])
        errors.append(abs(float(whole.sum()) - differences[-1]))
        rows.append(np.where(units.free, whole, 0.0))
        error = slopes.dot[:, units.free].std(0, ddof=1) / samples**0.5 if samples > 1 else np.zeros(1)
        spreads.append(float(error.mean()) if error.size else 0.0)
    extras = {
        "difference": np.array(differences),
        "completeness_error": np.array(errors),
        "spread": np.array(spreads),
    }
    return Relevance.of("gradient_shap", case.ids, rows, signed=True, extras=extras)
