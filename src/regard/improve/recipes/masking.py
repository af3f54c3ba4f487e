"""Learning from masked texts."""

from __future__ import annotations

from regard.improve.recipe import Recipe
from regard.message import Message
from regard.registry import method


@method(
    "recipe",
    cite="Madsen et al. 2024",
    aims="explanations by removal that stay in distribution",
    search={"share": [0.25, 0.5, 0.75]},
)
def masking(modality: str, *, share: float = 0.5) -> Recipe:
    """Mask any share of the words in a share of the texts, so that removed words are nothing new to the model."""
    return Recipe(Message.of("improvement.recipe.masking", share=share), learner={"masking": share})
