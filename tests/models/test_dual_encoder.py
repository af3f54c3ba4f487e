"""Words and patches that a two-tower model needs together: known by construction, and in tiny CLIPs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from regard.errors import Unsupported
from regard.models.dual_encoder import Towers, together
from regard.models.image_text import look_at
from regard.testing.architectures import find


class Colours(nn.Module):
    """Word i asks for channel i; a picture is what it has of each channel. A text and a picture meet as two vectors."""

    def get_text_features(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return 0.1 + torch.nn.functional.one_hot(input_ids, 3).float().mul(attention_mask[..., None]).sum(1)

    def get_image_features(self, pixel_values: Tensor) -> Tensor:
        return 0.1 + pixel_values.sum((2, 3))


def test_a_word_finds_the_patch_of_its_colour() -> None:
    pixels = torch.zeros(1, 3, 4, 4)
    pixels[0, 0, :2, :2] = 1  # red, top left
    pixels[0, 2, 2:, 2:] = 1  # blue, bottom right
    inputs = {"input_ids": torch.tensor([[0, 2]]), "pixel_values": pixels}
    found = together(Colours(), inputs, (2, 2), (0, 1))
    assert found.values.shape == (3, 5)
    assert found.values[1:, 1:].argmax(1).tolist() == [0, 3]
    assert (found.values[1, 4], found.values[2, 1]) < (0, 0), "red and blue compete for the direction of the vector"


def test_every_pair_is_the_second_difference() -> None:
    """Against the definition, computed by taking both away at once."""
    row = find("CLIP")
    module, inputs = row.build(), {k: v[:1] for k, v in row.inputs().items()}
    assert isinstance(module, Towers)
    words = (1, 2, 5)
    found = together(module, inputs, (2, 2), words)

    def similarity(word: int | None, patch: int | None) -> float:
        mask, pixels = torch.ones_like(inputs["input_ids"]), inputs["pixel_values"].clone()
        if word is not None:
            mask[0, word] = 0
        if patch is not None:
            top, left, bottom, right = (int(v) for v in found.boxes[patch])
            pixels[0, :, top:bottom, left:right] = inputs["pixel_values"][0].mean((1, 2))[:, None, None]
        with torch.no_grad():
            out = module(input_ids=inputs["input_ids"], attention_mask=mask, pixel_values=pixels)
        return float(nn.functional.cosine_similarity(out.text_embeds, out.image_embeds).item())

    whole = similarity(None, None)
    assert found.similarity == pytest.approx(whole, abs=1e-6)
    for w, word in enumerate(words, 1):
        assert found.values[w, 0] == pytest.approx(whole - similarity(word, None), abs=1e-6)
        for p in range(4):
            wanted = whole - similarity(word, None) - similarity(None, p) + similarity(word, p)
            assert found.values[w, p + 1] == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(("name", "pairs"), [("CLIP", True), ("SigLIP", True), ("BLIP", False), ("ViLT", False)])
def test_every_kind_of_model_can_be_looked_at(name: str, pairs: bool) -> None:
    from regard.live.image_text import pair_pack

    row = find(name)
    module, inputs = row.build(), row.inputs()
    n = int(inputs["input_ids"].shape[1])
    names = ("<s>", *(f"w{i}" for i in range(1, n)))
    looked = look_at(module, inputs, names, (True, *[False] * (n - 1)), None)
    assert (looked.pairs is not None) == pairs
    example = pair_pack(looked, "a text", name).manifest.examples[0]
    assert [len(m.name) > 0 for m in example.maps] == ([True] if pairs else [])
    boxed = [s for s in example.sites if any(example.axes[s.keys].boxes)]
    spoken = [s for s in boxed if any(not b for b in example.axes[s.queries].boxes) and s.rows > 1]
    assert boxed, "every one of them has attention on patches"
    assert bool([s for s in spoken if "w1" in example.axes[s.queries].names]) == (not pairs)
    for site in example.sites:
        assert (len(example.axes[site.queries].names), len(example.axes[site.keys].names)) == (site.rows, site.columns)


def test_patches_among_the_words_are_patches() -> None:
    row = find("LLaVA")
    module, inputs = row.build(), row.inputs()
    from regard.live.image_text import pair_pack

    looked = look_at(module, inputs, tuple(f"w{i}" for i in range(9)), (False,) * 9, None)
    assert looked.holders == (1, 2, 3, 4)
    example = pair_pack(looked, "a text", "LLaVA").manifest.examples[0]
    causal = next(s for s in example.sites if s.kind == "causal")
    axis = example.axes[causal.keys]
    assert axis.names[:6] == ["w0", "r0c0", "r0c1", "r1c0", "r1c1", "w5"]
    assert [bool(b) for b in axis.boxes] == [False, True, True, True, True, False, False, False, False]


def test_what_is_no_tower_says_why() -> None:
    def states(**given: Any) -> Any:
        return SimpleNamespace(pooler_output=torch.zeros(1, 3, 4))

    odd = SimpleNamespace(get_text_features=states, get_image_features=states)
    inputs = {"input_ids": torch.zeros(1, 2, dtype=torch.long), "pixel_values": torch.zeros(1, 3, 4, 4)}
    with pytest.raises(Unsupported, match="one vector for each text"):
        together(odd, inputs, (2, 2), ())
    with pytest.raises(Unsupported, match="one picture"):
        together(odd, {**inputs, "pixel_values": torch.zeros(4, 12)}, (2, 2), (0,))
    assert np.isfinite(together(Colours(), inputs, (2, 2), (0,)).values).all()
