"""Transfer matrix: successful attacks on one model, applied to the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.questions import answers_to, attacked
from regard.errors import InputError, phrase
from regard.measures.intervals import wilson
from regard.models.open.labels import match_labels
from regard.protocols import Model
from regard.records import Attacked, Example, Json, Message, Spec, Text, Threat

CAVEAT = Message("transfer.caveat")


@dataclass(frozen=True, slots=True)
class Transfer:
    """Transfer between two models: the share of successes against `source` that also fool `target`.

    Only examples that `target` predicts correctly without the change count (n); rate with a Wilson interval of 95 %. On
    the diagonal, n is the number of successes and the rate is 1.
    """

    attack: str
    source: str
    target: str
    n: int
    fooled: int
    rate: float
    low: float
    high: float

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


def transfer(
    models: Sequence[Model],
    examples: Sequence[Example],
    specs: Sequence[Spec],
    threat: Threat,
    known: Mapping[str, Sequence[Attacked]],
    seed: int,
    say: Callable[[Text, int, int], None],
) -> list[Transfer]:
    """Attack every model and try every success on every other; `known` holds the attacks on the first one."""
    names = [model.name for model in models]
    if len(set(names)) < len(names):
        raise InputError("transfer", expected=phrase("errors.surveys.different_models"), got=", ".join(names))
    cases = [DeskCase(Desk(model, seed=seed), _labelled(model, examples)) for model in models]
    matrix = []
    for spec in specs:
        for a, (source, case) in enumerate(zip(models, cases, strict=True)):
            say(Message.of("transfer.running", attack=str(spec), model=source.name), a, len(models))
            adversarials = known[str(spec)] if a == 0 else attacked(case, spec, threat)
            matrix += [_given(str(spec), source, adversarials, models[b], cases[b]) for b in range(len(models))]
    return matrix


def _labelled(model: Model, examples: Sequence[Example]) -> list[Example]:
    """Examples with labels in this model's own names."""
    labels = [e.label for e in examples if e.label is not None]
    if not labels or not model.labels:
        return list(examples)
    table = match_labels(model.labels, sorted(set(map(str, labels))))
    return [e if e.label is None else replace(e, label=table.model[table.of(str(e.label))]) for e in examples]


def _given(attack: str, source: Model, made: Sequence[Attacked], target: Model, case: DeskCase) -> Transfer:
    hits = [i for i, one in enumerate(made) if one.status == "success" and one.example is not None]
    before = list(case.subset(hits).targets) if hits else []
    right = [
        i
        for i, t in zip(hits, before, strict=True)
        if case.examples[i].label is None or _name(target, t) == str(case.examples[i].label)
    ]
    fooled = 0
    if right:
        adversarial = [[one] for i in right if (one := made[i].example) is not None]
        rows = answers_to(case.subset(right), adversarial).distribution
        assert rows is not None
        fooled = sum(int(row.argmax()) != t for row, t in zip(rows, case.subset(right).targets, strict=True))
    low, high = (float(x) for x in wilson(fooled, len(right))) if right else (float("nan"), float("nan"))
    rate = fooled / len(right) if right else float("nan")
    return Transfer(
        attack=attack,
        source=source.name,
        target=target.name,
        n=len(right),
        fooled=fooled,
        rate=rate,
        low=low,
        high=high,
    )


def _name(model: Model, target: Json) -> str:
    return model.labels[target] if isinstance(target, int) and target < len(model.labels) else str(target)
