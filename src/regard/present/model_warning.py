"""Warning that a model does not work on the data of its audit, since explanations of guesses explain guesses."""

from __future__ import annotations

from regard.present.messages.messages import say
from regard.present.run_reader import Material

ENDPOINT = "openai:"


def model_warning(material: Material) -> str:
    """Sentences for the first screen; "" if the model works, if nothing is known, and for runs in this process."""
    source = str(material.manifest["model"].get("source") or "")
    sentences = [say("endpoint.page")] if source.startswith(ENDPOINT) else []
    return " ".join([*sentences, *filter(None, [_accuracy_warning(material)])])


def _accuracy_warning(material: Material) -> str:
    facts = material.conclusions.model_works
    if facts is None or facts.works not in ("no", "unclear"):
        return ""
    numbers = {name: f"{getattr(facts, name):.0%}" for name in ("accuracy", "low", "high", "majority")}
    return say(f"works.{facts.works}", n=facts.labelled, **numbers)
