"""How often the judge errs: its record on the sealed half of the planted models, as `make truth` measured it."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from regard.present.saying import say

ANSWERS = ("holds", "fails", "mixed", "uninformative")


@cache
def track_record() -> dict[str, Any] | None:
    """Counts and figures with their intervals; None while it has not been measured."""
    place = files("regard").joinpath("judge", "sealed.json")
    return dict(json.loads(place.read_text("utf-8"))) if place.is_file() else None


def in_a_sentence(record: dict[str, Any] | None) -> str:
    """The two figures, and the questions that they are about: nothing was planted for the others."""
    if record is None:
        return say("errs.not_measured")
    wrong, power = record["wrong"], record["power"]
    figures = say(
        "errs.sentence", models=record["models"], count=wrong["count"], n=wrong["n"], high=f"{wrong['high']:.1%}",
        power=f"{power['share']:.0%}", power_low=f"{power['low']:.0%}", power_high=f"{power['high']:.0%}",
    )  # fmt: skip
    return figures + say("joint") + say("errs.covers")
