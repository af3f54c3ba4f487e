"""One check: an interval against a requirement, with three results: pass, fail, inconclusive."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from regard.gate.policy import Level
from regard.measures.intervals import Interval
from regard.records import Json
from regard.store.codec import fields_to_json

Result = Literal["pass", "fail", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one requirement.

    required: in words. reason: of an inconclusive result. p: of "no difference" between two runs.
    """

    name: str
    result: Result
    level: Level
    required: str
    found: Interval
    n: int
    clusters: int
    reason: str = ""
    p: float | None = None
    where: Mapping[str, Json] = field(default_factory=dict)

    @property
    def number(self) -> str:
        """
        >>> Check("accuracy", "pass", "block", ">= 0.8", Interval(0.9, 0.85, 0.94, 0.95), 80, 80).number
        '0.900 [0.850, 0.940]'
        """
        if math.isnan(self.found.estimate):
            return "undefined"
        ends = f" [{self.found.low:.3f}, {self.found.high:.3f}]" if not math.isnan(self.found.low) else ""
        return f"{self.found.estimate:.3f}{ends}"

    @property
    def sentence(self) -> str:
        beside = f", p {self.p:.2g}" if self.p is not None else ""
        draws = f" ({self.clusters} independent)" if self.clusters != self.n else ""
        why = f": {self.reason}" if self.reason else ""
        return f"{self.name}: {self.number}, n {self.n}{draws}{beside}; required {self.required}{why}"

    def to_json(self) -> dict[str, Json]:
        return {
            **fields_to_json(self, "name", "result", "level", "required"),
            **fields_to_json(self.found, "estimate", "low", "high"),
            "confidence": self.found.level,
            **fields_to_json(self, "n", "clusters", "reason", "p", "where"),
        }


def judge_interval(
    found: Interval, low: float, high: float, *, clusters: int, fewest: int, complete: bool
) -> tuple[Result, str]:
    """Return whether an interval lies inside low..high, outside, or neither, and the reason for neither.

    >>> judge_interval(Interval(0.84, 0.79, 0.88, 0.95), 0.8, 1.0, clusters=80, fewest=10, complete=True)
    ('inconclusive', 'the interval includes the limit')
    """
    if math.isnan(found.estimate) or math.isnan(found.low):
        return "inconclusive", "not defined for enough examples"
    if clusters < fewest:
        return "inconclusive", f"{clusters} independent examples, at least {fewest} are asked for"
    # rounding noise is not a difference: 0.8 is at least 0.8
    slack = 1e-9
    if found.high < low - slack or found.low > high + slack:
        return "fail", ""
    if found.low < low - slack or found.high > high + slack:
        return "inconclusive", "the interval includes the limit"
    return ("pass", "") if complete else ("inconclusive", "the run is not complete")
