"""Predictions and attention of another model by example, for loss terms and imposed attention."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from regard.errors import InputError, phrase
from regard.networks.checkpoint import load_checkpoint
from regard.networks.classifier import AttentionClassifier
from regard.networks.family import is_family, read_family
from regard.networks.imposed import FILE, load_imposed
from regard.networks.vocabulary import Vocabulary
from regard.protocols import Dataset
from regard.records import Example, Floats
from regard.store.run import Run
from regard.training.batches import Accompanied, Rows, TextRows, bucketed
from regard.training.inputs import aspect_numbers, first_text, text_of
from regard.training.learner import Learner
from regard.training.loss import Outcome, forward


class Reference(Protocol):
    """Reference for one example: its predictions (classes,), or its attention over the learner's words (n,)."""

    @property
    def identity(self) -> str: ...
    def predictions(self, data: Dataset, learner: Learner) -> list[Tensor]: ...
    def attention(self, data: Dataset, learner: Learner) -> list[Tensor]: ...


def open_reference(source: str | Path) -> Reference:
    """Open a trained network, a family (its best member on dev), an audit run, or stored weights."""
    folder = Path(source).expanduser()
    if is_family(folder):
        family = read_family(folder)
        folder = folder / family.best
    if (folder / "regard.json").is_file():
        return TrainedReference(folder)
    if (folder / "ledger.sqlite").is_file():
        return RunReference(folder)
    if (folder / FILE).is_file():
        return ImposedReference(folder)
    problem = (
        phrase("errors.training.another_directory") if folder.is_dir() else phrase("errors.common.no_such_directory")
    )
    expected = phrase("errors.training.directory_that_regard_train")
    raise InputError(f"--from {source}", expected=expected, got=problem)


class TrainedReference:
    """Reference to a network trained by regard; supports any example."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.network, self.about = load_checkpoint(folder)

    @property
    def identity(self) -> str:
        return str(self.about["sha256"])

    def predictions(self, data: Dataset, learner: Learner) -> list[Tensor]:
        order = _class_order([str(name) for name in self.about["labels"]], learner, str(self.folder))
        return [row.softmax(-1)[order] for row in self._asked(data, learner, "logits")]

    def attention(self, data: Dataset, learner: Learner) -> list[Tensor]:
        if not isinstance(self.network, AttentionClassifier):
            expected = phrase("errors.common.network_with_one_attention_over")
            raise InputError(f"--from {self.folder}", expected=expected, got=self.network.name)
        return self._asked(data, learner, "weights")

    def _asked(self, data: Dataset, learner: Learner, part: str) -> list[Tensor]:
        rows, answers = self._rows(data, learner), [torch.empty(0)] * len(data)
        with torch.no_grad():
            for numbers in bucketed(rows.lengths, 64):
                answer = _part(forward(self.network, rows.batch(numbers, None)), part)
                for i, row in zip(numbers, answer, strict=True):
                    answers[int(i)] = row[: int(rows.lengths[i])].clone() if part == "weights" else row.clone()
        return answers

    def _rows(self, data: Dataset, learner: Learner) -> Rows:
        if isinstance(self.network, AttentionClassifier):
            vocabulary = Vocabulary.from_json(self.about["vocabulary"])  # its own words have its own numbers
            aspects = tuple(map(str, self.about.get("aspects") or ()))
            tokens = [vocabulary.encode(first_text(e) if aspects else text_of(e))[0] for e in data]
            texts = TextRows(tokens, np.zeros(len(data), np.int64))
            if aspects:
                return Accompanied(texts, {"aspect": aspect_numbers(data, aspects)}, "aspect")
            if not self.network.asks:
                return texts
            return Accompanied(texts, {"attention": _stored(self.folder, data)}, "attention")
        return learner.rows(data, False)


class ImposedReference:
    """Reference to imposed attention weights by example id (`networks.imposed.save_imposed`); no predictions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def identity(self) -> str:
        return hashlib.sha256((self.folder / FILE).read_bytes()).hexdigest()

    def predictions(self, data: Dataset, learner: Learner) -> list[Tensor]:
        raise InputError(
            f"--from {self.folder}",
            expected=phrase("errors.training.predictions"),
            got=phrase("errors.training.attention_weights_only"),
        )

    def attention(self, data: Dataset, learner: Learner) -> list[Tensor]:
        return _stored(self.folder, data)


