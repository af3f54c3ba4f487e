"""What a judgement speaks of: words of a text, patches of an image, columns of a row, steps of a series."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from regard.records import Judgement, Verdict

INPUTS = {"box": "image", "range": "series", "column": "row"}
"""Kind of place -> what an example is called; a text where places are spans."""


def about(judgement: Judgement, unit: str, place_kind: str) -> Judgement:
    """The same judgement with its sentences about what this model really reads.

    unit: the kind of the units ("patch", "column"); place_kind: see `Units.place_kind`.
    """
    if place_kind not in INPUTS:
        return judgement

    def told(sentence: str) -> str:
        return spoken(sentence, unit, INPUTS[place_kind])

    verdicts = tuple(_about(v, told) for v in judgement.verdicts)
    return replace(judgement, sentence=told(judgement.sentence), verdicts=verdicts)


def spoken(sentence: str, unit: str, example: str) -> str:
    """
    >>> spoken("The words it looks at; whatever the text says, another word.", "patch", "image")
    'The patches it looks at; whatever the image says, another patch.'
    """
    units = f"{unit}es" if unit.endswith(("ch", "s", "x")) else f"{unit}s"
    examples = example if example.endswith("s") else f"{example}s"
    for old, new in (("words", units), ("word", unit), ("texts", examples), ("text", example)):
        sentence = re.sub(rf"\b{old}\b", new, sentence)
        sentence = re.sub(rf"\b{old.capitalize()}\b", new.capitalize(), sentence)
    return sentence


def _about(verdict: Verdict, told: Callable[[str], str]) -> Verdict:
    return replace(
        verdict, sentence=told(verdict.sentence), rule_in_words=told(verdict.rule_in_words),
        not_claimed=told(verdict.not_claimed),
        contrasts=tuple(replace(c, name=told(c.name)) for c in verdict.contrasts),
    )  # fmt: skip
