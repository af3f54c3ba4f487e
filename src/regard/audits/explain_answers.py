"""Explanations of given answers: `regard.explain` on prompts with an answer, for every explainer and metric.

Units are the tokens of the prompt, or its sources. A method that reads attention knows tokens only; for sources, its
values are summed over the tokens of each. A contrast ("why A rather than B") has the value log P(A) / P(B): methods
with a sign are linear in the objective, so their relevance is the difference of two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard.audits.contrast_case import ContrastCase
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.errors import InputError, Unsupported, phrase
from regard.models.chat.answer_model import answer_example, answer_model
from regard.models.chat.answer_reader import AnswerReader
from regard.protocols import Model
from regard.records import Answers, Example, Floats, Relevance, Spec
from regard.registry import entry

KEYS = ("id", "messages", "prompt", "answer", "span", "contrast", "sources", "separator", "documents", "prefix")
"""Keys of a record."""


def is_answer_record(value: object) -> bool:
    """Return whether an input is a prompt with an answer: a mapping with `messages`, or with `prompt` and `answer`."""
    return isinstance(value, Mapping) and ("messages" in value or {"prompt", "answer"} <= set(value))


@dataclass(slots=True)
class AnswerCases:
    """The cases behind an explanation of answers; results refer to `case`.

    tokens: the same prompts by token, for methods that read attention. rivals: the texts of contrasts, by unit.
    summed: methods whose values are sums over the tokens of a source.
    """

    case: DeskCase
    tokens: DeskCase
    rivals: DeskCase | None
    token_rivals: DeskCase | None
    summed: list[str]

    def relevance(self, method: str | Spec | Callable[..., Any]) -> Relevance:
        """Return the relevance by one method."""
        spec = self.case.spec(method)
        if self.rivals is not None and not entry("explainer", spec.name).facts.get("signed"):
            raise Unsupported(
                phrase("errors.audits.contrast_spec", spec=spec),
                expected=phrase("errors.audits.method_with_sign_which_says"),
                got=phrase("errors.audits.strengths_which_no_difference"),
            )
        try:
            return _difference(self.case, self.rivals, spec)
        except Unsupported:
            if self.case is self.tokens:
                raise
            relevance = _difference(self.tokens, self.token_rivals, spec)
        rows = [self._summed(i, relevance[i]) for i in range(len(self.case.ids))]
        self.summed.append(str(spec))
        return Relevance.of(str(spec), self.case.ids, rows, signed=relevance.signed)

    def base(self) -> Answers:
        """Return value and probability of every answer; of a contrast, log P(A) / P(B) and P(A) / (P(A) + P(B))."""
        return self.scored().base()

    def scored(self) -> DeskCase:
        """Return the case for metrics; for a contrast, one that compares both answers."""
        return self.case if self.rivals is None else ContrastCase(self.case, self.rivals)

    def names(self) -> tuple[str, ...]:
        """The explained text of every answer; of a contrast, both."""
        own = [str(self.case.desk.answer(name)) for name in self.case.ids]
        if self.rivals is None:
            return tuple(own)
        others = [str(self.rivals.desk.answer(name)) for name in self.rivals.ids]
        return tuple(f"{a.strip()} / {b.strip()}" for a, b in zip(own, others, strict=True))

    def _summed(self, i: int, values: Floats) -> Floats:
        owner: Any = getattr(self.case.desk.encoded(self.case.ids[i]), "owner")  # noqa: B009 - not of the protocol
        owned = owner >= 0
        sums: Floats = np.bincount(owner[owned], values[owned], minlength=len(self.case.units[i])).astype(np.float64)
        return sums


def answer_cases(model: Model, records: Sequence[Mapping[str, Any]], *, units: str, seed: int) -> AnswerCases:
    """Open prompts with answers; units: "token" or "source"."""
    contrasts = [record.get("contrast") for record in records]
    if any(text is None for text in contrasts) and any(text is not None for text in contrasts):
        raise InputError(
            "contrast",
            expected=phrase("errors.audits.one_for_every_prompt"),
            got=phrase("errors.audits.some_with_and_some_without"),
        )
    models = {by: answer_model(model, by) for by in dict.fromkeys((units, "token"))}
    examples = [_example(models[units], record, i) for i, record in enumerate(records)]
    rivals = (
        [] if contrasts[0] is None else [_rival(models[units], e, t) for e, t in zip(examples, contrasts, strict=True)]
    )
    if rivals:
        examples = [replace(e, inputs={**e.inputs, "log_probability": True}) for e in examples]
    desks = {by: Desk(live, seed=seed) for by, live in models.items()}
    cases = {by: DeskCase(desk, examples) for by, desk in desks.items()}
    others = {by: DeskCase(Desk(live, seed=seed), rivals) for by, live in models.items()} if rivals else {}
    return AnswerCases(
        case=cases[units], tokens=cases["token"], rivals=others.get(units), token_rivals=others.get("token"), summed=[]
    )


def _difference(case: DeskCase, rivals: DeskCase | None, spec: Spec) -> Relevance:
    """Relevance of the answers minus that of their rivals, on the units of the prompt, which both share."""
    own = case.relevance(spec)
    if rivals is None:
        return own
    other = rivals.relevance(spec)
    rows = []
    for i, units in enumerate(case.units):
        values, against = np.array(own[i]), np.asarray(other[i])
        shared = np.flatnonzero(units.free)
        values[shared] -= against[shared]
        rows.append(values)
    return Relevance.of(str(spec), case.ids, rows, signed=own.signed)


def _example(model: Model, record: Mapping[str, Any], number: int) -> Example:
    unknown = sorted(set(record) - set(KEYS))
    if unknown:
        raise InputError(
            phrase("errors.common.prompt_prompt", prompt=number + 1),
            expected=phrase("errors.audits.keys_keys", keys=", ".join(KEYS)),
            got=", ".join(unknown),
        )
    return answer_example(
        model,
        record["messages"] if "messages" in record else record["prompt"],
        record.get("answer"),
        span=record.get("span"),
        sources=record.get("sources"),
        separator=record.get("separator"),
        documents=record.get("documents") or (),
        prefix=str(record.get("prefix") or ""),
        name=str(record.get("id", f"answer-{number + 1}")),
    )


def _rival(model: Any, example: Example, contrast: Any) -> Example:
    """The same prompt with another text in place of the answer or its span."""
    reader: AnswerReader = model.reader
    page = reader.prompt(example.inputs)
    reply = reader.answer(example.inputs, page)
    span = tuple(example.inputs.get("span") or (0, len(reply.text)))
    if reader.apart:
        if not isinstance(contrast, str):
            raise Unsupported(
                phrase("errors.audits.contrast_by_token_ids"),
                expected=phrase("errors.common.text"),
                got=phrase("errors.common.encoder_decoder_model"),
            )
        text = reply.text[: span[0]] + contrast
        scored = [span[0], len(text)]
        inputs = {**example.inputs, "answer": text, "span": scored, "log_probability": True}
        return replace(example, inputs=inputs)
    ids, owners = page.rival(reply, (int(span[0]), int(span[1])), contrast)
    scored = [int(i) for i in np.flatnonzero(owners == 0)]
    return replace(
        example, inputs={**example.inputs, "answer": list(ids), "scored": scored, "span": None, "log_probability": True}
    )
