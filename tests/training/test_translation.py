"""Translators: batches, exact match, alignment; and a small training whose answers and attention are right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from regard.datasets.builtin.dates import dates
from regard.datasets.builtin.phrases import phrases
from regard.datasets.builtin.sequences import sequences
from regard.errors import InputError
from regard.models.open.load import load
from regard.networks.recurrent_translator import RecurrentTranslator
from regard.networks.vocabulary import END, MASK, PAD, START
from regard.records import Example
from regard.training.learners.translator import translator
from regard.training.loop import Settings
from regard.training.train_one import Splits, train_one
from regard.training.translation import NOTHING, PairRows, alignment, exact, pair_rows, translate, vocabularies


def test_vocabularies_as_the_data_ask_for() -> None:
    source, target = vocabularies(dates(split="train", n=50))
    assert (source.cut, target.cut) == ("figure", "character")
    assert set(target.words[5:]) == set("0123456789-")
    assert vocabularies(sequences(split="train", n=20))[1].cut == "figure"
    chinese = vocabularies(phrases(split="train", n=20))[1]
    assert all(len(word) == 1 for word in chinese.words[5:])


def test_a_batch_of_pairs() -> None:
    rows = PairRows([[5, 6, 7], [8]], [[9, END], [7, 6, END]])
    batch = rows.batch(np.array([1, 0]), None)
    assert batch.inputs[0].tolist() == [[8, PAD, PAD], [5, 6, 7]]
    assert batch.inputs[1].tolist() == [[START, 7, 6], [START, 9, PAD]]
    assert batch.labels.tolist() == [[7, 6, END], [9, END, NOTHING]]
    assert rows.lengths.tolist() == [5, 4]
    assert PairRows([[5]] * 3, [[9, END], [7, END], [9, END]]).labels.tolist() == [1, 0, 1]


def test_words_are_hidden_in_training_only() -> None:
    rows = PairRows([[5] * 50, [8]], [[9, END], [7, END]], word_dropout=0.5)
    (source, before), labels, *_ = rows.batch(np.array([0, 1]), np.random.default_rng(0))
    assert 10 < int((source == MASK).sum()) < 40
    assert (source[1, 1:] == PAD).all()
    assert (before.tolist(), labels.tolist()) == ([[START, 9], [START, 7]], [[9, END], [7, END]])
    assert not (rows.batch(np.array([0, 1]), None).inputs[0] == MASK).any()


def test_a_label_that_is_no_text() -> None:
    source, target = vocabularies(dates(split="train", n=5))
    with pytest.raises(InputError, match="the translation"):
        pair_rows([Example("a", {"text": "3 May"}, 1)], source, target)


class _Oracle(nn.Module):
    """Knows the answers; attends where it is told to."""

    def __init__(self, rows: PairRows, weights: list[Tensor]) -> None:
        super().__init__()
        self.rows, self.told = rows, weights
        self.values = nn.Linear(4, 4)

    def _number(self, source: Tensor) -> int:
        words = [int(i) for i in source if i != PAD]
        return next(i for i, row in enumerate(self.rows.source) if list(row) == words)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        logs = (
            torch.stack(
                [
                    nn.functional.pad(self.told[self._number(s)], (0, source.shape[1], 0, target.shape[1]))[
                        : target.shape[1], : source.shape[1]
                    ]
                    for s in source
                ]
            )
            .clamp(min=1e-9)
            .log()
        )
        weights = torch.softmax(logs + 0 * self.values(target.new_ones(1, 4).float()).sum(), -1)
        out: Tensor = weights @ self.values(source.unsqueeze(-1).expand(-1, -1, 4).float())
        return out

    def generate(self, source: Tensor, *, limit: int) -> Tensor:
        made = [self.rows.target[self._number(s)][:limit] for s in source]
        return nn.utils.rnn.pad_sequence([torch.tensor(m) for m in made], batch_first=True)


@pytest.fixture
def oracle() -> tuple[_Oracle, PairRows]:
    data = sequences(n=6, longest=5)
    source, target = vocabularies(data)
    rows = pair_rows(data, source, target)
    right = [torch.eye(len(s)).flip(0) for s in rows.source]  # the task is to reverse
    return _Oracle(rows, right), rows


def test_exact_means_every_token(oracle: tuple[_Oracle, PairRows]) -> None:
    network, rows = oracle
    assert exact(network, rows, batch_size=2) == [True] * 6  # type: ignore[arg-type]
    other = PairRows(rows.source, [[*rows.target[0][:-2], END], *rows.target[1:]])
    assert exact(network, other) == [False, *[True] * 5]  # type: ignore[arg-type]
    written = translate(network, rows.source, limit=2)  # type: ignore[arg-type]
    assert [len(w) for w in written] == [2] * 6


def test_attention_on_the_known_alignment_has_no_error(oracle: tuple[_Oracle, PairRows]) -> None:
    network, _ = oracle
    data = sequences(n=6, longest=5)
    found = alignment(network, data, *vocabularies(data), batch_size=3)  # type: ignore[arg-type]
    assert list(found.error_rate.values()) == [0.0]
    assert found.diagonal > 0.5
    assert found.sentences == 6
    network.told = [w.flip(0) for w in network.told]  # the diagonal
    wrong = alignment(network, data, *vocabularies(data))  # type: ignore[arg-type]
    assert wrong.error_rate[wrong.best] == pytest.approx(wrong.diagonal)


def test_alignment_needs_a_known_one() -> None:
    data = sequences(n=2)
    source, target = vocabularies(data)
    network = RecurrentTranslator(source_words=len(source), target_words=len(target), size=4, hidden=2)
    unknown = [Example(e.id, e.inputs, e.label) for e in data]
    with pytest.raises(InputError, match="known alignment"):
        alignment(network, _Named(unknown), source, target)  # type: ignore[arg-type]


class _Named(list[Example]):
    name = "mine"


SMALL = {
    "recurrent": ({"size": 32}, Settings(epochs=8, batch_size=32, rate=1e-2, warmup=0.1, patience=8)),
    "transformer": ({"size": 48}, Settings(epochs=7, batch_size=32, rate=3e-3, warmup=0.1, patience=7)),
}


@pytest.mark.parametrize("encoder", SMALL)
def test_a_small_translator_learns_to_reverse_and_looks_where_it_should(encoder: str, tmp_path: Path) -> None:
    """Rows of three to five symbols; the long runs, with the bars of the real tasks, are in benchmarks/translators."""
    sizes, settings = SMALL[encoder]
    train, dev, test = (
        sequences(split=split, n=n, symbols=10, longest=5)
        for split, n in (("train", 1500), ("dev", 100), ("test", 200))
    )
    learner = translator(train, encoder=encoder, **sizes)  # type: ignore[arg-type]
    facts = train_one(learner, Splits(train, dev, test), tmp_path, settings)
    aligned = facts["alignment"]
    assert isinstance(aligned, dict)
    assert float(str(facts["test_exact_match"])) >= 0.85
    assert float(str(aligned["error_rate"])) < 0.35 < 0.8 < float(str(aligned["diagonal"]))
    model = load(str(tmp_path))
    items = [model.encode(example) for example in test[:20]]
    _, targets = model.predict(items)
    spelt = [model.reader.join([int(str(i)) for i in target]) for target in targets if isinstance(target, list)]  # type: ignore[attr-defined]
    right = sum(a == e.label for a, e in zip(spelt, test[:20], strict=True))
    assert right >= 15  # opened again, it writes what it learned
