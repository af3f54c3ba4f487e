"""Data augmentation by noisy copies of the training examples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from regard.datasets.examples import Examples
from regard.errors import InputError, phrase
from regard.perturbations.apply import SEVERITIES, perturber
from regard.protocols import Dataset
from regard.records import Ints, Spec
from regard.registry import arguments
from regard.training.batches import Batch, Rows


@dataclass(frozen=True, slots=True)
class Augment:
    """Augmentation settings: noises, severities, share and number of copies.

    share: part of a batch that is noisy, redrawn every time. copies: number per example to draw from, each under the
    next noise and severity in turn; they are made once, so that noise costs no time in training.
    """

    noises: tuple[str, ...]
    severities: tuple[int, ...] = (2, 4)
    share: float = 0.5
    copies: int = 4

    def __post_init__(self) -> None:
        if not self.noises or not 0 < self.share <= 1 or self.copies < 1 or not set(self.severities) <= set(SEVERITIES):
            expected = phrase("errors.training.noises_severities_share_above")
            raise InputError(phrase("errors.training.noise_to_learn"), expected=expected, got=str(self))
        for spec, _ in self.kinds():
            arguments(spec)  # a name or a parameter that does not exist is said at once

    def kinds(self) -> list[tuple[Spec, int]]:
        """(noise, severity) of each copy."""
        specs = [Spec.parse("perturbation", noise) for noise in self.noises]
        return [
            (specs[k % len(specs)], self.severities[(k // len(specs)) % len(self.severities)])
            for k in range(self.copies)
        ]


def with_copies(data: Dataset, augment: Augment) -> Examples:
    """Return the clean examples, then a copy of all under each noise in turn."""
    items = list(data)
    for k, (spec, severity) in enumerate(augment.kinds()):
        noisy = perturber(spec, seed=k)  # the same noise twice is two draws
        items += [replace(noisy(e, severity).example, id=f"{e.id}~{k}") for e in data]
    return (
        data.keep(items) if isinstance(data, Examples) else Examples(data.name, tuple(items), data.labels, data.notes)
    )


@dataclass(frozen=True, slots=True)
class Copied:
    """Rows with copies: row i of `given` is clean, rows i + n, i + 2n, ... are its copies."""

    given: Rows
    n: int
    augment: Augment

    @property
    def labels(self) -> NDArray[Any]:
        labels: NDArray[Any] = self.given.labels[: self.n]
        return labels

    @property
    def lengths(self) -> Ints:
        return self.given.lengths[: self.n]

    def batch(self, rows: Ints, rng: np.random.Generator | None) -> Batch:
        if rng is None:
            return self.given.batch(rows, None)
        which = rng.integers(1, self.augment.copies + 1, len(rows)) * (rng.random(len(rows)) < self.augment.share)
        batch = self.given.batch(rows + which * self.n, rng)
        return batch._replace(rows=torch.from_numpy(rows))
