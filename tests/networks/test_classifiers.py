"""The classifiers: padding changes nothing, the mask is obeyed, the attention can be seen."""

from __future__ import annotations

import itertools

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch.overrides import TorchFunctionMode

from regard.errors import InputError, UnknownName
from regard.networks.classifier import AttentionClassifier
from regard.networks.encoders import ENCODERS, Bidirectional
from regard.networks.series import SeriesTransformer
from regard.networks.tabular import TabularTransformer
from regard.networks.vision import VisionTransformer
from regard.registry import names

TEXTS = [[3, 4, 5, 6, 7, 8], [9, 3, 4], [5], [8, 8, 2, 1]]
GRID = [*itertools.product(ENCODERS, (name for name in names("score") if name != "frozen"))]


def _padded(rows: list[list[int]]) -> Tensor:
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True)


def _network(encoder: str = "bilstm", attention: str = "additive") -> AttentionClassifier:
    torch.manual_seed(0)
    return AttentionClassifier(words=10, classes=3, encoder=encoder, attention=attention, size=6, hidden=4).eval()


@pytest.mark.parametrize(("encoder", "attention"), GRID)
def test_a_batch_equals_one_by_one(encoder: str, attention: str) -> None:
    network = _network(encoder, attention)
    with torch.no_grad():
        batch = network.read(_padded(TEXTS))
        for i, text in enumerate(TEXTS):
            alone = network.read(torch.tensor([text]))
            n = len(text)
            torch.testing.assert_close(batch.logits[i], alone.logits[0], rtol=0, atol=1e-6)
            torch.testing.assert_close(batch.weights[i, :n], alone.weights[0], rtol=0, atol=1e-6)
            torch.testing.assert_close(batch.states[i, :n], alone.states[0], rtol=0, atol=1e-6)
            assert (batch.weights[i, n:] == 0).all()


@pytest.mark.parametrize("encoder", ENCODERS)
def test_gradients_at_the_embedding_do_not_depend_on_the_batch(encoder: str) -> None:
    network = _network(encoder)

    def slopes(rows: list[list[int]]) -> Tensor:
        kept: list[Tensor] = []

        def hold(module: nn.Module, given: object, out: Tensor) -> Tensor:
            kept.append(out.detach().requires_grad_())
            return kept[0]

        hook = network.embedding.register_forward_hook(hold)
        network(_padded(rows))[:, 1].sum().backward()
        hook.remove()
        assert kept[0].grad is not None
        return kept[0].grad

    together = slopes(TEXTS)
    for i, text in enumerate(TEXTS):
        torch.testing.assert_close(together[i, : len(text)], slopes([text])[0], rtol=0, atol=1e-6)
        assert (together[i, len(text) :] == 0).all()


@pytest.mark.parametrize(("encoder", "attention"), GRID)
def test_attention_does_not_read_what_the_mask_hides(encoder: str, attention: str) -> None:
    mask = torch.tensor([[True, False, True, True]])
    reading = _network(encoder, attention).read(torch.tensor([[3, 4, 5, 6]]), mask=mask)
    assert reading.weights[0, 1] == 0
    torch.testing.assert_close(reading.weights.sum(), torch.ones(()))


def test_bilstm_is_the_packed_bidirectional_lstm() -> None:
    torch.manual_seed(0)
    theirs = nn.LSTM(6, 4, batch_first=True, bidirectional=True)
    mine = Bidirectional(6, 4)
    names = [n for n, _ in mine.ahead.named_parameters()]
    mine.ahead.load_state_dict({n: getattr(theirs, n) for n in names})
    mine.back.load_state_dict({n: getattr(theirs, f"{n}_reverse") for n in names})
    lengths = torch.tensor([5, 2, 1])
    real = torch.arange(5) < lengths[:, None]
    x = torch.randn(3, 5, 6)
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
    expected, _ = nn.utils.rnn.pad_packed_sequence(theirs(packed)[0], batch_first=True)
    torch.testing.assert_close(mine(x, real, real)[real], expected[real], rtol=0, atol=1e-6)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_text_of_padding_only_is_not_nan(encoder: str) -> None:
    logits = _network(encoder)(torch.zeros(1, 3, dtype=torch.long))
    assert torch.isfinite(logits).all()


def test_uniform_attention_is_the_mean() -> None:
    reading = _network("average", "uniform").read(torch.tensor([[3, 4, 5, 0]]))
    torch.testing.assert_close(reading.weights, torch.tensor([[1 / 3, 1 / 3, 1 / 3, 0.0]]))


