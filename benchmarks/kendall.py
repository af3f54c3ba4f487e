"""Kendall's tau-b of 10,000 pairs of 20 to 200 values: all at once against a loop of `scipy.stats.kendalltau`.

Values are rounded to four places, so that there are ties, and none that only regard (which ties values closer than
1e-6) would see. Without numba the fallback is measured; it must give the same values, and its bar is lower.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import kendalltau

from benchmarks.lines import Line, peak_memory_mb, side_by_side
from regard.measures import concordance
from regard.measures.agreement import kendall, ragged

PAIRS = 10_000
BAR, FALLBACK_BAR = 20.0, 5.0


def _pairs() -> tuple[list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(0)
    xs = [rng.standard_normal(n).round(4) for n in rng.integers(20, 201, PAIRS)]
    return xs, [(x + rng.standard_normal(len(x))).round(4) for x in xs]


def run() -> list[Line]:
    xs, ys = _pairs()
    said: dict[str, np.ndarray] = {}

    def scipy_loop() -> None:
        said["scipy"] = np.array([kendalltau(x, y).statistic for x, y in zip(xs, ys, strict=True)])

    def compiled() -> None:
        said["regard"] = ragged(kendall, xs, ys)

    def by_numpy() -> None:
        worthwhile, concordance.WORTHWHILE = concordance.WORTHWHILE, 1 << 62
        try:
            said["numpy"] = ragged(kendall, xs, ys)
        finally:
            concordance.WORTHWHILE = worthwhile

    seconds = side_by_side({"scipy": scipy_loop, "regard": compiled, "numpy": by_numpy}, repeats=3)
    lines = []
    for name, bar, how in (("regard", BAR, "numba"), ("numpy", FALLBACK_BAR, "numpy fallback")):
        if name == "regard" and not concordance.compiled():
            how = "numba is missing: pip install 'regard[fast]'"
        gap = float(np.abs(said[name] - said["scipy"]).max())
        assert gap < 1e-12, f"Kendall ({how}): results differ by {gap}"
        detail: dict[str, float | str] = {
            "ours s": seconds[name], "scipy s": seconds["scipy"], "largest difference": gap,
            "peak MB": peak_memory_mb(),
        }  # fmt: skip
        what = f"Kendall tau-b of {PAIRS:,} pairs of 20-200 values against a scipy loop ({how})"
        lines.append(Line(what, seconds["scipy"] / seconds[name], bar, ">=", detail))
    return lines
