"""`chinese_reviews`: generated Chinese reviews of restaurants, hotels and films."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np

from regard.datasets.builtin._lexicon import lexicon
from regard.datasets.examples import Examples
from regard.datasets.generated import Draft, Drawn, generated, note, share
from regard.datasets.marked import silent, unmarked
from regard.errors import InputError, phrase
from regard.registry import method

WORDS = lexicon("chinese_reviews")
NAMES = ("negative", "positive", "neutral")
DOMAINS = tuple(WORDS.domains)
Form = Literal["plain", "double", "negation", "contrast"]


@method("dataset", modality="text", licence="Apache-2.0", package="", real=False)
def chinese_reviews(
    *,
    split: str = "test",
    n: int = 2000,
    seed: int = 0,
    classes: int = 2,
    negation: float = 0.3,
    contrast: float = 0.35,
) -> Examples:
    """Generated Chinese reviews, negative (0) or positive (1); rationale = the words of the opinion that decides.

    Restaurants, hotels and films; sentences without an opinion surround it. negation: share of opinions that a
    negation turns round ("一点也不潮湿"). contrast: share of reviews with an opposite opinion before the one that
    decides ("虽然味道鲜美，但是服务员冷漠"; the word of contrast is marked too). classes=3: with neutral (2), whose
    opinions are neither good nor bad. Slices: domain, form (plain, double, negation, contrast).

    >>> one = chinese_reviews(n=1)[0]
    >>> one.label == label_of(one.inputs["text"])
    True
    """
    share("chinese_reviews.negation", negation)
    share("chinese_reviews.contrast", contrast)
    if classes not in (2, 3):
        raise InputError("chinese_reviews.classes", expected=phrase("errors.datasets.or"), got=str(classes))

    def draw(rng: np.random.Generator, number: int) -> Drawn:
        label = number % classes
        domain = DOMAINS[int(rng.integers(len(DOMAINS)))]
        form, opinion = _opinion(rng, WORDS.domains[domain]["things"], label, negation, contrast)
        facts = [WORDS.domains[domain]["facts"][i] for i in rng.permutation(len(WORDS.domains[domain]["facts"]))[:2]]
        clauses = [_filled(rng, fact) for fact in facts[: int(rng.integers(1, 3))]]
        clauses.insert(int(rng.integers(len(clauses) + 1)), opinion)
        marked_text = "，".join(clauses) + "。"

        def make() -> list[Draft]:
            text, spans = unmarked(marked_text)
            return [Draft({"text": text}, label, spans, {"domain": domain, "form": form})]

        return Drawn(silent(marked_text), make)

    items = generated("chinese_reviews", draw, split=split, n=n, seed=seed, settings=(classes, negation, contrast))
    provenance = note("chinese_reviews", n, split=split, seed=seed, known="deciding")
    return Examples("chinese_reviews", items, NAMES[:classes], (provenance,))


def label_of(text: str) -> int | None:
    """Return the label that a text has by the rule: opinions after the last contrast, reversed by negations.

    None if there is no opinion, or opinions contradict each other.

    >>> label_of("虽然味道鲜美，但是服务员很冷漠。"), label_of("房间一点也不潮湿。"), label_of("点了一份鱼。")
    (0, 1, None)
    """
    decisive = re.split("|".join(WORDS.but), text)[-1]
    labels = {2 for word in WORDS.neutral if word in decisive}
    for polarity, words in enumerate(opinion_words()):
        for match in re.finditer("|".join(sorted(words, key=len, reverse=True)), decisive):
            negated = decisive[: match.start()].endswith(tuple(WORDS.negations))
            labels.add(1 - polarity if negated else polarity)
    return labels.pop() if len(labels) == 1 else None


def opinion_words() -> tuple[frozenset[str], frozenset[str]]:
    """Return every bad and every good word."""
    things = [thing for domain in WORDS.domains.values() for thing in domain["things"]]
    return frozenset(w for _, _, bad in things for w in bad), frozenset(w for _, good, _ in things for w in good)


def _opinion(
    rng: np.random.Generator, things: list[Any], label: int, negation: float, contrast: float
) -> tuple[Form, str]:
    """Return the form, and the clauses with the decisive words in brackets."""
    first, second = (things[i] for i in rng.permutation(len(things))[:2])
    negated, clause = _clause(rng, first, label, negation)
    if rng.random() < contrast:
        other = 0 if label == 1 else 1
        _, before = _clause(rng, second, other, negation)
        opening = _one(rng, WORDS.though) if rng.random() < 0.5 else ""
        return "contrast", f"{opening}{silent(before)}，[{_one(rng, WORDS.but)}]{clause}"
    if negated:
        return "negation", clause
    if rng.random() < 0.25:
        return "double", f"{clause}，{_clause(rng, second, label, 0.0)[1]}"
    return "plain", clause


def _clause(rng: np.random.Generator, thing: Any, label: int, negation: float) -> tuple[bool, str]:
    """Return whether a negation reverses the opinion, and the clause."""
    name, good, bad = thing
    if label == NAMES.index("neutral"):
        return False, f"{name}{_one(rng, WORDS.hedges)}[{_one(rng, WORDS.neutral)}]"
    negated = bool(rng.random() < negation)
    words = good if (label == 1) != negated else bad
    before = _one(rng, WORDS.negations if negated else WORDS.degrees)
    return negated, f"{name}[{before}{_one(rng, words)}]"


def _filled(rng: np.random.Generator, text: str) -> str:
    return re.sub(r"\{(\w+)\}", lambda m: _one(rng, WORDS.slots[m[1]]), text)


def _one(rng: np.random.Generator, words: list[str]) -> str:
    return words[int(rng.integers(len(words)))]
