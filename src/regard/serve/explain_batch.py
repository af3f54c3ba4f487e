"""Predictions and explanations of a batch of inputs, by one model, with the evidence of its audit."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.audits.conclusions.word_units import gathered
from regard.audits.removal_mark import RemovalMark, removal_marks
from regard.desk.batching import Batching
from regard.desk.case import DeskCase, label
from regard.desk.changes import Replaced
from regard.desk.desk import Desk
from regard.desk.finite_answers import known
from regard.errors import RegardError, Unsupported, phrase
from regard.live.jobs import Cancelled, cancellable, stoppable
from regard.models.ask.answers_in_words import name_of_answer
from regard.present.messages.messages import render, say
from regard.present.method_caveats import method_caveats
from regard.present.trust_words import mark_json
from regard.protocols import Encoded, Model, Target
from regard.records import Answers, Example, Json, Message, Relevance, Spec
from regard.serve.audit_evidence import AuditEvidence
from regard.serve.request_bodies import ExplainOptions
from regard.store.shard_result import units_to_json

MOST_WINDOWS = 16
"""Maximum windows of one long text to compute; a warning states their number."""


class FreshDesk(Desk):
    """Desk of one batch, with a cache of encoded inputs that ends with it."""

    def encode(self, example: Example) -> Encoded:
        return self.model.encode(example)


@dataclass(slots=True)
class Budget:
    """Stops the model once `until` (by `time.monotonic`) has passed."""

    until: float

    def check(self) -> None:
        if time.monotonic() > self.until:
            raise Cancelled


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of one input, and how many there are in all."""

    examples: tuple[Example, ...]
    total: int


def windows_of(model: Model, example: Example) -> Windows:
    """Cut an input into windows; each is read once here, so that an unreadable input fails alone."""
    windows = model.windows(example)
    for window in windows[:MOST_WINDOWS]:
        model.encode(window)
    return Windows(tuple(windows[:MOST_WINDOWS]), len(windows))


def predict_batch(model: Model, inputs: Sequence[Example], rows: int) -> list[dict[str, Json] | Exception]:
    """Predict every input, or return the reason for a failure; equal inputs are computed once."""
    encoded: dict[str, Encoded] = {}
    windows: dict[str, tuple[list[str], int]] = {}
    errors: dict[str, Exception] = {}
    for example in {e.id: e for e in inputs}.values():
        try:
            parts = model.windows(example)
            encoded |= {part.id: model.encode(part) for part in parts[:MOST_WINDOWS]}
            windows[example.id] = [part.id for part in parts[:MOST_WINDOWS]], len(parts)
        except Exception as error:
            errors[example.id] = error
    names = [name for ids, _ in windows.values() for name in ids]

    def ask(part: Sequence[str]) -> list[tuple[Answers, int, Target]]:
        answers, targets = model.predict([encoded[name] for name in part])
        known(answers, model.name)
        return [(answers, i, target) for i, target in enumerate(targets)]

    answered = Batching(rows).answers(names, [encoded[name].length for name in names], ask)
    predictions = {
        name: prediction_json(model, answers, i, target, encoded[name])
        for name, (answers, i, target) in zip(names, answered, strict=True)
    }
    results: dict[str, dict[str, Json]] = {}
    for name, (ids, total) in windows.items():
        further: list[Json] = [predictions[window] for window in ids[1:]]
        more = {"windows": further, "warnings": [_warning("windows", _cut(total))]} if total > 1 else {}
        results[name] = {**predictions[ids[0]], **more}
    return [errors.get(e.id) or results[e.id] for e in inputs]


def prediction_json(model: Model, answers: Answers, i: int, target: Target, encoded: Encoded | None) -> dict[str, Json]:
    """Prediction as JSON: its class in words, probability, value of the objective, distribution by class."""
    row = None if answers.distribution is None else answers.distribution[i]
    labels = model.labels
    by_class = row is not None and len(labels) == len(row)
    return {
        "label": name_of_answer(model, target, encoded),
        "target": target,
        "probability": float(answers.probability[i]),
        "value": float(answers.value[i]),
        "distribution": {labels[k]: float(p) for k, p in enumerate(row)} if by_class and row is not None else None,
    }


def explain_batch(
    model: Model,
    evidence: AuditEvidence,
    inputs: Sequence[Example],
    options: ExplainOptions,
    *,
    until: float,
    rows: int,
    seed: int = 0,
) -> list[dict[str, Json] | Exception]:
    """Explain every input by every method that finishes before `until`; equal inputs are computed once."""
    windows: dict[str, Windows] = {}
    errors: dict[str, Exception] = {}
    for example in {e.id: e for e in inputs}.values():
        try:
            windows[example.id] = windows_of(model, example)
        except Exception as error:
            errors[example.id] = error
    examples = [part for parts in windows.values() for part in parts.examples]
    results: dict[str, dict[str, Json]] = {}
    if examples:
        desk = FreshDesk(cancellable(model), seed=seed, batch=rows)
        case = DeskCase(desk, examples, evidence.specs)
        batch = _Batch(model, evidence, _about_target(case, options.target), case, options)
        batch.compute(until)
        places = {example.id: i for i, example in enumerate(examples)}
        for name, parts in windows.items():
            results[name] = batch.explanation(parts, [places[part.id] for part in parts.examples])
    return [errors.get(e.id) or results[e.id] for e in inputs]


