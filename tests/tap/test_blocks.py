"""Attention computed in pieces stands where it acts: windows of pictures, blocks and bands of texts."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from regard.records import Edit
from regard.tap.blocks import PIECES
from regard.tap.blockwise import PiecedAttention
from regard.tap.stitch_steps import capture_generation
from regard.testing.architecture import Architecture
from regard.testing.architecture_inputs import noise
from regard.testing.architectures import find
from regard.testing.support_table import Subject


def odd_picture() -> dict[str, Any]:
    """9 x 11 patches, padded to 12 x 12 by windows of 4."""
    return {"pixel_values": noise(2, 3, 18, 22)}


_SWIN = replace(find("Swin"), settings={**find("Swin").settings, "patch_size": 4})
_SWIN2 = replace(find("SwinV2"), settings={**find("SwinV2").settings, "patch_size": 4})
ROWS = {
    "Swin": _SWIN,
    "Swin, padded": replace(find("Swin"), inputs=odd_picture),
    "SwinV2": _SWIN2,
    "LongT5": find("LongT5 (local)"),
    "Longformer": find("Longformer"),
    "Longformer with global tokens": find("Longformer (global token)"),
    "LED": find("LED"),
    "PatchTST": find("PatchTST (across channels)"),
}


def cutters(model: nn.Module) -> dict[str, nn.Module]:
    return {name: module for name, module in model.named_modules() if type(module).__name__ in PIECES}


def influence(subject: Subject, name: str) -> np.ndarray:
    """(position, position) bool for the first example: whose input reaches whose output through one cutting module."""
    module = subject.model.get_submodule(name)
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    handle = module.register_forward_pre_hook(lambda _, args, kw: calls.append((args, kw)), with_kwargs=True)
    subject.run()
    handle.remove()
    args, keywords = calls[0]
    name = next(iter(inspect.signature(module.forward).parameters))
    given = args[0] if args else keywords[name]

    def outward(hidden: Tensor) -> Tensor:
        more = {k: v for k, v in keywords.items() if k != name}
        out = module(hidden, *args[1:], **more)
        return (out[0] if isinstance(out, tuple) else out)[0].flatten(0, -2) @ torch.linspace(-1, 1, given.shape[-1])

    jacobian = torch.autograd.functional.jacobian(outward, given.clone())
    return (jacobian[:, 0].abs().sum(-1).flatten(1) > 0).numpy()


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_pieces_stand_where_they_act(row: Architecture) -> None:
    subject = Subject.of(row)
    sites = subject.capture(check="always")[1].sites
    for name in cutters(subject.model):
        here = [s.dense() for s in sites if s.site.key.startswith(name)]
        assert here, name
        patterns = [a.weights[0].sum(0) > 0 for a in here]
        real = np.logical_or.reduce(patterns).any(1)
        attended = np.logical_or.reduce(patterns)
        if type(subject.model.get_submodule(name)).__name__.endswith("Layer"):
            # one after the other, each with a residual stream beside it
            attended = np.eye(len(attended), dtype=bool)
            for pattern in patterns:
                attended = (pattern.astype(int) @ attended > 0) | attended
        reached = influence(subject, name)
        np.testing.assert_array_equal(attended[real], reached[real])


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_rows_are_rows_of_the_whole(row: Architecture) -> None:
    subject = Subject.of(row)
    for site in subject.capture()[1].sites:
        whole = site.dense().weights
        chosen = [3, 0, -1]
        np.testing.assert_allclose(site.rows(1, chosen), whole[1][:, chosen], atol=1e-6)
        np.testing.assert_allclose(site.rows(0, chosen, heads=[1]), whole[0][1:2, chosen], atol=1e-6)
        np.testing.assert_array_equal(site.dense_of(1).weights, whole[1:2])


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_knocked_out_edges_are_positions(row: Architecture) -> None:
    subject = Subject.of(row)
    first = subject.capture()[1].sites[0]
    before = first.dense().weights
    key = int(before[0, 0, 4].argmax())
    edit = Edit("knock_out", first.site.key, heads=(0,), queries=(4,), keys=(key,))
    after = subject.capture(edits=[edit])[1][first.site.key].dense().weights
    assert before[0, 0, 4, key] > 0
    assert after[0, 0, 4, key] == 0
    rest = np.arange(before.shape[-1]) != key
    expected = before[0, 0, 4, rest] / (1 - before[0, 0, 4, key])
    np.testing.assert_allclose(after[0, 0, 4, rest], expected, atol=1e-5)
    np.testing.assert_allclose(after[0, 1], before[0, 1], atol=1e-6)


def test_mass_on_the_padding_of_a_picture_is_a_sink() -> None:
    for site in Subject.of(ROWS["Swin, padded"]).capture(check="always")[1].sites:
        attention = site.dense()
        assert attention.sink is not None
        np.testing.assert_allclose(attention.weights.sum(-1) + attention.sink, 1.0, atol=1e-5)
        assert attention.sink.max() > 0.01


@pytest.mark.parametrize("name", ["Longformer", "Longformer (global token)"])
def test_longformer_against_its_own_bands(name: str) -> None:
    subject = Subject.of(find(name))
    reported = subject.run(output_attentions=True)
    taps = subject.capture()[1]
    chosen = subject.inputs.get("global_attention_mask", torch.zeros(2, 9)).bool()
    most = int(chosen.sum(1).max())
    for layer, band in enumerate(reported.attentions):
        key = f"encoder.layer.{layer}.attention.self"
        mine = taps[key].dense().weights
        for b, n in ((0, 9), (1, 6)):
            places = chosen[b].nonzero()[:, 0].tolist()
            for i in set(range(n)) - set(places):
                for j, at in enumerate(places):
                    np.testing.assert_allclose(mine[b, :, i, at], band[b, :, i, j], atol=1e-6)
                for j in range(max(0, i - 2), min(n, i + 3)):
                    if j not in places:
                        np.testing.assert_allclose(mine[b, :, i, j], band[b, :, i, most + j - i + 2], atol=1e-6)
            for j, at in enumerate(places):
                whole = taps[key + "#1"].dense().weights
                np.testing.assert_allclose(
                    whole[b, :, at, :9], reported.global_attentions[layer][b, :, :9, j], atol=1e-6
                )


@pytest.mark.parametrize("mode", ["qk", "weights"])
def test_the_whole_at_once_is_what_its_rows_are(mode: str) -> None:
    for site in Subject.of(ROWS["Swin"]).capture(mode=mode)[1].sites:
        assert isinstance(site, PiecedAttention)
        np.testing.assert_allclose(site.whole().dense().weights, site.dense().weights, atol=1e-6)


def test_pieces_during_generation() -> None:
    """The encoder is read once, the decoder step by step."""
    subject = Subject.of(replace(find("LED"), model="LEDForConditionalGeneration"))
    given = {k: v for k, v in subject.inputs.items() if not k.startswith("decoder")}
    options = {"max_new_tokens": 3, "min_new_tokens": 3, "do_sample": False, "num_beams": 1}
    with torch.no_grad():
        out, taps = capture_generation(subject.model, lambda: subject.model.generate(**given, **options))
    encoder = [s for s in taps.sites if s.site.kind == "windowed"]
    assert [s.shape for s in encoder] == [(2, 4, 12, 12)] * 2
    decoder = [s for s in taps.sites if s.site.kind == "causal"]
    assert [s.shape[2:] for s in decoder] == [(out.shape[1] - 1, out.shape[1] - 1)] * 2
