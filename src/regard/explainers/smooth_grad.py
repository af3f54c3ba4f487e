"""SmoothGrad."""

from __future__ import annotations

from typing import Literal

import numpy as np

from regard.desk.questions import slopes_at
from regard.errors import InputError, phrase
from regard.protocols import Case, Point
from regard.records import Relevance
from regard.registry import explainer


@explainer(
    needs=("gradient",),
    signed=True,
    cite="Smilkov et al. 2017",
    formula="r_j = x_j . mean over draws of df/dx_j at x + noise",
    cost="`samples` forwards and backwards",
    passes_per="setting",
    misleads="if the noise leaves the training distribution: it then explains other inputs",
    differs="noise is a share of the range, as in the authors' code, which takes 0.15 and averages squared gradients; "
    "here it is 0.05, of signed gradients. In Captum's NoiseTunnel, `stdevs` is absolute (1.0 by default)",
)
def smooth_grad(
    case: Case,
    *,
    samples: int = 20,
    noise: float = 0.05,
    of: Literal["input_x_gradient", "saliency"] = "input_x_gradient",
) -> Relevance:
    """Input x gradient (or gradient norm) averaged over noisy copies of the input.

    Returns one signed value per unit (of="saliency": the mean norm of the gradient, never negative). Special units
    are 0 and stay without noise. noise: standard deviation as a share of the range (max - min) of the input's
    continuous values. The draws belong to (seed, example), not to the batch.
    Conservation: as `input_x_gradient`, on a linear objective only. Extras, one value per example: `spread`, the mean
    over units of the standard error that the draws leave.

    >>> from regard.testing.toy import ToyCase
    >>> smooth_grad(ToyCase(("wonderful film",)))[0].round(2).tolist()
    [0.0, 2.0, 0.11]
    """
    if samples < 1 or noise < 0:
        raise InputError(
            "smooth_grad", expected=phrase("errors.explainers.samples_and_noise"), got=f"{samples}, {noise}"
        )
    draws = case.rng(None, "smooth_grad").integers(2**62, size=samples)
    points = [Point(noise=noise, draw=int(draw)) for draw in draws]
    rows, spreads = [], []
    for units, slopes in zip(case.units, slopes_at(case, points), strict=True):
        samples_of = slopes.dot if of == "input_x_gradient" else slopes.norm
        rows.append(np.where(units.free, samples_of.mean(0), 0.0))
        error = samples_of[:, units.free].std(0, ddof=1) / samples**0.5 if samples > 1 else np.zeros(1)
        spreads.append(float(error.mean()) if error.size else 0.0)
    signed = of == "input_x_gradient"
    return Relevance.of("smooth_grad", case.ids, rows, signed=signed, extras={"spread": np.array(spreads)})
