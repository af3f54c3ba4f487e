"""Words about alignments, the same for the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.present.messages.messages import say

LISTED = 6
"""Maximum heads in the table of error rates."""


def where(word: Mapping[str, Any], *, sound: bool) -> str:
    """Name the origin of a word: seconds of a sound, or a word of the source."""
    return f"{word['start']:.2f} – {word['end']:.2f} s" if sound else str(word["source"])


def rule_sentence(facts: Mapping[str, Any]) -> str:
    """Name the heads behind the alignment, and the rule that chose them."""
    names = ", ".join(facts["used"])
    if facts["rule"] == "gold":
        return say(
            "align.rule.gold", heads=names, n=facts["heads"][0]["n"], held_out=facts["chosen"]["n"], seed=facts["seed"]
        )
    return say(f"align.rule.{facts['rule']}", heads=names)


def rates(facts: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(name, error rate with interval, examples): the chosen head held out, its baselines, then heads on the choice."""
    if facts["chosen"] is None:
        return []
    rows = [
        _rate(say("align.chosen", head=_name(facts["chosen"])), facts["chosen"]),
        _rate(say("align.all_heads"), facts["mean"]),
        _rate(say("align.diagonal"), facts["diagonal"]),
    ]
    return rows + [_rate(say("align.candidate", head=_name(row)), row) for row in facts["heads"][:LISTED]]


def _name(row: Mapping[str, Any]) -> str:
    number = row["head"]["number"]
    return f"{row['head']['site']}:{'mean' if number is None else number}"


def _rate(name: str, row: Mapping[str, Any]) -> tuple[str, str, str]:
    rate = row["rate"]
    if rate["estimate"] is None:
        return name, "–", str(row["n"])
    interval = "" if rate["low"] is None else f" [{rate['low']:.3f}, {rate['high']:.3f}]"
    return name, f"{rate['estimate']:.3f}{interval}", str(row["n"])
