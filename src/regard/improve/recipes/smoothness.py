"""Smoothness: the same prediction, and the same attention, after a small change."""

from __future__ import annotations

from typing import Literal

from regard.improve.recipe import Recipe
from regard.message import Message
from regard.records import Json
from regard.registry import method


@method(
    "recipe",
    cite="Zhang et al. 2019; Miyato et al. 2018",
    aims="stability of predictions and of attention",
    search={"weight": [0.3, 1.0, 3.0]},
)
def smoothness(
    modality: str,
    *,
    direction: Literal["random", "worst"] = "worst",
    epsilon: float = 0.03,
    weight: float = 1.0,
    attention: float = 0.0,
) -> Recipe:
    """Keep the prediction, and with `attention` above 0 the attention, after a small input change; no labels needed.

    epsilon: size of the change, as a share of the norm of the example's inputs.
    """
    size: dict[str, Json] = {"epsilon": epsilon, "direction": direction}
    what = Message("improvement.recipe.smoothness", size)
    if attention:
        what = Message("improvement.recipe.smoothness_attention", {**size, "attention": attention})
    return Recipe(
        what,
        {f"consistency:attention={attention},direction={direction},epsilon={epsilon}": weight},
        looks=attention > 0,
    )
