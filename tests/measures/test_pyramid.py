"""Levels of a pyramid keep mass and maxima, whatever the size."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.measures.pyramid import band_mass, block_size, coarser_maxima, coarser_sums, sampling_error


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_mass_and_maximum_survive_every_level(rows: int, columns: int, seed: int) -> None:
    values = np.random.default_rng(seed).random((2, rows, columns))
    sums, maxima = values, values
    while max(sums.shape[1:]) > 1:
        sums, maxima = coarser_sums(sums), coarser_maxima(maxima)
    np.testing.assert_allclose(sums[:, 0, 0], values.sum((1, 2)))
    np.testing.assert_allclose(maxima[:, 0, 0], values.max((1, 2)))


def test_bands_hold_all_mass() -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(7), size=(2, 3))
    owners = np.array([-1, 0, 0, 2, -1, 1, 2])
    mass = band_mass(weights, owners, 3)
    np.testing.assert_allclose(mass.sum(-1), 1)
    np.testing.assert_allclose(mass[..., 0], weights[..., 1] + weights[..., 2])
    np.testing.assert_allclose(mass[..., 3], weights[..., 0] + weights[..., 4])


def test_sizes_and_errors() -> None:
    assert [block_size(n) for n in (1, 128, 129, 32768)] == [1, 1, 2, 256]
    assert sampling_error(np.zeros(3), np.zeros(3)) == 0.0
    assert sampling_error(np.ones(4), np.full(4, 0.1)) == 0.1 * np.sqrt(2 / np.pi)
