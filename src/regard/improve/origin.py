"""Origin of a model: recipe and data to retrain it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.audits.resolve import default_data
from regard.datasets.read import read
from regard.errors import InputError, Unsupported, phrase
from regard.message import Message
from regard.networks.checkpoint import load_checkpoint
from regard.networks.family import is_family, read_family
from regard.records import Json, Spec
from regard.registry import build, entry, named_model
from regard.training.directory import FILE as TRAINING
from regard.training.train import RESERVED, read_splits
from regard.training.train_one import Splits
from regard.trust import refuse_code

LEARNERS = {
    "attention_classifier": "classifier",
    "vision_transformer": "vision",
    "tabular_transformer": "tabular",
    "series_transformer": "series",
}
"""Network of regard's own -> its learner."""
UPPER = 2
"""Default number of upper layers of a BERT to train further."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A model that can be trained: its directory, its learner, its data, its settings.

    further: continue from the existing weights (Hugging Face) instead of training from scratch.
    """

    name: str
    folder: Path
    learner: Spec
    splits: Splits
    settings: Mapping[str, Json]
    further: bool


def origin(model: str, data: str | Splits | None, *, limit: int | None = None, layers: int | None = None) -> Origin:
    """Find how to train a model, or raise an error with the reason. limit: maximum number of training examples.

    layers: number of upper layers of a Hugging Face model to train (0: all; default 2 for a BERT, else all).
    """
    folder = _folder(model)
    if (folder / "config.json").is_file():
        learner = Spec("learner", "pretrained", {"directory": str(folder.resolve()), "layers": _layers(folder, layers)})
        splits = data if isinstance(data, Splits) else read_splits(data or default_data(model))
        return Origin(model, folder, learner, _limited(splits, limit), {}, further=True)
    network, about = load_checkpoint(folder)
    facts = about.get("training")
    if network.name not in LEARNERS or not isinstance(facts, dict) or about.get("task") != "classification":
        problem = (
            phrase("errors.common.for_sizes", sizes=network.name, ids=about.get("task"))
            if isinstance(facts, dict)
            else phrase("errors.improve.no_record_training")
        )
        expected = phrase("errors.improve.classifier_that_regard_trained")
        raise Unsupported(phrase("errors.common.model_live", live=model), expected=expected, got=problem)
    if layers is not None:
        raise InputError(
            "layers",
            expected=phrase("errors.common.hugging_face_model"),
            got=phrase("errors.improve.network_regard_own", network=network.name),
        )
    settings = {k: v for k, v in facts["settings"].items() if k not in RESERVED}
    return Origin(
        model,
        folder,
        _learner(folder, network.name, network.config),
        _splits(facts, data, limit),
        settings,
        further=False,
    )


def _folder(model: str) -> Path:
    folder = Path(model).expanduser()
    spec = None if folder.exists() else named_model(model)
    if spec is not None:
        built = build(spec)()
        folder = Path(built) if isinstance(built, str) else folder
    if not folder.is_dir():
        problem = (
            phrase("errors.common.model_without_directory")
            if spec is not None
            else phrase("errors.common.no_such_directory")
        )
        expected = phrase("errors.improve.name_regard_list_source")
        raise InputError(phrase("errors.common.model_live", live=model), expected=expected, got=problem)
    if is_family(folder):
        folder = folder / read_family(folder).best
    if not any((folder / name).is_file() for name in ("regard.json", "config.json")):
        remedy = "regard train"
        expected = phrase("errors.improve.directory_with_regard_json")
        raise InputError(
            phrase("errors.common.model_live", live=model),
            expected=expected,
            got=phrase("errors.common.neither"),
            remedy=remedy,
        )
    return folder


def _layers(folder: Path, layers: int | None) -> int:
    if layers is not None:
        return layers
    try:
        config = json.loads((folder / "config.json").read_text("utf-8"))
        upper = config.get("model_type") == "bert" and int(config.get("num_hidden_layers", 0)) > UPPER
    except (ValueError, OSError) as error:
        raise InputError(
            str(folder / "config.json"), expected=phrase("errors.common.json_object"), got=str(error)
        ) from error
    return UPPER if upper else 0


def _learner(folder: Path, network: str, config: Mapping[str, Any]) -> Spec:
    """Return the learner from the training record, else from the network itself."""
    for place in (folder, folder.parent):
        try:
            learner = Spec.from_json(json.loads((place / TRAINING).read_text("utf-8"))["recipe"]["learner"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if learner.kind != "learner":  # the file came with the model: it may name a learner and nothing else
            raise InputError(
                str(place / TRAINING), expected=phrase("errors.improve.learner"), got=f"{learner.kind} {learner.name}"
            )
        refuse_code(str(place / TRAINING), [learner])
        return learner
    name = LEARNERS[network]
    own = {p.name for p in entry("learner", name).parameters}
    params: dict[str, Json] = {k: v for k, v in config.items() if k in own}
    if "aspects" in params:
        params["aspects"] = bool(params["aspects"])
    return Spec("learner", name, params)


def _splits(facts: Mapping[str, Any], data: str | Splits | None, limit: int | None) -> Splits:
    if isinstance(data, Splits):
        return _limited(data, limit)
    source = data or str(facts["data"])
    try:
        splits = read_splits(source)
    except InputError as error:
        remedy = phrase("errors.improve.data_name_or_file")
        raise InputError(
            "data", expected=phrase("errors.improve.training_data"), got=str(error), remedy=remedy
        ) from error
    if data is None and splits.train.fingerprint != facts["data_fingerprint"]:
        # trained on a part: the same one is drawn again
        splits = replace(splits, train=read(source, split="train", limit=int(facts["examples"])))
        if splits.train.fingerprint != facts["data_fingerprint"]:
            raise InputError(
                "data",
                expected=phrase("errors.improve.training_data"),
                got=phrase("errors.common.another_source", source=source),
                remedy="--data",
            )
    return _limited(splits, limit)


def _limited(splits: Splits, limit: int | None) -> Splits:
    if limit is None or limit >= len(splits.train):
        return splits
    from regard.datasets.examples import Examples
    from regard.measures.keyed_random import keyed_rng

    train = splits.train
    items = list(train)
    numbers = keyed_rng(0, "improve limit", len(items)).choice(len(items), limit, replace=False)
    sample = [items[int(i)] for i in sorted(numbers)]
    if isinstance(train, Examples):
        return replace(splits, train=train.keep(sample, Message.of("data.learning_sample", n=limit, all=len(items))))
    return replace(splits, train=Examples(train.name, tuple(sample), train.labels, train.notes))
