"""`planted_texts`: training texts of planted models: many tasks, three sizes, exactly known evidence."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np

from regard.datasets.builtin.planted import DISTRACTORS, FILLERS, KEYWORDS, SHORTCUTS
from regard.datasets.examples import Examples
from regard.datasets.splits import THIRDS, checked, normalised, split_of
from regard.errors import InputError, phrase
from regard.measures.keyed_random import keyed_rng
from regard.records import Example, Message
from regard.registry import method

Size = Literal["s", "m", "l"]
Task = Literal[
    "single", "neutral", "pair", "many", "majority", "decoy", "shortcut", "absence", "place", "match", "three"
]
FILLING = {"s": 42, "m": 270, "l": 125}
"""Different fillers by size; with keywords, decoys and the like about 60, 290 and 145 words."""
LENGTHS = {"s": (8, 14), "m": (14, 26), "l": (10, 20)}
KEYS = (KEYWORDS[0][:6], KEYWORDS[1][:6], ("puzzling", "peculiar", "uncanny", "baffling", "curious", "cryptic"))
"""Decisive words, by class."""
DECOYS = DISTRACTORS[:2]
SILENT = 0.2
"""Share of the texts without evidence, in tasks that have such texts; their labels are random."""
PLACE = 2


def words(size: Size) -> tuple[str, ...]:
    """Return every word of a size: fillers first, by frequency."""
    more = (f"{word}s" for word in FILLERS if len(word) > 3)
    reserved = {*DISTRACTORS, *SHORTCUTS, *(w for some in KEYS for w in some)}
    fillers = [w for w in dict.fromkeys((*FILLERS, *more)) if w not in reserved][: FILLING[size]]
    return (*fillers, *(w for some in KEYS for w in some), *DECOYS, *SHORTCUTS)


@method("dataset", modality="text", licence="Apache-2.0", package="", real=False)
def planted_texts(
    *, split: str = "test", n: int = 600, seed: int = 0, size: Size = "s", task: Task = "neutral"
) -> Examples:
    """Generated texts for planted models: some words decide, the rest is filler; rationale = the decisive words.

    size: s (60 words, 8 to 14 in a text), m (290, 14 to 26), l (145, 10 to 20). task: single (one keyword), neutral
    (it, and a fifth of the texts have none and a label by lot), pair, many (three to six), majority (three or five of
    both classes), decoy (a striking word beside it), shortcut (a day's name decides, keywords agree with it in 70 %),
    absence (class 0 has no keyword), place (always the third word), match (do two words match?), three (classes).

    >>> one = planted_texts(n=1, task="single")[0]
    >>> start, end = map(int, one.rationale[0])
    >>> one.inputs["text"][start:end] in KEYS[one.label]
    True
    """
    split = checked(split)
    if n < 1:
        raise InputError("planted_texts.n", expected=phrase("errors.common.at_least"), got=str(n))
    fillers = words(size)[: FILLING[size]]
    weights = 1 / (np.arange(len(fillers)) + 3.0)
    steps = np.cumsum(weights / weights.sum())
    classes = 3 if task == "three" else 2
    rng = keyed_rng(seed, "planted_texts", split, size, task)
    items: list[Example] = []
    homes: set[str] = set()
    while len(items) < n:
        label = len(items) % classes
        deciding, beside, kind = _pieces(rng, task, label)
        length = int(rng.integers(LENGTHS[size][0], LENGTHS[size][1] + 1))
        count = length - len(deciding) - len(beside)
        numbers = np.minimum(np.searchsorted(steps, rng.random(count)), len(fillers) - 1)
        pieces = [(w, True) for w in deciding] + [(w, False) for w in beside] + [(fillers[i], False) for i in numbers]
        order = rng.permutation(length)
        if task == "place":  # the first piece is the keyword
            order = np.concatenate([(rest := order[order != 0])[:PLACE], [0], rest[PLACE:]])
        text = " ".join(pieces[i][0] for i in order)
        home = normalised(text)
        if home in homes or (split != "all" and split_of(home, fractions=THIRDS) != split):
            continue
        homes.add(home)
        spans = [(float(m.start()), float(m.end())) for m in re.finditer(r"\S+", text)]
        rationale = tuple(spans[at] for at, i in enumerate(order) if pieces[i][1])
        items.append(Example(f"{split}-{len(items):05d}", {"text": text}, label, rationale, slices={"evidence": kind}))
    note = Message.of("data.generated_task", n=n, task=task, size=size, split=split, seed=seed)
    names = ("negative", "positive", "puzzled")[:classes]
    return Examples("planted_texts", tuple(items), names, (note,))


def _pieces(rng: np.random.Generator, task: Task, label: int) -> tuple[list[str], list[str], str]:
    """Return the decisive words, other striking words, and "yes" or "none" for evidence."""

    def some(of: int, count: int) -> list[str]:
        return [str(w) for w in rng.permutation(KEYS[of])[:count]]

    silent = task in ("neutral", "pair", "many", "decoy", "three") and rng.random() < SILENT
    beside = [str(rng.permutation(DECOYS)[0])] if task == "decoy" else []
    if silent:
        return [], beside, "none"
    if task == "absence":
        return (some(1, 1), [], "yes") if label else ([], [], "none")
    if task == "pair":
        return some(label, 2), [], "yes"
    if task == "many":
        return some(label, int(rng.integers(3, 7))), [], "yes"
    if task == "majority":
        count = int(rng.choice([3, 5]))
        against = int(rng.integers(0, count // 2 + 1))
        return some(label, count - against), some(1 - label, against), "yes"
    if task == "shortcut":
        agrees = rng.random() < 0.7
        return [SHORTCUTS[label]], some(label if agrees else 1 - label, 1), "yes"
    if task == "match":
        one = int(rng.integers(2))
        return [KEYS[0][one], KEYS[1][one if label else 1 - one]], [], "yes"
    return some(label, 1), beside, "yes"
