"""Score functions: what they are by definition, their gradients, and the softmax after them."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.errors import UnknownName
from regard.networks.scores import Additive, Bilinear, make_score, masked_softmax
from regard.registry import names


def _pair(queries: int = 3, keys: int = 5, size: int = 4) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    query = torch.randn(2, queries, size, generator=generator, dtype=torch.float64)
    key = torch.randn(2, keys, size, generator=generator, dtype=torch.float64)
    return query, key


def _one(name: str, score: torch.nn.Module, q: Tensor, k: Tensor) -> Tensor:
    """The formula for one query and one key, written out."""
    if name == "dot":
        return (q * k).sum()
    if name == "scaled_dot":
        return (q * k).sum() / math.sqrt(len(q))
    if name == "cosine":
        return (q * k).sum() / (q.norm() * k.norm())
    if name == "uniform":
        return torch.zeros((), dtype=q.dtype)
    if isinstance(score, Additive):
        inner = score.query.weight @ q + score.key.weight @ k + score.key.bias
        return (score.value.weight @ torch.tanh(inner)).squeeze()
    assert isinstance(score, Bilinear)
    return (score.matrix.weight @ q) @ k


@pytest.mark.parametrize("name", [n for n in names("score") if n != "frozen"])
def test_every_score_is_its_formula(name: str) -> None:
    query, key = _pair()
    score = make_score(name, 4, 4, 6).double()
    got = score(query, key)
    assert got.shape == (2, 3, 5)
    for b in range(2):
        for i in range(3):
            for j in range(5):
                torch.testing.assert_close(got[b, i, j], _one(name, score, query[b, i], key[b, j]))


@pytest.mark.parametrize("name", [n for n in names("score") if n not in ("uniform", "frozen")])
def test_gradients_of_scores(name: str) -> None:
    query, key = (x.requires_grad_() for x in _pair(2, 3))
    score = make_score(name, 4, 4, 3).double()
    assert torch.autograd.gradcheck(score, (query, key))


@pytest.mark.parametrize("name", [n for n in names("score") if n not in ("uniform", "frozen")])
def test_gradients_through_the_masked_softmax(name: str) -> None:
    query, key = (x.requires_grad_() for x in _pair(2, 3))
    score = make_score(name, 4, 4, 3).double()
    mask = torch.tensor([[[True, True, False]], [[False, False, False]]])
    assert torch.autograd.gradcheck(lambda q, k: masked_softmax(score(q, k), mask) @ k, (query, key))


def test_softmax_agrees_with_torch_where_all_may_be_read() -> None:
    scores = torch.randn(2, 3, 5)
    torch.testing.assert_close(masked_softmax(scores), F.softmax(scores, -1), rtol=0, atol=0)
    torch.testing.assert_close(masked_softmax(scores, torch.ones(2, 1, 5).bool()), F.softmax(scores, -1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_masked_keys_get_exactly_nothing(dtype: torch.dtype) -> None:
    scores = (50 * torch.randn(4, 2, 6)).to(dtype)
    mask = torch.arange(6) < torch.tensor([6, 3, 1, 0])[:, None]
    weights = masked_softmax(scores, mask[:, None])
    assert (weights.masked_fill(mask[:, None], 0) == 0).all()
    rows = weights.float().sum(-1)
    torch.testing.assert_close(rows[:3], torch.ones(3, 2), atol=1e-2 if dtype != torch.float64 else 1e-6, rtol=0)
    assert (rows[3] == 0).all()


def test_a_row_with_nothing_to_read_has_a_clean_gradient() -> None:
    scores = torch.randn(1, 1, 3, requires_grad=True)
    masked_softmax(scores, torch.zeros(1, 1, 3).bool()).sum().backward()
    assert scores.grad is not None
    assert (scores.grad == 0).all()


def test_unknown_score() -> None:
    with pytest.raises(UnknownName, match="additive"):
        make_score("aditive", 4, 4, 4)
