"""Predictions under noise: curves by severity, mean and worst noise, the worst case of each example, calibration."""

from __future__ import annotations

import numpy as np

from regard.measures.calibration import ece_by_chance, ece_interval
from regard.measures.intervals import Interval
from regard.present.charts import Line, legend, line_chart
from regard.present.markup import Html, join, table, tag
from regard.present.palette import SERIES_COLOURS
from regard.present.robustness_parts.columns import (
    cell,
    in_words,
    mean_of,
    noises,
    of_mean,
    picked,
    seed,
    severities,
)
from regard.present.run_reader import Material
from regard.present.saying import say
from regard.records import Floats, Score


def clean_accuracy(material: Material) -> Score | None:
    """Right or wrong for every labelled example, as it is."""
    classes = {str(name) for name in material.manifest["model"].get("labels") or []}
    told = [e for e in material.examples if e.get("label") is not None and material.label(e["label"]) in classes]
    if not told:
        return None
    right = [float(material.label(e["label"]) == material.label(e.get("predicted"))) for e in told]
    return Score("accuracy", "model", tuple(e["id"] for e in told), np.array(right), "higher")


def under_noise(material: Material) -> Html | None:
    """Sentence, chart and table of accuracy (or of unchanged answers, where there are no labels); then calibration."""
    clean = clean_accuracy(material)
    metric = "accuracy" if clean is not None else "flips"
    scores = [s for s in picked(material, metric, attack=None, answer=None) if "noise" in s.where]
    if not scores:
        return None
    start = clean or Score("flips", "model", scores[0].ids, np.zeros(len(scores[0].ids)), "lower")
    grid, names = severities(scores), noises(scores)
    return join(
        tag("p", None, _sentence(material, start, scores, metric)),
        tag("div", {"class": "cards"}, _charts(material, start, scores, clean is not None)),
        _table(material, start, scores, grid, names, metric),
        _calibration(material, clean, grid, names),
    )


def level(scores: list[Score], noise: str, severity: int) -> list[Score]:
    return [s for s in scores if s.where["noise"] == noise and s.where["severity"] == severity]


def _sentence(material: Material, start: Score, scores: list[Score], metric: str) -> str:
    names, hardest = noises(scores), max(severities(scores))
    levels = {n: of_mean(material, level(scores, n, hardest))[0] for n in names}
    sign = 1.0 if metric == "accuracy" else -1.0
    worst = min(levels, key=lambda n: sign * levels[n].estimate)
    every = _worst(material, metric, "all")
    mean = mean_of(material, [s for s in scores if s.where["severity"] == hardest])
    base, n = of_mean(material, [start])
    key = "robustness.noise_sentence" if metric == "accuracy" else "robustness.flips_sentence"
    return say(
        key, clean=in_words(base), n=n, noises=len(names), severity=hardest, mean=in_words(mean), worst=worst,
        worst_value=in_words(levels[worst]), every=in_words(every) if every else say("unknown"),
    )  # fmt: skip


def _worst(material: Material, metric: str, severity: str | int) -> Interval | None:
    found = picked(material, "worst_case_accuracy" if metric == "accuracy" else "worst_case_flips", severity=severity)
    return of_mean(material, found)[0] if found else None


def _charts(material: Material, start: Score, scores: list[Score], labelled: bool) -> list[Html]:
    """Right answers, where there are labels, and changed answers, by severity."""
    figures = [chart(material, start, scores, "accuracy")] if labelled else []
    flips = [s for s in picked(material, "flips") if "noise" in s.where]
    if flips:
        none = Score("flips", "model", flips[0].ids, np.zeros(len(flips[0].ids)), "lower")
        figures.append(chart(material, none, flips, "flips"))
    return figures


def chart(material: Material, start: Score, scores: list[Score], metric: str) -> Html:
    grid, names = severities(scores), noises(scores)
    base = of_mean(material, [start])[0] if metric == "accuracy" else Interval(0.0, 0.0, 0.0, 0.95)
    lines = []
    for i, noise in enumerate(names[:SERIES_COLOURS]):
        rows = [base, *(of_mean(material, level(scores, noise, s))[0] for s in grid)]
        y, low, high = (np.array([getattr(r, end) for r in rows]) for end in ("estimate", "low", "high"))
        lines.append(Line(noise, i + 1, y, low, high))
    name = say(f"robustness.{metric}")
    drawn = line_chart([0.0, *map(float, grid)], lines, x_name=say("robustness.severity"), y_name=name)
    left = say("robustness.more_noises", n=len(names) - SERIES_COLOURS) if len(names) > SERIES_COLOURS else ""
    caption = say("robustness.curve_caption", n=len(start.ids), more=left)
    return tag("figure", None, drawn, legend(lines), tag("figcaption", None, caption))


