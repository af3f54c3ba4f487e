"""Every reference network, tiny, with inputs: what all of them must satisfy is tested in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.networks.classifier import AttentionClassifier
from regard.networks.encoders import ENCODERS
from regard.networks.recurrent_translator import RecurrentTranslator
from regard.networks.series import SeriesTransformer
from regard.networks.tabular import TabularTransformer
from regard.networks.transformer import MultiHeadAttention
from regard.networks.transformer_translator import TransformerTranslator
from regard.networks.vision import VisionTransformer
from regard.registry import names

TOKENS = torch.tensor([[3, 4, 5, 6, 7], [9, 3, 4, 0, 0]])
MASK = TOKENS != 0
IMPOSED = torch.tensor([[0.1, 0.2, 0.3, 0.4, 0.0], [0.7, 0.2, 0.1, 0.0, 0.0]])
WRITTEN = torch.tensor([[3, 5, 6, 7], [3, 6, 5, 0]])


class Case(NamedTuple):
    """make: a new network. inputs: what it is called with. sites: kind -> how many attentions of it there are."""

    make: Callable[[], nn.Module]
    inputs: tuple[Tensor, ...]
    sites: dict[str, int]


def _classifier(encoder: str, attention: str, aspects: int = 0) -> Case:
    beside = {"frozen": (IMPOSED,)}.get(attention, (torch.tensor([2, 0]),) if aspects else ())

    def make() -> nn.Module:
        return AttentionClassifier(
            words=10, classes=3, encoder=encoder, attention=attention, size=6, hidden=4, aspects=aspects
        )

    return Case(make, (TOKENS, *beside), {"pooling": 1, **({"self": 2} if encoder == "transformer" else {})})


def _numbers(*shape: int) -> tuple[Tensor]:
    return (torch.randn(*shape, generator=torch.Generator().manual_seed(1)),)


ARRAYS = {
    "vision": Case(
        lambda: VisionTransformer(height=4, width=6, patch=2, classes=3, size=8), _numbers(2, 1, 4, 6), {"self": 2}
    ),
    "tabular": Case(lambda: TabularTransformer(columns=5, classes=3, size=8), _numbers(2, 5), {"self": 2}),
    "series": Case(lambda: SeriesTransformer(channels=2, classes=3, size=8), _numbers(2, 7, 2), {"self": 2}),
    "forecast": Case(lambda: SeriesTransformer(channels=2, horizon=4, size=8), _numbers(2, 7, 2), {"self": 2}),
    "concatenated": Case(lambda: MultiHeadAttention(8, 2), _numbers(2, 5, 8), {"self": 1}),
    "averaged": Case(lambda: MultiHeadAttention(8, 3, heads_are="averaged"), _numbers(2, 5, 8), {"self": 1}),
}
TRANSLATORS = {
    f"recurrent {cell}": Case(
        lambda cell=cell: RecurrentTranslator(source_words=10, target_words=8, cell=cell, size=6, hidden=4),
        (TOKENS, WRITTEN),
        {"cross": 1},
    )
    for cell in ("gru", "lstm")
} | {
    f"transformer {'pre' if first else 'post'}": Case(
        lambda first=first: TransformerTranslator(
            source_words=10, target_words=8, size=8, heads=2, layers=2, norm_first=first
        ),
        (TOKENS, WRITTEN),
        {"self": 2, "causal": 2, "cross": 2},
    )
    for first in (True, False)
}
SQUARE = {  # as many tokens of the target as of the source: still no self-attention
    "recurrent square": Case(
        lambda: RecurrentTranslator(source_words=10, target_words=8, size=6, hidden=4),
        (TOKENS, torch.tensor([[3, 5, 6, 7, 5], [3, 6, 5, 0, 0]])),
        {"cross": 1},
    ),
}
CLASSIFIERS = {f"{e} {a}": _classifier(e, a) for e in ENCODERS for a in names("score")}
ASPECTS = {f"aspects {e}": _classifier(e, "additive", 3) for e in ENCODERS}
EVERY: dict[str, Case] = {**ARRAYS, **TRANSLATORS, **SQUARE, **CLASSIFIERS, **ASPECTS}


def made(name: str) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """The network in eval mode with weights large enough for its answers to differ, and its inputs."""
    torch.manual_seed(0)
    network = EVERY[name].make().eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(1.5)
    return network, EVERY[name].inputs
