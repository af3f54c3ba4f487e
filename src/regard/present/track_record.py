"""How often the judge errs: its record on the sealed half of the planted models, as `make truth` measured it."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

ANSWERS = ("holds", "fails", "mixed", "uninformative")


@cache
def track_record() -> dict[str, Any] | None:
    """Counts and figures with their intervals; None while it has not been measured."""
    place = files("regard").joinpath("judge", "sealed.json")
    return dict(json.loads(place.read_text("utf-8"))) if place.is_file() else None


def in_a_sentence(record: dict[str, Any] | None) -> str:
    if record is None:
        return "How often this judge errs on models whose truth is known: not measured yet."
    wrong, power = record["wrong"], record["power"]
    return (
        f"How often this judge errs: on {record['models']} planted models whose truth is known, and on which no rule "
        f"was tuned, {wrong['count']} of {wrong['n']} verdicts were confidently wrong (95 %: at most "
        f"{wrong['high']:.1%}), and {power['share']:.0%} of what can be decided was decided rightly (95 %: "
        f"{power['low']:.0%} to {power['high']:.0%})."
    )
