"""Learning from noisy copies."""

from __future__ import annotations

from regard.errors import Unsupported, phrase
from regard.improve.recipe import Recipe
from regard.message import Message
from regard.perturbations.apply import noises as known_noises
from regard.registry import method
from regard.training.augmentation import Augment

USUAL = {"text": ("keyboard", "drop_words"), "image": ("gaussian_noise", "gaussian_blur")}
"""Default noises by modality; elsewhere the first two by name."""


@method("recipe", cite="Belinkov & Bisk 2018; Hendrycks & Dietterich 2019", aims="accuracy under noise")
def noise(
    modality: str,
    *,
    noises: tuple[str, ...] = (),
    severities: tuple[int, ...] = (2, 4),
    share: float = 0.5,
    copies: int = 4,
) -> Recipe:
    """Noise augmentation: replace a share of every batch by copies under named noises.

    noises: names (`regard list perturbation`); by default keyboard errors and dropped words for texts. The comparison
    also covers noises that training did not use.
    """
    names = tuple(noises) or USUAL.get(modality) or tuple(spec.name for spec in known_noises(modality)[:2])
    if not names:
        raise Unsupported(
            phrase("errors.improve.recipe_noise"), expected=phrase("errors.improve.modality_with_noises"), got=modality
        )
    return Recipe(
        Message.of("improvement.recipe.noise", share=share, noises=", ".join(names)),
        augment=Augment(names, tuple(severities), share, copies),
    )
