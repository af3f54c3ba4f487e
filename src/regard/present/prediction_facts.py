"""Facts about the predictions of an audit, explained or not: accuracy, classes, confidence, lengths."""

from __future__ import annotations

import math

from regard.audits.conclusions.model_works import ModelWorks
from regard.present.messages.messages import say
from regard.present.run_reader import Material


def prediction_lines(material: Material) -> list[str]:
    """One sentence per known fact; accuracy, compared with the majority class, first."""
    facts = material.conclusions.model_works
    if facts is None:
        return []
    return [*filter(None, [accuracy_line(material), _classes(facts), *_quantiles(facts)])]


def lines_beside(warning: str, material: Material, *, verbose: bool) -> list[str]:
    """Lines for a terminal: accuracy alone, unless a warning already states it; verbose: all of them."""
    if verbose:
        return prediction_lines(material)
    return [line for line in [accuracy_line(material)] if line and not warning]


def accuracy_line(material: Material) -> str:
    """Share of right predictions compared with that of the most frequent label; "" without labels of two classes."""
    facts = material.conclusions.model_works
    if facts is None or not facts.works or math.isnan(facts.low):
        return ""
    numbers = {name: f"{getattr(facts, name):.0%}" for name in ("accuracy", "low", "high", "majority")}
    return say("predictions.right", n=facts.labelled, **numbers)


def _classes(facts: ModelWorks) -> str:
    if len(facts.predicted) < 2:
        return say("predictions.one_class", n=facts.n, name=next(iter(facts.predicted))) if facts.predicted else ""
    counts = say("listed").join(f"{name} {n}" for name, n in facts.predicted.items())
    return say("predictions.classes", n=facts.n, counts=counts)


def _quantiles(facts: ModelWorks) -> list[str]:
    """Median of the confidence, and of the lengths, with the 10 % and 90 % quantiles."""
    lines = []
    for name, values, digits in (("confidence", facts.confidence, 2), ("lengths", facts.lengths, 0)):
        if values:
            low, middle, high = (f"{value:.{digits}f}" for value in values)
            lines.append(say(f"predictions.{name}", low=low, middle=middle, high=high))
    return lines
