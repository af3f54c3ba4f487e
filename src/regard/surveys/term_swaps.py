"""Sensitivity of a model to the person a text is about: swaps of sensitive terms against placebo swaps.

A change of the answer after swapping a name says little by itself, because any swapped word changes answers. So the
same texts get a placebo (another name of the same group, or a neutral word), and the difference between the two counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.audits.resolve import unknown_words
from regard.desk.answers import finite
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.unit_alignment import words_of_units
from regard.errors import Unsupported, phrase
from regard.measures.intervals import Interval
from regard.measures.keyed_random import keyed_stream
from regard.measures.mean_interval import mean_interval
from regard.measures.paired import paired_difference
from regard.perturbations.terms import Family, Swapped, swapped
from regard.protocols import Model
from regard.records import Example, Floats, Message, Perturbed, Text, encoded

Progress = Callable[[str, int, int], None]
MEASURES = {name: Message(f"swap.{name}") for name in ("flips", "score", "relevance")}
"""Measure -> its meaning."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Effect of a swap: under the swap, under the placebo, and their difference over the same texts, with intervals."""

    measure: str
    swap: Interval
    placebo: Interval
    difference: Interval


@dataclass(frozen=True, slots=True)
class SensitiveResult:
    """Result of one family of terms. texts: number with such a term; worst: (text, swapped, change), the largest first.

    unknown: words of the swapped texts and of the placebo outside the vocabulary: a model that knows the names of one
    group only is unfair through its vocabulary.
    """

    family: str
    texts: int
    of: int
    effects: tuple[Effect, ...]
    worst: tuple[tuple[str, str, float], ...]
    unknown: tuple[Text, ...] = ()

    def to_json(self) -> dict[str, Any]:
        def shown(x: Interval) -> dict[str, float | None]:
            pairs = (("mean", x.estimate), ("low", x.low), ("high", x.high))
            return {k: None if np.isnan(v) else float(v) for k, v in pairs}

        return {
            "family": self.family,
            "texts": self.texts,
            "of": self.of,
            "effects": [
                {
                    "measure": e.measure,
                    "swap": shown(e.swap),
                    "placebo": shown(e.placebo),
                    "difference": shown(e.difference),
                }
                for e in self.effects
            ],
            "unknown": encoded(self.unknown),
            "worst": [{"text": a, "swapped": b, "change": c} for a, b, c in self.worst],
        }


def sensitive(
    model: Model,
    examples: Sequence[Example],
    families: Sequence[Family],
    *,
    method: str | None = "attention",
    seed: int = 0,
    progress: Progress | None = None,
) -> list[SensitiveResult]:
    """Test every family on the texts that have its terms.

    method: explainer whose relevance is compared; None for none.
    """
    results = []
    for i, family in enumerate(families):
        if progress is not None:
            progress(family.name, i, len(families))
        streams = ((e, keyed_stream(seed, "swap", family.name, e.id)) for e in examples)
        pairs = [(e, made) for e, rng in streams if (made := swapped(e, family, rng)) is not None]
        results.append(_result(model, family, pairs=pairs, of=len(examples), method=method, seed=seed))
    return results


def _result(
    model: Model, family: Family, pairs: Sequence[tuple[Example, Swapped]], of: int, method: str | None, seed: int
) -> SensitiveResult:
    if not pairs:
        return SensitiveResult(family.name, 0, of, (), ())
    clusters = [e.cluster for e, _ in pairs]
    case = DeskCase(Desk(model, seed=seed), [e for e, _ in pairs])
    clean = finite(_rows(case), model.name)
    columns: dict[str, dict[str, Floats]] = {}
    unknown: list[Text] = []
    for which in ("swap", "placebo"):
        swapped: list[Perturbed] = [getattr(pair, which) for _, pair in pairs]
        words = [pair.words if which == "swap" else pair.placebo_words for _, pair in pairs]
        variant = DeskCase(Desk(model, seed=seed), [one.example for one in swapped])
        answers = _rows(variant)
        key = f"swap.unknown_{which}"
        unknown += [Message.of(key, sentence=sentence) for sentence in unknown_words(model, variant.examples)]
        columns[which] = {
            "flips": (answers.argmax(-1) != clean.argmax(-1)).astype(np.float64),
            "score": 0.5 * np.abs(answers - clean).sum(-1),
            **_relevance(variant, swapped, words, method),
        }
    effects = []
    for measure in columns["swap"]:
        one, other = columns["swap"][measure], columns["placebo"][measure]
        if measure == "flips":  # yes or no: no change in a few texts is no certainty
            swap, placebo = (mean_interval(column, clusters) for column in (one, other))
            difference = paired_difference(one, other, clusters, seed=seed)[0]
        else:
            swap, placebo, difference = (
                mean_interval(column, clusters, kind="amount") for column in (one, other, one - other)
            )
        effects.append(Effect(measure, swap, placebo, difference))
    order = np.argsort(-columns["swap"]["score"], kind="stable")[:5]
    worst = [(_text(pairs[i][0]), _text(pairs[i][1].swap.example), float(columns["swap"]["score"][i])) for i in order]
    return SensitiveResult(
        family=family.name, texts=len(pairs), of=of, effects=tuple(effects), worst=tuple(worst), unknown=tuple(unknown)
    )


def _rows(case: DeskCase) -> Floats:
    rows = case.base().distribution
    if rows is None:
        raise Unsupported(
            phrase("errors.surveys.sensitive_terms"),
            expected=phrase("errors.common.model_that_decides_among_classes"),
            got=phrase("errors.common.another_task"),
        )
    return rows


def _text(example: Example) -> str:
    return str(example.inputs["text"])


def _relevance(
    case: DeskCase, made: Sequence[Perturbed], words: Sequence[Sequence[int]], method: str | None
) -> dict[str, Floats]:
    """Share of |relevance| on the words that replace swapped ones."""
    if method is None:
        return {}
    try:
        relevance = case.relevance(method)
    except Unsupported:
        return {}
    shares = []
    for i, (one, word_places) in enumerate(zip(made, words, strict=True)):
        where = words_of_units(case.units[i], one.example)
        origin = np.append(-1 if one.origin is None else one.origin, -1)[where]
        strength = np.abs(relevance[i])
        total = float(strength.sum())
        shares.append(float(strength[np.isin(origin, word_places)].sum()) / total if total > 0 else np.nan)
    return {"relevance": np.array(shares)}
