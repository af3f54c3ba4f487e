"""Attention regularisation: loss terms on the attention weights."""

from __future__ import annotations

from typing import Literal

from regard.improve.recipe import Recipe
from regard.message import Message
from regard.registry import method

TERMS = {
    "gradients": "gradient_distance",
    "rationales": "rationale_distance",
    "few_words": "attention_entropy",
    "diversity": "conicity",
}


@method(
    "recipe",
    cite="Mohankumar et al. 2020 (diversity)",
    aims="agreement of attention with gradients, faithfulness",
    search={"weight": [0.3, 1.0, 3.0]},
)
def attention_regularised(
    modality: str,
    *,
    toward: Literal["gradients", "rationales", "few_words", "diversity"] = "gradients",
    weight: float = 1.0,
) -> Recipe:
    """A term about attention beside the loss: agreement with gradients or rationales, few words, or diverse states.

    rationales: the data must have them.
    """
    what = Message.of(f"improvement.recipe.{toward}", weight=weight)
    return Recipe(what, {TERMS[toward]: weight}, looks=True)
