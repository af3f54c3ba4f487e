"""The written-out Transformer parts agree with torch's own modules when the weights are copied."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.errors import InputError
from regard.networks.scores import masked_softmax, scaled_dot
from regard.networks.transformer import MultiHeadAttention, Standardise, TransformerLayer, sinusoids

CLOSE = {"rtol": 0.0, "atol": 1e-6}


def _x(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3))


def _copy_attention(mine: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    with torch.no_grad():
        for part, weight, bias in zip(
            (mine.query, mine.key, mine.value),
            theirs.in_proj_weight.chunk(3),
            theirs.in_proj_bias.chunk(3),
            strict=True,
        ):
            part.weight.copy_(weight)
            part.bias.copy_(bias)
        mine.output.load_state_dict(theirs.out_proj.state_dict())


MASK = torch.arange(7) < torch.tensor([7, 4, 1])[:, None]


@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "padded"])
def test_attention_is_sdpa(mask: Tensor | None) -> None:
    query, key, value = _x(3, 2, 5, 4), _x(3, 2, 7, 4), _x(3, 2, 7, 4)
    given = None if mask is None else mask[:, None, None]
    mine = masked_softmax(scaled_dot(query, key), given) @ value
    torch.testing.assert_close(mine, F.scaled_dot_product_attention(query, key, value, given), **CLOSE)


@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "padded"])
@pytest.mark.parametrize("cross", [False, True], ids=["self", "cross"])
def test_multi_head_attention(mask: Tensor | None, cross: bool) -> None:
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(12, 3, batch_first=True).eval()
    nn.init.normal_(theirs.in_proj_bias)
    mine = MultiHeadAttention(12, 3).eval()
    _copy_attention(mine, theirs)
    memory = _x(3, 7, 12)
    x = _x(3, 5, 12) if cross else memory
    expected = theirs(x, memory, memory, key_padding_mask=None if mask is None else ~mask, need_weights=False)[0]
    torch.testing.assert_close(mine(x, memory if cross else None, mask), expected, **CLOSE)


@pytest.mark.parametrize("norm_first", [True, False])
def test_transformer_layer(norm_first: bool) -> None:
    torch.manual_seed(0)
    theirs = nn.TransformerEncoderLayer(12, 3, 20, 0.0, batch_first=True, norm_first=norm_first)
    mine = TransformerLayer(12, 3, hidden=20, dropout=0.0, norm_first=norm_first)
    _copy_attention(mine.attention, theirs.self_attn)
    mine.inner.load_state_dict(theirs.linear1.state_dict())
    mine.outer.load_state_dict(theirs.linear2.state_dict())
    for ours, norm in ((mine.norm_attention, theirs.norm1), (mine.norm_feed, theirs.norm2)):
        nn.init.normal_(norm.weight)
        ours.load_state_dict(norm.state_dict())
    x = _x(3, 7, 12)
    got, expected = mine(x, MASK), theirs(x, src_key_padding_mask=~MASK)
    torch.testing.assert_close(got[MASK], expected[MASK], **CLOSE)


def test_heads_must_divide_the_size() -> None:
    with pytest.raises(InputError, match="5 heads"):
        MultiHeadAttention(12, 5)


def test_sinusoids_tell_positions_apart_by_distance_only() -> None:
    places = sinusoids(30, 16, like=torch.zeros(1, dtype=torch.float64))
    products = places @ places.T
    for shift in (1, 5):
        torch.testing.assert_close(products.diagonal(shift), products[0, shift].expand(30 - shift))
    assert sinusoids(3, 5, like=torch.zeros(1)).shape == (3, 5)


@pytest.mark.parametrize(("shape", "data"), [((5,), (50, 5)), ((3, 1, 1), (50, 3, 4, 4))])
def test_standardise(shape: tuple[int, ...], data: tuple[int, ...]) -> None:
    x = 3 + 2 * _x(*data)
    x[:, 0] = 7.0  # never changes
    module = Standardise(*shape)
    module.learn(x)
    out = module(x)
    axes = [0, *range(2, out.dim())]
    torch.testing.assert_close(out.mean(axes), torch.zeros(shape[0]), atol=1e-5, rtol=0)
    spread = out.std(axes, unbiased=False)
    assert spread[0] == 0
    torch.testing.assert_close(spread[1:], torch.ones(shape[0] - 1), atol=1e-5, rtol=0)
