"""Explain a few inputs by some methods: the engine of `regard explain` and `regard.explain`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from regard.audits.explain_answers import AnswerCases, answer_cases, is_answer_record
from regard.audits.removal_mark import RemovalMark, removal_marks
from regard.audits.resolve import open_model, with_numbers
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.errors import InputError, RegardError, Unsupported, phrase
from regard.models.capture import as_examples
from regard.models.open.labels import named
from regard.protocols import Model, Target
from regard.records import Answers, Example, Json, Relevance, Spec, Units
from regard.registry import build, method_spec, upstairs
from regard.store.frames import HasFrames


@dataclass(frozen=True, slots=True, repr=False)
class Explained(HasFrames):
    """Answers of the model to each example, and the relevance by each method.

    `answers` has one row per example; `relevance[method][i]` is one number per unit of example i. `names` are the
    targets in words. `skipped` names the methods that did not work on this model, with the reason. `marks[method][i]`
    says whether removing the units that the method marks matters more than removing random ones (see
    `audits.removal_mark`); without classes there are no marks. `scores[method][metric][i]` are the requested metrics.
    `summed` names the methods whose values are sums over the tokens of a source; `contrasted`: the value compares two
    answers.
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
    scores: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    summed: tuple[str, ...] = ()
    contrasted: bool = False

    def said(self, i: int) -> str:
        """Target of example i in words: its class, or the text that the model wrote."""
        return str(self.names[i] if self.names else named(self.targets[i], self.labels))

    def __repr__(self) -> str:
        """Each prediction with its strongest units, coloured in a terminal."""
        return str(upstairs("explained_text")(self))

    def _repr_html_(self) -> str:
        """The coloured texts, in a notebook."""
        return str(upstairs("explained_html")(self))

    def records(self) -> list[dict[str, Json]]:
        """Build one dict per example, method and unit: the rows of `to_pandas` and `to_polars`."""
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


def explain(
    model: str | Model,
    inputs: Any,
    methods: Sequence[str | Spec | Callable[..., Any]] = ("attention", "leave_one_out"),
    *,
    units: str = "token",
    metrics: Sequence[str | Spec | Callable[..., Any]] = (),
    seed: int = 0,
    device: str = "auto",
) -> Explained:
    """Compute the relevance of every unit of every input, by every method.

    inputs: what `regard.capture` takes (a text, a pair of texts, an array, an Example, a list of these), or several in
    any form that `regard.read` takes: (text, label) pairs, dicts, a DataFrame, a `datasets.Dataset`, a generator. A
    tuple of two texts is a pair unless the second is one of the model's labels. A method is a name,
    `name:parameter=value`, a Spec, or a function decorated with `@explainer`. One that this model cannot support is
    skipped with its reason; if none is left, that is an error.

    An input of a language model may be a prompt with an answer, `{"messages": [...], "answer": ...}` or `{"prompt":
    ..., "answer": ...}` (an answer of None is the model's own): the objective is then the log-odds of the answer, or of
    its `span`, or that of the answer against a `contrast`. Further keys: `sources`, `separator`, `documents`, `prefix`,
    as in `regard.cite`. units: "token", or "source" for such prompts. metrics: scores of each relevance.
    """
    live = open_model(model, device)
    records = _answer_records(inputs)
    if records is not None:
        cases = answer_cases(live, records, units=units, seed=seed)
        return _explained(cases.case, methods, metrics, cases.relevance, answers=cases)
    if units != "token":
        raise InputError("units", expected=phrase("errors.audits.token_for_inputs_without_answer"), got=repr(units))
    examples = [window for example in _examples(live, inputs) for window in live.windows(example)]
    case = DeskCase(Desk(live, seed=seed), examples)
    return _explained(case, methods, metrics, case.relevance)


