"""Searches in step: every example has its own, and what they ask at the same time goes through the model together.

A search is a generator. It yields changed texts and gets their scores (higher: nearer to the goal), or yields a `Look`
and gets the gradient there. The hunt counts the questions, cuts off what is above the budget, keeps the best, and ends
a search that has found what it looked for. So no search can cheat on its budget, and none knows of batches.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from regard.attacks._goal import TIE, Goal, goal_of
from regard.attacks._text import Text, Words, texts
from regard.desk.changes import Replaced
from regard.desk.questions import answers_to, input_gradients, token_ids
from regard.measures.ranking import order
from regard.protocols import Case
from regard.records import Attacked, Floats, Ints, Threat, Units


@dataclass(frozen=True, slots=True)
class Look:
    """A question for the gradient at a text; the answer is a `Slope`."""

    words: Words


@dataclass(frozen=True, slots=True)
class Aside:
    """Texts that are asked about to learn something (what a deletion does), not as results."""

    words: Sequence[Words]


@dataclass(frozen=True, slots=True, eq=False)
class Slope:
    """gradient: (units, features) of the score. tokens: (units,) the ids that the text is read as."""

    gradient: NDArray[np.float32]
    units: Units
    tokens: Ints


AT_ONCE = 48
"""Texts of one example that go through the model together."""
Answer: TypeAlias = Floats | Slope
Question: TypeAlias = "Sequence[Words] | Aside | Look"
Search: TypeAlias = Generator[Question, Answer, None]
Start: TypeAlias = Callable[[int, Text], Search]
"""(position of the example, its text) -> a search."""


@dataclass
class Hunt:
    """What is known about one example."""

    text: Text
    said: Floats
    queries: int = 0
    best: Words | None = None
    score: float = -np.inf
    row: Floats | None = None
    done: bool = False
    curve: list[tuple[int, float]] = field(default_factory=list)


def hunt(
    case: Case, threat: Threat, start: Start, name: str, *, notes: Callable[[int], Sequence[str]] = lambda i: ()
) -> list[Attacked]:
    """Every example's search to its end; one record each."""
    goal = goal_of(case, threat)
    hunts = [Hunt(text, goal.said[i]) for i, text in enumerate(texts(case.examples, threat))]
    reasons = [why or ("" if h.text.open else "no word may be changed") for h, why in zip(hunts, goal.why, strict=True)]
    running: dict[int, Search] = {i: start(i, h.text) for i, h in enumerate(hunts) if not reasons[i]}
    waiting = {i: _next(search, None) for i, search in running.items()}
    while waiting := {i: request for i, request in waiting.items() if request is not None}:
        answers = _answered(case, goal, hunts, waiting)
        waiting = {i: None if _over(hunts[i]) else _next(running[i], answer) for i, answer in answers.items()}
    for search in running.values():
        search.close()
    return [_record(case, goal, i, h, name, reasons[i], tuple(notes(i))) for i, h in enumerate(hunts)]


def _next(search: Search, answer: Answer | None) -> Question | None:
    try:
        request = next(search) if answer is None else search.send(answer)
        while not isinstance(request, Look) and not _texts(request):  # nothing to ask is answered at once
            request = search.send(np.zeros(0))
        return request
    except StopIteration:
        return None


def _texts(request: Sequence[Words] | Aside) -> Sequence[Words]:
    return request.words if isinstance(request, Aside) else request


def _over(h: Hunt) -> bool:
    return h.done or _left(h) <= 0


def _answered(
    case: Case, goal: Goal, hunts: Sequence[Hunt], waiting: Mapping[int, Question | None]
) -> dict[int, Answer]:
    """The answer to every question. Long lists are asked in parts, so that a hit in the first saves the others."""
    looks = {i: request.words for i, request in waiting.items() if isinstance(request, Look)}
    found: dict[int, Answer] = dict(_slopes(case, goal, hunts, looks))
    asked = {i: list(_texts(r)) for i, r in waiting.items() if r is not None and not isinstance(r, Look)}
    scores: dict[int, list[Floats]] = {i: [] for i in asked}
    while parts := {i: words[: min(AT_ONCE, _left(hunts[i]))] for i, words in asked.items() if words}:
        parts = {i: words for i, words in parts.items() if words and not hunts[i].done}
        if not parts:
            break
        said = answers_to(case, [[h.text.made(words) for words in parts.get(i, ())] for i, h in enumerate(hunts)])
        assert said.distribution is not None
        for i, words in parts.items():
            mine = said.rows(i)
            scores[i].append(goal.score(i, said.value[mine], said.distribution[mine]))
            if not isinstance(waiting[i], Aside):
                _kept(goal, i, hunts[i], words, scores[i][-1], said.distribution[mine])
            hunts[i].queries += len(words)
            asked[i] = asked[i][len(words) :]
    return found | {i: np.concatenate([np.zeros(0), *some]) for i, some in scores.items()}


def _left(h: Hunt) -> int:
    return h.text.threat.budget - h.queries


def _kept(goal: Goal, i: int, h: Hunt, words: Sequence[Words], scores: Floats, rows: Floats) -> None:
    """Keep the best of these: the fewest changed words among those at the goal, else the nearest; ties by place."""
    reached, chosen = goal.reached(i, rows), goal.before[i]
    allowed = [k for k, one in enumerate(words) if h.text.allows(one)]
    there = [k for k in allowed if reached[k]]
    if there:
        fewest = min(len(h.text.changed(words[k])) for k in there)
        there = [k for k in there if len(h.text.changed(words[k])) == fewest]
        best = there[int(order(scores[there])[0])]
    elif allowed:
        best = allowed[int(order(scores[allowed])[0])]
    else:
        best = -1
    if best >= 0 and (bool(there) or scores[best] > h.score + TIE):
        h.best, h.score, h.row, h.done = words[best], float(scores[best]), rows[best], bool(there)
        h.curve.append((h.queries + (best + 1 if there else len(words)), float(rows[best][chosen])))


def _slopes(case: Case, goal: Goal, hunts: Sequence[Hunt], looks: dict[int, Words]) -> dict[int, Slope]:
    """Gradients of the score, of all that asked for one, in one pass."""
    if not looks:
        return {}
    some = list(looks)
    made = [hunts[i].text.made(looks[i]) for i in some]
    there = case.subset(some).variant(Replaced(made, None if goal.wanted is None else [goal.wanted] * len(some)))
    sign = -1 if goal.wanted is None else 1
    found = input_gradients(there)
    for i in some:
        hunts[i].queries += 1
    return {i: Slope(sign * found[k], there.units[k], token_ids(there, made[k])) for k, i in enumerate(some)}


def _record(case: Case, goal: Goal, i: int, h: Hunt, name: str, why: str, notes: tuple[str, ...]) -> Attacked:
    before = tuple(map(float, goal.said[i]))
    if why:
        return Attacked(case.ids[i], name, "skipped", before=goal.before[i], said_before=before, why=why)
    found = h.best is not None and h.row is not None
    words = h.best if h.best is not None else h.text.words
    return Attacked(
        case.ids[i], name, "success" if h.done else "failed", h.queries, h.text.made(words) if found else None,
        goal.before[i], goal.predicted(i, h.row) if h.row is not None else goal.before[i], before,
        before if h.row is None else tuple(map(float, h.row)), len(h.text.changed(words)) / max(1, len(words)),
        h.text.similarity(words), curve=tuple(h.curve), origin=h.text.origin(words), notes=notes,
    )  # fmt: skip
