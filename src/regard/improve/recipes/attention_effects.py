"""Attention drawn to the words that the prediction rests on."""

from __future__ import annotations

from regard.improve.recipe import Recipe
from regard.message import Message
from regard.registry import method


@method(
    "recipe",
    cite="after Ross et al. 2017",
    aims="share of the best method's effect that attention finds",
    search={"weight": [0.3, 1.0, 3.0, 10.0]},
)
def attention_effects(modality: str, *, weight: float = 1.0) -> Recipe:
    """Draw attention to the words without which the loss would rise, by first-order effects of the network itself."""
    what = Message.of("improvement.recipe.attention_effects", weight=weight)
    return Recipe(what, {"gradient_distance:of=effect": weight}, looks=True)
