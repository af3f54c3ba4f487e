"""Every unclear sentence names the condition that it misses."""

from __future__ import annotations

from typing import Any

import pytest

from regard.present.citation_words import unclear_reasons

THRESHOLDS = {"effect": 1.0, "gain": 2.0, "probability": 0.05, "word": 0.2}


def sentence(**changes: Any) -> dict[str, Any]:
    return {"status": "unclear", "checked": True, "alone": None, "effects": [3.0, None], "whole": 2.0, **changes}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"checked": False}, "limit of passes"),
        ({"alone": {"gain": 1.2, "probability": 0.5}}, "rise by 1.2 nats"),
        ({"alone": {"gain": 4.0, "probability": 0.004}}, "probability of 0.4%"),
        ({"alone": {"gain": 4.0, "probability": 0.4, "word": 0.078}}, "no word likely"),
        ({"effects": [0.3, 0.2], "whole": 2.5}, "hiding the best one only 0.3"),
        ({}, "other text replaces it"),
    ],
)
def test_reason_of_an_unclear_sentence(changes: dict[str, Any], words: str) -> None:
    facts = {"thresholds": THRESHOLDS, "sentences": [{"status": "cite"}, sentence(**changes)]}
    (line,) = unclear_reasons(facts)
    assert line.startswith("Sentence 2 is unclear: ")
    assert words in line
