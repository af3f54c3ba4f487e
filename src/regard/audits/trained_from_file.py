"""Train a model on a table and split off its test data: `regard audit --task series|anomaly|tabular` alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from regard.audits.options import AuditOptions
from regard.datasets.read import read
from regard.datasets.sampling import stratified
from regard.errors import InputError, phrase
from regard.message import Message, Text
from regard.protocols import Dataset
from regard.records import Json
from regard.registry import names as known_names
from regard.training.train import read_splits, train

FileTask = Literal["series", "anomaly", "tabular"]
FILE_TASKS: tuple[FileTask, ...] = ("series", "anomaly", "tabular")
"""Tasks, which are also names of learners."""


def read_for(task: FileTask, data: str | Path, options: AuditOptions, split: str | None) -> Dataset:
    """The windows of a recording, or the rows of a table."""
    if task != "tabular":
        if options.window is None:
            raise InputError(
                f"--task {task}",
                expected=phrase("errors.audits.window_steps_one_window"),
                got=phrase("errors.common.none"),
            )
        return read(
            data, window=options.window, horizon=options.horizon, label_column=options.label_column, split=split
        )
    if options.window is not None:
        raise InputError("--window", expected="--task series", got=f"--task {task}")
    return read(
        data,
        label_column=options.label_column,
        group_column=options.group_column,
        rationale_column=options.rationale_column,
        id_column=options.id_column,
        slice_columns=options.slices,
        skip_bad=options.skip_bad,
        split=split,
        table=str(data).partition(":")[0] not in known_names("dataset"),
    )


def trained_from_file(
    task: FileTask, data: str, folder: Path, options: AuditOptions, announce: Callable[[Text], None]
) -> tuple[str, Dataset]:
    """Return (directory of a model trained on the train split, test split); trains once per directory."""
    splits = read_splits(data, lambda name: read_for(task, data, options, name))
    trained = train(task, splits, out=folder / "model", seed=options.seed, announce=announce)
    score = trained.members[0][f"test_{trained.metric}"]
    facts: dict[str, Json] = {"metric": trained.metric, "score": float(score), "n": len(splits.test)}
    bounds = trained.members[0].get("test_interval")
    if bounds is None:
        announce(Message("training_note.tested", facts))
    else:
        announce(Message("training_note.tested_share", {**facts, "low": bounds[0], "high": bounds[1]}))
    return str(trained.directory), splits.test


def file_examples(task: FileTask, data: str, options: AuditOptions) -> Dataset:
    """Every example of a file for a model that the user names; at most `limit`."""
    examples = read_for(task, data, options, options.split)
    if options.limit is None or len(examples) <= options.limit:
        return examples
    from regard.datasets.examples import Examples

    assert isinstance(examples, Examples)
    return examples.keep(stratified(examples, options.limit, seed=options.seed))
