"""Adversarial training of attention."""

from __future__ import annotations

from regard.improve.recipe import Recipe
from regard.message import Message
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
        Message.of("improvement.recipe.attention_adversarial_control", epsilon=epsilon),
        {f"adversarial_attention:direction=random,{tail}": weight},
        looks=True,
    )
    return Recipe(
        Message.of("improvement.recipe.attention_adversarial", epsilon=epsilon),
        {f"adversarial_attention:{tail}": weight},
        control=other if control else None,
        looks=True,
    )
