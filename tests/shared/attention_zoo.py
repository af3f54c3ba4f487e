"""Small modules that write attention in every way it is written."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

WIDTH, HEADS = 8, 2


class Written(nn.Module):
    """Two layers of multi-head self-attention and a class softmax; `way` says how the attention is written."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way = way
        self.layers = nn.ModuleList(Layer(way) for _ in range(2))
        self.head = nn.Linear(WIDTH, 3)

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        for layer in self.layers:
            x = x + layer(x, real)
        return self.head(x.mean(1)).softmax(-1)


class Layer(nn.Module):
    def __init__(self, way: str) -> None:
        super().__init__()
        self.way = way
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.soft = nn.Softmax(dim=-1)
        self.drop = nn.Dropout(0.3)
        self.num_heads = HEADS

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        b, n, _ = x.shape
        q, k, v = (f(x).view(b, n, HEADS, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        scale = 1 / math.sqrt(q.shape[-1])
        mask = (
            torch.zeros(b, 1, 1, n) if real is None else torch.zeros(b, 1, 1, n).masked_fill(~real[:, None, None], -1e9)
        )
        match self.way:
            case "sdpa":
                out = F.scaled_dot_product_attention(q, k, v, None if real is None else mask.expand(b, 1, n, n))
            case "operator":
                out = self.drop((q @ k.transpose(-1, -2) * scale + mask).softmax(-1)) @ v
            case "module":
                out = torch.matmul(self.drop(self.soft(torch.matmul(q, k.mT) * scale + mask)), v)
            case "einsum":
                scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * scale + mask
                out = torch.einsum("bhqk,bhkd->bhqd", torch.special.softmax(scores, -1), v)
            case "bmm":
                fold = [t.reshape(b * HEADS, n, -1) for t in (q, k, v)]
                scores = torch.bmm(fold[0], fold[1].transpose(1, 2)) * scale + mask.expand(b, HEADS, n, n).reshape(
                    -1, n, n
                )
                out = torch.bmm(F.softmax(scores, -1), fold[2]).view(b, HEADS, n, -1)
            case "baddbmm":
                fold = [t.reshape(b * HEADS, n, -1) for t in (q, k, v)]
                bias = mask.expand(b, HEADS, n, n).reshape(-1, n, n)
                scores = bias.baddbmm(batch1=fold[0], batch2=fold[1].transpose(1, 2), alpha=scale)
                weights = torch.softmax(scores.view(b, HEADS, n, n), -1).view(b * HEADS, n, n)
                out = torch.bmm(weights, fold[2]).view(b, HEADS, n, -1)
            case "loop":
                parts = []
                for h in range(HEADS):
                    weights = F.softmax(q[:, h] @ k[:, h].mT * scale + mask[:, 0], dim=-1)
                    parts.append(weights @ v[:, h])
                out = torch.stack(parts, 1)
            case _:
                raise AssertionError(self.way)
        return self.o(out.transpose(1, 2).reshape(b, n, WIDTH))

    def weights(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        b, n, _ = x.shape
        q, k = (f(x).view(b, n, HEADS, -1).transpose(1, 2) for f in (self.q, self.k))
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        return (scores if real is None else scores.masked_fill(~real[:, None, None], -1e9)).softmax(-1)


class Additive(nn.Module):
    """A BiLSTM with additive attention over its states."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way = way
        self.encoder = nn.LSTM(WIDTH, WIDTH // 2, bidirectional=True, batch_first=True)
        self.project, self.score = nn.Linear(WIDTH, 6), nn.Linear(6, 1, bias=False)
        self.context = nn.Parameter(torch.randn(WIDTH))
        self.out = nn.Linear(WIDTH, 2)

    def scores(self, h: Tensor) -> Tensor:
        return self.score(torch.tanh(self.project(h))) if "context" not in self.way else (h @ self.context)[..., None]

    def forward(self, x: Tensor) -> Tensor:
        h, _ = self.encoder(x)
        e = self.scores(h)
        match self.way:
            case "multiply and sum":
                context = (F.softmax(e, dim=1) * h).sum(1)
            case "unsqueeze" | "context":
                context = (F.softmax(e.squeeze(-1), dim=-1).unsqueeze(-1) * h).sum(dim=1)
            case "bmm":
                context = torch.bmm(F.softmax(e.squeeze(-1), -1).unsqueeze(1), h).squeeze(1)
            case "bmm of values":
                context = torch.bmm(h.transpose(1, 2), torch.softmax(e, 1)).squeeze(2)
            case "einsum":
                context = torch.einsum("bn,bnd->bd", F.softmax(e.squeeze(-1), -1), h)
            case _:
                raise AssertionError(self.way)
        return self.out(context).softmax(-1)

    def weights(self, x: Tensor) -> Tensor:
        return self.scores(self.encoder(x)[0]).squeeze(-1).softmax(-1)[:, None, None]


class Mixture(nn.Module):
    """A dense mixture of experts and a top-2 router before attention: two softmaxes that are not attention."""

    def __init__(self) -> None:
        super().__init__()
        self.dense, self.router, self.layer = nn.Linear(WIDTH, 5), nn.Linear(WIDTH, 5), Layer("operator")
        self.experts = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(5))
        self.mix = nn.Parameter(torch.randn(2))

    def forward(self, x: Tensor) -> Tensor:
        outs = torch.stack([e(x) for e in self.experts], -2)
        x = (self.dense(x).softmax(-1).unsqueeze(-1) * outs).sum(-2)
        chosen, places = self.router(x).softmax(-1).topk(2, -1)
        picked = outs.gather(-2, places.unsqueeze(-1).expand(*places.shape, WIDTH))
        x = x + (chosen.unsqueeze(-1) * picked).sum(-2)
        mix = self.mix.softmax(0)
        return mix[0] * x + mix[1] * self.layer(x)


def sparsemax(scores: Tensor) -> Tensor:
    """Martins & Astudillo 2016, along the last axis."""
    ordered, _ = scores.sort(-1, descending=True)
    count = torch.arange(1, scores.shape[-1] + 1)
    total = ordered.cumsum(-1)
    size = (1 + count * ordered > total).sum(-1, keepdim=True)
    threshold = (total.gather(-1, size - 1) - 1) / size
    return (scores - threshold).clamp(min=0)


class SparseAttention(nn.Module):
    """Attention that no tap can find."""

    def __init__(self) -> None:
        super().__init__()
        self.score = nn.Linear(WIDTH, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        weights = sparsemax(self.score(x).squeeze(-1))
        return (weights.unsqueeze(-1) * x).sum(1), weights


def alive(module: nn.Module, seed: int = 0) -> Any:
    """Weights large enough that attention is far from uniform."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in module.parameters():
        parameter.data.copy_(torch.randn(parameter.shape, generator=generator) * (0.7 if parameter.ndim > 1 else 0.2))
    return module.eval()


def inputs(batch: int = 3, length: int = 5, seed: int = 0) -> Tensor:
    return torch.randn(batch, length, WIDTH, generator=torch.Generator().manual_seed(seed))
