"""Sentences about a cited answer that the terminal and the page share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.present.messages.messages import say


def citation_errors(facts: Mapping[str, Any]) -> list[str]:
    """Return the thresholds of a cited answer's JSON, and how often citations with them are wrong."""
    thresholds = say("term.cite.thresholds", **facts["thresholds"])
    measured = facts["reliability"]
    if measured is None:
        return [thresholds, say("term.cite.errors_unknown")]
    wrong = {f"wrong_{name}": value for name, value in measured["wrong"].items()}
    errors = say("term.cite.errors", prompts=measured["prompts"], model=measured["model"], **measured["false"], **wrong)
    return [thresholds, errors]
