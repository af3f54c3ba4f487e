"""Decoders and translators: they agree with torch, cached with uncached, and padding changes nothing."""

from __future__ import annotations

import pytest
import torch
from network_zoo import TOKENS, TRANSLATORS, WRITTEN, made
from test_against_torch import CLOSE, _copy_attention, _x
from torch import Tensor, nn

from regard.errors import InputError, UnknownName
from regard.networks.decoder import DecoderLayer, TransformerDecoder, causal
from regard.networks.recurrent_translator import RecurrentTranslator
from regard.networks.series import SeriesTransformer
from regard.networks.transformer import MultiHeadAttention, TransformerEncoder
from regard.networks.transformer_translator import TransformerTranslator
from regard.networks.vocabulary import END, PAD, START, Vocabulary

SOURCE_MASK = torch.arange(7) < torch.tensor([7, 4, 1])[:, None]


def _copy_layer(mine: DecoderLayer, theirs: nn.TransformerDecoderLayer) -> None:
    _copy_attention(mine.attention, theirs.self_attn)
    _copy_attention(mine.cross, theirs.multihead_attn)
    mine.inner.load_state_dict(theirs.linear1.state_dict())
    mine.outer.load_state_dict(theirs.linear2.state_dict())
    norms = ((mine.norm_attention, theirs.norm1), (mine.norm_cross, theirs.norm2), (mine.norm_feed, theirs.norm3))
    for ours, norm in norms:
        nn.init.normal_(norm.weight)
        ours.load_state_dict(norm.state_dict())


@pytest.mark.parametrize("norm_first", [True, False])
def test_decoder_is_torchs(norm_first: bool) -> None:
    torch.manual_seed(0)
    layer = nn.TransformerDecoderLayer(12, 3, 24, 0.0, batch_first=True, norm_first=norm_first)
    theirs = nn.TransformerDecoder(layer, 2, nn.LayerNorm(12) if norm_first else None)
    mine = TransformerDecoder(12, 3, 2, dropout=0.0, norm_first=norm_first)
    for ours, other in zip(mine.layers, theirs.layers, strict=True):
        _copy_layer(ours, other)  # type: ignore[arg-type]
    x, memory = _x(3, 5, 12), _x(3, 7, 12)
    ahead = nn.Transformer.generate_square_subsequent_mask(5)
    expected = theirs(x, memory, tgt_mask=ahead, memory_key_padding_mask=~SOURCE_MASK, tgt_is_causal=True)
    torch.testing.assert_close(mine(x, memory, SOURCE_MASK), expected, **CLOSE)


@pytest.mark.parametrize("norm_first", [True, False])
def test_encoder_is_torchs(norm_first: bool) -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(12, 3, 24, 0.0, batch_first=True, norm_first=norm_first)
    theirs = nn.TransformerEncoder(layer, 2, nn.LayerNorm(12) if norm_first else None, enable_nested_tensor=False)
    mine = TransformerEncoder(12, 3, 2, dropout=0.0, norm_first=norm_first)
    for ours, other in zip(mine.layers, theirs.layers, strict=True):
        _copy_attention(ours.attention, other.self_attn)  # type: ignore[arg-type]
        for part, name in (
            ("inner", "linear1"),
            ("outer", "linear2"),
            ("norm_attention", "norm1"),
            ("norm_feed", "norm2"),
        ):
            getattr(ours, part).load_state_dict(getattr(other, name).state_dict())
    x = _x(3, 7, 12)
    got, expected = mine(x, SOURCE_MASK), theirs(x, src_key_padding_mask=~SOURCE_MASK)
    torch.testing.assert_close(got[SOURCE_MASK], expected[SOURCE_MASK], **CLOSE)


def test_averaged_heads_are_the_mean_of_the_heads() -> None:
    """Each head alone, through torch's own attention; and the same by concatenation with an output cut into parts."""
    torch.manual_seed(0)
    mine = MultiHeadAttention(6, 3, heads_are="averaged")
    x = _x(2, 5, 6)
    heads = []
    for h in range(3):
        rows = slice(6 * h, 6 * h + 6)
        query, key, value = (part(x)[..., rows] for part in (mine.query, mine.key, mine.value))
        heads.append(nn.functional.scaled_dot_product_attention(query, key, value))
    torch.testing.assert_close(mine(x), mine.output(torch.stack(heads).mean(0)), **CLOSE)
    tiled = mine.output.weight.repeat(1, 3) / 3
    torch.testing.assert_close(mine(x), torch.cat(heads, -1) @ tiled.T + mine.output.bias, **CLOSE)
    with pytest.raises(UnknownName, match="averaged"):
        MultiHeadAttention(6, 3, heads_are="average")  # type: ignore[arg-type]


