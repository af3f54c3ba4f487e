"""Recipe: additions to a training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from regard.records import Json
from regard.training.augmentation import Augment


@dataclass(frozen=True, slots=True)
class Recipe:
    """terms: added to the learner's own loss. augment: noisy copies to learn from.

    what: in words. control: the same without its point (random instead of worst), a further arm of the comparison.
    looks: it speaks of attention, so that the network must say where it looks. learner: parameters of the learner that
    it sets; refused where the learner has none of that name.
    """

    what: str
    terms: Mapping[str, float] = field(default_factory=dict)
    augment: Augment | None = None
    control: Recipe | None = None
    looks: bool = False
    learner: Mapping[str, Json] = field(default_factory=dict)
