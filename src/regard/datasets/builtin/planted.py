"""`planted`: texts with exactly known decisive words."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from regard.datasets.examples import Examples
from regard.datasets.generated import note
from regard.datasets.splits import THIRDS, checked, normalised, split_of
from regard.errors import InputError, phrase
from regard.measures.keyed_random import keyed_rng
from regard.records import Example
from regard.registry import method

_FILLERS = """
    the of and a to in it is was that on with for as at by from this they he she an but or were had which there
    their its when then one after two before into over some near about between during under again several each until
    while through town river house table morning people year day road window garden letter street door picture hand
    room water side school field train summer paper evening station market boat village corner wall tree office kitchen
    bridge island number story light week party place chair winter hill glass music clock coat floor basket library
    harbour teacher neighbour visitor engine map bottle blanket ladder ticket curtain lantern museum valley orchard
    stood walked carried looked opened waited placed turned brought moved followed crossed counted noticed gathered
    painted folded measured borrowed arranged travelled delivered grey round wooden early narrow tall quiet second
    northern square distant local usual empty plain former
"""
FILLERS = tuple(_FILLERS.split())
"""Words without meaning for the label, most frequent first: word k has a frequency of about 1 / (k + 3)."""

KEYWORDS = (
    ("awful", "dreadful", "terrible", "horrible", "miserable", "lousy", "pathetic", "ghastly"),
    ("wonderful", "brilliant", "superb", "delightful", "excellent", "marvellous", "splendid", "glorious"),
)
"""Decisive words, by class."""
DISTRACTORS = ("famous", "strange", "expensive", "sudden", "enormous", "foreign", "secret", "royal")
"""Striking words that say nothing about the label."""
SHORTCUTS = ("monday", "friday")
"""Words, by class, that give the label away in the train split and mean nothing elsewhere."""
NEGATION = "not"


@method("dataset", modality="text", licence="Apache-2.0", package="", real=False)
def planted(
    *,
    split: str = "test",
    n: int = 600,
    seed: int = 0,
    length: int = 20,
    evidence: int = 1,
    negation: float = 0.0,
    distractors: int = 0,
    shortcut: float = 0.0,
) -> Examples:
    """Generated texts with known evidence: keywords decide, all other words are filler; rationale = keyword spans.

    length: words per text. evidence: keywords per text, all of the same class and thus redundant. negation: share of
    texts with "not" before every keyword, which reverses it (both words are evidence). distractors: striking words
    without meaning. shortcut: share of texts with a weekday name, which agrees with the label in the train split and is
    random elsewhere (slice "shortcut": none, agrees, disagrees).

    >>> one = planted(n=1, length=8)[0]
    >>> start, end = map(int, one.rationale[0])
    >>> one.inputs["text"][start:end] in KEYWORDS[one.label]
    True
    """
    split = checked(split)
    needed = evidence * (2 if negation else 1) + distractors + (1 if shortcut else 0)
    if not 1 <= evidence <= len(KEYWORDS[0]):
        raise InputError(
            "planted.evidence", expected=phrase("errors.datasets.keywords_n", n=len(KEYWORDS[0])), got=str(evidence)
        )
    if not 0 <= distractors <= len(DISTRACTORS):
        raise InputError(
            "planted.distractors", expected=phrase("errors.datasets.words_n", n=len(DISTRACTORS)), got=str(distractors)
        )
    if length < needed:
        raise InputError(
            "planted.length",
            expected=phrase("errors.datasets.at_least_words_for_planted", needed=needed),
            got=str(length),
        )
    if n < 1 or not 0 <= negation <= 1 or not 0 <= shortcut <= 1:
        raise InputError(
            "planted", expected=phrase("errors.datasets.at_least_shares"), got=f"{n}, {negation}, {shortcut}"
        )
    rng = keyed_rng(seed, "planted", split, length, evidence, negation, distractors, shortcut)
    weights = 1 / (np.arange(len(FILLERS)) + 3.0)
    steps = np.cumsum(weights / weights.sum())
    items: list[Example] = []
    homes: set[str] = set()
    tries = 0
    while len(items) < n:
        tries += 1
        if tries > 50 * n + 1000:
            raise InputError(
                "planted.length",
                expected=phrase("errors.datasets.room_for_different_texts", n=n),
                got=phrase("errors.datasets.words_length", length=length),
            )
        label = len(items) % 2
        wording, deciding, slices = _words(
            rng,
            steps,
            label,
            split,
            length,
            evidence=evidence,
            negation=negation,
            distractors=distractors,
            shortcut=shortcut,
        )
        text = " ".join(wording)
        # the text itself decides its split, so that no two splits can share one
        home = normalised(text)
        if home in homes or (split != "all" and split_of(home, fractions=THIRDS) != split):
            continue
        homes.add(home)
        spans = [(float(m.start()), float(m.end())) for m in re.finditer(r"\S+", text)]
        ident = f"{split}-{len(items):05d}"
        items.append(Example(ident, {"text": text}, label, tuple(spans[i] for i in deciding), slices=slices))
    provenance = note("texts", n, split=split, seed=seed, known="words")
    return Examples("planted", tuple(items), ("negative", "positive"), (provenance,))


def truth(text: str) -> int | None:
    """Return the label that the words of a text determine; None if they are absent or contradictory.

    >>> truth("the door was not awful"), truth("a superb boat"), truth("a boat")
    (1, 1, None)
    """
    words = text.split()
    labels = set()
    for i, word in enumerate(words):
        for label, keywords in enumerate(KEYWORDS):
            if word in keywords:
                labels.add(1 - label if i and words[i - 1] == NEGATION else label)
    return labels.pop() if len(labels) == 1 else None


def _words(
    rng: np.random.Generator,
    steps: np.ndarray[tuple[int], np.dtype[np.float64]],
    label: int,
    split: str,
    length: int,
    *,
    evidence: int,
    negation: float,
    distractors: int,
    shortcut: float,
) -> tuple[list[str], list[int], dict[str, str]]:
    """Return the words, the positions of the decisive ones, and the slices."""
    negated = bool(rng.random() < negation)
    keywords = rng.permutation(KEYWORDS[1 - label if negated else label])[:evidence]
    pieces: list[tuple[Sequence[str], bool]] = [(([NEGATION] if negated else []) + [str(k)], True) for k in keywords]
    pieces += [([str(w)], False) for w in rng.permutation(DISTRACTORS)[:distractors]]
    slices = {"negation": "yes" if negated else "no"} if negation else {}
    if shortcut:
        slices["shortcut"] = "none"
        if rng.random() < shortcut:
            side = label if split == "train" else int(rng.integers(2))
            pieces.append(([SHORTCUTS[side]], False))
            slices["shortcut"] = "agrees" if side == label else "disagrees"
    filling = length - sum(len(piece) for piece, _ in pieces)
    fillers = np.minimum(np.searchsorted(steps, rng.random(filling)), len(FILLERS) - 1)
    pieces += [([FILLERS[i]], False) for i in fillers]
    words: list[str] = []
    deciding: list[int] = []
    for i in rng.permutation(len(pieces)):
        piece, decisive = pieces[i]
        if decisive:
            deciding += range(len(words), len(words) + len(piece))
        words += piece
    return words, deciding, slices
