"""Greedy word substitution."""

from __future__ import annotations

from collections.abc import Sequence

from regard.attacks._lockstep import lockstep_search
from regard.attacks._search import Importance, greedy
from regard.attacks._substitutes import substitutes
from regard.protocols import Case
from regard.records import Attacked, Threat
from regard.registry import attack


@attack(
    access="black box",
    modality=("text",),
    cite="Jin et al. 2020 (TextFooler); Ren et al. 2019 (PWWS)",
    formula="words by importance; each becomes the substitute that lowers the log-odds of the predicted class most",
    cost="one forward per word, then `many` per word changed",
    misleads="neighbours in the model's own embedding need not be synonyms: a flip may change the meaning",
)
def greedy_word(
    case: Case, threat: Threat, *, importance: Importance = "deletion", source: str = "neighbours", many: int = 12
) -> Sequence[Attacked]:
    """Replace words, most important first, until the prediction flips: one record per example.

    importance: "deletion" queries the text without each word, "gradient" takes one backward pass (white box). source:
    "neighbours" in the model's own embedding (no download, needs the embedding table), "delete", or a JSON file {word:
    [substitute, ...]}, with which the attack needs predictions alone.
    """
    instead = substitutes(case, source, many)
    return lockstep_search(case, threat, lambda i, text: greedy(text, instead, importance), "greedy_word")
