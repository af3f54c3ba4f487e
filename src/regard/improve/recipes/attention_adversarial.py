"""Adversarial training of attention."""

from __future__ import annotations

from regard.improve.recipe import Recipe
from regard.registry import method


@method("recipe", cite="Kitada & Iyatomi 2021", aims="agreement of attention with gradients")
def attention_adversarial(
    modality: str, *, epsilon: float = 0.5, steps: int = 1, weight: float = 1.0, control: bool = True
) -> Recipe:
    """Say the label also where the attention scores are moved against it; with the random control arm of the paper.

    epsilon: the norm of the change over the words of a text, in scores before the softmax.
    """
    tail = f"epsilon={epsilon},steps={steps}"
    other = Recipe(
        f"attention scores moved at random by {epsilon:g}",
        {f"adversarial_attention:direction=random,{tail}": weight},
        looks=True,
    )
    return Recipe(
        f"attention scores moved against the label by {epsilon:g}",
        {f"adversarial_attention:{tail}": weight},
        control=other if control else None,
        looks=True,
    )