def _about_target(case: DeskCase, target: int | str | None) -> DeskCase:
    """Case about another class than the predicted one."""
    if target is None:
        return case
    if case.base().distribution is None:
        raise Unsupported(
            "target",
            expected=phrase("errors.common.model_that_chooses_among_classes"),
            got=phrase("errors.common.another_task"),
        )
    return case.variant(Replaced(case.examples, [target] * len(case.ids)))


class _Batch:
    """State of a batch. predicted: the case about the predictions; case: about the requested target."""

    def __init__(
        self, model: Model, evidence: AuditEvidence, case: DeskCase, predicted: DeskCase, options: ExplainOptions
    ) -> None:
        self.model, self.evidence, self.options = model, evidence, options
        self.case, self.predicted = case, predicted
        self.relevances: dict[str, Relevance] = {}
        self.marks: dict[str, tuple[RemovalMark | None, ...]] = {}
        self.skipped: dict[str, str] = {}
        self.specs: dict[str, Spec] = {}
        self.milliseconds: dict[str, float] = {}

    def compute(self, until: float) -> None:
        self.predicted.base()
        for method in self.options.methods:
            spec, name = self.case.spec(method), method
            self.specs[name] = spec
            began = time.monotonic()
            try:
                with stoppable(Budget(until)):
                    self.relevances[name] = self.case.relevance(spec)
                    self.marks |= removal_marks(self.case, {name: self.relevances[name]})
            except Cancelled:
                if name not in self.relevances:
                    self.skipped[name] = say("serve.budget")
            except RegardError as reason:
                self.skipped[name] = str(reason)
            except Exception as error:  # a broken method must not take the others with it
                self.skipped[name] = f"{type(error).__name__}: {error}"
            self.milliseconds[name] = round(1000 * (time.monotonic() - began) / len(self.case.ids), 3)

    def explanation(self, windows: Windows, places: Sequence[int]) -> dict[str, Json]:
        first, *others = [self._window(i) for i in places]
        if windows.total == 1:
            return first
        warnings = first["warnings"]
        assert isinstance(warnings, list)
        warnings.append(_warning("windows", _cut(windows.total)))
        return {**first, "windows": list(others)}

    def _window(self, i: int) -> dict[str, Json]:
        base, own = self.predicted.base(), self.case.base()
        encoded = self.predicted.desk.encoded(self.predicted.ids[i])
        prediction = prediction_json(self.model, base, i, self.predicted.targets[i], encoded)
        example = {"inputs": dict(self.case.examples[i].inputs), "units": units_to_json(self.case.units[i])}
        words = self.options.units == "word" and example["units"]["place_kind"] == "span"
        display = gathered(example, np.zeros(len(self.case.units[i])))[0] if words else example
        methods: dict[str, Json] = {}
        for name, relevance in self.relevances.items():
            values = gathered(example, relevance[i])[1] if words else relevance[i]
            methods[name] = {
                "spec": str(self.specs[name]),
                "relevance": [round(float(value), 8) for value in values],
                "signed": relevance.signed,
                "mark": self._mark(name, i, example["units"]),
                "trust": self.evidence.trust_of(label(self.specs[name], self.evidence.specs)),
                "milliseconds": self.milliseconds[name],
            }
        target = self.case.targets[i]
        return {
            "prediction": prediction,
            "target": {
                "label": name_of_answer(self.model, target, encoded),
                "target": target,
                "probability": float(own.probability[i]),
            },
            "units": {name: display["units"][name] for name in ("names", "kind", "place_kind", "places", "special")},
            "methods": methods,
            "skipped": dict(self.skipped),
            "audited": self.evidence.audited,
            "audit": dict(self.evidence.summary),
            "warnings": self._warnings(i, str(prediction["label"])),
            "caveat": say("joint").join(method_caveats(str(self.specs[name]) for name in self.relevances)),
        }

    def _mark(self, name: str, i: int, units: Mapping[str, Any]) -> dict[str, Json] | None:
        row = self.marks.get(name)
        return None if row is None else mark_json(row[i], units)

    def _warnings(self, i: int, predicted: str) -> list[Json]:
        audited = self.evidence.range
        if audited is None:
            return [_warning("unaudited", Message.of("serve.unaudited", why=self._reason()))]
        units = self.case.units[i]
        length = int(np.count_nonzero(~np.asarray(units.special)))
        return [_warning(*row) for row in audited.outside(self.case.examples[i].inputs, length, predicted)]

    def _reason(self) -> Message:
        other = self.evidence.summary["reason"] != "no audit"
        return Message("serve.other_weights" if other else "serve.no_audit")


def _warning(code: str, message: Message) -> Json:
    return {"code": code, "text": render(message)}


def _cut(total: int) -> Message:
    return Message.of("serve.windows", n=total, most=min(total, MOST_WINDOWS))
