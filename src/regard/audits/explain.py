"""A few inputs, some methods, the relevance of every unit: what `regard explain` and `regard.explain` do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from regard.audits.removal_mark import RemovalMark, removal_marks
from regard.audits.resolve import open_model
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.errors import RegardError, Unsupported
from regard.models.capture import as_examples
from regard.models.open.labels import named
from regard.protocols import Model, Target
from regard.records import Answers, Example, Json, Relevance, Spec, Units
from regard.registry import build, upstairs
from regard.store.frames import to_pandas, to_polars

if TYPE_CHECKING:
    import pandas
    import polars


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

    def _repr_html_(self) -> str:
        """The coloured texts, in a notebook."""
        return str(upstairs("explained_html")(self))

    def records(self) -> list[dict[str, Json]]:
        """One dict per example, method and unit: the rows of `to_pandas` and `to_polars`."""
        return [
            {
                "example": example.id,
                "target": self.said(i),
                "method": method,
                "unit": j,
                "name": name,
                "special": bool(units.special[j]),
                "relevance": float(relevance[i][j]),
            }
            for i, (example, units) in enumerate(zip(self.examples, self.units, strict=True))
            for method, relevance in self.relevance.items()
            for j, name in enumerate(units.names)
        ]

    def to_pandas(self) -> pandas.DataFrame:
        """The relevances as a pandas DataFrame, one row per example, method and unit."""
        return to_pandas(self.records())

    def to_polars(self) -> polars.DataFrame:
        """The same as a Polars DataFrame."""
        return to_polars(self.records())


def explain(
    model: str | Model,
    inputs: Any,
    methods: Sequence[str | Spec | Callable[..., Any]] = ("attention", "leave_one_out"),
    *,
    seed: int = 0,
    device: str = "auto",
) -> Explained:
    """The relevance of every unit of every input, by every method.

    inputs: what `regard.capture` takes (a text, a pair of texts, an array, an Example, a list of these), or several in
    any form that `regard.read` takes: (text, label) pairs, dicts, a DataFrame, a `datasets.Dataset`, a generator. A
    tuple of two texts is a pair unless the second is one of the model's labels. A method is a name,
    `name:parameter=value`, a Spec, or a function decorated with `@explainer`. One that this model cannot support is
    skipped with its reason; if none is left, that is an error.
    """
    live = open_model(model, device)
    examples = [window for example in _examples(live, inputs) for window in live.windows(example)]
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


def _examples(model: Model, inputs: Any) -> list[Example]:
    """The inputs as examples: whatever `regard.capture` takes, and whatever `regard.read` takes."""
    if isinstance(inputs, Iterator):
        inputs = list(inputs)
    many = inputs if isinstance(inputs, list) else [inputs]
    if model.modality != "text":
        if all(isinstance(given, Example) or _is_array(given) for given in many):
            return as_examples(model, inputs)
    elif all(isinstance(given, str | Example) or _is_pair(given, model.labels) for given in many):
        return [replace(e, id=f"input-{i}") if e.id == str(i) else e for i, e in enumerate(as_examples(model, inputs))]
    from regard.datasets.read import read

    return list(read(list(inputs) if isinstance(inputs, tuple) else inputs))


def _is_array(given: Any) -> bool:
    return hasattr(given, "__array__") or isinstance(given, int | float | list | tuple)


def _is_pair(given: Any, labels: Sequence[str]) -> bool:
    """Whether a tuple is a pair of texts, not a text and its label."""
    texts = isinstance(given, tuple) and len(given) == 2 and all(isinstance(part, str) for part in given)
    return texts and given[1] not in labels
