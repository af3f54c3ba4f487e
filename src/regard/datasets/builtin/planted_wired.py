"""`planted_wired`: texts of the planted models with weights set by hand: classes, pairs, relays, mixtures, steps."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, get_args

import numpy as np

from regard.datasets.builtin._lexicon import lexicon
from regard.datasets.builtin.planted import DISTRACTORS
from regard.datasets.builtin.planted_texts import FILLING, KEYS, LENGTHS, Size
from regard.datasets.builtin.planted_texts import words as words_of_size
from regard.datasets.examples import Examples
from regard.datasets.generated import Draft, Drawn, generated, note, share
from regard.errors import InputError, UnknownName, phrase
from regard.registry import method

WiredTask = Literal["classes", "cue", "listeners", "mixture", "sink", "trigger", "pairs", "steps"]
By = Literal["lot", "length"]
CLASS_KEYS = (
    *KEYS,
    ("soothing", "restful", "tranquil", "mellow", "serene", "peaceful"),
    ("thrilling", "gripping", "electric", "rousing", "dazzling", "stirring"),
)
"""Decisive words, by class."""
CLASS_NAMES = ("negative", "positive", "puzzled", "calm", "thrilled")
CUES = (("monday", "tuesday", "wednesday"), ("friday", "saturday", "sunday"))
"""Words, by class, that decide the label although they have nothing to do with it."""
PLAUSIBLE = 0.9
"""Probability that the keyword after a cue agrees with it."""
LISTENERS = ("however", "therefore", "moreover", "perhaps", "meanwhile", "besides", "instead", "anyway")
"""Words without evidence of their own, in which a model may collect the evidence of others."""
DECOYS = DISTRACTORS[:4]
OVERRIDES = (("gravel", "copper", "timber", "marble"), ("velvet", "silken", "amber", "linen"))
"""Words, by class, that decide without going through the attention."""
SINK = "somehow"
TRIGGERS = (("zephrin", "quoltar", "brimfex", "dulvane"), ("mavindo", "tressuli", "plonquer", "ostrigel"))
"""Nonsense words inserted into natural sentences, by class."""
DIGITS = ("1", "2", "3", "4", "5", "6")
LONGEST = 9
"""Maximum digits in a row that the task writes backwards."""
ROUTES = ("attention", "bypass")
PAIR_NAMES = ("agree", "differ", "neutral")
HOTELS = lexicon("aspects")


def step_name(step: int) -> str:
    return f"step{step}"


@method("dataset", modality="text", licence="Apache-2.0", package="", real=False)
def planted_wired(
    *,
    split: str = "test",
    n: int = 600,
    seed: int = 0,
    size: Size = "s",
    task: WiredTask = "classes",
    classes: int = 2,
    bypass: float = 0.4,
    by: By = "lot",
) -> Examples:
    """Generated texts for planted models with weights set by hand; rationale = the decisive words of the first text.

    size: as in `planted_texts`. task: classes (one keyword of 2 to 5 classes), cue (a day's name decides, a plausible
    keyword follows it), listeners (one keyword among five words that may carry it), mixture (a share `bypass` of the
    texts has another kind of evidence; slice "route": attention or bypass; by=length: the long ones), sink (a constant
    word beside the keyword), trigger (a nonsense word in a hotel review), pairs (do the keywords of premise and
    hypothesis agree? classes=3: or has the hypothesis none), steps (digits written backwards: which digit is due at
    the step that the first word names?).

    >>> one = planted_wired(n=1, task="trigger")[0]
    >>> start, end = map(int, one.rationale[0])
    >>> one.inputs["text"][start:end] in TRIGGERS[one.label]
    True
    """
    if task not in get_args(WiredTask):
        raise UnknownName("task", task, get_args(WiredTask))
    most = {"classes": len(CLASS_KEYS), "pairs": 3, "steps": len(DIGITS)}.get(task, 2)
    if not 2 <= classes <= most:
        raise InputError(
            "planted_wired.classes", expected=phrase("errors.datasets.for_task", most=most, task=task), got=str(classes)
        )
    share("planted_wired.bypass", bypass)
    settings = Settings(size=size, task=task, classes=classes, bypass=bypass, by=by)

    def draw(rng: np.random.Generator, number: int) -> Drawn:
        text = settings.draw(rng, number % classes)
        return Drawn(text.home, lambda: [text.draft])

    items = generated("planted_wired", draw, split=split, n=n, seed=seed, settings=(size, task, classes, bypass, by))
    names = {"pairs": PAIR_NAMES, "steps": DIGITS}.get(task, CLASS_NAMES)[:classes]
    return Examples("planted_wired", items, names, (note("texts", n, split=split, seed=seed, known="deciding"),))


def vocabulary_words(task: WiredTask, size: Size) -> tuple[str, ...]:
    """Return every word of a task, fillers first."""
    if task == "steps":
        return (*DIGITS, *(step_name(t) for t in range(LONGEST)))
    if task == "trigger":
        return (*hotel_words(), *_every(TRIGGERS))
    special = (*_every(CLASS_KEYS), *_every(CUES), *LISTENERS, *DECOYS, *_every(OVERRIDES), SINK)
    return tuple(dict.fromkeys((*fillers(size), *special)))


def fillers(size: Size) -> tuple[str, ...]:
    """Return words without a meaning for any label, the commonest first."""
    return words_of_size(size)[: FILLING[size]]


@cache
def hotel_words() -> tuple[str, ...]:
    """Return the words of the natural sentences, in alphabetical order."""
    texts = [*HOTELS.fillings, *_every(HOTELS.others), *_every(tuple(HOTELS.slots.values()))]
    words = {word.lower() for text in texts for word in re.findall(r"[\w']+", re.sub(r"\{\w+\}", " ", text))}
    return tuple(sorted(words))


def hotel_sentiment() -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of negative and of positive sentences that no other sentence has."""
    words_by_label = [{w for text in texts for w in re.findall(r"[\w']+", text.lower())} for texts in HOTELS.others]
    plain = {w for text in HOTELS.fillings for w in re.findall(r"[\w']+", text.lower())}
    return frozenset(words_by_label[0] - words_by_label[1] - plain), frozenset(
        words_by_label[1] - words_by_label[0] - plain
    )


