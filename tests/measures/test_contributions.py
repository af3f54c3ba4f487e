"""Norms and distances of the parts of attention, against the tensor of all parts written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.measures import contributions
from regard.measures.contributions import part_distances, part_norms, shares, through_norm
from regard.measures.propagation import Propagation, normalised


def written_out(weights: np.ndarray, values: np.ndarray, own: np.ndarray | None = None) -> np.ndarray:
    """(query, key, feature): every part."""
    parts = np.einsum("hqk,hkd->qkd", weights, values)
    if own is not None:
        for q in range(len(own)):
            parts[q, q] += own[q]
    return parts


def made(heads: int, queries: int, keys: int, width: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(keys), size=(heads, queries))
    return weights, rng.standard_normal((heads, keys, width)), rng.standard_normal((queries, width))


@given(st.integers(1, 5), st.integers(1, 6), st.integers(1, 6), st.integers(1, 9), st.integers(0, 99))
@settings(max_examples=40)
def test_the_gram_identity(heads: int, queries: int, keys: int, width: int, seed: int) -> None:
    weights, values, _ = made(heads, queries, keys, width, seed)
    want = np.linalg.norm(written_out(weights, values), axis=-1)
    np.testing.assert_allclose(part_norms(weights, values), want, atol=1e-7)


@pytest.mark.parametrize("single", [np.float32, np.float64])
def test_with_the_residual(single: type) -> None:
    weights, values, own = (a.astype(single) for a in made(3, 6, 6, 16, 0))
    parts = written_out(weights, values, own)
    atol = 1e-5 if single is np.float32 else 1e-10
    np.testing.assert_allclose(part_norms(weights, values, own), np.linalg.norm(parts, axis=-1), atol=atol)
    whole = parts.sum(1)
    want = np.abs(whole[:, None] - parts).sum(-1)
    np.testing.assert_allclose(part_distances(weights, values, whole, own), want, atol=atol * 10)


def test_rows_in_chunks_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    weights, values, own = made(2, 7, 7, 5, 1)
    whole = written_out(weights, values, own).sum(1)
    once = part_distances(weights, values, whole, own)
    monkeypatch.setattr(contributions, "CHUNK", 1)
    np.testing.assert_array_equal(part_distances(weights, values, whole, own), once)


def test_a_normalisation_is_linear_at_its_spread() -> None:
    rng = np.random.default_rng(2)
    parts, scale, shift = rng.standard_normal((4, 8)), rng.standard_normal(8), rng.standard_normal(8)
    whole = parts.sum(0)
    out = scale * (whole - whole.mean()) / whole.std() + shift
    images = through_norm(parts, scale, centred=True) / whole.std()
    np.testing.assert_allclose(images.sum(0) + shift, out, atol=1e-12)
    rms = np.sqrt((whole**2).mean())
    np.testing.assert_allclose(through_norm(parts, scale, centred=False).sum(0) / rms, scale * whole / rms, atol=1e-12)


def test_shares_of_nothing_are_nothing() -> None:
    assert shares(np.array([[1.0, 3.0], [0.0, 0.0]])).tolist() == [[0.25, 0.75], [0, 0]]


def test_propagation_through_self_attention_is_the_product_of_one_plus_a() -> None:
    a, b = np.random.default_rng(3).random((2, 4, 4))
    got = Propagation.start(4).through_source(a).through_source(b)
    np.testing.assert_allclose(got.ss, (np.eye(4) + b) @ (np.eye(4) + a))
    np.testing.assert_allclose(got.read((1, 2), across=False), (got.ss - np.eye(4))[[1, 2]].mean(0))


def test_propagation_across_follows_equations_8_to_10() -> None:
    rng = np.random.default_rng(4)
    encoder, decoder, cross, later = rng.random((5, 5)), rng.random((3, 3)), rng.random((3, 5)), rng.random((3, 3))
    ss, tt = np.eye(5) + encoder, np.eye(3) + decoder
    ts = normalised(tt).T @ cross @ normalised(ss)
    got = Propagation.start(5).through_source(encoder).through_target(decoder).across(cross)
    np.testing.assert_allclose(got.ts, ts)
    np.testing.assert_allclose(got.through_target(later).ts, ts + later @ ts)
    np.testing.assert_allclose(normalised(tt).sum(-1), 2)
