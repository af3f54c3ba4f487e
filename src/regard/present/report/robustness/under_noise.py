"""Predictions under noise: curves by severity, mean and worst noise, the worst case of each example, calibration."""

from __future__ import annotations

import numpy as np

from regard.measures.calibration import ece_by_chance, ece_interval
from regard.measures.intervals import Interval
from regard.present import counts
from regard.present.messages.messages import say
from regard.present.palette import SERIES_COLOURS
from regard.present.report.charts import Line, legend, line_chart
from regard.present.report.markup import Html, join, small, table, tag
from regard.present.report.robustness.columns import (
    NOT_MEASURED,
    Measured,
    cell,
    in_words,
    largest_n,
    mean_of,
    n_in_caption,
    noises,
    of_mean,
    picked,
    seed,
    severities,
)
from regard.present.run_reader import Material
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
    levels = {n: of_mean(material, level(scores, n, hardest)) for n in names}
    sign = 1.0 if metric == "accuracy" else -1.0
    worst = min(levels, key=lambda n: sign * levels[n].estimate)
    every = _worst(material, metric, "all")
    mean = mean_of(material, [s for s in scores if s.where["severity"] == hardest])
    base = of_mean(material, [start])
    n = base.n if metric == "accuracy" else mean.n
    key = "robustness.noise_sentence" if metric == "accuracy" else "robustness.flips_sentence"
    return say(
        key, clean=in_words(base), n=n, noises=len(names), severity=hardest, mean=in_words(mean, n), worst=worst,
        worst_value=in_words(levels[worst], n), every=in_words(every, n),
    )  # fmt: skip


def _worst(material: Material, metric: str, severity: str | int) -> Measured:
    found = picked(material, "worst_case_accuracy" if metric == "accuracy" else "worst_case_flips", severity=severity)
    return of_mean(material, found)


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
    base = of_mean(material, [start]) if metric == "accuracy" else Measured(Interval(0.0, 0.0, 0.0, 0.95), 0)
    lines, sizes = list[Line](), [base.n]
    for i, noise in enumerate(names[:SERIES_COLOURS]):
        rows = [base, *(of_mean(material, level(scores, noise, s)) for s in grid)]
        sizes += [row.n for row in rows]
        y, low, high = (np.array([getattr(r.interval, end) for r in rows]) for end in ("estimate", "low", "high"))
        lines.append(Line(noise, i + 1, y, low, high))
    name = say(f"robustness.{metric}")
    drawn = line_chart([0.0, *map(float, grid)], lines, x_name=say("robustness.severity"), y_name=name)
    left = say("robustness.more_noises", n=len(names) - SERIES_COLOURS) if len(names) > SERIES_COLOURS else ""
    caption = say("robustness.curve_caption", n=counts.between(sizes), more=left)
    return tag("figure", None, drawn, legend(lines), tag("figcaption", None, caption))


def _table(
    material: Material, start: Score, scores: list[Score], grid: list[int], names: list[str], metric: str
) -> Html:
    base = of_mean(material, [start])
    sign = 1.0 if metric == "accuracy" else -1.0
    found = {noise: [of_mean(material, level(scores, noise, g)) for g in grid] for noise in names}
    worst = [min((found[n][i] for n in names), key=lambda m: sign * m.estimate) for i in range(len(grid))]
    means = [mean_of(material, [s for s in scores if s.where["severity"] == g]) for g in grid]
    found |= {
        say("robustness.mean_noise"): means,
        say("robustness.worst_noise"): worst,
        say("robustness.each_worst"): [_worst(material, metric, g) for g in grid],
    }
    # without labels nothing has changed before there is noise: that is no measurement
    clean = base if metric == "accuracy" else Measured(base.interval, 0)
    every = [clean, *(one for some in found.values() for one in some)]
    usual = largest_n(every)
    rows: list[list[Html | str]] = [
        [name, cell(clean, usual), *(cell(one, usual) for one in some)] for name, some in found.items()
    ]
    head = [say("robustness.noise"), say("robustness.clean"), *(say("robustness.at", severity=g) for g in grid)]
    caption = say(f"robustness.{metric}_caption", n=n_in_caption(every), seed=seed(material))
    return table(head, rows, caption=caption, numeric=True, shaded={len(names), len(names) + 1, len(names) + 2})


