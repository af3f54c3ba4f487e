"""Small valid originals that every case starts from: data files, models, a run, an interrupted training.

This file builds them once per campaign, so that no binary file has to be committed.
"""

from __future__ import annotations

import json
import sys
import wave
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.records import Json

WORDS = ("good", "bad", "film", "not", "the", "a", "quiet", "dull", "long", "cast", "and", "warm", "plot", "wise")
ROWS = 48
LEARNER = "classifier:size=8,hidden=4"
TRAIN = ("train", "classifier", "--set", "size=8", "--set", "hidden=4", "--epochs", "3", "--batch-size", "8")
"""The command of the training whose state is damaged; the same settings as `LEARNER`."""
AUDIT = (
    "--profile",
    "quick",
    "--limit",
    "6",
    "--keep",
    "2",
    "--explainers",
    "attention,leave_one_out,random",
    "--metrics",
    "comprehensiveness,sufficiency",
)
"""Options of every audit of the campaign: seconds become tenths of a second."""

POLICY = """confidence = 0.9
fewest = 2
inconclusive = "report"

[[gate]]
metric = "comprehensiveness"
method = "attention"
min = -5.0

[[gate]]
metric = "sufficiency"
max = 9.5
level = "warn"
"""

TESTS = """[lists]
good = ["good", "warm"]
name = ["Anna", "Ben", "Chen"]

[[test]]
name = "negation"
kind = "minimum functionality"
template = "the film was not {good}"
label = "neg"

[[test]]
name = "who says it"
kind = "invariance"
template = "{name} said the film was {good}"
vary = "name"

[[test]]
name = "praise"
kind = "directional"
template = "the film was {good}"
change = "the film was {good} and wise"
label = "pos"
direction = "up"
tolerance = 0.1
"""

SWAPS = """[swap.films]
groups = [["film", "cast"], ["plot", "quiet"]]
aligned = true
"""


@dataclass(frozen=True)
class Materials:
    """Paths of the originals."""

    root: Path

    @property
    def network(self) -> Path:
        return self.root / "network"

    @property
    def bert(self) -> Path:
        return self.root / "bert"

    @property
    def adapter(self) -> Path:
        return self.root / "adapter"

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def interrupted(self) -> Path:
        return self.root / "interrupted"

    @property
    def trained(self) -> Path:
        """Path of the same training as `interrupted`, undisturbed."""
        return self.root / "trained"

    @property
    def csv(self) -> Path:
        return self.root / "good.csv"

    @property
    def complete(self) -> bool:
        return (self.root / "complete").is_file()


def rows() -> list[dict[str, Any]]:
    """Labelled texts with every kind of column a reader knows."""
    rng = np.random.default_rng(13)
    found: list[dict[str, Any]] = []
    for number in range(ROWS):
        text = " ".join(rng.choice(WORDS, size=int(rng.integers(3, 7))))
        label = "pos" if "good" in text or "warm" in text else "neg"
        split = ("train", "train", "dev", "test")[number % 4]
        found.append({"id": f"e{number}", "text": text, "label": label, "split": split, "group": f"g{number // 2}"})
    return found


def build(root: Path) -> Materials:
    """Build every original under `root`, or reuse the existing ones."""
    made = Materials(root)
    if made.complete:
        return made
    root.mkdir(parents=True, exist_ok=True)
    _data(root)
    _texts(root)
    _bert(made.bert)
    _adapter(made)
    _trainings(made)
    _audit(made)
    (root / "complete").write_text("", "utf-8")
    return made


