"""Units of the numbers of a method, in words: a number without a unit misleads."""

from __future__ import annotations

from collections.abc import Mapping

from regard.present.answer_text import TEXTS, shown_answer
from regard.present.messages.messages import say
from regard.present.objective_scale import objective_scale
from regard.records import Json


def objective(task: str, answer: str) -> str:
    """Name the quantity that relevance adds up to or changes.

    >>> objective("classification", "positive"), objective("regression", "None")
    ("the log-odds of 'positive'", "the model's number")
    >>> objective("sequence_to_sequence", "ein Haus")
    'the log-probability of "ein Haus"'
    """
    answer_text = shown_answer(answer, task) if task in TEXTS else repr(answer)
    return say(f"term.scale.{objective_scale(task)}", answer=answer_text)


SHARES = ("attention", "rollout")
"""Methods whose numbers are weights that sum to 1; other attention methods measure a flow through it."""


def scale(facts: Mapping[str, Json], what: str, name: str = "") -> str:
    """Unit of a method's numbers, from its facts in the catalogue and, for attention, from its name.

    >>> scale({"signed": True, "needs": ["removal"]}, "the log-odds of 'positive'")
    "fall of the log-odds of 'positive' when the unit is removed"
    """
    needs = facts.get("needs")
    needed = needs if isinstance(needs, list) else []
    if facts.get("role") == "baseline":
        return say("term.scale.random")
    if facts.get("signed"):
        return say("term.scale.fall" if "removal" in needed else "term.scale.relevance", what=what)
    if name.partition(":")[0] in SHARES:
        return say("term.scale.shares")
    return say("term.scale.through" if "attention" in needed else "term.scale.strength")
