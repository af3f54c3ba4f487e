"""HotFlip on words and on sub-words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from regard.attacks._flip import Flips
from regard.attacks._lockstep import GradientReply, GradientRequest, Search, lockstep_search
from regard.attacks._text import Text
from regard.measures.ranking import order
from regard.protocols import Case
from regard.records import Attacked, Message, Threat
from regard.registry import attack


@attack(
    access="white box",
    modality=("text",),
    cite="Ebrahimi et al. 2018",
    formula="gradient . (E_v - e_i) for every token i and every v of the vocabulary; the best are asked for",
    cost="one backward and `many` forwards per changed token",
    misleads="the first-order score ignores meaning: a flip shows sensitivity, not an error",
)
def hotflip(case: Case, threat: Threat, *, many: int = 24, steps: int = 8) -> Sequence[Attacked]:
    """Flip the tokens that the gradient ranks highest, trying the best `many`: one record per example.

    Works on words and sub-words. Special tokens stay. A change counts only if the changed *text* tokenizes to exactly
    the intended tokens; `notes` reports dropped changes. Deviation: recomputes the gradient after each flip.
    """
    flips = Flips(case)
    dropped: Counter[int] = Counter()

    def search(i: int, text: Text) -> Search:
        words, score = text.words, -np.inf
        slope: GradientReply | None = None
        visited: set[tuple[str, ...]] = set()
        for _ in range(steps):
            if slope is None:
                reply = yield GradientRequest(words)
                assert isinstance(reply, GradientReply)
                slope = reply
            variants, lost = flips.best(text, words, slope, many, visited)
            dropped[i] += lost
            if not variants:
                return
            scores = yield variants
            assert isinstance(scores, np.ndarray)
            best = int(order(scores)[0])
            visited |= set(variants)
            if scores[best] > score:  # else the gradient was wrong about these: its next ones are asked for
                words, score, slope = variants[best], float(scores[best]), None

    def notes(i: int) -> Sequence[Message]:
        return [Message("attack.note.other_tokens")] if dropped[i] else []

    return lockstep_search(case, threat, search, "hotflip", notes=notes)
