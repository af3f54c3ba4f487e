"""Batches: every row once, texts of like length together, nothing disturbed without a reason."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.measures.keyed_random import keyed_rng
from regard.networks.vocabulary import MASK, PAD
from regard.training.batches import ArrayRows, SequenceRows, TextRows, bucketed

TEXTS = TextRows([[5, 6, 7], [8], [9, 3], [4, 4, 4, 4]], np.array([0, 1, 0, 1]), word_dropout=0.5)
ARRAYS = ArrayRows(torch.rand(4, 3), np.array([0, 1, 0, 1]), noise=0.5)
SEQUENCES = SequenceRows([torch.rand(n, 2) for n in (3, 1, 2, 4)], np.array([0, 1, 0, 1]), noise=torch.full((2,), 0.5))


@given(st.lists(st.integers(0, 50), max_size=80), st.integers(1, 9), st.integers(0, 3))
def test_every_row_is_in_exactly_one_batch(lengths: list[int], size: int, seed: int) -> None:
    for rng in (None, keyed_rng(seed, "order")):
        batches = bucketed(np.array(lengths, np.int64), size, rng, pool=3)
        assert sorted(int(i) for b in batches for i in b) == list(range(len(lengths)))
        assert all(len(b) <= size for b in batches)


def test_buckets_save_padding_and_still_shuffle() -> None:
    lengths = keyed_rng(0, "lengths").integers(1, 60, 2000)

    def cells(batches: list[np.ndarray]) -> int:
        return sum(int(lengths[b].max()) * len(b) for b in batches)

    first, second = (bucketed(lengths, 32, keyed_rng(seed, "order")) for seed in (1, 2))
    unsorted = [keyed_rng(3, "order").permutation(2000)[i : i + 32] for i in range(0, 2000, 32)]
    assert cells(first) < 1.1 * lengths.sum() < 1.5 * lengths.sum() < cells(unsorted)
    assert [b.tolist() for b in first] != [b.tolist() for b in second]
    assert [len(b) for b in first] != sorted((len(b) for b in first), reverse=True) or first[0].max() > 32


@pytest.mark.parametrize("rows", [TEXTS, ARRAYS, SEQUENCES], ids=["texts", "arrays", "sequences"])
def test_disturbed_in_training_only(rows: TextRows | ArrayRows | SequenceRows) -> None:
    chosen = np.array([3, 0])
    clean, again = rows.batch(chosen, None), rows.batch(chosen, None)
    noisy, same = (rows.batch(chosen, keyed_rng(0, "noise")) for _ in range(2))
    assert torch.equal(clean.inputs[0], again.inputs[0])
    assert torch.equal(noisy.inputs[0], same.inputs[0])
    assert not torch.equal(noisy.inputs[0], clean.inputs[0])
    assert clean.labels.tolist() == [1, 0]
    assert clean.rows.tolist() == [3, 0]


def test_padding_is_never_hidden_or_read() -> None:
    tokens = TEXTS.batch(np.array([0, 1]), keyed_rng(1, "noise")).inputs[0]
    assert (tokens[1, 1:] == PAD).all()
    assert set(tokens[0].tolist()) <= {5, 6, 7, MASK}
    padded, mask = SEQUENCES.batch(np.array([0, 1]), None).inputs
    assert mask.tolist() == [[True, True, True], [True, False, False]]
    assert (padded[1, 1:] == 0).all()


def test_an_empty_text_is_a_row_of_padding() -> None:
    assert TextRows([[]], np.array([0])).batch(np.array([0]), None).inputs[0].tolist() == [[PAD]]
