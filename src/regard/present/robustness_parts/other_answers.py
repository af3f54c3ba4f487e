"""Models that say yes or no to several labels, or give a number, under noise: how far the answer moves."""

from __future__ import annotations

import numpy as np

from regard.present.markup import Html, join, table, tag
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
from regard.present.robustness_parts.under_noise import chart, level
from regard.present.run_reader import Material
from regard.present.saying import say
from regard.records import Score


def other_answers(material: Material) -> Html | None:
    """Sentence, curves and table of the change of the answer; None for models that decide among classes."""
    moved = [s for s in picked(material, "output_change", attack=None) if "answer" in s.where]
    if not moved:
        return None
    kind = str(moved[0].where["answer"])
    flips = [s for s in picked(material, "flips") if "answer" in s.where]
    quantity = f"change_of_{kind}"
    start = Score("output_change", "model", moved[0].ids, np.zeros(len(moved[0].ids)), "lower")
    figures = [chart(material, start, moved, quantity), chart(material, start, flips, f"flips_of_{kind}")]
    return join(
        tag("p", None, _sentence(material, kind, moved)),
        tag("p", {"class": "soft"}, say("robustness.no_attack_on_it")),
        tag("div", {"class": "cards"}, figures),
        _table(material, moved, quantity),
        _errors(material),
    )


def _sentence(material: Material, kind: str, moved: list[Score]) -> str:
    names, hardest = noises(moved), max(severities(moved))
    levels = {n: of_mean(material, level(moved, n, hardest))[0] for n in names}
    worst = max(levels, key=lambda n: levels[n].estimate)
    flips = [s for s in picked(material, "flips") if s.where.get("severity") == hardest]
    every = of_mean(material, picked(material, "worst_case_flips", severity="all"))[0]
    own, relative = (sum(float(s.values.sum()) for s in picked(material, m)) for m in ("output_shift", "output_change"))
    spread = own / relative if relative > 0 else float("nan")
    return say(
        f"robustness.{kind}_sentence", n=len(moved[0].ids), noises=len(names), severity=hardest, worst=worst,
        mean=in_words(mean_of(material, [s for s in moved if s.where["severity"] == hardest]), percent=False),
        worst_value=in_words(levels[worst], percent=False), flips=in_words(mean_of(material, flips)),
        every=in_words(every), spread=f"{spread:.3g}",
    )  # fmt: skip


def _table(material: Material, moved: list[Score], quantity: str) -> Html:
    grid, names = severities(moved), noises(moved)
    rows: list[list[Html | str]] = [
        [noise, *(cell(of_mean(material, level(moved, noise, s))[0]) for s in grid)] for noise in names
    ]
    means = [cell(mean_of(material, [s for s in moved if s.where["severity"] == g])) for g in grid]
    rows.append([say("robustness.mean_noise"), *means])
    head = [say("robustness.noise"), *(say("robustness.at", severity=g) for g in grid)]
    caption = say(f"robustness.{quantity}_caption", n=len(moved[0].ids), seed=seed(material))
    return table(head, rows, caption=caption, numeric=True, shaded={len(names)})


def _errors(material: Material) -> Html | None:
    """How far from the labelled number, as it is and under noise."""
    errors = picked(material, "absolute_error")
    if not errors:
        return None
    grid, names = severities(errors), noises(errors)
    base = cell(of_mean(material, [s for s in errors if s.where["noise"] == "none"])[0])
    rows: list[list[Html | str]] = [
        [noise, base, *(cell(of_mean(material, level(errors, noise, s))[0]) for s in grid)] for noise in names
    ]
    head = [say("robustness.noise"), say("robustness.clean"), *(say("robustness.at", severity=g) for g in grid)]
    caption = say("robustness.absolute_error_caption", n=len(errors[0].ids), seed=seed(material))
    return table(head, rows, caption=caption, numeric=True)
