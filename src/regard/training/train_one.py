"""Training from data to checkpoint, shared by `regard train` and the named models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import InputError, phrase
from regard.measures.intervals import wilson
from regard.models.adapter import pick_device
from regard.networks.imposed import save_imposed
from regard.protocols import Dataset
from regard.records import Json, Message, encoded
from regard.training.augmentation import Augment, Copied, with_copies
from regard.training.batches import Accompanied, Rows
from regard.training.labels import balanced
from regard.training.learner import Learner
from regard.training.loop import Settings, evaluate, fit, seeded
from regard.training.loss import Term, weighted_terms
from regard.training.rationale_mask import hidden_marks, rationale_marks
from regard.training.reference import Reference


@dataclass(frozen=True, slots=True)
class Splits:
    """Training, early-stopping (dev) and final test data.

    source: the built-in data set with its parameters, by which it is read again; "" for files and data in memory.
    """

    train: Dataset
    dev: Dataset
    test: Dataset
    source: str = ""


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss: weighted terms, class weights, and inputs of the terms.

    class_weights: "balanced" (every class counts the same in sum), "none", or one number per class.
    hide: words that attention must avoid, for the term `hidden_mass`. augment: noisy copies to learn from.
    """

    terms: Mapping[str, float] | None = None
    class_weights: str | Sequence[float] = "balanced"
    reference: Reference | None = None
    hide: Sequence[str] = ()
    augment: Augment | None = None


PLAIN = Loss()


def train_one(
    learner: Learner,
    splits: Splits,
    out: Path,
    settings: Settings,
    *,
    loss: Loss = PLAIN,
    state: Path | None = None,
    device: str = "cpu",
) -> dict[str, Json]:
    """Train on `device`, select the epoch on dev, save into `out`, and return the facts of the training."""
    weights = dict(loss.terms if loss.terms is not None else learner.terms)
    terms = weighted_terms(weights)
    ready = _Ready(learner, loss, terms)
    prepared = (ready.rows(splits.train, True), ready.rows(splits.dev, False))
    with seeded(settings.seed, "weights"):
        network = learner.network().to(pick_device(device))
    by_loss = not set(weights) & set(learner.terms)
    fitted = fit(
        network,
        *prepared,
        terms,
        settings,
        measure=learner.measure,
        by_loss=by_loss,
        what=Message.of("learner.on", what=learner.what, data=splits.train.name),
        state=state,
    )
    tests = ready.rows(splits.test, False)
    test_loss, tested = evaluate(network, tests, terms, learner.measure, settings.batch_size)
    network.to("cpu")
    metric, n = learner.measure.name, len(splits.test)
    facts: dict[str, Json] = {
        "what": encoded(learner.what),
        "data": splits.source or splits.train.name,
        "data_fingerprint": splits.train.fingerprint,
        "examples": len(splits.train),
        "terms": dict(weights),
        "settings": asdict(settings),
        "epochs": [asdict(epoch) for epoch in fitted.epochs],
        "best_epoch": fitted.best + 1,
        "chosen_by": "dev_loss" if by_loss else f"dev_{metric}",
        "metric": metric,
        f"dev_{metric}": fitted.dev_metric,
        f"test_{metric}": tested,
        "test_loss": test_loss,
        "test_examples": n,
        "test_interval": [float(x) for x in wilson(round(tested * n), n)] if learner.measure.share else None,
    }
    if learner.further is not None:
        facts |= learner.further(network, splits.dev, splits.test)
    if learner.imposes:
        save_imposed(out, ready.imposed)
    learner.save(out, network, {"training": facts})
    return facts


class _Ready:
    """Prepares splits with the extra columns that the loss needs."""

    def __init__(self, learner: Learner, loss: Loss, terms: Sequence[Term]) -> None:
        self.learner, self.loss = learner, loss
        self.needs = {
            need: phrase("errors.training.term_name", name=term.name) for term in terms for need in term.needs
        }
        if learner.imposes:
            self.needs.setdefault("attention", phrase("errors.training.attention_frozen"))
        self.class_weights: Tensor | None = None
        self.imposed: dict[str, NDArray[Any]] = {}
        for need in ("weights", "states"):
            if need in self.needs and learner.spans is None:
                remedy = "regard train classifier"
                expected = phrase("errors.common.network_with_one_attention_over")
                raise InputError(self.needs[need], expected=expected, got=learner.what, remedy=remedy)

    def rows(self, data: Dataset, learning: bool) -> Rows:
        if not len(data):
            raise InputError(
                phrase("errors.common.data_path", path=data.name),
                expected=phrase("errors.training.at_least_one_example_in_split"),
                got=phrase("errors.common.none"),
            )
        rows, columns = self._plain(data, learning), dict[str, Sequence[Tensor]]()
        if self.learner.names and self.loss.class_weights != "none":
            if self.class_weights is None:  # from the training data, prepared first
                self.class_weights = torch.tensor(_class_weights(self.learner, rows, self.loss.class_weights))
            columns["weight"] = list(self.class_weights[torch.from_numpy(rows.labels)])
        if "predictions" in self.needs:
            columns["predictions"] = self._reference("predictions").predictions(data, self.learner)
        if "attention" in self.needs:
            columns["attention"] = self._reference("attention").attention(data, self.learner)
            self.imposed |= {e.id: row.numpy() for e, row in zip(data, columns["attention"], strict=True)}
        if "rationale" in self.needs:
            columns["rationale"] = rationale_marks(data, self.learner, self.needs["rationale"])
        if "hidden" in self.needs:
            columns["hidden"] = hidden_marks(data, self.learner, self.loss.hide, self.needs["hidden"])
        return Accompanied(rows, columns, "attention" if self.learner.imposes else None) if columns else rows

    def _plain(self, data: Dataset, learning: bool) -> Rows:
        augment = self.loss.augment
        if augment is None or not learning:
            return self.learner.rows(data, learning)
        for need in ("attention", "rationale", "hidden"):
            if need in self.needs:
                remedy = phrase("errors.training.this_term_or_noise")
                expected = phrase("errors.training.clean_texts_refers_single_words")
                raise InputError(
                    self.needs[need], expected=expected, got=phrase("errors.training.noisy_copies"), remedy=remedy
                )
        return Copied(self.learner.rows(with_copies(data, augment), learning), len(data), augment)

    def _reference(self, need: str) -> Reference:
        if self.loss.reference is None:
            remedy = phrase("errors.training.from_model_or_run")
            raise InputError(
                self.needs[need],
                expected=phrase("errors.training.reference_model"),
                got=phrase("errors.common.none"),
                remedy=remedy,
            )
        return self.loss.reference


def _class_weights(learner: Learner, rows: Rows, weights: str | Sequence[float]) -> list[float]:
    if weights == "balanced":
        return balanced(np.asarray(rows.labels), len(learner.names))
    if isinstance(weights, str) or len(weights) != len(learner.names) or any(w <= 0 for w in weights):
        raise InputError(
            phrase("errors.training.class_weights"),
            expected=phrase(
                "errors.training.balanced_none_or_numbers_above", n=len(learner.names), names=", ".join(learner.names)
            ),
            got=str(weights) if isinstance(weights, str) else ", ".join(map(str, weights)),
        )
    return [float(w) for w in weights]
