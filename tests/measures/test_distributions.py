"""Divergences, entropy, rollout, curves: numpy and torch say the same, and torch has gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy as scipy_entropy

from regard.measures.curves import aopc, bin_sizes
from regard.measures.divergence import jsd, kl, tvd
from regard.measures.entropy import effective_number, entropy
from regard.measures.rollout import rollout

two = st.tuples(st.integers(1, 12), st.integers(0, 10**6), st.booleans())


def draw(args: tuple[int, int, bool]) -> tuple[np.ndarray, np.ndarray]:
    n, seed, zeros = args
    p, q = np.random.default_rng(seed).dirichlet(np.ones(n), size=2)
    if zeros and n > 2:
        p[0] = q[1] = 0.0
        p, q = p / p.sum(), q / q.sum()
    return p, q


@given(two)
def test_divergences_are_scipys_and_bounded(args: tuple[int, int, bool]) -> None:
    p, q = draw(args)
    np.testing.assert_allclose(kl(p, q), scipy_entropy(p, q), atol=1e-12)
    np.testing.assert_allclose(jsd(p, q), jensenshannon(p, q) ** 2, atol=1e-9)
    assert -1e-12 <= jsd(p, q) <= np.log(2) + 1e-12
    assert 0 <= tvd(p, q) <= 1
    assert tvd(p, q) ** 2 / 2 <= jsd(p, q) + 1e-12, "Pinsker, for the mixture"
    assert jsd(p, p) == pytest.approx(0, abs=1e-12)
    assert jsd(p, q) == pytest.approx(jsd(q, p))


@given(two)
def test_entropy_is_scipys(args: tuple[int, int, bool]) -> None:
    p, _ = draw(args)
    np.testing.assert_allclose(entropy(p), scipy_entropy(p), atol=1e-12)
    assert 1 - 1e-9 <= effective_number(p) <= len(p) + 1e-9


PAIRS = {"tvd": tvd, "kl": kl, "jsd": jsd}


@pytest.mark.parametrize("name", PAIRS)
def test_torch_agrees_and_its_gradients_are_finite_even_at_zero(name: str) -> None:
    p, q = draw((6, 3, True))
    q = np.full(6, 1 / 6) if name == "kl" else q
    tp = torch.tensor(p, requires_grad=True)
    got = PAIRS[name](tp, torch.tensor(q))
    assert got.item() == pytest.approx(float(PAIRS[name](p, q)), abs=1e-12)
    got.backward()
    assert tp.grad is not None
    assert torch.isfinite(tp.grad).all()
    step = np.array([0, 0, 1e-6, -1e-6, 0, 0])
    slope = (PAIRS[name](p + step, q) - PAIRS[name](p - step, q)) / 2e-6
    assert float(tp.grad[2] - tp.grad[3]) == pytest.approx(float(slope), abs=1e-5)


def test_entropy_gradient() -> None:
    p = torch.tensor([0.5, 0.5, 0.0], dtype=torch.float64, requires_grad=True)
    entropy(p).backward()
    assert p.grad is not None
    assert p.grad[:2].tolist() == pytest.approx([-(np.log(0.5) + 1)] * 2)


def matrices(layers: int, n: int) -> list[np.ndarray]:
    return list(np.random.default_rng(0).dirichlet(np.ones(n), size=(layers, n)))


def test_rollout_is_the_product_written_out() -> None:
    a, b, c = matrices(3, 5)
    half = [0.5 * m + 0.5 * np.eye(5) for m in (a, b, c)]
    np.testing.assert_allclose(rollout([a, b, c]), half[2] @ half[1] @ half[0])
    np.testing.assert_allclose(rollout([a, b, c], residual=0), c @ b @ a)
    np.testing.assert_allclose(rollout([a, b, c], residual=1), np.eye(5))


@given(st.integers(1, 5), st.integers(1, 7), st.floats(0, 1))
def test_rollout_rows_are_distributions_even_with_a_sink(layers: int, n: int, residual: float) -> None:
    leaky = [0.7 * m for m in matrices(layers, n)]
    np.testing.assert_allclose(rollout(leaky, residual=residual).sum(-1), 1)


def test_rollout_in_torch_with_gradient_and_batch() -> None:
    stack = [torch.tensor(np.stack([m, m.T / m.T.sum(-1, keepdims=True)]), requires_grad=True) for m in matrices(2, 4)]
    got = rollout(stack)
    np.testing.assert_allclose(got[0].detach().numpy(), rollout(matrices(2, 4)))
    got[:, 0, 1].sum().backward()
    assert stack[0].grad is not None
    assert torch.isfinite(stack[0].grad).all()


@pytest.mark.parametrize("bad", [[], [np.ones((2, 3))], [np.eye(2), np.eye(3)]])
def test_rollout_refuses(bad: list[np.ndarray]) -> None:
    with pytest.raises(ValueError, match="rollout needs"):
        rollout(bad)


def test_rollout_refuses_a_residual_outside_the_unit_interval() -> None:
    with pytest.raises(ValueError, match="residual"):
        rollout([np.eye(2)], residual=1.5)


def test_aopc_conventions_differ_by_six_fifths() -> None:
    drops = np.random.default_rng(0).random((3, 5))
    np.testing.assert_allclose(aopc(drops) / aopc(drops, count_zero_bin=True), 6 / 5)
    np.testing.assert_allclose(aopc(torch.tensor(drops)).numpy(), drops.mean(-1))


@given(st.integers(1, 500))
def test_bin_sizes(n: int) -> None:
    sizes = bin_sizes(n, (0.01, 0.05, 0.1, 0.2, 0.5, 1.0))
    assert sizes[0] >= 1
    assert sizes[-1] == n
    assert (np.diff(sizes) >= 0).all()
    assert bin_sizes(0, (0.1, 0.5)).tolist() == [0, 0]
    assert bin_sizes(10 * n, (0.1, 0.2, 0.3)).tolist() == [n, 2 * n, 3 * n], "no float fuzz at whole numbers"
