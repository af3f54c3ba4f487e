"""Recipe: additions to a training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from regard.message import Message, Text
from regard.records import Json
from regard.training.augmentation import Augment

AS_IT_IS = Message("improvement.recipe.plain")


@dataclass(frozen=True, slots=True)
class Recipe:
    """Additions of a recipe. terms: added to the learner's own loss. augment: noisy copies to learn from.

    what: a message, or the words of a recipe of another package. control: the same without its point (random instead of
    worst), a further arm of the comparison. looks: it uses attention, so the network must expose it. learner:
    parameters of the learner that it sets; refused if the learner has none of that name.
    """

    what: Text
    terms: Mapping[str, float] = field(default_factory=dict)
    augment: Augment | None = None
    control: Recipe | None = None
    looks: bool = False
    learner: Mapping[str, Json] = field(default_factory=dict)
