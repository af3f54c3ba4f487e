"""Attention regularisation: loss terms on the attention weights."""

from __future__ import annotations

from typing import Literal

from regard.improve.recipe import Recipe
from regard.registry import method

TERMS = {
    "gradients": ("gradient_distance", "attention drawn to where the loss is steep"),
    "rationales": ("rationale_distance", "attention drawn to what people call decisive"),
    "few_words": ("attention_entropy", "attention drawn to few words"),
    "diversity": ("conicity", "states that point apart, so that it matters which is attended to"),
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
    term, words = TERMS[toward]
    return Recipe(f"{words} (weight {weight:g})", {term: weight}, looks=True)