@pytest.mark.parametrize("encoder", ["average", "bilstm", "transformer", "cnn"])
def test_only_the_average_encoder_is_without_context(encoder: str) -> None:
    network = _network(encoder)
    a = network.read(torch.tensor([[3, 4, 5]])).states[0, 0]
    b = network.read(torch.tensor([[3, 6, 5]])).states[0, 0]
    assert torch.equal(a, b) == (encoder == "average")


class _Watcher(TorchFunctionMode):
    """Which softmaxes there were, and which of their results a matrix product used as they are."""

    def __init__(self) -> None:
        super().__init__()
        self.softmaxes: list[Tensor] = []
        self.used: list[Tensor] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        out = func(*args, **(kwargs or {}))
        if func is F.softmax:
            self.softmaxes.append(out)
        if func in (torch.bmm, torch.matmul, Tensor.matmul, Tensor.__matmul__):
            self.used.append(args[0])
        return out


NETWORKS = {
    "text": (lambda: _network("transformer"), torch.tensor([[3, 4, 5]]), 3),
    "bilstm": (lambda: _network(), torch.tensor([[3, 4, 5]]), 1),
    "vision": (lambda: VisionTransformer(height=4, width=6, patch=2, classes=3).eval(), torch.rand(2, 1, 4, 6), 2),
    "tabular": (lambda: TabularTransformer(columns=5, classes=3).eval(), torch.rand(2, 5), 2),
    "series": (lambda: SeriesTransformer(channels=2, classes=3).eval(), torch.rand(2, 7, 2), 2),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_every_attention_is_a_softmax_and_then_a_product(name: str) -> None:
    make, inputs, sites = NETWORKS[name]
    with _Watcher() as watcher:
        make()(inputs)
    assert len(watcher.softmaxes) == sites
    for weights in watcher.softmaxes:
        assert any(u.shape == weights.shape and torch.equal(u, weights) for u in watcher.used)


def test_patches_are_read_row_by_row() -> None:
    network = VisionTransformer(height=4, width=6, patch=2, classes=2, channels=2)
    image = torch.arange(48.0).reshape(1, 2, 4, 6)
    patches = network.patches(image)
    assert patches.shape == (1, 6, 8)
    torch.testing.assert_close(patches[0, 4], image[0, :, 2:4, 2:4].flatten())


def test_series_padding_changes_nothing() -> None:
    network = NETWORKS["series"][0]()
    long, short = torch.rand(1, 7, 2), torch.rand(1, 4, 2)
    padded = torch.cat([long, torch.cat([short, 99 * torch.ones(1, 3, 2)], 1)])
    mask = torch.arange(7) < torch.tensor([[7], [4]])
    both = network(padded, mask)
    torch.testing.assert_close(both[0], network(long)[0], rtol=0, atol=1e-6)
    torch.testing.assert_close(both[1], network(short)[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("vision", torch.rand(2, 4, 6)), ("tabular", torch.rand(2, 4)), ("series", torch.rand(2, 7))],
)
def test_a_wrong_shape_is_said_plainly(name: str, wrong: Tensor) -> None:
    with pytest.raises(InputError, match=r"expected \(batch"):
        NETWORKS[name][0]()(wrong)


def test_bad_names() -> None:
    with pytest.raises(UnknownName, match="bilstm"):
        AttentionClassifier(words=5, classes=2, encoder="bilstn")
    with pytest.raises(UnknownName, match="cosine"):
        AttentionClassifier(words=5, classes=2, attention="cosin")
    with pytest.raises(InputError, match="divisor"):
        VisionTransformer(height=5, width=4, patch=2, classes=2)


def test_one_logit_for_two_classes_is_a_linear_layer_with_an_empty_first_row() -> None:
    torch.manual_seed(0)
    network = AttentionClassifier(words=10, classes=2, size=6, hidden=4, decision="sigmoid").eval()
    tokens = _padded(TEXTS)
    read = network.read(tokens)
    context = torch.bmm(read.weights.unsqueeze(1), read.states).squeeze(1)
    torch.testing.assert_close(read.logits, F.linear(context, network.output.weight, network.output.bias))
    assert not read.logits[:, 0].any()
    torch.testing.assert_close(read.logits.softmax(-1)[:, 1], network.output.side(context).squeeze(1).sigmoid())
    with pytest.raises(InputError, match="two classes"):
        AttentionClassifier(words=10, classes=3, decision="sigmoid")
    with pytest.raises(UnknownName, match="decision"):
        AttentionClassifier(words=10, classes=2, decision="sigmoidal")
