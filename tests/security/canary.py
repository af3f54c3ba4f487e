"""A canary: code that leaves a mark when it runs, and a harmless model beside it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.records import Example, Json
from regard.store.ledger import Ledger

WORDS = ("the", "film", "was", "great", "fun", "boring", "dull", "plot")
TEXTS = [
    Example(f"t{i}", {"text": text}, label)
    for i, (text, label) in enumerate(
        [("the film was great fun", "LABEL_0"), ("boring dull plot", "LABEL_1"), ("the plot was fun", "LABEL_0")]
    )
]
EVIL = """
from pathlib import Path
Path({mark!r}).write_text("this code ran")

import torch
import regard
import transformers


class Config(transformers.BertConfig):
    model_type = "own"


class Model(transformers.BertForSequenceClassification):
    config_class = Config


class Words(transformers.BertTokenizer):
    pass


def make(**anything):
    Path({mark!r}).write_text("this code ran")
    return regard.load({model!r})


def relevance(example, units):
    Path({mark!r}).write_text("this code ran")
    return [1.0] * int(units.free.sum())


def generate(*anything, **named):
    Path({mark!r}).write_text("this code ran")
"""


@dataclass(frozen=True)
class Canary:
    """A place with `evil.py`, which leaves `mark` behind when any of it runs, and a harmless `model` directory."""

    place: Path

    @property
    def file(self) -> Path:
        return self.place / "evil.py"

    @property
    def mark(self) -> Path:
        return self.place / "MARK"

    @property
    def model(self) -> Path:
        return self.place / "model"

    @property
    def factory(self) -> str:
        return f"{self.file}:make"

    @property
    def method(self) -> str:
        return f"given:function={self.file}:relevance"

    @property
    def ran(self) -> bool:
        return self.mark.exists()

    def model_copy(self, name: str) -> Path:
        """Another directory with the harmless model in it."""
        folder = self.place / name
        shutil.copytree(self.model, folder)
        return folder

    def run_copy(self, name: str, run: Path, **model: Json) -> Path:
        """A run that somebody changed: these facts about its model are other ones."""
        folder = self.place / name
        shutil.copytree(run, folder)
        with Ledger.write(folder) as book:
            manifest = book.facts()["manifest"]
            manifest["model"] = {**manifest["model"], **model}
            book.note(manifest=manifest)
        return folder


def save_model(folder: Path) -> None:
    import torch
    import transformers

    specials = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    vocabulary = {token: i for i, token in enumerate((*specials, *WORDS))}
    torch.manual_seed(0)
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.BertConfig(vocab_size=len(vocabulary), max_position_embeddings=16, **sizes)
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    words: Any = transformers.BertTokenizer(vocab=vocabulary, model_max_length=16)
    words.save_pretrained(folder)
