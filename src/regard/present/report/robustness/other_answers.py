"""Multi-label and numeric models under noise: change of the answer."""

from __future__ import annotations

import math

from regard.audits.conclusions.finding_means import Measured, NoiseLevels
from regard.audits.conclusions.noise import AnswersUnderNoise
from regard.present.messages.messages import say
from regard.present.report.markup import Html, join, table, tag
from regard.present.report.robustness.columns import cell, in_words, largest_n, n_in_caption
from regard.present.report.robustness.under_noise import chart
from regard.present.run_reader import Material


def other_answers(material: Material) -> Html | None:
    """Sentence, curves and table of the change of the answer; None for models that predict classes."""
    noisy = material.conclusions.answers_under_noise
    if noisy is None:
        return None
    quantity = f"change_of_{noisy.kind}"
    rows = dict(zip(noisy.change.noises, noisy.change.cells, strict=True))
    rows[say("robustness.mean_noise")] = noisy.change.means
    return join(
        tag("p", None, _sentence(noisy)),
        tag("p", {"class": "soft"}, say("robustness.no_attack_on_it")),
        tag("div", {"class": "cards"}, chart(noisy.change, quantity), chart(noisy.flips, f"flips_of_{noisy.kind}")),
        _table(noisy.change, rows, quantity, material, shaded={len(noisy.change.noises)}),
        _errors(noisy, material),
    )


def _sentence(noisy: AnswersUnderNoise) -> str:
    levels = {noise: cells[-1] for noise, cells in zip(noisy.change.noises, noisy.change.cells, strict=True)}
    worst = max(levels, key=lambda noise: levels[noise].estimate)
    mean = noisy.change.means[-1]
    return say(
        f"robustness.{noisy.kind}_sentence",
        n=mean.n,
        noises=len(levels),
        severity=noisy.change.severities[-1],
        worst=worst,
        mean=in_words(mean, percent=False),
        worst_value=in_words(levels[worst], mean.n, percent=False),
        flips=in_words(noisy.flipped, mean.n),
        every=in_words(noisy.every, mean.n),
        spread=say("unknown") if math.isnan(noisy.spread) else f"{noisy.spread:.3g}",
    )


def _errors(noisy: AnswersUnderNoise, material: Material) -> Html | None:
    """Return the distance from the labelled number, clean and under noise."""
    if noisy.errors is None:
        return None
    rows = {noise: (noisy.error, *cells) for noise, cells in zip(noisy.errors.noises, noisy.errors.cells, strict=True)}
    return _table(noisy.errors, rows, "absolute_error", material, clean=True)


def _table(
    levels: NoiseLevels,
    rows: dict[str, tuple[Measured, ...]],
    quantity: str,
    material: Material,
    *,
    clean: bool = False,
    shaded: set[int] | None = None,
) -> Html:
    every = [one for cells in rows.values() for one in cells]
    body: list[list[Html | str]] = [
        [name, *(cell(one, largest_n(every)) for one in cells)] for name, cells in rows.items()
    ]
    head = [say("robustness.noise"), *([say("robustness.clean")] if clean else [])]
    head += [say("robustness.at", severity=g) for g in levels.severities]
    caption = say(f"robustness.{quantity}_caption", n=n_in_caption(every), seed=material.seed)
    return table(head, body, caption=caption, numeric=True, shaded=shaded or set())
