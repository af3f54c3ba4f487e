"""Models that say yes or no to several labels, or give a number, under noise: how far the answer moves."""

from __future__ import annotations

import numpy as np

from regard.present.messages.messages import say
from regard.present.report.markup import Html, join, table, tag
from regard.present.report.robustness.columns import (
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
from regard.present.report.robustness.under_noise import chart, level
from regard.present.run_reader import Material
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
    levels = {n: of_mean(material, level(moved, n, hardest)) for n in names}
    worst = max(levels, key=lambda n: levels[n].estimate)
    flips = [s for s in picked(material, "flips") if s.where.get("severity") == hardest]
    every = of_mean(material, picked(material, "worst_case_flips", severity="all"))
    own, relative = (
        sum(float(np.nansum(s.values)) for s in picked(material, m)) for m in ("output_shift", "output_change")
    )
    spread = f"{own / relative:.3g}" if relative > 0 else say("unknown")
    mean = mean_of(material, [s for s in moved if s.where["severity"] == hardest])
    n = mean.n
    return say(
        f"robustness.{kind}_sentence", n=n, noises=len(names), severity=hardest, worst=worst,
        mean=in_words(mean, percent=False), worst_value=in_words(levels[worst], n, percent=False),
        flips=in_words(mean_of(material, flips), n), every=in_words(every, n), spread=spread,
    )  # fmt: skip


def _table(material: Material, moved: list[Score], quantity: str) -> Html:
    grid, names = severities(moved), noises(moved)
    found = {noise: [of_mean(material, level(moved, noise, s)) for s in grid] for noise in names}
    found[say("robustness.mean_noise")] = [
        mean_of(material, [s for s in moved if s.where["severity"] == g]) for g in grid
    ]
    every = [one for some in found.values() for one in some]
    rows: list[list[Html | str]] = [
        [name, *(cell(one, largest_n(every)) for one in some)] for name, some in found.items()
    ]
    head = [say("robustness.noise"), *(say("robustness.at", severity=g) for g in grid)]
    caption = say(f"robustness.{quantity}_caption", n=n_in_caption(every), seed=seed(material))
    return table(head, rows, caption=caption, numeric=True, shaded={len(names)})


def _errors(material: Material) -> Html | None:
    """How far from the labelled number, as it is and under noise."""
    errors = picked(material, "absolute_error")
    if not errors:
        return None
    grid, names = severities(errors), noises(errors)
    base = of_mean(material, [s for s in errors if s.where["noise"] == "none"])
    found = {noise: [base, *(of_mean(material, level(errors, noise, s)) for s in grid)] for noise in names}
    every = [one for some in found.values() for one in some]
    rows: list[list[Html | str]] = [
        [noise, *(cell(one, largest_n(every)) for one in some)] for noise, some in found.items()
    ]
    head = [say("robustness.noise"), say("robustness.clean"), *(say("robustness.at", severity=g) for g in grid)]
    caption = say("robustness.absolute_error_caption", n=n_in_caption(every), seed=seed(material))
    return table(head, rows, caption=caption, numeric=True)
