"""The Stanford Sentiment Treebank as Jain & Wallace used it: binary sentences, tokenised, with their length filter."""

from __future__ import annotations

import csv
import os
from pathlib import Path

from regard.datasets.examples import Examples
from regard.errors import InputError
from regard.records import Example
from regard.training.train_one import Splits

VARIABLE = "REGARD_SST"
BESIDE = Path(__file__).parents[3] / "shared" / "data" / "sst" / "sst_dataset.csv"
SHORTEST = 5
"""Texts of more words than this are kept, and of fewer than the longest of their split: both bounds are strict."""
SPECIALS = 4
"""Jain & Wallace count <pad>, <unk>, <start> and <end> as words."""


def located(path: str | None) -> Path:
    """Return the given file, otherwise $REGARD_SST, otherwise the one beside the repository."""
    found = Path(path or os.environ.get(VARIABLE) or BESIDE).expanduser()
    if not found.is_file():
        raise InputError(
            f"SST data {found}", expected="sst_dataset.csv with the columns text, label, exp_split", got="no such file",
            remedy=f"--data PATH or {VARIABLE}=PATH (the file is released with the experiments of Jain & Wallace 2019)",
        )  # fmt: skip
    return found


def read(path: Path) -> tuple[Splits, int]:
    """Return the three filtered splits, and the size of the vocabulary, which was counted before the filter."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows or not {"text", "label", "exp_split"} <= rows[0].keys():
        got = ", ".join(rows[0]) if rows else "no rows"
        raise InputError(f"SST data {path}", expected="the columns text, label, exp_split", got=got)
    words = {word for row in rows if row["exp_split"] == "train" for word in row["text"].split()}
    return Splits(**{part: _part(rows, part) for part in ("train", "dev", "test")}), len(words) + SPECIALS


def _part(rows: list[dict[str, str]], part: str) -> Examples:
    texts = [(i, row) for i, row in enumerate(rows) if row["exp_split"] == part]
    # the longest text of each split is dropped by the released code, because its upper bound is strict too
    longest = max((len(row["text"].split()) for _, row in texts), default=0)
    kept = [
        Example(f"sst-{i}", {"text": row["text"]}, int(row["label"]))
        for i, row in texts
        if SHORTEST < len(row["text"].split()) < longest
    ]
    return Examples(f"sst-{part}", tuple(kept), labels=("negative", "positive"))
