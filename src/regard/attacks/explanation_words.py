"""Word substitutions that keep the prediction and move the explanation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.attacks._drift import by_place, drift, mass_on_top
from regard.attacks._goal import TIE, Goal, goal_of
from regard.attacks._substitutes import substitutes
from regard.attacks._text import Text, Words, texts, with_word
from regard.desk.changes import Replaced
from regard.measures.ranking import order
from regard.protocols import Case
from regard.records import Attacked, Floats, Threat
from regard.registry import attack

MOVED = 0.5
"""A success: at most this share of the k most relevant words is still among them."""


@attack(
    access="black box",
    modality=("text",),
    goal="explanation",
    cite="Ghorbani et al. 2019; Sinha et al. 2021",
    formula="least mass on the k most relevant words of the original; the class stays, p moves at most `within`",
    cost="one explanation and one forward per text that is tried",
    misleads="if a substitute changes the meaning, an explanation that moves with it is right to do so",
)
def explanation_words(
    case: Case,
    threat: Threat,
    *,
    explainer: str = "attention",
    k: int = 3,
    within: float = 0.1,
    source: str = "neighbours",
    many: int = 8,
) -> Sequence[Attacked]:
    """Words are replaced so that the answer stays and the explanation goes elsewhere: one record per example.

    extras: overlap of the k most relevant words, mass left on them, Spearman and Jensen-Shannon, word by word. A
    success where at most half of the k words are still among the first k. An explanation counts as one query.
    """
    goal = goal_of(case, Threat(budget=threat.budget))
    instead = substitutes(case, source, many)
    each = texts(case.examples, threat)
    told = case.relevance(explainer)
    before = [by_place(case, i, told[i]) for i in range(len(each))]
    current: list[Words] = [text.words for text in each]
    after, rows = list(before), [goal.said[i] for i in range(len(each))]
    queries = [0] * len(each)
    curves: list[list[tuple[int, float]]] = [[(0, 1.0)] for _ in each]
    why = [reason or ("" if text.open and len(text.words) > k else "too few words")
           for text, reason in zip(each, goal.why, strict=True)]  # fmt: skip
    # the words that hold the explanation first: a change there moves it most
    places = {i: [text.open[j] for j in order(before[i][text.open])] for i, text in enumerate(each) if not why[i]}
    while places:
        asked: dict[int, list[Words]] = {}
        for i in list(places):
            full = len(each[i].changed(current[i])) >= each[i].most
            while places[i] and i not in asked and not full and queries[i] < threat.budget:
                at = places[i].pop(0)
                made = [with_word(current[i], at, w) for w in instead(each[i].words[at])]
                made = [words for words in made if each[i].allows(words)][: threat.budget - queries[i]]
                if made:
                    asked[i] = made
            if i not in asked:
                del places[i]
        for i, (words, found, row, used) in _tried(case, goal, each, asked, explainer, before, within, k).items():
            queries[i] += used
            if words is not None and mass_on_top(before[i], found, k) < mass_on_top(before[i], after[i], k) - TIE:
                current[i], after[i], rows[i] = words, found, row
                curves[i].append((queries[i], mass_on_top(before[i], found, k)))
    return [
        _record(case, goal, i, each[i], current[i], rows[i], queries[i], curves[i], before[i], after[i], k, why[i])
        for i in range(len(each))
    ]


Tried = tuple[Words | None, Floats, Floats, int]


def _tried(
    case: Case, goal: Goal, each: Sequence[Text], asked: dict[int, list[Words]], explainer: str,
    before: Sequence[Floats], within: float, k: int,
) -> dict[int, Tried]:  # fmt: skip
    """For each example the best of its texts that keeps the prediction, or None; all are explained together."""
    flat = [(i, words) for i, some in asked.items() for words in some]
    if not flat:
        return {}
    made = [each[i].made(words) for i, words in flat]
    there = case.subset([i for i, _ in flat]).variant(Replaced(made))
    said, told = there.base(), there.relevance(explainer)
    assert said.distribution is not None
    best: dict[int, Tried] = {}
    for n, (i, words) in enumerate(flat):
        row = said.distribution[n]
        kept = goal.predicted(i, row) == goal.before[i]
        near = abs(float(row[goal.before[i]]) - float(goal.said[i][goal.before[i]])) <= within
        found = by_place(there, n, told[n])
        used = best[i][3] + 1 if i in best else 1
        old = best.get(i)
        fits = kept and near and len(found) == len(before[i])
        if fits and (
            old is None or old[0] is None
            or mass_on_top(before[i], found, k) < mass_on_top(before[i], old[1], k) - TIE
        ):  # fmt: skip
            best[i] = (words, found, row, used)
        else:
            best[i] = (None, found, row, used) if old is None else (old[0], old[1], old[2], used)
    return best


def _record(
    case: Case, goal: Goal, i: int, text: Text, words: Words, row: Floats, queries: int,
    curve: list[tuple[int, float]], before: Floats, after: Floats, k: int, why: str,
) -> Attacked:  # fmt: skip
    said = tuple(map(float, goal.said[i]))
    if why:
        return Attacked(case.ids[i], "explanation_words", "skipped", before=goal.before[i], said_before=said, why=why)
    moved = drift(before, after, k)
    changed = words != text.words
    return Attacked(
        case.ids[i], "explanation_words", "success" if changed and moved["top_k_overlap"] <= MOVED else "failed",
        queries, text.made(words) if changed else None, goal.before[i], goal.predicted(i, row), said,
        tuple(map(float, row)), len(text.changed(words)) / max(1, len(words)), text.similarity(words),
        curve=tuple(curve), origin=text.origin(words), extras={**moved, "places": float(np.size(before))},
    )  # fmt: skip
