"""Random word substitutions, the baseline of attacks on texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.attacks._lockstep import Search, lockstep_search
from regard.attacks._substitutes import substitutes
from regard.attacks._text import Text, with_word
from regard.protocols import Case
from regard.records import Attacked, Threat
from regard.registry import attack

SIZE = 16
"""Texts per model batch."""


@attack(
    access="none",
    modality=("text",),
    role="baseline",
    formula="as many words as are allowed, at random places, with random substitutes of the same kind",
    cost="`draws` forwards",
)
def random_words(
    case: Case, threat: Threat, *, draws: int = 1, source: str = "neighbours", many: int = 12
) -> Sequence[Attacked]:
    """Make random changes of the size allowed to attacks, the baseline to beat: one record per example.

    draws: number of texts to try; 1 is noise, more is a random search.
    """
    instead = substitutes(case, source, many)

    def search(i: int, text: Text) -> Search:
        rng = case.rng(i, "random_words")
        places = [k for k in text.open if instead(text.words[k])]
        for first in range(0, draws, SIZE):
            yield [
                variant for _ in range(min(SIZE, draws - first)) if (variant := _drawn(text, places, rng)) is not None
            ]

    def _drawn(text: Text, places: list[int], rng: np.random.Generator) -> tuple[str, ...] | None:
        words = text.words
        for k in rng.permutation(len(places))[: text.most]:
            choices = instead(text.words[places[k]])
            candidate = with_word(words, places[k], choices[int(rng.integers(len(choices)))])
            words = candidate if text.allows(candidate) else words
        return words if words != text.words else None

    return lockstep_search(case, threat, search, "random_words")
