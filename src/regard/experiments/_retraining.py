"""Retraining of the audited network with one change, shared by all experiments that train.

Only regard's own networks record their training and data (`regard.json`). All training goes through `training.train`:
the same loop, the same terms, resumable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from regard.datasets.read import read
from regard.errors import RegardError, Text, Unsupported, phrase
from regard.experiments._finding import finding
from regard.measures.significance import t_quantile
from regard.networks.checkpoint import load_checkpoint
from regard.networks.classifier import AttentionClassifier
from regard.networks.family import is_family, read_family
from regard.protocols import Dataset, Model, Study
from regard.records import Floats, Json, Score, Spec
from regard.registry import build, named_model
from regard.training.learner import Learner
from regard.training.reference import TrainedReference
from regard.training.train import RESERVED, Trained, read_splits, train
from regard.training.train_one import Splits

KEPT = ("encoder", "attention", "size", "hidden", "dropout")


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of the audited network: checkpoint, learner, data and training settings."""

    folder: Path
    learner: Spec
    splits: Splits
    settings: Mapping[str, Json]
    seed: int

    def changed(self, **params: Json) -> Spec:
        return Spec("learner", self.learner.name, {**self.learner.params, **params})

    def made(self) -> Learner:
        """Build the learner, for its classes and vocabulary."""
        learner: Learner = build(self.learner)(self.splits.train)
        return learner

    def seeds(self, count: int) -> list[int]:
        """Return seeds other than the network's own."""
        return [self.seed + 1 + k for k in range(count)]


def origin(study: Study, data: str, name: str) -> Origin:
    """Return the origin of the network; raise with the reason if it cannot be retrained."""
    who = phrase("errors.experiments.experiment_name", name=name)
    folder = _checkpoint(study.model)
    if folder is None:
        raise Unsupported(
            who,
            expected=phrase("errors.experiments.network_trained_by_regard_for_retraining"),
            got=phrase("errors.experiments.external_model"),
            remedy="regard train",
        )
    network, about = load_checkpoint(folder)
    own = isinstance(network, AttentionClassifier) and network.config["attention"] not in ("frozen", "uniform")
    if not isinstance(network, AttentionClassifier) or not own or network.config["aspects"]:
        raise Unsupported(who, expected=phrase("errors.experiments.classifier_with_one_learned"), got=network.name)
    facts = about.get("training")
    if not isinstance(facts, dict):
        raise Unsupported(
            who,
            expected=phrase("errors.experiments.record_training"),
            got=phrase("errors.experiments.none_in_regard_json"),
        )
    config = {key: network.config[key] for key in KEPT}
    settings = {k: v for k, v in facts["settings"].items() if k not in RESERVED}
    splits = _splits(facts, data, name, who)
    return Origin(folder, Spec("learner", "classifier", config), splits, settings, int(facts["settings"]["seed"]))


def _checkpoint(model: Model) -> Path | None:
    if model.spec is None:
        return None
    folder = Path(model.spec.name).expanduser()
    source = None if folder.exists() else named_model(model.spec.name)
    if source is not None:
        checkpoint = build(source)()
        folder = Path(checkpoint) if isinstance(checkpoint, str) else folder
    if is_family(folder):
        folder = folder / read_family(folder).best
    return folder if (folder / "regard.json").is_file() else None


def _splits(facts: Mapping[str, Any], data: str, name: str, who: Text) -> Splits:
    source = data or str(facts["data"])
    remedy = f"--experiments '{name}:data=FILE'"
    try:
        splits = read_splits(source)
        if not data and splits.train.fingerprint != facts["data_fingerprint"]:
            # trained on a part: the same one is drawn again
            splits = replace(splits, train=read(source, split="train", limit=int(facts["examples"])))
    except RegardError as error:
        raise Unsupported(
            who, expected=phrase("errors.experiments.training_data_network"), got=str(error), remedy=remedy
        ) from error
    if not data and splits.train.fingerprint != facts["data_fingerprint"]:
        raise Unsupported(
            who,
            expected=phrase("errors.experiments.training_data_network"),
            got=phrase("errors.common.another_source", source=source),
            remedy=remedy,
        )
    return splits


