"""Changed word order."""

from __future__ import annotations

from itertools import pairwise

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Script, chosen
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="text",
    family="word",
    scale="5, 10, 20, 35, 50 % of the words moved within the window",
    misleads="word order carries meaning (not, only): a changed prediction may be correct",
)
def word_order(example: Example, severity: int, rng: Stream, *, window: int = 3) -> Perturbed:
    """Swap some words with others at most `window` - 1 words away; punctuation stays.

    Every word is the word it was: the origins are a permutation.
    """
    script = Script.of(example)
    order = list(range(len(script.words)))
    for first, last in pairwise(script.firsts):
        words = [w for w in range(first, last) if script.words[w][0].isalnum()]
        free = set(range(len(words)))
        # a swap moves two words, so half as many swaps as words to be moved
        for i in chosen(range(len(words)), severity, rng, round(len(words) / 2)) if len(words) > 1 else ():
            near = [j for j in range(max(0, i - window + 1), min(len(words), i + window)) if j != i and j in free]
            near = [j for j in near if script.words[words[j]] != script.words[words[i]]]
            if i in free and near:
                j = near[rng.below(len(near))]
                free -= {i, j}
                order[words[i]], order[words[j]] = order[words[j]], order[words[i]]
    texts = [
        [(script.words[order[w]], order[w]) if w >= 0 else (text, w) for text, w in pieces]
        for pieces in script.pieces()
    ]
    return script.with_pieces(texts)
