"""HotFlip on words and on sub-words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from regard.attacks._flip import Flips
from regard.attacks._lockstep import Look, Search, Slope, hunt
from regard.attacks._text import Text
from regard.measures.ranking import order
from regard.protocols import Case
from regard.records import Attacked, Threat
from regard.registry import attack


@attack(
    access="white box",
    modality=("text",),
    cite="Ebrahimi et al. 2018",
    formula="gradient . (E_v - e_i) for every token i and every v of the vocabulary; the best are asked for",
    cost="one backward and `many` forwards per changed token",
    misleads="the first-order score ignores meaning: a flip shows that the model can be moved, not that it is wrong",
)
def hotflip(case: Case, threat: Threat, *, many: int = 24, steps: int = 8) -> Sequence[Attacked]:
    """Tokens are exchanged where the gradient promises most, the best `many` asked for: one record per example.

    Works on sub-words as on words. Special tokens stay. A change counts only if the changed *text* is read as just the
    tokens that were meant; that some were dropped because it is not, is said in `notes`. Deviation: after each flip the
    gradient is taken anew.
    """
    flips = Flips(case)
    dropped: Counter[int] = Counter()

    def search(i: int, text: Text) -> Search:
        words, score = text.words, -np.inf
        slope: Slope | None = None
        tried: set[tuple[str, ...]] = set()
        for _ in range(steps):
            if slope is None:
                found = yield Look(words)
                assert isinstance(found, Slope)
                slope = found
            made, lost = flips.best(text, words, slope, many, tried)
            dropped[i] += lost
            if not made:
                return
            scores = yield made
            assert isinstance(scores, np.ndarray)
            best = int(order(scores)[0])
            tried |= set(made)
            if scores[best] > score:  # else the gradient was wrong about these: its next ones are asked for
                words, score, slope = made[best], float(scores[best]), None

    def notes(i: int) -> Sequence[str]:
        return ["exchanges whose text is read as other tokens than were meant were dropped"] if dropped[i] else []

    return hunt(case, threat, search, "hotflip", notes=notes)