def _data(root: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = rows()
    for name, separator in (("good.csv", ","), ("good.tsv", "\t")):
        lines = [separator.join(table[0]), *(separator.join(map(str, row.values())) for row in table)]
        (root / name).write_text("\n".join(lines) + "\n", "utf-8")
    (root / "good.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table), "utf-8")
    (root / "good.json").write_text(json.dumps(table), "utf-8")
    columns = pa.Table.from_pylist(table)
    features = {name: {"dtype": "string", "_type": "Value"} for name in table[0]}
    about = {b"huggingface": json.dumps({"info": {"features": features}}).encode()}
    pq.write_table(columns.replace_schema_metadata(about), root / "good.parquet")
    folder = root / "datasets"
    folder.mkdir(exist_ok=True)
    with pa.ipc.new_stream(str(folder / "data-00000-of-00001.arrow"), columns.schema) as stream:
        stream.write_table(columns)
    state = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_split": None}
    (folder / "state.json").write_text(json.dumps(state), "utf-8")
    (folder / "dataset_info.json").write_text(json.dumps({"features": features}), "utf-8")
    numbers = ["age,size,label", *(f"{n % 7},{n / 3:.3f},{n % 2}" for n in range(20))]
    (root / "numbers.csv").write_text("\n".join(numbers) + "\n", "utf-8")
    for label in ("low", "high"):
        (root / "sounds" / label).mkdir(parents=True, exist_ok=True)
        _wav(root / "sounds" / label / "tone.wav", 20 if label == "low" else 200)


def _wav(path: Path, cycles: int) -> None:
    samples = (8000 * np.sin(np.linspace(0, 6.28 * cycles, 800))).astype("<i2")
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(samples.tobytes())


def _texts(root: Path) -> None:
    (root / "policy.toml").write_text(POLICY, "utf-8")
    (root / "tests.toml").write_text(TESTS, "utf-8")
    (root / "swaps.toml").write_text(SWAPS, "utf-8")


def _bert(folder: Path) -> None:
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", "utf-8")
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=32,
        num_labels=2,
        id2label={0: "neg", 1: "pos"},
        label2id={"neg": 0, "pos": 1},
    )
    BertForSequenceClassification(config).save_pretrained(folder)


def _adapter(made: Materials) -> None:
    """A LoRA adapter on top of the small BERT; absent where peft is not installed."""
    try:
        import peft
    except ImportError:
        return
    from transformers import AutoModelForSequenceClassification

    base = AutoModelForSequenceClassification.from_pretrained(made.bert)
    wanted = peft.LoraConfig(task_type="SEQ_CLS", r=2, target_modules=["query", "value"])
    peft.get_peft_model(base, wanted).save_pretrained(str(made.adapter))


class _Stopped(BaseException):
    """Ends a training in the middle of an epoch."""


def _trainings(made: Materials) -> None:
    from regard.training.progress import Report, reporting
    from regard.training.train import read_splits, train

    settings: dict[str, Json] = {"epochs": 3, "batch_size": 8}
    splits = read_splits(made.csv)
    train(LEARNER, splits, out=made.network, settings={"epochs": 1})
    train(LEARNER, splits, out=made.trained, settings=settings)
    epochs = 0

    def stop(report: Report) -> None:
        """Stop in the third epoch, with the states of two on disk; the settings stay, otherwise no state would fit."""
        nonlocal epochs
        if epochs == 2:
            raise _Stopped
        epochs += report.epoch_is_over

    with suppress(_Stopped), reporting(stop):
        train(LEARNER, splits, out=made.interrupted, settings=settings)
    if not [*made.interrupted.rglob("state.json")]:
        raise RuntimeError("the interrupted training left no state")


def _audit(made: Materials) -> None:
    from benchmarks.fuzz.outcome import call

    words = ["audit", str(made.network), "--data", str(made.csv), "--out", str(made.run), *AUDIT]
    said = call(words, made.root)
    if said.code != 0:
        raise RuntimeError(f"the audit of the originals failed: {said.err}")
    view = ["view", str(made.network), "--text", "a quiet film", "--html", str(made.root / "view.html")]
    if call(view, made.root).code != 0:
        raise RuntimeError("the view of the originals failed")


if __name__ == "__main__":
    build(Path(sys.argv[1]))
