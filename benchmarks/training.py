"""Training throughput: our loop against a minimal hand-written one, and batches of like length against random ones.

The hand-written side is that of a tutorial: a packed bidirectional LSTM, additive attention, Adam, no clipping, no
schedule, no resumable state, no checks; it gets the same batches, already padded. So the bar is on everything that the
one loop does besides. Both sides read review sentences, in batches of 128, as `regard train classifier` does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.lines import Line, side_by_side
from regard.datasets.read import read
from regard.measures.keyed_random import keyed_rng
from regard.networks.classifier import AttentionClassifier
from regard.networks.vocabulary import PAD
from regard.records import Ints, Spec
from regard.registry import build
from regard.training.batches import Batch, Rows, bucketed
from regard.training.learner import Learner
from regard.training.loop import Settings, fit
from regard.training.loss import weighted_terms

TEXTS, BATCH, ROUNDS, SEED = 1920, 128, 8, 0


class Tutorial(nn.Module):
    """The same classifier as tutorials write it."""

    def __init__(self, words: int, size: int, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, size, padding_idx=PAD)
        self.lstm = nn.LSTM(size, hidden, bidirectional=True, batch_first=True)
        self.key, self.value = nn.Linear(2 * hidden, hidden), nn.Linear(hidden, 1, bias=False)
        self.dropout, self.output = nn.Dropout(0.5), nn.Linear(2 * hidden, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        real = tokens != PAD
        x = nn.utils.rnn.pack_padded_sequence(
            self.dropout(self.embedding(tokens)), real.sum(1), batch_first=True, enforce_sorted=False
        )
        states, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(x)[0], batch_first=True)
        scores = self.value(torch.tanh(self.key(states))).squeeze(-1).masked_fill(~real, float("-inf"))
        context = (scores.softmax(-1).unsqueeze(-1) * states).sum(1)
        logits: Tensor = self.output(self.dropout(context))
        return logits


def by_hand(network: nn.Module, batches: list[Batch]) -> None:
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    network.train()
    for batch in batches:
        optimizer.zero_grad()
        F.cross_entropy(network(*batch.inputs), batch.labels).backward()  # type: ignore[no-untyped-call]
        optimizer.step()


class _Same:
    """Return rows in finished batches, the same for both sides; rows of equal length are batched at random."""

    def __init__(self, rows: Rows, lengths: Ints) -> None:
        self.labels, self.lengths = rows.labels, lengths
        order = bucketed(lengths, BATCH, keyed_rng(SEED, "order", 0))  # that of the first epoch of `fit`
        self.made = {b.tobytes(): rows.batch(b, None) for b in order}

    def batch(self, rows: Ints, rng: np.random.Generator | None) -> Batch:
        return self.made[rows.tobytes()]


def _ours(learner: Learner, rows: _Same, dev: Rows) -> Callable[[], None]:
    """Run one epoch of `fit` on given batches; dev is one sentence, because the other side has none."""
    settings = Settings(epochs=1, batch_size=BATCH, rate=1e-3, seed=SEED)
    terms, network = weighted_terms({"cross_entropy": 1}), learner.network()

    def run() -> None:
        fit(network, rows, dev, terms, settings)

    return run


def run() -> list[Line]:
    torch.set_num_threads(1)
    data = read("reviews", split="train", limit=TEXTS)
    learner: Learner = build(Spec("learner", "classifier"))(data)
    rows = learner.rows(data, False)
    dev = learner.rows(data.keep(data.items[:1]), False)
    like, mixed = _Same(rows, rows.lengths), _Same(rows, np.ones_like(rows.lengths))
    batches = list(like.made.values())
    same_network = learner.network()
    assert isinstance(same_network, AttentionClassifier)
    tutorial = Tutorial(same_network.embedding.num_embeddings, 100, 64)
    seconds = side_by_side(
        {
            "regard": _ours(learner, like, dev),
            "same network by hand": lambda: by_hand(same_network, batches),
            "tutorial": lambda: by_hand(tutorial, batches),
            "random": _ours(learner, mixed, dev),
        },
        repeats=ROUNDS,
    )
    detail: dict[str, float | str] = {"texts": float(TEXTS), "batch": float(BATCH), "regard s": seconds["regard"]}
    return [
        Line(
            "training throughput, bilstm + additive, against a minimal loop over the same network",
            seconds["same network by hand"] / seconds["regard"], 0.9, ">=",
            {**detail, "other s": seconds["same network by hand"]},
        ),
        Line(
            "training throughput, bilstm + additive, against a minimal loop over a hand-written network (packed LSTM)",
            seconds["tutorial"] / seconds["regard"], 0.9, ">=", {**detail, "other s": seconds["tutorial"]},
        ),
        Line(
            "an epoch in batches of like length against random batches", seconds["random"] / seconds["regard"], 1.5,
            ">=", {**detail, "other s": seconds["random"]},
        ),
    ]  # fmt: skip