def _written(network: nn.Module, step: int) -> Tensor:
    """The logits of WRITTEN, `step` tokens at a time, from what was kept."""
    assert isinstance(network, (RecurrentTranslator, TransformerTranslator))
    parts = []
    if isinstance(network, TransformerTranslator):
        mask = TOKENS != PAD
        memory, past = network.encode(TOKENS, mask), network.decoder.fresh()
        for at in range(0, WRITTEN.shape[1], step):
            parts.append(network.decode(WRITTEN[:, at : at + step], memory, mask, past, at))
        return torch.cat(parts, 1)
    memory, mask = network.encode(TOKENS)
    state = network.first_state(TOKENS, memory)
    for at in range(0, WRITTEN.shape[1], step):
        logits, state = network.decode(WRITTEN[:, at : at + step], memory, mask, state)
        parts.append(logits)
    return torch.cat(parts, 1)


@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("name", TRANSLATORS)
def test_cached_is_uncached(name: str, step: int) -> None:
    network, inputs = made(name)
    torch.testing.assert_close(_written(network, step), network(*inputs), **CLOSE)


@pytest.mark.parametrize("name", TRANSLATORS)
def test_generation_is_the_likeliest_next_token_again_and_again(name: str) -> None:
    network, _ = made(name)
    assert isinstance(network, (RecurrentTranslator, TransformerTranslator))
    with torch.no_grad():
        made_at_once = network.generate(TOKENS, limit=7)
        for i, source in enumerate(TOKENS):
            alone = source[source != PAD][None]
            so_far = [START]
            for _ in range(7):
                logits = network(alone, torch.tensor([so_far]))[0, -1]
                logits[[PAD, START]] = -torch.inf
                so_far.append(int(logits.argmax()))
                if so_far[-1] == END:
                    break
            expected = so_far[1:]
            assert made_at_once[i, : len(expected)].tolist() == expected
            assert (made_at_once[i, len(expected) :] == PAD).all()


@pytest.mark.parametrize("name", TRANSLATORS)
def test_padding_and_the_future_change_nothing(name: str) -> None:
    network, (source, target) = made(name)
    network.double()
    plain = network(source, target)
    wider = network(nn.functional.pad(source, (0, 3)), nn.functional.pad(target, (0, 2)))
    torch.testing.assert_close(wider[:, :4], plain, **CLOSE)
    other = target.clone()
    other[:, 2:] = 7
    torch.testing.assert_close(network(source, other)[:, :2], plain[:, :2], **CLOSE)
    assert not torch.equal(network(source, other)[:, 2:], plain[:, 2:])


@pytest.mark.parametrize("name", TRANSLATORS)
def test_a_source_of_padding_only_is_not_nan(name: str) -> None:
    network, (source, target) = made(name)
    assert torch.isfinite(network(torch.zeros_like(source), target)).all()


def test_causal_mask_with_what_came_before() -> None:
    assert causal(3).squeeze(0).tolist() == [[j <= i for j in range(3)] for i in range(3)]
    assert causal(1, 4).all()


def test_forecasts_are_in_the_unit_of_the_first_channel() -> None:
    torch.manual_seed(0)
    network = SeriesTransformer(channels=2, horizon=3, size=8).eval()
    series = _x(40, 9, 2)
    plain = network(series)
    network.standardise.learn(torch.tensor([100.0, 1.0]) + torch.tensor([50.0, 1.0]) * series)
    shifted = network(torch.tensor([100.0, 1.0]) + torch.tensor([50.0, 1.0]) * series)
    torch.testing.assert_close((shifted - 100) / 50, plain, atol=0.2, rtol=0)
    assert shifted.shape == (40, 3)
    for wrong in ({}, {"classes": 2, "horizon": 2}):
        with pytest.raises(InputError, match="classes or a horizon"):
            SeriesTransformer(channels=1, **wrong)


@pytest.mark.parametrize(
    ("cut", "expected"),
    [
        ("word", ["On", "3rd", "May", "1979", ",", "我", "爱"]),
        ("figure", ["On", "3", "rd", "May", "1", "9", "7", "9", ",", "我", "爱"]),
        ("character", list("On 3rd May 1979, 我爱")),
    ],
)
def test_what_a_text_is_cut_into(cut: str, expected: list[str]) -> None:
    text = "On 3rd May 1979, 我爱"
    vocabulary = Vocabulary.build([text], min_count=1, lower=False, cut=cut, generation=True)  # type: ignore[arg-type]
    words, spans = vocabulary.split(text)
    assert words == expected == [text[a:b] for a, b in spans]
    assert Vocabulary.from_json(vocabulary.to_json()) == vocabulary
    numbers = vocabulary.sentence(text)
    assert numbers[-1] == END
    assert min(numbers) >= END
    assert vocabulary.join(numbers) == ("".join if cut == "character" else " ".join)(expected)


def test_unknown_cut_and_cell() -> None:
    with pytest.raises(UnknownName, match="character"):
        Vocabulary.build([], cut="caracter")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="gru"):
        RecurrentTranslator(source_words=5, target_words=5, cell="gur")  # type: ignore[arg-type]
