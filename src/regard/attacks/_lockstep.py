"""Lock-step search: every example has its own search, and their concurrent queries share model batches.

A search is a generator. It yields changed texts and receives their scores (higher is closer to the goal), or yields a
`GradientRequest` and receives the gradient. `lockstep_search` counts queries, enforces the budget, keeps the best text
and ends a search that has succeeded. So no search can exceed its budget, and none knows about batches.
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
from regard.records import Attacked, Floats, Ints, Message, Threat, Units


@dataclass(frozen=True, slots=True)
class GradientRequest:
    """A request for the gradient at a text, answered by a `GradientReply`."""

    words: Words


@dataclass(frozen=True, slots=True)
class ProbeRequest:
    """Probe texts (such as deletions) that are queried but never count as results."""

    words: Sequence[Words]


@dataclass(frozen=True, slots=True, eq=False)
class GradientReply:
    """Answer to a gradient query.

    gradient: (units, features) of the score. tokens: (units,) ids of the text.
    """

    gradient: NDArray[np.float32]
    units: Units
    tokens: Ints


AT_ONCE = 48
"""Texts of one example per model batch."""
Answer: TypeAlias = Floats | GradientReply
Question: TypeAlias = "Sequence[Words] | ProbeRequest | GradientRequest"
Search: TypeAlias = Generator[Question, Answer, None]
Start: TypeAlias = Callable[[int, Text], Search]
"""(position of the example, its text) -> a search."""


@dataclass
class SearchState:
    """The search state of one example."""

    text: Text
    distribution: Floats
    queries: int = 0
    best: Words | None = None
    score: float = -np.inf
    row: Floats | None = None
    succeeded: bool = False
    curve: list[tuple[int, float]] = field(default_factory=list)


def lockstep_search(
    case: Case, threat: Threat, start: Start, name: str, *, notes: Callable[[int], Sequence[Message]] = lambda i: ()
) -> list[Attacked]:
    """Run every example's search to its end; return one record each."""
    goal = goal_of(case, threat)
    states = [SearchState(text, goal.distributions[i]) for i, text in enumerate(texts(case.examples, threat))]
    reasons = [why or ("" if h.text.open else "no_open_word") for h, why in zip(states, goal.why, strict=True)]
    running: dict[int, Search] = {i: start(i, h.text) for i, h in enumerate(states) if not reasons[i]}
    waiting = {i: _next(search, None) for i, search in running.items()}
    while waiting := {i: request for i, request in waiting.items() if request is not None}:
        answers = _answered(case, goal, states, waiting)
        waiting = {i: None if _over(states[i]) else _next(running[i], answer) for i, answer in answers.items()}
    for search in running.values():
        search.close()
    return [
        _record(case, goal, i=i, h=h, name=name, why=reasons[i], notes=tuple(notes(i))) for i, h in enumerate(states)
    ]


def _next(search: Search, answer: Answer | None) -> Question | None:
    try:
        request = next(search) if answer is None else search.send(answer)
        while not isinstance(request, GradientRequest) and not _texts(request):  # nothing to ask is answered at once
            request = search.send(np.zeros(0))
        return request
    except StopIteration:
        return None


def _texts(request: Sequence[Words] | ProbeRequest) -> Sequence[Words]:
    return request.words if isinstance(request, ProbeRequest) else request


def _over(h: SearchState) -> bool:
    return h.succeeded or _left(h) <= 0