class RunReference:
    """Reference to the results of an audit for its examples."""

    def __init__(self, folder: Path) -> None:
        self.run = Run(folder)
        self.examples = {str(e["id"]): e for e in self.run.examples() if e["units"] is not None}

    @property
    def identity(self) -> str:
        return str(self.run.manifest["model"]["fingerprint"])

    def predictions(self, data: Dataset, learner: Learner) -> list[Tensor]:
        order = _class_order(self.run.manifest["model"]["labels"], learner, str(self.run.path))
        answers = []
        for example in data:
            distribution = self._kept(example, "predictions")["distribution"]
            if distribution is None:
                raise InputError(
                    phrase("errors.common.run_run", run=self.run.path),
                    expected=phrase("errors.training.probability_for_every_class"),
                    got=phrase("errors.common.none"),
                )
            answers.append(torch.tensor(distribution, dtype=torch.float32)[order])
        return answers

    def attention(self, data: Dataset, learner: Learner) -> list[Tensor]:
        assert learner.spans is not None
        name = next((m for m in self.run.methods() if m.partition(":")[0] == "attention"), None)
        if name is None:
            remedy = "regard audit ... --explainers attention"
            problem = ", ".join(self.run.methods())
            raise InputError(
                phrase("errors.common.run_run", run=self.run.path),
                expected=phrase("errors.training.relevance_attention"),
                got=problem,
                remedy=remedy,
            )
        relevance = self.run.relevance(name)
        rows = dict(zip(relevance.ids, relevance, strict=True))
        return [
            on_words(rows[e.id], self._kept(e, "attention")["units"], learner.spans(e), e)
            for e in data
            if self._kept(e, "attention", e.id in rows)
        ]

    def _kept(self, example: Example, what: str, stored: bool = True) -> Mapping[str, Any]:
        if example.id not in self.examples or not stored:
            remedy = phrase("errors.training.from_trained_model_itself")
            problem = phrase("errors.training.none_example", example=repr(example.id))
            raise InputError(
                phrase("errors.common.run_run", run=self.run.path),
                expected=phrase("errors.training.every_example", noun=what),
                got=problem,
                remedy=remedy,
            )
        facts: Mapping[str, Any] = self.examples[example.id]
        return facts


def on_words(values: Floats, units: Mapping[str, Any], spans: Sequence[tuple[int, int]], example: Example) -> Tensor:
    """Relevance of units (sub-words, words) as a distribution over words (n,): each unit counts for its word.

    >>> units = {"places": [[0, 0], [0, 3], [3, 6], [7, 9]], "place_kind": "span", "special": [True] + [False] * 3}
    >>> on_words(np.array([0.0, 0.2, 0.1, 0.1]), units, [(0, 6), (7, 9)], Example("a", {}))
    tensor([0.7500, 0.2500])
    """
    words = np.zeros(len(spans))
    for value, place, special in zip(values, units["places"], units["special"], strict=True):
        if special:
            continue
        at = [i for i, (a, b) in enumerate(spans) if a <= place[0] < b] if units["place_kind"] == "span" else []
        if not at:
            subject = phrase("errors.training.attention_example", example=repr(example.id))
            raise InputError(
                subject,
                expected=phrase("errors.training.units_inside_words_this_text"),
                got=phrase("errors.training.one_in_place", place=place),
            )
        words[at[0]] += value
    mass = words.sum()
    if len(words) and (mass <= 0 or (words < 0).any()):
        raise InputError(
            phrase("errors.training.attention_example", example=repr(example.id)),
            expected=phrase("errors.training.weights_that_add_up"),
            got=phrase("errors.training.none_above"),
        )
    return torch.tensor(words / mass if len(words) else words, dtype=torch.float32)


def _stored(folder: Path, data: Dataset) -> list[Tensor]:
    stored = load_imposed(folder)
    for example in data:
        if example.id not in stored:
            expected = phrase("errors.training.imposed_attention_for_every")
            raise InputError(
                f"--from {folder}",
                expected=expected,
                got=phrase("errors.training.none_of_example", example=repr(example.id)),
            )
    return [torch.from_numpy(stored[example.id]) for example in data]


def _part(outcome: Outcome, part: str) -> Tensor:
    value = outcome.logits if part == "logits" else outcome.weights
    assert value is not None
    return value


def _class_order(names: Sequence[str], learner: Learner, subject: str) -> list[int]:
    """Position of each class of the learner in the predictions of the other model."""
    if sorted(names) != sorted(learner.names):
        expected = phrase("errors.training.model_with_classes", names=", ".join(learner.names))
        raise InputError(f"--from {subject}", expected=expected, got=", ".join(names))
    return [list(names).index(name) for name in learner.names]
