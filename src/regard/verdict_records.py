"""Records of the judge: a comparison, the answer to one question, the graded answer, and the reading as a whole."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from regard.message import Json, Text


@dataclass(frozen=True, slots=True)
class Contrast:
    """Comparison of a mean with a threshold, made by a rule of the judge.

    claim: that the mean is above or below `margin`. p: one-sided, of the opposite; `corrected` after Holm's correction
    over the audit. low, high: the interval at `level`, that of the whole family. where: class, operator, sizes.
    subject: the method or head that is compared; "" where the comparison is about the audited attention.
    """

    name: Text
    claim: Literal["above", "below"]
    margin: float
    estimate: float
    low: float
    high: float
    level: float
    n: int
    clusters: int
    p: float
    corrected: float
    where: Mapping[str, Json] = field(default_factory=dict)
    subject: str = ""


Answer = Literal["holds", "fails", "mixed", "uninformative"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer to one question, with the rule and the evidence behind it.

    question: its id ("points", "better_method"). rule: its id; `rule_in_words` is for people. not_claimed: the claims
    that the answer does not make. contrasts: every comparison; the answer rests on the first `rests_on` of them, or
    they left the question open, hardest first. rows: the findings per class and operator, where there are such.
    decides_at: examples that would probably settle an open question; decides_between: the range of numbers that mostly
    would, whose end is None if no such number is known. overruled: reason for withdrawing the rule's answer.
    """

    question: str
    answer: Answer
    sentence: Text
    rule: str
    rule_in_words: Text
    not_claimed: Text
    contrasts: tuple[Contrast, ...] = ()
    rows: tuple[Mapping[str, Json], ...] = ()
    decides_at: int | None = None
    decides_between: tuple[int, int | None] | None = None
    rests_on: int = 0
    overruled: Text = ""


Reading = Literal[
    "read as evidence", "for most inputs", "debugging only", "do not read", "nothing to read", "undecided"
]


@dataclass(frozen=True, slots=True)
class Graded:
    """Graded answer: the degree to which attention is an explanation, settled or not, and the method to show meanwhile.

    share: of the best method's effect that attention finds, chance subtracted, with its interval over n examples; NaN
    where no method has an effect. best: the ranking it is compared with. ruled_out: readings that are already excluded.
    show: the method to show instead, "" for none; ahead: its lead over attention with the interval; ties: methods that
    cannot be distinguished from it. effect: of the best method's first unit beyond chance, in probability, with its
    interval; the share is a share of it.
    """

    share: float
    low: float
    high: float
    level: float
    n: int
    best: str = ""
    ruled_out: tuple[Reading, ...] = ()
    show: str = ""
    ties: tuple[str, ...] = ()
    ahead: tuple[float, float, float] = (math.nan, math.nan, math.nan)
    effect: tuple[float, float, float] = (math.nan, math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The overall reading of one attention of one model, and the verdicts that it follows from.

    attention: the rows, layer and heads that "the attention" means here, in words. classes: predictions for which the
    reading holds; () if it does not depend on them. margins: every number that a rule compares with, by its id. graded:
    None where no rankings were compared.
    """

    reading: Reading
    sentence: Text
    why: Text
    attention: Text
    n: int
    verdicts: tuple[Verdict, ...]
    classes: tuple[str, ...] = ()
    margins: Mapping[str, Json] = field(default_factory=dict)
    notes: tuple[Text, ...] = ()
    decides_at: int | None = None
    decides_between: tuple[int, int | None] | None = None
    graded: Graded | None = None

    def __repr__(self) -> str:
        from regard.registry import upstairs

        return str(upstairs("judgements_text")([self]))

    def _repr_html_(self) -> str:
        """The answers in a notebook."""
        from regard.registry import upstairs

        return str(upstairs("judgements_html")([self]))
