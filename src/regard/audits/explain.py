"""A few inputs, some methods, the relevance of every unit: what `regard explain` and `regard.explain` do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from regard.audits.removal_mark import RemovalMark, removal_marks
from regard.audits.resolve import open_model
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.errors import RegardError, Unsupported
from regard.models.open.labels import named
from regard.protocols import Model, Target
from regard.records import Answers, Example, Json, Relevance, Spec, Units
from regard.registry import build


@dataclass(frozen=True, slots=True)
class Explained:
    """What the model said about each example, and what each method says about why.

    `answers` has one row per example; `relevance[method][i]` is one number per unit of example i.
    `names` are the targets in words. `skipped` names the methods that did not work on this model, with the reason.
    `marks[method][i]` says whether removing the units that the method marks matters more than removing random ones (see
    `audits.removal_mark`); without classes there are no marks.
    """

    examples: tuple[Example, ...]
    units: tuple[Units, ...]
    targets: tuple[Target, ...]
    answers: Answers
    labels: tuple[str, ...]
    relevance: Mapping[str, Relevance]
    skipped: Mapping[str, str]
    seed: int
    names: tuple[Json, ...] = ()
    marks: Mapping[str, tuple[RemovalMark | None, ...]] = field(default_factory=dict)

    def said(self, i: int) -> str:
        """The target of example i in words: its class, or the text that the model wrote."""
        return str(self.names[i] if self.names else named(self.targets[i], self.labels))


def explain(
    model: str | Model,
    inputs: str | Example | Sequence[str | Example],
    methods: Sequence[str | Spec] = ("attention", "leave_one_out"),
    *,
    seed: int = 0,
    device: str = "auto",
) -> Explained:
    """The relevance of every unit of every input, by every method.

    A method is a name, `name:parameter=value`, or a Spec. One that this model cannot support is skipped with its
    reason; if none is left, that is an error.
    """
    live = open_model(model, device)
    inputs_list = [inputs] if isinstance(inputs, str | Example) else list(inputs)
    read = [e if isinstance(e, Example) else Example(f"input-{i}", {"text": e}) for i, e in enumerate(inputs_list)]
    examples = [window for example in read for window in live.windows(example)]
    desk = Desk(live, seed=seed)
    case = DeskCase(desk, examples)
    answers = case.base()
    relevances: dict[str, Relevance] = {}
    skipped: dict[str, str] = {}
    for method in methods:
        spec = case.spec(method)
        build(spec)  # a name or parameter that does not exist is the caller's mistake, not the method's
        try:
            relevances[str(spec)] = case.relevance(spec)
        except RegardError as reason:
            skipped[str(spec)] = str(reason)
        except Exception as error:  # a broken method must not take the others with it
            skipped[str(spec)] = f"{type(error).__name__}: {error}"
    if methods and not relevances:
        why = "; ".join(f"{name}: {reason}" for name, reason in skipped.items())
        raise Unsupported(f"model {live.name}", expected="a method that works on it", got=why)
    names = tuple(desk.answer(name) for name in case.ids)
    return Explained(
        examples=case.examples,
        units=case.units,
        targets=case.targets,
        answers=answers,
        labels=live.labels,
        relevance=relevances,
        skipped=skipped,
        seed=seed,
        names=names,
        marks=removal_marks(case, relevances),
    )