def _table(
    material: Material, start: Score, scores: list[Score], grid: list[int], names: list[str], metric: str
) -> Html:
    base = of_mean(material, [start])[0]
    rows: list[list[Html | str]] = [
        [noise, cell(base), *(cell(of_mean(material, level(scores, noise, s))[0]) for s in grid)] for noise in names
    ]
    means = [cell(mean_of(material, [s for s in scores if s.where["severity"] == g])) for g in grid]
    rows.append([say("robustness.mean_noise"), cell(base), *means])
    sign = 1.0 if metric == "accuracy" else -1.0
    columns = [[of_mean(material, level(scores, n, g))[0] for n in names] for g in grid]
    rows.append(
        [say("robustness.worst_noise"), cell(base), *(cell(min(c, key=lambda i: sign * i.estimate)) for c in columns)]
    )
    every = [_worst(material, metric, g) for g in grid]
    rows.append([say("robustness.each_worst"), cell(base), *(cell(w) if w else say("unknown") for w in every)])
    head = [say("robustness.noise"), say("robustness.clean"), *(say("robustness.at", severity=g) for g in grid)]
    n = len(start.ids)
    caption = say(f"robustness.{metric}_caption", n=n, seed=seed(material))
    return table(head, rows, caption=caption, numeric=True, shaded={len(names), len(names) + 1, len(names) + 2})


def _calibration(material: Material, clean: Score | None, grid: list[int], names: list[str]) -> Html | None:
    if clean is None:
        return None
    rows = []
    for severity in (0, *grid):
        kinds = ["none"] if not severity else names
        sure = [s for noise in kinds for s in picked(material, "confidence", noise=noise, severity=severity)]
        right = [clean] if not severity else [
            s for noise in kinds for s in picked(material, "accuracy", noise=noise, severity=severity)
        ]  # fmt: skip
        if not sure or not right:
            continue
        confidence, hits, clusters = _joined(material, sure, right)
        error = ece_interval(confidence, hits, clusters, seed=seed(material), draws=200)
        even = ece_interval(confidence, hits, clusters, adaptive=True, seed=seed(material), draws=200)
        chance = ece_by_chance(confidence, seed=seed(material), draws=100)
        others = [
            of_mean(material, [s for noise in kinds for s in picked(material, metric, noise=noise, severity=severity)])[
                0
            ]
            for metric in ("nll", "brier", "confidence")
        ]
        wrong = confidence[hits < 1]
        rows.append(
            [
                say("robustness.clean") if not severity else say("robustness.at", severity=severity),
                cell(error), tag("td", {"class": "n"}, f"{chance:.3f}"), cell(even), *map(cell, others),
                tag("td", {"class": "n"}, f"{wrong.mean():.3f}" if len(wrong) else say("unknown")),
            ]
        )  # fmt: skip
    if not rows:
        return None
    head = [
        say(f"robustness.{k}")
        for k in ("input", "ece", "ece_chance", "ece_even", "nll", "brier", "confidence", "sure_wrong")
    ]
    caption = say("robustness.calibration_caption", n=len(clean.ids), seed=seed(material))
    return join(tag("h3", None, say("robustness.calibration")), table(head, rows, caption=caption, numeric=True))


def _joined(material: Material, sure: list[Score], right: list[Score]) -> tuple[Floats, Floats, list[str]]:
    """Confidence and correctness of the same examples under the same noise, with what counts as one draw."""
    confidence, hits, clusters = list[float](), list[float](), list[str]()
    for one, other in zip(sure, right, strict=False):  # both in the order of the noises
        known = dict(zip(other.ids, other.values, strict=True))
        for name, value in zip(one.ids, one.values, strict=True):
            if name in known and not np.isnan(known[name]):
                confidence.append(float(value))
                hits.append(float(known[name]))
                clusters.append(material.cluster(name))
    return np.array(confidence), np.array(hits), clusters
