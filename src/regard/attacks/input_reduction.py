"""Input reduction: the fewest words with the same prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from regard.attacks._goal import Goal, goal_of
from regard.attacks._text import Text, Words, texts, with_word
from regard.desk.questions import answers_to
from regard.measures.ranking import order
from regard.protocols import Case
from regard.records import Attacked, Floats, Threat
from regard.registry import attack


@attack(
    access="black box",
    modality=("text",),
    goal="same prediction",
    cite="Feng et al. 2018",
    formula="while the class stays: delete the word whose deletion leaves its log-odds highest",
    cost="up to words^2 / 2 forwards",
    misleads="texts of a few words lie outside the training distribution; high confidence there says little",
)
def input_reduction(case: Case, threat: Threat, *, left: int = 2) -> Sequence[Attacked]:
    """Delete words while the prediction stays; success if at most `left` remain: one record per example.

    Punctuation stays and does not count as words.
    perturbed is the share of words that could go; the words that stay are often nonsense to people (Feng et al.). Of
    the threat, only the budget and the protected words apply; stop words may go, and any share of the text.
    """
    goal = goal_of(case, Threat())
    free = replace(
        threat, goal="untargeted", target=None, max_share=1.0, stop_words=True, max_edits=None, min_similarity=0.0
    )
    each = texts(case.examples, free)
    current: list[Words] = [text.words for text in each]
    rows: list[Floats] = [goal.distributions[i] for i in range(len(each))]
    queries = [0] * len(each)
    curves: list[list[tuple[int, float]]] = [[] for _ in each]
    running = {i for i, text in enumerate(each) if not goal.why[i] and _count(text.words) > left}
    while running:
        shorter = {i: _shorter(each[i], current[i])[: free.budget - queries[i]] for i in sorted(running)}
        shorter = {i: words for i, words in shorter.items() if words}
        if not shorter:  # protected words alone remain
            break
        running &= set(shorter)
        answers = answers_to(case, [[each[i].made(words) for words in shorter.get(i, ())] for i in range(len(each))])
        assert answers.distribution is not None
        for i, words in shorter.items():
            own_rows = answers.rows(i)
            queries[i] += len(words)
            unflipped = np.flatnonzero(
                ~goal.reached(i, answers.distribution[own_rows]) & np.isfinite(answers.value[own_rows])
            )
            if not len(unflipped):
                running.discard(i)
                continue
            best = int(unflipped[int(order(answers.value[own_rows][unflipped])[0])])
            current[i], rows[i] = words[best], answers.distribution[own_rows][best]
            curves[i].append((queries[i], float(rows[i][goal.before[i]])))
            if _count(current[i]) <= left or queries[i] >= free.budget:
                running.discard(i)
    return [
        _record(goal, i, text=each[i], words=current[i], row=rows[i], queries=queries[i], curve=curves[i], left=left)
        for i in range(len(each))
    ]


def _shorter(text: Text, words: Words) -> list[Words]:
    return [with_word(words, i, "") for i in text.open if words[i] and _count(words) > 1]


def _count(words: Words) -> int:
    """Return how many words have a letter or a digit; the others are punctuation."""
    return sum(any(map(str.isalnum, word)) for word in words)


def _record(
    goal: Goal, i: int, text: Text, words: Words, row: Floats, queries: int, curve: list[tuple[int, float]], left: int
) -> Attacked:
    before = tuple(map(float, goal.distributions[i]))
    if goal.why[i]:
        return Attacked(
            text.example.id, "input_reduction", "skipped", before=goal.before[i], said_before=before, why=goal.why[i]
        )
    stay = _count(words)
    return Attacked(
        id=text.example.id,
        attack="input_reduction",
        status="success" if stay <= left else "failed",
        queries=queries,
        example=text.made(words),
        before=goal.before[i],
        after=goal.predicted(i, row),
        said_before=before,
        said_after=tuple(map(float, row)),
        perturbed=1 - stay / max(1, _count(text.words)),
        similarity=text.similarity(words),
        curve=tuple(curve),
        origin=text.origin(words),
        extras={"words_left": float(stay)},
    )
