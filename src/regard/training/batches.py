"""Training data as rows and batches; a batch holds rows of similar length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.networks.vocabulary import MASK, PAD
from regard.records import Ints

NOTHING: Mapping[str, Tensor] = MappingProxyType({})


class Batch(NamedTuple):
    """Inputs of the network, labels (batch, ...) and row numbers (batch,).

    beside: further columns per example, for the terms of a loss: another model's `predictions` and `attention`, the
    `rationale`, the `weight` of its class.
    """

    inputs: tuple[Tensor, ...]
    labels: Tensor
    rows: Tensor
    beside: Mapping[str, Tensor] = NOTHING


class Rows(Protocol):
    """Split of the data, ready for a network."""

    @property
    def labels(self) -> NDArray[Any]:
        """Labels (rows, ...)."""
        ...

    @property
    def lengths(self) -> Ints:
        """Length of each row; a batch holds rows of similar length."""
        ...

    def batch(self, rows: Ints, rng: np.random.Generator | None) -> Batch:
        """Build a batch of these rows; training noise applies only with `rng`."""
        ...


@dataclass(frozen=True, slots=True)
class Accompanied:
    """Rows with extra columns: one tensor per row, zero-padded to equal length.

    `imposed` is a column that the network receives as its last input (attention weights from elsewhere).
    """

    given: Rows
    columns: Mapping[str, Sequence[Tensor]]
    imposed: str | None = None

    @property
    def labels(self) -> NDArray[Any]:
        return self.given.labels

    @property
    def lengths(self) -> Ints:
        return self.given.lengths

    def batch(self, rows: Ints, rng: np.random.Generator | None) -> Batch:
        plain = self.given.batch(rows, rng)
        beside = {name: _together([column[int(i)] for i in rows]) for name, column in self.columns.items()}
        inputs = plain.inputs if self.imposed is None else (*plain.inputs, beside[self.imposed])
        return Batch(inputs, plain.labels, plain.rows, {**plain.beside, **beside})


def _together(values: Sequence[Tensor]) -> Tensor:
    if values[0].dim() == 0 or (len({len(value) for value in values}) == 1 and len(values[0])):
        return torch.stack(list(values))
    padded = nn.utils.rnn.pad_sequence(list(values), batch_first=True)
    # a text without words is a row of one padding
    return padded if padded.shape[1] else padded.new_zeros(len(values), 1)


@dataclass(frozen=True, slots=True)
class TextRows:
    """Texts as word numbers, padded per batch.

    In training, a share `word_dropout` of the words becomes <mask>, so that <mask> gets a vector that means "any word",
    and removing a word later is familiar to the network. masking: share of the rows of a batch in which a random share
    of the words, uniform in 0..1, becomes <mask> (masked fine-tuning, Madsen et al. 2024).
    """

    tokens: Sequence[Sequence[int]]
    labels: Ints
    word_dropout: float = 0.0
    masking: float = 0.0

    @property
    def lengths(self) -> Ints:
        return np.array([len(t) for t in self.tokens], np.int64)

    def batch(self, rows: Ints, rng: np.random.Generator | None) -> Batch:
        texts = [self.tokens[int(i)] for i in rows]
        padded = np.full((len(texts), max(1, *map(len, texts))), PAD, np.int64)
        for place, tokens in zip(padded, texts, strict=True):
            place[: len(tokens)] = tokens
        if rng is not None and self.word_dropout:
            hidden = rng.random(padded.shape) < self.word_dropout
            padded[hidden & (padded != PAD)] = MASK
        if rng is not None and self.masking:
            shares = rng.random((len(texts), 1)) * (rng.random((len(texts), 1)) < self.masking)
            padded[(rng.random(padded.shape) < shares) & (padded != PAD)] = MASK
        return Batch((torch.from_numpy(padded),), torch.from_numpy(self.labels[rows]), torch.from_numpy(rows))


@dataclass(frozen=True, slots=True)
class ArrayRows:
    """Images, series or table rows of one shape: `array` (rows, ...). `noise` is added in training, in spreads."""

    array: Tensor
    labels: Ints
    noise: float = 0.0

    @property
    def lengths(self) -> Ints:
        return np.ones(len(self.labels), np.int64)

    def batch(self, rows: Ints, rng: np.random.Generator | None) -> Batch:
        values = self.array[torch.from_numpy(rows)]
        if rng is not None and self.noise:
            spread = self.array.std(dim=0, unbiased=False)
            values = values + self.noise * spread * torch.from_numpy(rng.standard_normal(values.shape)).to(values.dtype)
        return Batch((values,), torch.from_numpy(self.labels[rows]), torch.from_numpy(rows))


@dataclass(frozen=True, slots=True)
class SequenceRows:
    """Sequences of vectors, each (n, size), padded per batch with zeros; the network also gets the mask (batch, n).

    `noise` (size,): spread of the noise added to each vector in training.
    """

    arrays: Sequence[Tensor]
    labels: NDArray[Any]
    noise: Tensor | None = None

    @property
    def lengths(self) -> Ints:
        return np.array([len(a) for a in self.arrays], np.int64)

    def batch(self, rows: Ints, rng: np.random.Generator | None) -> Batch:
        sequences = [self.arrays[int(i)] for i in rows]
        padded = nn.utils.rnn.pad_sequence(sequences, batch_first=True)
        lengths = torch.tensor([len(a) for a in sequences])
        mask = torch.arange(padded.shape[1]) < lengths[:, None]
        if rng is not None and self.noise is not None:
            padded = padded + self.noise * torch.from_numpy(rng.standard_normal(padded.shape)).to(padded.dtype)
        return Batch((padded, mask), torch.from_numpy(self.labels[rows]), torch.from_numpy(rows))


def bucketed(lengths: Ints, batch_size: int, rng: np.random.Generator | None = None, *, pool: int = 50) -> list[Ints]:
    """Split all rows into batches of similar length, in random order with `rng`, else from short to long.

    Rows are shuffled, sorted by length within pools of `pool` batches, and the batches are shuffled again: almost no
    padding, and still a new order every time.

    >>> [b.tolist() for b in bucketed(np.array([3, 1, 2, 9, 1]), 2)]
    [[1, 4], [2, 0], [3]]
    """
    order = np.arange(len(lengths)) if rng is None else rng.permutation(len(lengths))
    wide = len(order) if rng is None else pool * batch_size
    batches: list[Ints] = []
    for start in range(0, len(order), max(1, wide)):
        part = order[start : start + wide]
        part = part[np.argsort(lengths[part], kind="stable")]
        batches += [part[i : i + batch_size] for i in range(0, len(part), batch_size)]
    return batches if rng is None else [batches[i] for i in rng.permutation(len(batches))]