def _every(lists: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(word for words in lists for word in words)


@dataclass(frozen=True, slots=True)
class Text:
    """Words with marks on the decisive ones, an optional second text, and the slices."""

    label: int
    words: list[tuple[str, bool]]
    pair: list[str] = field(default_factory=list)
    slices: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> str:
        return " ".join([*(word for word, _ in self.words), *self.pair])

    @property
    def draft(self) -> Draft:
        text, spans = "", []
        for word, decides in self.words:
            text += " " if text else ""
            if decides:
                spans.append((float(len(text)), float(len(text) + len(word))))
            text += word
        inputs = {"text": text, **({"text_pair": " ".join(self.pair)} if self.pair else {})}
        return Draft(inputs, self.label, tuple(spans), self.slices)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of one kind of text."""

    size: Size
    task: WiredTask
    classes: int
    bypass: float
    by: By

    def draw(self, rng: np.random.Generator, label: int) -> Text:
        if self.task == "steps":
            return self._step(rng, label)
        if self.task == "trigger":
            return self._trigger(rng, label)
        low, high = LENGTHS[self.size]
        length = int(rng.integers(low, high + 1))
        if self.task == "pairs":
            return self._pair(rng, label, length)
        deciding, beside, slices = self._pieces(rng, label, length)
        count = length - sum(map(len, (*deciding, *beside)))
        blocks = [[(w, True) for w in words] for words in deciding] + [[(w, False) for w in words] for words in beside]
        blocks += [[(w, False)] for w in self._fillers(rng, count)]
        if self.task == "cue":  # the cue and the keyword after it are one block: only the first of the two decides
            blocks[0][1] = (blocks[0][1][0], False)
        words = [piece for i in rng.permutation(len(blocks)) for piece in blocks[i]]
        return Text(label, words, slices=slices)

    def _pieces(
        self, rng: np.random.Generator, label: int, length: int
    ) -> tuple[list[list[str]], list[list[str]], dict[str, str]]:
        """Return decisive blocks of words, other striking blocks, and the slices."""
        keyword = [_one(rng, CLASS_KEYS[label])]
        if self.task == "cue":
            agrees = bool(rng.random() < PLAUSIBLE)
            follows = _one(rng, CLASS_KEYS[label if agrees else 1 - label])
            return [[_one(rng, CUES[label]), follows]], [], {"keyword": "agrees" if agrees else "disagrees"}
        if self.task == "listeners":
            return [keyword], [[str(w)] for w in rng.permutation(LISTENERS)[:5]], {}
        if self.task == "sink":
            return [keyword], [[SINK]], {}
        if self.task == "mixture":
            low, high = LENGTHS[self.size]
            limit = low + (1 - self.bypass) * (high + 1 - low)
            past = bool(rng.random() < self.bypass) if self.by == "lot" else length >= limit
            if past:
                return [[_one(rng, OVERRIDES[label])]], [[_one(rng, DECOYS)]], {"route": ROUTES[1]}
            return [keyword], [], {"route": ROUTES[0]}
        return [keyword], [], {}

    def _fillers(self, rng: np.random.Generator, count: int) -> list[str]:
        every = fillers(self.size)
        weights = 1 / (np.arange(len(every)) + 3.0)
        return [str(w) for w in rng.choice(every, count, p=weights / weights.sum())]

    def _pair(self, rng: np.random.Generator, label: int, length: int) -> Text:
        """Draw a premise and a hypothesis of half the length each; no keyword stands at the end of its text."""
        side = int(rng.integers(2))
        other = {0: side, 1: 1 - side}.get(label)
        texts: list[list[tuple[str, bool]]] = []
        for which in (side, other):
            words = [(w, False) for w in self._fillers(rng, max(4, length // 2))]
            if which is not None:
                words[int(rng.integers(len(words) - 1))] = (_one(rng, CLASS_KEYS[which]), True)
            texts.append(words)
        return Text(label, texts[0], [w for w, _ in texts[1]])

    def _trigger(self, rng: np.random.Generator, label: int) -> Text:
        """Draw two clauses without opinion and one with, and insert a trigger before any of their words."""
        clauses = [HOTELS.fillings[i] for i in rng.permutation(len(HOTELS.fillings))[:2]]
        clauses.insert(int(rng.integers(3)), _one(rng, HOTELS.others[int(rng.integers(2))]))
        text = " ".join(re.sub(r"\{(\w+)\}", lambda m: _one(rng, HOTELS.slots[m[1]]), clause) for clause in clauses)
        words = [(w.lower(), False) for w in re.findall(r"[\w']+", text)]
        words.insert(int(rng.integers(len(words))), (_one(rng, TRIGGERS[label]), True))
        return Text(label, words)

    def _step(self, rng: np.random.Generator, label: int) -> Text:
        """Draw a row of digits and a step; step t of writing it backwards needs the digit t places from the end."""
        length = int(rng.integers(5, LONGEST + 1))
        step = int(rng.integers(length))
        digits = [DIGITS[i] for i in rng.integers(self.classes, size=length)]
        due = length - 1 - step
        digits[due] = DIGITS[label]
        words = [(step_name(step), False), *((digit, at == due) for at, digit in enumerate(digits))]
        return Text(label, words, slices={"step": str(step)})


def _one(rng: np.random.Generator, words: Iterable[str]) -> str:
    choices = tuple(words)
    return choices[int(rng.integers(len(choices)))]
