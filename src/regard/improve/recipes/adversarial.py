"""Adversarial training of word vectors or inputs."""

from __future__ import annotations

from typing import Literal

from regard.improve.recipe import Recipe
from regard.message import Message
from regard.registry import method


@method(
    "recipe", cite="Miyato et al. 2017 (fgm); Madry et al. 2018 (pgd); Zhu et al. 2020 (freelb)", aims="attack success"
)
def adversarial(
    modality: str,
    *,
    how: Literal["fgm", "pgd", "freelb"] = "fgm",
    epsilon: float = 0.03,
    steps: int = 3,
    weight: float = 1.0,
    control: bool = False,
) -> Recipe:
    """Adversarial training: learn the label also for inputs (word vectors of a text) moved against it.

    epsilon: size of the change, as a share of the norm of the example's inputs. control: an additional arm with random
    changes of the same size.
    """
    tail = f"epsilon={epsilon},steps={steps}"
    other = Recipe(
        Message.of("improvement.recipe.adversarial_control", epsilon=epsilon),
        {f"adversarial_inputs:how=random,{tail}": weight},
    )
    return Recipe(
        Message.of("improvement.recipe.adversarial", epsilon=epsilon, how=how),
        {f"adversarial_inputs:how={how},{tail}": weight},
        control=other if control else None,
    )
