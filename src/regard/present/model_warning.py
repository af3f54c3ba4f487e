"""The warning that a model does not work on the data of its audit: explanations of guesses explain guesses."""

from __future__ import annotations

from regard.present.messages.messages import say
from regard.present.run_reader import Material


def model_warning(material: Material) -> str:
    """The sentence for the first screen; "" where the model works or nobody knows."""
    facts = material.conclusions.model_works
    if facts is None or facts.works not in ("no", "unclear"):
        return ""
    numbers = {name: f"{getattr(facts, name):.0%}" for name in ("accuracy", "low", "high", "majority")}
    return say(f"works.{facts.works}", n=facts.labelled, **numbers)
