"""Rarity baseline: relevance by word frequency alone."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from math import log

import numpy as np

from regard.datasets.read import read
from regard.errors import Unsupported, phrase
from regard.protocols import Case
from regard.records import Example, Relevance, Units
from regard.registry import explainer

_WORD = re.compile(r"\w+|[^\w\s]")


@explainer(
    role="baseline",
    cite="Sparck Jones 1972",
    cost="none (counts the corpus once per process)",
    passes_per="none",
    formula="r_j = -log((count of its word + 1) / (words + vocabulary + 1))",
    misleads="not as a baseline; a high score means that rare words decide",
)
def token_frequency(case: Case, *, corpus: str = "reviews") -> Relevance:
    """Rarity baseline: the rarer a unit's word in a corpus, the higher its relevance.

    Returns one value of at least 0 per unit, -log of the smoothed share of its word in the corpus ((count + 1) /
    (words + vocabulary + 1)); special units 0. All pieces of a word get the value of the word.
    corpus: any data that `regard.read` reads (a built-in name, a file); its texts are counted, case ignored.

    >>> from regard.testing.toy import ToyCase
    >>> common, rare = token_frequency(ToyCase(("the xylophone",)))[0][1:]
    >>> bool(common < rare)
    True
    """
    counts = _counts(corpus)
    floor = sum(counts.values()) + len(counts) + 1
    rows = []
    for example, units in zip(case.examples, case.units, strict=True):
        words = _words(example, units)
        rarity = [log(floor / (counts[word] + 1)) for word in words]
        rows.append(np.where(units.free, rarity, 0.0))
    return Relevance.of("token_frequency", case.ids, rows)


def _words(example: Example, units: Units) -> list[str]:
    """Return the word of each unit as spelled in the text."""
    if units.place_kind != "span":
        raise Unsupported(
            "token_frequency",
            expected=phrase("errors.explainers.units_text"),
            got=phrase("errors.explainers.units_kind", kind=repr(units.kind)),
        )
    texts = [str(example.inputs.get(key, "")) for key in ("text", "text_pair")]
    words = []
    for j in range(len(units)):
        same = units.groups == units.groups[j] if units.groups[j] >= 0 else np.arange(len(units)) == j
        start, end = int(units.places[same, 0].min()), int(units.places[same, 1].max())
        text = texts[int(units.part[j])][start:end] if end > start else units.names[j]
        words.append(text.strip().lower())
    return words


@lru_cache(maxsize=4)
def _counts(corpus: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for example in read(corpus, limit=None):
        for key in ("text", "text_pair"):
            counts.update(_WORD.findall(str(example.inputs.get(key, "")).lower()))
    if not counts:
        raise Unsupported(
            phrase("errors.explainers.token_frequency_corpus", corpus=corpus),
            expected=phrase("errors.explainers.corpus_texts"),
            got=phrase("errors.explainers.no_words"),
        )
    return counts