def _explained(
    case: DeskCase,
    methods: Sequence[str | Spec | Callable[..., Any]],
    metrics: Sequence[str | Spec | Callable[..., Any]],
    relevance_by: Callable[[Spec], Relevance],
    answers: AnswerCases | None = None,
) -> Explained:
    """Run every method and metric; record the reason of each that does not work in `skipped`."""
    live, base = case.desk.model, case.base() if answers is None else answers.base()
    relevances: dict[str, Relevance] = {}
    skipped: dict[str, str] = {}
    for method in methods:
        spec = case.spec(method)
        build(spec)  # a name or parameter that does not exist is the caller's mistake, not the method's
        try:
            relevances[str(spec)] = relevance_by(spec)
        except RegardError as reason:
            skipped[str(spec)] = str(reason)
        except Exception as error:  # a broken method must not take the others with it
            skipped[str(spec)] = f"{type(error).__name__}: {error}"
    if methods and not relevances:
        why = "; ".join(f"{name}: {reason}" for name, reason in skipped.items())
        raise Unsupported(
            phrase("errors.common.model_live", live=live.name),
            expected=phrase("errors.audits.method_that_works"),
            got=why,
        )
    contrasted = answers is not None and answers.rivals is not None
    scores = _scores(case if answers is None else answers.scored(), relevances, metrics, skipped)
    names = tuple(case.desk.answer(name) for name in case.ids) if answers is None else answers.names()
    return Explained(
        examples=case.examples,
        units=case.units,
        targets=case.targets,
        answers=base,
        labels=live.labels,
        relevance=relevances,
        skipped=skipped,
        seed=case.desk.seed,
        names=names,
        marks=removal_marks(case, relevances),
        scores=scores,
        summed=() if answers is None else tuple(answers.summed),
        contrasted=contrasted,
    )


def _scores(
    case: DeskCase,
    relevances: Mapping[str, Relevance],
    metrics: Sequence[str | Spec | Callable[..., Any]],
    skipped: dict[str, str],
) -> dict[str, dict[str, tuple[float, ...]]]:
    """Method -> metric -> one number per example; reasons of metrics that did not work go into `skipped`."""
    scores: dict[str, dict[str, tuple[float, ...]]] = {method: {} for method in relevances} if metrics else {}
    for metric in metrics:
        spec = metric if isinstance(metric, Spec) else _metric_spec(metric)
        function = build(spec)
        reasons: dict[str, str] = {}
        for method, relevance in relevances.items():
            try:
                score = function(case, relevance)
                scores[method][str(spec)] = tuple(float(value) for value in score.values)
            except RegardError as reason:
                reasons[method] = str(reason)
        if reasons and len(reasons) == len(relevances):
            skipped[str(spec)] = next(iter(reasons.values()))
        else:
            skipped.update({f"{spec}, {method}": reason for method, reason in reasons.items()})
    return scores


def _metric_spec(metric: str | Callable[..., Any]) -> Spec:
    return Spec.parse("metric", metric) if isinstance(metric, str) else method_spec(metric)


def _answer_records(inputs: Any) -> list[Mapping[str, Any]] | None:
    """Prompts with answers; None for other inputs."""
    if is_answer_record(inputs):
        return [inputs]
    if isinstance(inputs, list | tuple) and inputs and all(is_answer_record(item) for item in inputs):
        return list(inputs)
    return None


def _examples(model: Model, inputs: Any) -> list[Example]:
    """Convert the inputs to examples: whatever `regard.capture` or `regard.read` takes."""
    if isinstance(inputs, Iterator):
        inputs = list(inputs)
    many = inputs if isinstance(inputs, list) else [inputs]
    if model.modality != "text":
        files = (str, Path) if model.modality in ("image", "audio") else ()
        if all(isinstance(given, (Example, *files)) or _is_array(given) for given in many):
            return [with_numbers(example) for example in as_examples(model, inputs)]
    elif all(isinstance(given, str | Example) or _is_pair(given, model.labels) for given in many):
        return [replace(e, id=f"input-{i}") if e.id == str(i) else e for i, e in enumerate(as_examples(model, inputs))]
    from regard.datasets.read import read

    return list(read(list(inputs) if isinstance(inputs, tuple) else inputs))


def _is_array(given: Any) -> bool:
    """Return whether a value is an array, a PIL image, or a nested list of numbers."""
    arrays = hasattr(given, "__array__") or hasattr(given, "__array_interface__")
    return arrays or isinstance(given, int | float | list | tuple)


def _is_pair(given: Any, labels: Sequence[str]) -> bool:
    """Return whether a tuple is a pair of texts, not a text and its label."""
    texts = isinstance(given, tuple) and len(given) == 2 and all(isinstance(part, str) for part in given)
    return texts and given[1] not in labels
