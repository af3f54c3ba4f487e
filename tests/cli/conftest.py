"""A small model of the user's own, in a file, and small data: what the commands are tried on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from regard.cli.root import root

MODEL = '''
import torch
from torch import nn
import regard


class Small(nn.Module):
    """Embeddings, one head of self-attention, a mean, two classes."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(64, 8)
        self.query, self.key = nn.Linear(8, 8), nn.Linear(8, 8)
        self.out = nn.Linear(8, 2)

    def forward(self, ids, mask):
        h = self.embed(ids)
        scores = self.query(h) @ self.key(h).transpose(1, 2) / 8**0.5
        scores = scores.masked_fill(~mask[:, None, :], float("-inf"))
        h = torch.softmax(scores, -1) @ h
        return self.out((h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True))


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(64, 4), nn.Linear(4, 2)

    def forward(self, ids):
        return self.out(self.embed(ids).mean(1))


def encode(text):
    return [2 if word == "special" else 3 + sum(map(ord, word)) % 60 for word in text.split()]


def make(**changes):
    settings = dict(labels=["negative", "positive"], mask="mask", mask_id=1, special_ids=[2], max_length=24)
    return regard.wrap(Small(), encode, **{**settings, **changes})


def broken():
    model = Small()
    with torch.no_grad():
        model.out.weight[0, 0] = float("nan")
    return regard.wrap(model, encode, labels=["negative", "positive"], mask="mask")


def without_attention():
    return regard.wrap(Bag(), encode, labels=["a", "b"])


def cutting():
    return make(overflow="cut")


def strict():
    return make(overflow="error")


def crashing():
    raise ZeroDivisionError("the user's own bug")
'''
ROWS = (
    ("a quiet moving film", "pos"),
    ("dull and far too long", "neg"),
    ("gorgeous to look at yet hollow", "neg"),
    ("we laughed from start to end", "pos"),
    ("a mess of a plot", "neg"),
    ("warm funny and wise", "pos"),
)


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a model file, data files good and bad, and things that are not what they seem."""
    folder = tmp_path_factory.mktemp("user")
    (folder / "mine.py").write_text(MODEL, "utf-8")
    lines = ["text,label", *(f"{text},{label}" for text, label in ROWS)]
    (folder / "good.csv").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "unlabelled.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t, _ in ROWS), "utf-8")
    (folder / "odd_label.csv").write_text("text,label\ngood,maybe\nbad,never\n", "utf-8")
    (folder / "empty_text.csv").write_text("text,label\na fine film,pos\n,neg\nanother one,neg\n", "utf-8")
    (folder / "poison.csv").write_text("text,label\na fine film,pos\nspecial special,neg\nanother one,neg\n", "utf-8")
    (folder / "only_poison.csv").write_text("text,label\nspecial,pos\nspecial special,neg\n", "utf-8")
    (folder / "broken.parquet").write_bytes(b"PAR1 this is not parquet")
    (folder / "binary.csv").write_bytes(b"\xff\xfe\x00\x81text,label\n\x90\n")
    (folder / "empty").mkdir()
    (folder / "not_a_model").mkdir()
    (folder / "not_a_model" / "notes.txt").write_text("hello", "utf-8")
    (folder / "a_file").write_text("x", "utf-8")
    _bert_without_tokenizer(folder / "no_tokenizer")
    return folder


@pytest.fixture
def regard(place: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs a command line in the user's directory, in this process."""
    monkeypatch.chdir(place)

    def call(*words: str) -> Result:
        return CliRunner().invoke(root, list(words), prog_name="regard")

    return call


@pytest.fixture(scope="session")
def audited(place: Path) -> tuple[Path, Result]:
    """One audit of the small model, with its result."""
    out = place / "run"
    words = f"audit {place}/mine.py:make --data {place}/good.csv --out {out} --profile quick --keep 2 --verbose"
    return out, CliRunner().invoke(root, words.split(), prog_name="regard")


def _bert_without_tokenizer(folder: Path) -> None:
    from transformers import BertConfig, BertForSequenceClassification

    sizes = dict.fromkeys(("hidden_size", "intermediate_size", "vocab_size"), 16)
    config = BertConfig(num_hidden_layers=1, num_attention_heads=2, max_position_embeddings=16, **sizes)
    BertForSequenceClassification(config).save_pretrained(folder)
