"""The names of targets, of any model: its own where it has them, else its labels."""

from __future__ import annotations

from collections.abc import Sequence

from regard.protocols import Encoded, Model, Target
from regard.records import Json


def named(target: Target, labels: Sequence[str]) -> Json:
    """The name of a class where the target is the number of one, else the target itself."""
    if isinstance(target, int) and not isinstance(target, bool) and 0 <= target < len(labels):
        return labels[target]
    return target


def answer_of(model: Model, target: Target, encoded: Encoded | None = None) -> Json:
    """A target in words. Models of other packages need not know how: then it is the label, or the target itself."""
    own = getattr(model, "answer_name", None)
    if not callable(own):
        return named(target, model.labels)
    name: Json = own(target, encoded)
    return name


def written_by(model: Model, target: Target) -> tuple[str, ...] | None:
    """The tokens that a model wrote, one name each; None where an answer is no token."""
    own = getattr(model, "written_names", None)
    names: tuple[str, ...] | None = own(target) if callable(own) else None
    return names
