"""A language model behind an API as a `protocols.Model`: words are units, the next token or a label is the objective.

next_token: value = log p / (1 - p) of the token that the model writes first after the whole text, as for a model in
this process. classification (`labels=` in the address): p_k is proportional to the probability of " LABEL" after text
and `after`, and value = log p_k / (1 - p_k).
A removed word is deleted from the text, or replaced by "..."; a text without any word becomes "...". There is no
attention and no gradient.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import InputError, Text, UnknownName, Unsupported, phrase
from regard.models.endpoint.address import EndpointAddress, parse_address
from regard.models.endpoint.client import EndpointClient
from regard.models.read.words import word_spans
from regard.protocols import Capture, Encoded, Target
from regard.records import Answers, Bools, Check, Edits, Example, Floats, Message, Mode, Spec, Units
from regard.registry import upstairs

OPERATORS = ("delete", "dots")
DOTS = "..."


@dataclass(frozen=True, slots=True)
class WordItem:
    """A text as the endpoint reads it, and its words."""

    units: Units
    text: str

    @property
    def length(self) -> int:
        return max(1, len(self.units))


class EndpointModel:
    """Implements `protocols.Model` without attention or gradients."""

    modality = "text"
    operators, baselines = OPERATORS, ("none",)

    def __init__(self, address: EndpointAddress, source: str, folder: Path | None) -> None:
        self.address, self.name, self.labels = address, address.model, address.labels
        self.task = "classification" if address.labels else "next_token"
        self.client = EndpointClient(address, folder)
        self.spec: Spec | None = Spec("model", source, {})
        self._characters: list[int] = []

    @property
    def fingerprint(self) -> str:
        """Hash of the address: the weights behind it are unknown, and may change unseen."""
        facts = f"{self.address.url} {self.address.model} {self.labels} {self.address.after}"
        return hashlib.sha256(facts.encode()).hexdigest()

    @property
    def notes(self) -> list[str]:
        render = upstairs("render")
        notes = [render(Message.of("endpoint.note", model=self.name, url=self.address.url))]
        if self._characters:
            notes.append(render(self._cost()))
        return notes

    def _cost(self) -> Message:
        """Tokens, and their price, of a thousand requests: by the tokens counted so far, else at 4 characters each."""
        mean = float(np.mean(self._characters))
        counted = self.client.tokens / self.client.requests if self.client.requests and self.client.tokens else mean / 4
        thousand = round(1000 * max(1.0, counted))
        if not self.address.price:
            return Message.of("endpoint.cost", tokens=thousand)
        return Message.of("endpoint.price", tokens=thousand, price=f"{thousand * self.address.price / 1e6:.4g}")

    def encode(self, example: Example) -> WordItem:
        text = example.inputs.get("text")
        if not isinstance(text, str) or "text_pair" in example.inputs or not text.strip():
            raise InputError(
                phrase("errors.common.example_example", example=repr(example.id)),
                expected=phrase("errors.models.one_text"),
                got=phrase("errors.common.another_input"),
            )
        self._characters.append(len(text))
        return _item(text)

    def windows(self, example: Example) -> list[Example]:
        return [example]

    def remove(self, encoded: Encoded, drop: Bools, operator: str, rng: np.random.Generator) -> WordItem:
        item = _own(encoded)
        if operator not in OPERATORS:
            raise UnknownName("operator", operator, OPERATORS)
        return _item(without_words(item.text, item.units, np.asarray(drop, bool), operator))

    def predict(self, batch: Sequence[Encoded]) -> tuple[Answers, list[Target]]:
        if self.labels:
            table = self._distribution(batch)
            classes = [int(k) for k in table.argmax(1)]
            return _class_answers(table, classes), [*classes]
        rows = self.client.continuations([_own(encoded).text for encoded in batch])
        return _answers([row.log_probability for row in rows]), [row.first for row in rows]

    def forward(self, batch: Sequence[Encoded], targets: Sequence[Target], edits: Edits = ()) -> Answers:
        if edits:
            raise self._without(phrase("errors.models.edited_attention"))
        if self.labels:
            return _class_answers(self._distribution(batch), [int(str(target)) for target in targets])
        prompts = [_own(encoded).text for encoded in batch]
        return _answers(self.log_probabilities(prompts, [str(target) for target in targets]))

    def _distribution(self, batch: Sequence[Encoded]) -> Floats:
        """(examples, labels): probabilities over the labels alone."""
        if self.address.top:
            return self._distribution_of_first_tokens([_own(encoded).text + self.address.after for encoded in batch])
        prompts = [_own(encoded).text + self.address.after for encoded in batch for _ in self.labels]
        texts = [f" {label}" for _ in batch for label in self.labels]
        log_p = np.array(self.log_probabilities(prompts, texts)).reshape(len(batch), len(self.labels))
        return _shares(log_p)

    def _distribution_of_first_tokens(self, prompts: Sequence[str]) -> Floats:
        """The same if every label is one of the likeliest tokens; a label that is not has no known probability."""
        rows = []
        for table in self.client.first_tokens(prompts, self.address.top):
            row = [table.get(f" {label}", table.get(label)) for label in self.labels]
            if None in row:
                raise Unsupported(
                    phrase("errors.models.endpoint_model", name=self.name),
                    expected=phrase("errors.models.label_among_top", top=self.address.top),
                    got=f"no {self.labels[row.index(None)]!r}",
                    remedy=phrase("errors.models.larger_top"),
                )
            rows.append(row)
        return _shares(np.array(rows, np.float64))

    def log_probabilities(self, prompts: Sequence[str], targets: Sequence[str]) -> list[float]:
        """Log-probability of each text after its prompt, summed over its tokens."""
        joint = [prompt + target for prompt, target in zip(prompts, targets, strict=True)]
        sums = []
        for prompt, target, row in zip(prompts, targets, self.client.scores(joint), strict=True):
            inside = [p for at, p in zip(row.offsets, row.log_probabilities, strict=True) if at >= len(prompt)]
            if not inside or not all(map(math.isfinite, inside)):
                raise Unsupported(
                    phrase("errors.models.endpoint_model", name=self.name),
                    expected=phrase("errors.models.tokens_that_begin_where_prompt"),
                    got=phrase("errors.models.other_tokens_at_border_before", target=repr(target[:20])),
                )
            sums.append(sum(inside))
        return sums

    def capture(
        self, batch: Sequence[Encoded], targets: Sequence[Target], *, mode: Mode = "qk", check: Check = "first"
    ) -> Capture:
        raise self._without("attention")

    def _without(self, what: Text) -> Unsupported:
        return Unsupported(
            phrase("errors.common.of_key", key=what, subject=self.name),
            expected=phrase("errors.models.model_in_this_process"),
            got=phrase("errors.models.one_behind_api"),
        )


def open_endpoint(source: str, folder: Path | None) -> EndpointModel:
    """Open an endpoint; folder: directory of the answer cache, None for no cache."""
    return EndpointModel(parse_address(source), source, folder)


def without_words(text: str, units: Units, drop: Bools, operator: str) -> str:
    """Delete words from a text, each with the white space before it; or replace them by dots.

    >>> text = "Anna lives in Rome."
    >>> without_words(text, _item(text).units, np.array([False, True, False, True, False]), "delete")
    'Anna in.'
    """
    parts, end = [], 0
    for i in np.flatnonzero(drop):
        start, stop = (int(edge) for edge in units.places[i])
        between = text[end:start]
        parts.append(between.rstrip() if operator == "delete" else between + DOTS)
        end = stop
    shorter = "".join([*parts, text[end:]])
    shorter = shorter.lstrip() if operator == "delete" else shorter
    return shorter if shorter.strip() else DOTS  # a model cannot read nothing


def _item(text: str) -> WordItem:
    spans = word_spans(text)
    n = len(spans)
    units = Units(
        names=tuple(text[a:b] for a, b in spans),
        kind="word",
        place_kind="span",
        places=np.array(spans, np.float64).reshape(n, 2),
        special=np.zeros(n, np.bool_),
        groups=np.arange(n),
        part=np.zeros(n, np.int64),
        keys=np.full(n, -1),
        shape=(n,),
    )
    return WordItem(units, text)


def _own(encoded: Any) -> WordItem:
    if not isinstance(encoded, WordItem):
        raise InputError(
            phrase("errors.models.encoded_example"),
            expected=phrase("errors.models.example_encoded_by_this_model"),
            got=type(encoded).__name__,
        )
    return encoded


def _class_answers(table: Floats, classes: Sequence[int]) -> Answers:
    rows = np.arange(len(classes))
    own = table[rows, list(classes)]
    others = np.maximum(np.where(np.arange(table.shape[1]) == np.array(classes)[:, None], 0.0, table).sum(1), 1e-300)
    return Answers(np.arange(len(classes) + 1), np.log(np.maximum(own, 1e-300)) - np.log(others), own, table)


def _shares(log_p: Floats) -> Floats:
    """Probabilities of each row relative to its sum."""
    weights = np.exp(log_p - log_p.max(1, keepdims=True))
    return np.asarray(weights / weights.sum(1, keepdims=True))


def _answers(log_probabilities: Sequence[float]) -> Answers:
    log_p = np.minimum(np.array(log_probabilities, np.float64), -1e-12)  # rounding may give a probability of 1
    value = log_p - np.log(-np.expm1(log_p))
    return Answers(np.arange(len(log_p) + 1), value, np.exp(log_p), None)
