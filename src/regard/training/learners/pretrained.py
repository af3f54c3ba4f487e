"""`pretrained`: a Hugging Face encoder in a local directory, fine-tuned to classes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from regard.errors import InputError, phrase
from regard.protocols import Dataset
from regard.records import Json
from regard.registry import method
from regard.training.batches import Rows
from regard.training.fine_tuning import Prepared
from regard.training.labels import check_classes, label_names, numbered
from regard.training.learner import Learner
from regard.training.loop import Settings


@method("learner", modality="text", task="classification", network="a Hugging Face directory")
def pretrained(
    train: Dataset, *, directory: str = "", layers: int = 2, longest: int = 128, looks: bool = False
) -> Learner:
    """Fine-tune the upper `layers` and a new head of a Hugging Face encoder in a local directory.

    layers: 0 means all, word vectors too. longest: tokens of a text that are read. The lower layers of a BERT stay as
    they are, so each text goes through them once, not once per epoch. looks: terms of the loss may speak of attention,
    that of the first token in the last layer, mean over heads. Returns a Hugging Face directory.
    """
    folder = Path(directory).expanduser()
    if not (folder / "config.json").is_file():
        problem = phrase("errors.common.none") if folder.is_dir() else phrase("errors.common.no_such_directory")
        expected = phrase("errors.training.hugging_face_directory_with_config")
        raise InputError(f"--from-directory {directory}", expected=expected, got=problem)
    names = label_names(train)
    check_classes(train, numbered(train, names), names)
    prepared = Prepared(folder, names, layers, longest, looks=looks)

    def rows(data: Dataset, learning: bool) -> Rows:
        return prepared.rows(data, numbered(data, names))

    def network() -> nn.Module:
        return prepared.network()

    def save(out: Path, trained: Any, facts: Mapping[str, Json]) -> None:
        prepared.save(out, trained)

    settings = Settings(epochs=3, batch_size=32, rate=2e-4, weight_decay=0.01, warmup=0.1, threads=0)
    return Learner(
        prepared.what,
        network,
        rows,
        save,
        settings,
        names=names,
        spans=prepared.spans if looks else None,
    )
