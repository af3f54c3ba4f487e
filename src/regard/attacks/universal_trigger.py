"""Universal triggers: a few words prepended to any text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.attacks._goal import Goal, goal_of
from regard.attacks._substitutes import whole_words
from regard.attacks._text import rewritten
from regard.desk.changes import Replaced
from regard.desk.questions import answers_to, input_gradients, vocabulary
from regard.measures.ranking import order
from regard.measures.text_distance import ngram_overlap
from regard.protocols import Case
from regard.records import Attacked, Example, Floats, Message, Threat
from regard.registry import attack

MOST_EXAMPLES = 8
"""Examples of a class per batch of the trigger search."""


@attack(
    access="white box",
    modality=("text",),
    scope="case",
    cite="Wallace et al. 2019",
    formula="for each word of the trigger: the best of the `many` words with the largest mean gradient . (E_v - e)",
    cost="rounds x words x (one backward + many forwards), on every other example of a class",
    misleads="found and tested on the same data set; on other data it may have no effect",
)
def universal_trigger(
    case: Case, threat: Threat, *, words: int = 3, rounds: int = 2, many: int = 12, first: str = "the"
) -> Sequence[Attacked]:
    """Find one trigger per predicted class on half of its examples and test it on the rest: one record per example.

    Examples used for the search are skipped (`used_for_trigger`), so that success is counted on unseen texts. The
    attack only adds words; of the constraints, only the budget and the protected words apply.
    """
    goal = goal_of(case, threat)
    by_class: dict[int, list[int]] = {}
    for i, why in enumerate(goal.why):
        if not why:
            by_class.setdefault(goal.before[i], []).append(i)
    records: dict[int, Attacked] = {
        i: Attacked(case.ids[i], "universal_trigger", "skipped", before=goal.before[i], why=why)
        for i, why in enumerate(goal.why)
        if why
    }
    for members in by_class.values():
        searched, rest = members[::2], members[1::2]
        trigger, spent = _found(
            case, goal, seen=searched[:MOST_EXAMPLES], threat=threat, words=words, rounds=rounds, many=many, first=first
        )
        for i in searched:
            query_count = spent if i in searched[:MOST_EXAMPLES] else 0
            records[i] = Attacked(
                case.ids[i], "universal_trigger", "skipped", query_count, before=goal.before[i], why="used_for_trigger"
            )
        records.update(_tried(case, goal, rest, trigger))
    return [records[i] for i in range(len(case.ids))]


def _with(example: Example, trigger: Sequence[str]) -> Example:
    return rewritten(example, f"{' '.join(trigger)} {example.inputs['text']}")


def _found(
    case: Case, goal: Goal, seen: Sequence[int], threat: Threat, words: int, rounds: int, many: int, first: str
) -> tuple[list[str], int]:
    """Return the trigger and the queries spent per example."""
    words_known, vectors = whole_words(vocabulary(case))
    protected = {word.casefold() for word in threat.keep}
    at = {word: k for k, word in enumerate(words_known)}
    trigger, spent, best = [first] * words, 0, -np.inf
    sample = case.subset(seen)
    sign = -1 if goal.target_class is None else 1
    for _ in range(rounds):
        for place in range(words):
            room = threat.budget - spent - 1
            if room < 1:
                return trigger, spent
            triggered = sample.variant(
                Replaced(
                    [_with(e, trigger) for e in sample.examples],
                    None if goal.target_class is None else [goal.target_class] * len(seen),
                )
            )
            spent += 1
            slopes = [
                g[_unit(triggered.units[n].places, triggered.units[n].free, trigger, place)]
                for n, g in enumerate(input_gradients(triggered))
            ]
            gain = (vectors @ (sign * np.mean(slopes, axis=0))).astype(np.float64)
            gain[[at[w] for w in (trigger[place],) if w in at]] = -np.inf
            few = np.sort(np.argpartition(-gain, min(many, len(gain) - 1))[:many])
            candidates = [
                words_known[few[k]] for k in order(gain[few]) if words_known[few[k]].casefold() not in protected
            ][:room]
            scores = _scores(goal, sample, seen, [[*trigger[:place], w, *trigger[place + 1 :]] for w in candidates])
            spent += len(candidates)
            if len(scores) and scores.max() > best:
                choice = int(order(scores)[0])
                best = float(scores[choice])
                trigger = [*trigger[:place], candidates[choice], *trigger[place + 1 :]]
    return trigger, spent


def _unit(places: Floats, free: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], trigger: Sequence[str], k: int) -> int:
    """Return the first token of the k-th trigger word."""
    start = sum(len(word) + 1 for word in trigger[:k])
    return int(np.flatnonzero(free & (places[:, 0] >= start))[0])


def _scores(goal: Goal, some: Case, seen: Sequence[int], triggers: Sequence[Sequence[str]]) -> Floats:
    """Return (triggers,) mean scores over the examples."""
    answers = answers_to(some, [[_with(e, trigger) for trigger in triggers] for e in some.examples])
    assert answers.distribution is not None
    each = [
        goal.score(i, answers.value[answers.rows(n)], answers.distribution[answers.rows(n)]) for n, i in enumerate(seen)
    ]
    return np.asarray(np.mean(each, axis=0))


def _tried(case: Case, goal: Goal, rest: Sequence[int], trigger: Sequence[str]) -> dict[int, Attacked]:
    if not rest:
        return {}
    part = case.subset(rest)
    changed_examples = [_with(e, trigger) for e in part.examples]
    rows = answers_to(part, [[e] for e in changed_examples]).distribution
    assert rows is not None
    out = {}
    for n, i in enumerate(rest):
        text, new = str(part.examples[n].inputs["text"]), str(changed_examples[n].inputs["text"])
        count = len(text.split())
        out[i] = Attacked(
            id=case.ids[i],
            attack="universal_trigger",
            status="success" if goal.reached(i, rows[n : n + 1])[0] else "failed",
            queries=1,
            example=changed_examples[n],
            before=goal.before[i],
            after=goal.predicted(i, rows[n]),
            said_before=tuple(map(float, goal.distributions[i])),
            said_after=tuple(map(float, rows[n])),
            perturbed=len(trigger) / max(1, count + len(trigger)),
            similarity=ngram_overlap(text, new),
            curve=((1, float(rows[n][goal.before[i]])),),
            notes=(Message.of("attack.note.trigger", words=" ".join(trigger)),),
        )
    return out
