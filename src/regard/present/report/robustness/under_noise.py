"""Predictions under noise: curves by severity, mean and worst noise, the worst case of each example, calibration."""

from __future__ import annotations

import math

import numpy as np

from regard.audits.conclusions.finding_means import Measured, NoiseLevels
from regard.audits.conclusions.noise import Calibration, UnderNoise
from regard.measures.intervals import Interval
from regard.present import counts
from regard.present.messages.messages import say
from regard.present.palette import SERIES_COLOURS
from regard.present.report.charts import Line, legend, line_chart
from regard.present.report.markup import Html, join, small, table, tag
from regard.present.report.robustness.columns import cell, in_words, largest_n, n_in_caption
from regard.present.run_reader import Material

UNMOVED = Measured(Interval(0.0, 0.0, 0.0, 0.95), 0)
"""Severity without noise: nothing has changed, so it is no measurement."""


def under_noise(material: Material) -> Html | None:
    """Sentence, chart and table of accuracy (or of unchanged answers, without labels); then calibration."""
    noisy = material.conclusions.under_noise
    if noisy is None:
        return None
    figures = [chart(noisy.levels, "accuracy", noisy.clean)] if noisy.metric == "accuracy" else []
    figures += [chart(noisy.flips, "flips")] if noisy.flips is not None else []
    return join(
        tag("p", None, _sentence(noisy)),
        tag("div", {"class": "cards"}, figures),
        _table(noisy, material),
        _calibration(noisy.calibration, material),
    )


def _worst(noisy: UnderNoise, place: int) -> int:
    """Number of the worst noise at one severity."""
    sign = 1.0 if noisy.metric == "accuracy" else -1.0
    return min(range(len(noisy.levels.cells)), key=lambda i: sign * noisy.levels.cells[i][place].estimate)


def _sentence(noisy: UnderNoise) -> str:
    levels, mean, worst = noisy.levels, noisy.levels.means[-1], _worst(noisy, -1)
    n = noisy.clean.n if noisy.metric == "accuracy" else mean.n
    return say(
        "robustness.noise_sentence" if noisy.metric == "accuracy" else "robustness.flips_sentence",
        clean=in_words(noisy.clean),
        n=n,
        noises=len(levels.noises),
        severity=levels.severities[-1],
        mean=in_words(mean, n),
        worst=levels.noises[worst],
        worst_value=in_words(levels.cells[worst][-1], n),
        every=in_words(noisy.every, n),
    )


def chart(levels: NoiseLevels, metric: str, base: Measured = UNMOVED) -> Html:
    """A line per noise, by severity."""
    lines, sizes = list[Line](), [base.n]
    for i, (noise, cells) in enumerate(zip(levels.noises[:SERIES_COLOURS], levels.cells, strict=False)):
        rows = [base, *cells]
        sizes += [row.n for row in rows]
        y, low, high = (np.array([getattr(r.interval, end) for r in rows]) for end in ("estimate", "low", "high"))
        lines.append(Line(noise, i + 1, y, low, high))
    grid = [0.0, *map(float, levels.severities)]
    figure = line_chart(grid, lines, x_name=say("robustness.severity"), y_name=say(f"robustness.{metric}"))
    more = len(levels.noises) - SERIES_COLOURS
    left = say("robustness.more_noises", n=more) if more > 0 else ""
    caption = say("robustness.curve_caption", n=counts.between(sizes), more=left)
    return tag("figure", None, figure, legend(lines), tag("figcaption", None, caption))


def _table(noisy: UnderNoise, material: Material) -> Html:
    levels = noisy.levels
    count = len(levels.noises)
    rows = dict(zip(levels.noises, levels.cells, strict=True)) | {
        say("robustness.mean_noise"): levels.means,
        say("robustness.worst_noise"): tuple(levels.cells[_worst(noisy, i)][i] for i in range(len(levels.severities))),
        say("robustness.each_worst"): noisy.each_worst,
    }
    # without labels nothing has changed before there is noise: that is no measurement
    clean = noisy.clean if noisy.metric == "accuracy" else Measured(noisy.clean.interval, 0)
    every = [clean, *(one for cells in rows.values() for one in cells)]
    usual = largest_n(every)
    body: list[list[Html | str]] = [
        [name, cell(clean, usual), *(cell(one, usual) for one in cells)] for name, cells in rows.items()
    ]
    grid = (say("robustness.at", severity=g) for g in levels.severities)
    head = [say("robustness.noise"), say("robustness.clean"), *grid]
    caption = say(f"robustness.{noisy.metric}_caption", n=n_in_caption(every), seed=material.seed)
    return table(head, body, caption=caption, numeric=True, shaded={count, count + 1, count + 2})


def _calibration(rows: tuple[Calibration, ...], material: Material) -> Html | None:
    if not rows:
        return None
    every = [one for row in rows for one in row.cells]
    usual = largest_n(every)
    names = [say("robustness.at", severity=r.severity) if r.severity else say("robustness.clean") for r in rows]
    body = [[name, *(_calibration_cell(one, usual) for one in r.cells)] for name, r in zip(names, rows, strict=True)]
    head = [
        say(f"robustness.{k}")
        for k in ("input", "ece", "ece_chance", "ece_even", "nll", "brier", "confidence", "sure_wrong")
    ]
    caption = say("robustness.calibration_caption", n=n_in_caption(every), seed=material.seed)
    return join(tag("h3", None, say("robustness.calibration")), table(head, body, caption=caption, numeric=True))


def _calibration_cell(measured: Measured, usual: int) -> Html:
    if math.isfinite(measured.interval.low) or math.isnan(measured.estimate) or measured.n < 2:
        return cell(measured, usual)
    own = counts.own((measured.n, measured.n), (usual, usual))
    return tag("td", {"class": "n"}, f"{measured.estimate:.3f}", small(own))
