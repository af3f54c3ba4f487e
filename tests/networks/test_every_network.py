"""What every reference network must satisfy: it is captured, edited and differentiated like any other model."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from network_zoo import ASPECTS, CLASSIFIERS, EVERY, IMPOSED, MASK, TOKENS, made
from torch import Tensor
from torch.func import functional_call

from regard.errors import InputError
from regard.networks.classifier import AttentionClassifier
from regard.records import Edit
from regard.tap.capture_call import capture_call

CLOSE = {"rtol": 0.0, "atol": 1e-6}


@pytest.mark.parametrize("name", EVERY)
def test_every_attention_is_captured_and_can_be_put_back(name: str) -> None:
    network, inputs = made(name)
    plain = network(*inputs)
    with torch.no_grad():
        out, taps = capture_call(network, lambda: network(*inputs), mode="weights", check="always")
    torch.testing.assert_close(out, plain, **CLOSE)
    assert Counter(site.site.kind for site in taps.sites) == EVERY[name].sites
    assert not taps.rejected
    for site in taps.sites:
        rows = site.dense().weights.sum(-1)
        np.testing.assert_allclose(rows, np.ones_like(rows), atol=1e-6)
    same = [Edit("replace", site=site.site.key, values=site.dense().weights) for site in taps.sites]
    with torch.no_grad():
        again, _ = capture_call(network, lambda: network(*inputs), edits=same)
    torch.testing.assert_close(again, plain, **CLOSE)


@pytest.mark.parametrize("name", EVERY)
def test_every_attention_can_be_edited_by_its_name(name: str) -> None:
    network, inputs = made(name)
    with torch.no_grad():
        plain, taps = capture_call(network, lambda: network(*inputs))
        for site in taps.sites:
            edit = Edit("knock_out", site=site.site.key, keys=(1,), queries=(0,))
            out, after = capture_call(network, lambda: network(*inputs), edits=[edit])
            weights = after[site.site.key].dense().weights
            assert (weights[:, :, 0, 1] == 0).all()
            assert site.site.kind == "causal" or not torch.equal(out, plain)  # its first query reads nothing but itself


@pytest.mark.parametrize("name", [*CLASSIFIERS, *ASPECTS])
def test_the_pooling_that_is_captured_is_the_one_that_is_read(name: str) -> None:
    network, inputs = made(name)
    assert isinstance(network, AttentionClassifier)
    with torch.no_grad():
        weights = network.read(*inputs).weights
        _, taps = capture_call(network, lambda: network(*inputs))
    np.testing.assert_allclose(taps["attention"].dense().weights[:, 0, 0], weights.numpy(), atol=1e-6)
    assert (weights[~MASK] == 0).all()


@pytest.mark.parametrize("name", EVERY)
def test_gradients(name: str) -> None:
    """Of every output with respect to what is continuous: the arrays, or the word vectors; padding has no slope."""
    network, inputs = made(name)
    network.double().requires_grad_(False)
    numbers = tuple(x.double() if x.is_floating_point() else x for x in inputs)
    vectors = {n: p.detach().requires_grad_() for n, p in network.named_parameters() if n.endswith("embedding.weight")}
    if not inputs[0].is_floating_point():

        def by_words(*given: Tensor) -> Tensor:
            out: Tensor = functional_call(network, dict(zip(vectors, given, strict=True)), numbers)
            return out[numbers[1] != 0] if out.dim() == 3 else out  # what follows padding of a target is nothing

        assert torch.autograd.gradcheck(by_words, tuple(vectors.values()), fast_mode=True)
        slope = torch.autograd.grad(by_words(*vectors.values())[0, 0], list(vectors.values()))[0]
        assert float(slope[TOKENS[0]].abs().sum()) > 0
        assert (slope[0] == 0).all()
        return
    assert torch.autograd.gradcheck(network, numbers[0].requires_grad_(), fast_mode=True)


@pytest.mark.parametrize("encoder", ["bilstm", "cnn", "average", "transformer"])
def test_frozen_attention_is_what_was_imposed(encoder: str) -> None:
    network, inputs = made(f"{encoder} frozen")
    reading = network.read(*inputs)  # type: ignore[operator]
    torch.testing.assert_close(reading.weights, IMPOSED, **CLOSE)
    assert (reading.weights[IMPOSED == 0] == 0).all()
    context = torch.einsum("bn,bnd->bd", IMPOSED, reading.states)
    torch.testing.assert_close(reading.logits, network.output(context), **CLOSE)  # type: ignore[operator]


def test_imposed_weights_of_masked_words_go_to_the_others() -> None:
    network, (tokens, imposed) = made("average frozen")
    hidden = torch.tensor([[True, True, True, False, True], [True, True, True, True, True]])
    weights = network.read(tokens, imposed, hidden).weights  # type: ignore[operator]
    torch.testing.assert_close(weights[0], torch.tensor([1 / 6, 2 / 6, 3 / 6, 0, 0]), **CLOSE)


def test_each_aspect_has_a_map_of_its_own() -> None:
    network, _ = made("aspects bilstm")
    text = TOKENS[:1].expand(3, -1)
    reading = network.read(text, torch.arange(3))  # type: ignore[operator]
    assert torch.equal(reading.states[0], reading.states[2])
    assert (reading.weights[0] - reading.weights[1]).abs().max() > 1e-3
    torch.testing.assert_close(reading.weights.sum(-1), torch.ones(3))


@pytest.mark.parametrize(("name", "beside"), [("bilstm dot", IMPOSED), ("bilstm frozen", None), ("aspects cnn", None)])
def test_what_must_be_given_beside_a_text(name: str, beside: Tensor | None) -> None:
    network, _ = made(name)
    with pytest.raises(InputError, match=r"expected .* beside"):
        network(TOKENS, beside)


def test_one_step_of_a_decoder_and_then_several() -> None:
    """One additive query looks like a pooling; when there are more of them, it was a decoder."""
    network, (source, target) = made("recurrent gru")
    for steps, kind in ((1, "pooling"), (4, "cross"), (1, "cross")):
        with torch.no_grad():
            _, taps = capture_call(network, lambda m=steps: network(source, target[:, :m]))
        assert [site.site.kind for site in taps.sites] == [kind], steps
