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

LARGEST_OVERLAP = 0.5
"""Success threshold: at most this share of the k most relevant words remains among them."""


@attack(
    access="black box",
    modality=("text",),
    goal="explanation",
    cite="Ghorbani et al. 2019; Sinha et al. 2021",
    formula="least mass on the k most relevant words of the original; the class stays, p moves at most `within`",
    cost="one explanation and one forward per candidate text",
    misleads="if a substitute changes the meaning, the explanation should move with it",
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
    """Replace words to move the explanation while the prediction stays: one record per example.

    extras: overlap of the k most relevant words, mass left on them, Spearman and Jensen-Shannon, word by word. A
    success if at most half of the k words remain among the first k. An explanation counts as one query.
    """
    goal = goal_of(case, Threat(budget=threat.budget))
    instead = substitutes(case, source, many)
    each = texts(case.examples, threat)
    relevances = case.relevance(explainer)
    before = [by_place(case, i, relevances[i]) for i in range(len(each))]
    current: list[Words] = [text.words for text in each]
    after, rows = list(before), [goal.distributions[i] for i in range(len(each))]
    queries = [0] * len(each)
    curves: list[list[tuple[int, float]]] = [[(0, 1.0)] for _ in each]
    why = [
        reason or ("" if text.open and len(text.words) > k else "too_few_words")
        for text, reason in zip(each, goal.why, strict=True)
    ]
    # the words that hold the explanation first: a change there moves it most
    places = {i: [text.open[j] for j in order(before[i][text.open])] for i, text in enumerate(each) if not why[i]}
    while places:
        candidates: dict[int, list[Words]] = {}
        for i in list(places):
            full = len(each[i].changed(current[i])) >= each[i].most
            while places[i] and i not in candidates and not full and queries[i] < threat.budget:
                at = places[i].pop(0)
                variants = [with_word(current[i], at, w) for w in instead(each[i].words[at])]
                variants = [words for words in variants if each[i].allows(words)][: threat.budget - queries[i]]
                if variants:
                    candidates[i] = variants
            if i not in candidates:
                del places[i]
        for i, (words, relevance, row, spent) in _tried(
            case, goal, each=each, asked=candidates, explainer=explainer, before=before, within=within, k=k
        ).items():
            queries[i] += spent
            if words is not None and mass_on_top(before[i], relevance, k) < mass_on_top(before[i], after[i], k) - TIE:
                current[i], after[i], rows[i] = words, relevance, row
                curves[i].append((queries[i], mass_on_top(before[i], relevance, k)))
    return [
        _record(
            case,
            goal,
            i=i,
            text=each[i],
            words=current[i],
            row=rows[i],
            queries=queries[i],
            curve=curves[i],
            before=before[i],
            after=after[i],
            k=k,
            why=why[i],
        )
        for i in range(len(each))
    ]


Attempt = tuple[Words | None, Floats, Floats, int]


def _tried(
    case: Case,
    goal: Goal,
    each: Sequence[Text],
    asked: dict[int, list[Words]],
    explainer: str,
    before: Sequence[Floats],
    within: float,
    k: int,
) -> dict[int, Attempt]:
    """Return per example the best text that keeps the prediction, or None; explain all in one batch."""
    flat = [(i, words) for i, some in asked.items() for words in some]
    if not flat:
        return {}
    changed_examples = [each[i].made(words) for i, words in flat]
    variant_case = case.subset([i for i, _ in flat]).variant(Replaced(changed_examples))
    answers, relevances = variant_case.base(), variant_case.relevance(explainer)
    assert answers.distribution is not None
    best: dict[int, Attempt] = {}
    for n, (i, words) in enumerate(flat):
        row = answers.distribution[n]
        unflipped = goal.predicted(i, row) == goal.before[i]
        near = abs(float(row[goal.before[i]]) - float(goal.distributions[i][goal.before[i]])) <= within
        relevance = by_place(variant_case, n, relevances[n])
        spent = best[i][3] + 1 if i in best else 1
        old = best.get(i)
        fits = unflipped and near and len(relevance) == len(before[i])
        if fits and (
            old is None
            or old[0] is None
            or mass_on_top(before[i], relevance, k) < mass_on_top(before[i], old[1], k) - TIE
        ):
            best[i] = (words, relevance, row, spent)
        else:
            best[i] = (None, relevance, row, spent) if old is None else (old[0], old[1], old[2], spent)
    return best


def _record(
    case: Case,
    goal: Goal,
    i: int,
    text: Text,
    words: Words,
    row: Floats,
    queries: int,
    curve: list[tuple[int, float]],
    before: Floats,
    after: Floats,
    k: int,
    why: str,
) -> Attacked:
    probabilities = tuple(map(float, goal.distributions[i]))
    if why:
        return Attacked(
            case.ids[i], "explanation_words", "skipped", before=goal.before[i], said_before=probabilities, why=why
        )
    distances = drift(before, after, k)
    differs = words != text.words
    return Attacked(
        id=case.ids[i],
        attack="explanation_words",
        status="success" if differs and distances["top_k_overlap"] <= LARGEST_OVERLAP else "failed",
        queries=queries,
        example=text.made(words) if differs else None,
        before=goal.before[i],
        after=goal.predicted(i, row),
        said_before=probabilities,
        said_after=tuple(map(float, row)),
        perturbed=len(text.changed(words)) / max(1, len(words)),
        similarity=text.similarity(words),
        curve=tuple(curve),
        origin=text.origin(words),
        extras={**distances, "places": float(np.size(before))},
    )