def again(
    study: Study,
    made: Origin,
    name: str,
    seed: int,
    *,
    learner: Spec | None = None,
    splits: Splits | None = None,
    terms: Mapping[str, float] | None = None,
    reference: Path | None = None,
    hide: Sequence[str] = (),
) -> Trained:
    """Train once and cache under `name`; reuse the result of another experiment or of an interrupted run."""
    return train(
        learner or made.learner,
        splits or made.splits,
        out=study.folder / f"{name}-{seed}",
        seed=seed,
        settings=made.settings,
        terms=terms,
        reference=reference,
        hide=hide,
        class_weights="none" if terms is not None and "cross_entropy" not in terms else "balanced",
    )


def adversary(study: Study, made: Origin, weight: float, seed: int) -> Trained:
    """Train a network with the same predictions and different attention: TVD - weight x KL, from scratch, no labels."""
    terms = {"prediction_distance": 1.0, "attention_distance": -weight}
    return again(study, made, f"adversary-{weight:g}", seed, terms=terms, reference=made.folder)


def accuracy(trained: Trained) -> float:
    return float(trained.members[0]["test_accuracy"])


def answers(folder: Path, data: Dataset, learner: Learner) -> Floats:
    """Return (examples, classes) predictions of the network in `folder`."""
    rows = TrainedReference(folder).predictions(data, learner)
    return np.stack([row.double().numpy() for row in rows])


def looks(folder: Path, data: Dataset, learner: Learner) -> list[Floats]:
    """Return per example (n,) the network's attention."""
    return [row.double().numpy() for row in TrainedReference(folder).attention(data, learner)]


def right(said: Floats, data: Dataset, learner: Learner) -> float:
    """Return the accuracy."""
    labels = learner.rows(data, False).labels
    return float((said.argmax(-1) == labels).mean())


def correct(folder: Path, data: Dataset, learner: Learner) -> Floats:
    """Return (examples,) 1 where the network in `folder` predicts the label."""
    labels = learner.rows(data, False).labels
    return np.asarray(answers(folder, data, learner).argmax(-1) == labels, np.float64)


def commonest(made: Origin) -> float:
    """Return the majority-class accuracy on the test split, the baseline of an accuracy."""
    labels = made.made().rows(made.splits.test, False).labels
    return float(np.bincount(labels).max() / len(labels))


def over_seeds(
    metric: str,
    method: str,
    values: Mapping[int, float],
    made: Origin,
    where: Mapping[str, Json],
    *,
    better: Literal["higher", "lower", "none"] = "none",
    baseline: float | None = None,
) -> Score:
    """Return one value per seed; `where` holds mean, 95 % Student interval over seeds, n and baseline."""
    seed_values = np.array([*values.values()])
    mean = float(seed_values.mean())
    half = (
        t_quantile(0.025, len(seed_values) - 1) * float(seed_values.std(ddof=1)) / math.sqrt(len(seed_values))
        if len(seed_values) > 1
        else None
    )
    about: dict[str, Json] = {
        **where,
        "n": len(made.splits.test),
        "data": made.splits.test.name,
        "seeds": [*values],
        "mean": mean,
        "low": None if half is None else mean - half,
        "high": None if half is None else mean + half,
        "baseline": baseline,
    }
    return finding(metric, tuple(f"seed {seed}" for seed in values), seed_values, about, method=method, better=better)


def by_text(metric: str, columns: Mapping[int, Floats], data: Dataset, where: Mapping[str, Json]) -> Score:
    """Return one value per text, the mean over seeds; curve `seeds`: (texts, seeds), for intervals over both."""
    table = np.stack([*columns.values()], -1)
    about: dict[str, Json] = {**where, "rows": "texts", "of seeds": [*columns]}
    ids, grid = tuple(e.id for e in data), tuple(map(float, columns))
    return finding(metric, ids, table.mean(-1), about, curves={"seeds": table}, grid=grid)