def _calibration(material: Material, clean: Score | None, grid: list[int], names: list[str]) -> Html | None:
    if clean is None:
        return None
    found = {
        say("robustness.at", severity=severity) if severity else say("robustness.clean"): row
        for severity in (0, *grid)
        if (row := _calibrated(material, clean, severity, names)) is not None
    }
    if not found:
        return None
    every = [one for some in found.values() for one in some]
    usual = largest_n(every)
    rows = [[name, *(_calibration_cell(one, usual) for one in some)] for name, some in found.items()]
    head = [
        say(f"robustness.{k}")
        for k in ("input", "ece", "ece_chance", "ece_even", "nll", "brier", "confidence", "sure_wrong")
    ]
    caption = say("robustness.calibration_caption", n=n_in_caption(every), seed=seed(material))
    return join(tag("h3", None, say("robustness.calibration")), table(head, rows, caption=caption, numeric=True))


def _calibrated(material: Material, clean: Score, severity: int, names: list[str]) -> list[Measured] | None:
    """One row: calibration error, that of a calibrated model, by even bins, three means, confidence where wrong."""
    kinds = names if severity else ["none"]
    sure = {noise: picked(material, "confidence", noise=noise, severity=severity) for noise in kinds}
    right = {n: picked(material, "accuracy", noise=n, severity=severity) if severity else [clean] for n in kinds}
    ids, confidence, hits = _joined([(s, r) for n in kinds for s, r in zip(sure[n], right[n], strict=False)])
    if not ids:
        return None
    clusters, n, wrong = [material.cluster(name) for name in ids], len(set(ids)), hits < 1
    error, even = (
        ece_interval(confidence, hits, clusters, adaptive=adaptive, seed=seed(material), draws=200)
        for adaptive in (False, True)
    )
    chance = ece_by_chance(confidence, seed=seed(material), draws=100)
    when_wrong = float(confidence[wrong].mean()) if wrong.any() else float("nan")
    wrong_ids = {name for name, yes in zip(ids, wrong, strict=True) if yes}
    others = [
        of_mean(material, [s for noise in kinds for s in picked(material, metric, noise=noise, severity=severity)])
        for metric in ("nll", "brier", "confidence")
    ]
    return [
        Measured(error, n), Measured(_alone(chance), n), Measured(even, n), *others,
        Measured(_alone(when_wrong), len(wrong_ids)) if wrong_ids else NOT_MEASURED,
    ]  # fmt: skip


def _alone(value: float) -> Interval:
    """A number that has no interval."""
    return Interval(value, float("nan"), float("nan"), 0.95)


def _calibration_cell(found: Measured, usual: int) -> Html:
    if np.isfinite(found.interval.low) or np.isnan(found.estimate) or found.n < 2:
        return cell(found, usual)
    own = counts.own((found.n, found.n), (usual, usual))
    return tag("td", {"class": "n"}, f"{found.estimate:.3f}", small(own))


def _joined(pairs: list[tuple[Score, Score]]) -> tuple[list[str], Floats, Floats]:
    """Ids, confidence and correctness of the same examples under the same noise, where both are defined."""
    ids, confidence, hits = list[str](), list[float](), list[float]()
    for sure, right in pairs:
        known = dict(zip(right.ids, right.values, strict=True))
        for name, value in zip(sure.ids, sure.values, strict=True):
            if not np.isnan(value) and not np.isnan(known.get(name, np.nan)):
                ids.append(name)
                confidence.append(float(value))
                hits.append(float(known[name]))
    return ids, np.array(confidence), np.array(hits)
