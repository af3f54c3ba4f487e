"""`induction`: prediction of the symbol that followed the last occurrence."""

from __future__ import annotations

import numpy as np

from regard.datasets.builtin.sequences import SYLLABLES
from regard.datasets.examples import Examples
from regard.datasets.generated import Draft, Drawn, generated, note
from regard.errors import InputError, phrase
from regard.registry import method


@method("dataset", modality="text", licence="Apache-2.0", package="", real=False)
def induction(*, split: str = "test", n: int = 2000, seed: int = 0, symbols: int = 24, length: int = 16) -> Examples:
    """Generated syllable rows A B ... A; label = B, which followed the earlier A; rationale = the earlier A, B.

    symbols: how many different syllables there are. length: syllables in a row, with the last A. A stands in it twice
    only; B and the others may repeat. The label is the number of B among the symbols, also named by `labels`.
    Reference: Olsson et al. 2022.

    >>> data = induction(n=1, length=6)
    >>> data[0].inputs["text"], data.labels[data[0].label]
    ('sa da de ba pa de', 'ba')
    """
    if not 3 <= symbols <= len(SYLLABLES) or length < 3:
        expected = phrase("errors.datasets.symbols_length_at_least", n=len(SYLLABLES))
        raise InputError("induction", expected=expected, got=f"symbols={symbols}, length={length}")

    def draw(rng: np.random.Generator, number: int) -> Drawn:
        label = number % symbols
        query = (label + int(rng.integers(1, symbols))) % symbols
        # every symbol but the one that is asked for
        row = (query + rng.integers(1, symbols, size=length)) % symbols
        at = int(rng.integers(length - 2))
        row[at], row[at + 1], row[-1] = query, label, query
        words = [SYLLABLES[i] for i in row]
        text = " ".join(words)

        def make() -> list[Draft]:
            starts = [sum(len(w) + 1 for w in words[:i]) for i in (at, at + 1)]
            places = tuple((float(s), float(s + len(words[at + k]))) for k, s in enumerate(starts))
            return [Draft({"text": text}, label, places, {"distance": str(length - 1 - at)})]

        return Drawn(text, make)

    items = generated("induction", draw, split=split, n=n, seed=seed, settings=(symbols, length))
    provenance = note("rows", n, split=split, seed=seed, known="pair")
    return Examples("induction", items, SYLLABLES[:symbols], (provenance,))