def _answered(
    case: Case, goal: Goal, states: Sequence[SearchState], waiting: Mapping[int, Question | None]
) -> dict[int, Answer]:
    """Answer every request. Long lists run in parts, so that an early success saves the rest."""
    looks = {i: request.words for i, request in waiting.items() if isinstance(request, GradientRequest)}
    replies: dict[int, Answer] = dict(_slopes(case, goal, states, looks))
    variants = {i: list(_texts(r)) for i, r in waiting.items() if r is not None and not isinstance(r, GradientRequest)}
    scores: dict[int, list[Floats]] = {i: [] for i in variants}
    while parts := {i: words[: min(AT_ONCE, _left(states[i]))] for i, words in variants.items() if words}:
        parts = {i: words for i, words in parts.items() if words and not states[i].succeeded}
        if not parts:
            break
        answers = answers_to(case, [[h.text.made(words) for words in parts.get(i, ())] for i, h in enumerate(states)])
        assert answers.distribution is not None
        for i, words in parts.items():
            own_rows = answers.rows(i)
            scores[i].append(goal.score(i, answers.value[own_rows], answers.distribution[own_rows]))
            if not isinstance(waiting[i], ProbeRequest):
                _kept(goal, i, h=states[i], words=words, scores=scores[i][-1], rows=answers.distribution[own_rows])
            states[i].queries += len(words)
            variants[i] = variants[i][len(words) :]
    return replies | {i: np.concatenate([np.zeros(0), *some]) for i, some in scores.items()}


def _left(h: SearchState) -> int:
    return h.text.threat.budget - h.queries


def _kept(goal: Goal, i: int, h: SearchState, words: Sequence[Words], scores: Floats, rows: Floats) -> None:
    """Keep the best text: fewest changed words among successes, else the closest; ties by position."""
    reached, predicted = goal.reached(i, rows), goal.before[i]
    allowed = [k for k, one in enumerate(words) if h.text.allows(one)]
    successes = [k for k in allowed if reached[k]]
    if successes:
        fewest = min(len(h.text.changed(words[k])) for k in successes)
        successes = [k for k in successes if len(h.text.changed(words[k])) == fewest]
        best = successes[int(order(scores[successes])[0])]
    elif allowed:
        best = allowed[int(order(scores[allowed])[0])]
    else:
        best = -1
    if best >= 0 and (bool(successes) or scores[best] > h.score + TIE):
        h.best, h.score, h.row, h.succeeded = words[best], float(scores[best]), rows[best], bool(successes)
        h.curve.append((h.queries + (best + 1 if successes else len(words)), float(rows[best][predicted])))


def _slopes(case: Case, goal: Goal, states: Sequence[SearchState], looks: dict[int, Words]) -> dict[int, GradientReply]:
    """Return the requested gradients of the score, computed in one pass."""
    if not looks:
        return {}
    positions = list(looks)
    changed_examples = [states[i].text.made(looks[i]) for i in positions]
    variant_case = case.subset(positions).variant(
        Replaced(changed_examples, None if goal.target_class is None else [goal.target_class] * len(positions))
    )
    sign = -1 if goal.target_class is None else 1
    gradients = input_gradients(variant_case)
    for i in positions:
        states[i].queries += 1
    return {
        i: GradientReply(sign * gradients[k], variant_case.units[k], token_ids(variant_case, changed_examples[k]))
        for k, i in enumerate(positions)
    }


def _record(
    case: Case, goal: Goal, i: int, h: SearchState, name: str, why: str, notes: tuple[Message, ...]
) -> Attacked:
    before = tuple(map(float, goal.distributions[i]))
    if why:
        return Attacked(case.ids[i], name, "skipped", before=goal.before[i], said_before=before, why=why)
    has_best = h.best is not None and h.row is not None
    words = h.best if h.best is not None else h.text.words
    return Attacked(
        id=case.ids[i],
        attack=name,
        status="success" if h.succeeded else "failed",
        queries=h.queries,
        example=h.text.made(words) if has_best else None,
        before=goal.before[i],
        after=goal.predicted(i, h.row) if h.row is not None else goal.before[i],
        said_before=before,
        said_after=before if h.row is None else tuple(map(float, h.row)),
        perturbed=len(h.text.changed(words)) / max(1, len(words)),
        similarity=h.text.similarity(words),
        curve=tuple(h.curve),
        origin=h.text.origin(words),
        notes=notes,
    )
