"""Attention score functions of the literature, and the masked softmax.

A function decorated with `@score` is found by its name, also in other packages (entry point group `regard.scores`).
A score maps queries (..., q, d) and keys (..., k, d') to (..., q, k). Scores without parameters are functions, scores
with parameters are modules. `make_score` returns either as a module.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.errors import InputError, phrase
from regard.registry import NamedBy, entry, find, score


@score()
def dot(query: Tensor, key: Tensor) -> Tensor:
    """q . k (Luong et al. 2015), (..., q, k).

    >>> dot(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[11.,  2.]])
    """
    return query @ key.transpose(-2, -1)


@score()
def scaled_dot(query: Tensor, key: Tensor) -> Tensor:
    """q . k / sqrt(d) (Vaswani et al. 2017), (..., q, k)."""
    # scaling the query, not the product: d numbers per query instead of k
    return (query / math.sqrt(query.shape[-1])) @ key.transpose(-2, -1)


@score()
def cosine(query: Tensor, key: Tensor) -> Tensor:
    """The cosine of the angle between q and k (Graves et al. 2014), (..., q, k), between -1 and 1."""
    return F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).transpose(-2, -1)


@score()
def uniform(query: Tensor, key: Tensor) -> Tensor:
    """The same score for every key, (..., q, k): the uniform baseline."""
    return key.new_zeros(*key.shape[:-2], query.shape[-2], key.shape[-2])


class Additive(nn.Module):
    """v . tanh(W q + U k + b) (Bahdanau et al. 2015), (..., q, k)."""

    def __init__(self, query_size: int, key_size: int, hidden: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_size, hidden, bias=False)
        self.key = nn.Linear(key_size, hidden)
        self.value = nn.Linear(hidden, 1, bias=False)

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        both = self.query(query).unsqueeze(-2) + self.key(key).unsqueeze(-3)
        scores: Tensor = self.value(torch.tanh(both)).squeeze(-1)
        return scores


class Bilinear(nn.Module):
    """q W k (Luong et al. 2015, "general"), (..., q, k)."""

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__()
        self.matrix = nn.Linear(query_size, key_size, bias=False)

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return dot(self.matrix(query), key)


class Plain(nn.Module):
    """A score function without parameters, as a module."""

    def __init__(self, function: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return self.function(query, key)


class Frozen(nn.Module):
    """Scores whose softmax equals the `weights` argument, (..., q, k): imposed attention.

    Wiegreffe & Pinter 2019 impose the weights of another model. Keys of weight 0 get the lowest finite score. Rows need
    not sum to 1: the softmax normalizes them, also after masking or removing a key.

    >>> masked_softmax(Frozen()(torch.zeros(1, 2), torch.zeros(3, 2), torch.tensor([[0.25, 0.75, 0.0]])))
    tensor([[0.2500, 0.7500, 0.0000]])
    """

    def forward(self, query: Tensor, key: Tensor, weights: Tensor) -> Tensor:
        expected = (*key.shape[:-2], query.shape[-2], key.shape[-2])
        if tuple(weights.shape) != expected:
            shape = str(tuple(weights.shape))
            raise InputError(
                phrase("errors.networks.any_imposed_attention"),
                expected=phrase("errors.common.weights_shape", expected=expected),
                got=shape,
            )
        scores = weights.to(key.dtype).clamp(min=torch.finfo(key.dtype).tiny).log()
        return scores.masked_fill(weights <= 0, torch.finfo(key.dtype).min)


@score(sizes=True)
def additive(query_size: int, key_size: int, hidden: int) -> nn.Module:
    """v . tanh(W q + U k + b) (Bahdanau et al. 2015), (..., q, k)."""
    return Additive(query_size, key_size, hidden)


@score(sizes=True)
def bilinear(query_size: int, key_size: int, hidden: int) -> nn.Module:
    """q W k (Luong et al. 2015, "general"), (..., q, k)."""
    return Bilinear(query_size, key_size)


@score(sizes=True, imposed=True)
def frozen(query_size: int, key_size: int, hidden: int) -> nn.Module:
    """Return scores whose softmax is exactly the weights in the third argument, (..., q, k)."""
    return Frozen()


ScoreName = Annotated[str, NamedBy("score")]


def make_score(name: str, query_size: int, key_size: int, hidden: int) -> nn.Module:
    """The score of that name as a module: (..., q, d), (..., k, d') -> (..., q, k)."""
    function = find("score", name)
    if not entry("score", name).facts["sizes"]:
        return Plain(function)
    module: nn.Module = function(query_size, key_size, hidden)
    return module


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Weights (..., q, k) over the keys where `mask` is True; exactly 0 elsewhere.

    A row without a readable key is all zero, never NaN. `mask` broadcasts to the scores.

    >>> masked_softmax(torch.zeros(2, 3), torch.tensor([[True, True, False], [False, False, False]]))
    tensor([[0.5000, 0.5000, 0.0000],
            [0.0000, 0.0000, 0.0000]])
    """
    if mask is None:
        return F.softmax(scores, dim=-1)
    # the lowest finite number: a row of -inf, and its gradient, would be NaN
    weights = F.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).min), dim=-1)
    return weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
