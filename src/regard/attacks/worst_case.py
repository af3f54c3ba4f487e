"""The worst case over several attacks, example by example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from regard.desk.questions import attacked
from regard.errors import InputError, phrase
from regard.protocols import Case
from regard.records import Attacked, Message, Spec, Threat
from regard.registry import attack

DEFAULT = ("apgd", "apgd:loss=dlr", "square")


@attack(
    access="white box",
    modality=("text", "image", "audio", "series", "tabular", "embeddings"),
    cite="Croce & Hein 2020",
    formula="an example holds if it holds against every attack; later attacks only meet those that still do",
    cost="the attacks together; each has an equal share of the budget",
    misleads="as robust accuracy it is an upper bound: an attack that is not in the list may still succeed",
    differs="AutoAttack's standard ensemble has targeted APGD and FAB too",
)
def worst_case(case: Case, threat: Threat, *, attacks: tuple[str, ...] = DEFAULT) -> Sequence[Attacked]:
    """Run attacks in turn on the examples that still hold; keep the first success: one record per example.

    attacks: as on the command line, ["pgd:eps=0.1", "square:eps=0.1"], or of texts ["greedy_word", "hotflip"]. The
    budget is shared out evenly, so that it holds for all of them together.
    """
    if not attacks or threat.budget < len(attacks):
        raise InputError("worst_case", expected=phrase("errors.attacks.at_least_one_attack"), got=f"{len(attacks)}")
    share = replace(threat, budget=threat.budget // len(attacks))
    records: dict[int, Attacked] = {}
    spent = [0] * len(case.ids)
    waiting = list(range(len(case.ids)))
    for text in attacks:
        if not waiting:
            break
        attempts = attacked(case.subset(waiting), Spec.parse("attack", text), share)
        for i, one in zip(waiting, attempts, strict=True):
            curve = tuple((spent[i] + at, p) for at, p in one.curve)
            spent[i] += one.queries
            best = records.get(i)
            nearer = best is None or one.status == "success" or _confidence(one) < _confidence(best)
            record = (
                replace(one, curve=curve, notes=(Message.of("attack.note.by", attack=text), *one.notes))
                if nearer or best is None
                else best
            )
            records[i] = replace(record, attack="worst_case", queries=spent[i])
        waiting = [i for i in waiting if records[i].status == "failed"]
    return [records[i] for i in range(len(case.ids))]


def _confidence(one: Attacked) -> float:
    """Return the probability of the original class after the attack."""
    return one.said_after[one.before] if one.said_after and one.before is not None else 1.0
