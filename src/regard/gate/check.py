"""Check of an interval against a requirement, with three results: pass, fail, inconclusive."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from regard.gate.policy import Level
from regard.measures.intervals import Interval
from regard.records import Json, Message, Text, encoded
from regard.store.codec import fields_to_json

Result = Literal["pass", "fail", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one requirement.

    name: the same in every language, since CI compares it between runs. reason: cause of an inconclusive result. p:
    p-value of "no difference" between two runs. words: an answer instead of a number.
    """

    name: str
    result: Result
    level: Level
    required: Text
    found: Interval
    n: int
    clusters: int
    reason: Text = ""
    p: float | None = None
    where: Mapping[str, Json] = field(default_factory=dict)
    words: str = ""

    @property
    def number(self) -> Text:
        """
        >>> Check("accuracy", "pass", "block", ">= 0.8", Interval(0.9, 0.85, 0.94, 0.95), 80, 80).number
        '0.900 [0.850, 0.940]'
        """
        if self.words:
            return self.words
        if math.isnan(self.found.estimate):
            return Message("gate.undefined")
        ends = f" [{self.found.low:.3f}, {self.found.high:.3f}]" if not math.isnan(self.found.low) else ""
        return f"{self.found.estimate:.3f}{ends}"

    @property
    def sentence(self) -> Message:
        """The check in one line."""
        independent = Message.of("gate.n_independent", n=self.n, clusters=self.clusters)
        return Message.of(
            "gate.sentence_open" if self.reason else "gate.sentence",
            name=self.name,
            number=self.number,
            n=f"n {self.n}" if self.clusters == self.n else independent,
            p=f", p {self.p:.2g}" if self.p is not None else "",
            required=self.required,
            reason=self.reason,
        )

    def to_json(self) -> dict[str, Json]:
        return {
            **fields_to_json(self, "name", "result", "level"),
            "required": encoded(self.required),
            **fields_to_json(self.found, "estimate", "low", "high"),
            "confidence": self.found.level,
            **fields_to_json(self, "n", "clusters"),
            "reason": encoded(self.reason),
            **fields_to_json(self, "p", "where"),
            **({"words": self.words} if self.words else {}),
        }


def judge_interval(
    found: Interval, low: float, high: float, *, clusters: int, fewest: int, complete: bool
) -> tuple[Result, Text]:
    """Return whether an interval lies inside low..high, outside, or neither, and the reason for neither.

    >>> judge_interval(Interval(0.84, 0.79, 0.88, 0.95), 0.8, 1.0, clusters=80, fewest=10, complete=True)
    ('inconclusive', Message(key='gate.includes_limit', params=mappingproxy({})))
    """
    if math.isnan(found.estimate) or math.isnan(found.low):
        return "inconclusive", Message("gate.not_defined")
    if clusters < fewest:
        return "inconclusive", Message.of("gate.few", n=clusters, fewest=fewest)
    # rounding noise is not a difference: 0.8 is at least 0.8
    slack = 1e-9
    if found.high < low - slack or found.low > high + slack:
        return "fail", ""
    if found.low < low - slack or found.high > high + slack:
        return "inconclusive", Message("gate.includes_limit")
    return ("pass", "") if complete else ("inconclusive", Message("gate.incomplete"))
