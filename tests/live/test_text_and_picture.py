"""A directory with a two-tower model and its processor, a text, a picture file: all that `regard view --image` does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from regard.errors import InputError
from regard.live.image_text import read_picture, words_and_patches

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A CLIP with random weights: words by spaces, pictures of 8 x 8 patches."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPProcessor, PreTrainedTokenizerFast

    words = ["<pad>", "<s>", "</s>", "<unk>", "a", "dog", "on", "grass"]
    reader = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    reader.pre_tokenizer = pre_tokenizers.Whitespace()
    ends = [("<s>", 1), ("</s>", 2)]
    reader.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    names = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=reader, model_max_length=64, **names)
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 20}
    said = {**size, "vocab_size": 99, "max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": 2}
    seen = {**size, "image_size": 32, "patch_size": 4}
    torch.manual_seed(0)
    CLIPModel(CLIPConfig(text_config=said, vision_config=seen, projection_dim=8)).save_pretrained(tmp_path / "clip")
    images = CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    CLIPProcessor(image_processor=images, tokenizer=tokenizer).save_pretrained(tmp_path / "clip")
    pixels = np.random.default_rng(0).integers(0, 255, (48, 64, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "dog.png")
    return tmp_path


def test_a_directory_a_text_and_a_picture_file(directory: Path) -> None:
    picture = read_picture(directory / "dog.png")
    view = words_and_patches(str(directory / "clip"), None, "a dog on grass", picture)
    (example,) = view.session.pack().manifest.examples
    assert example.axes[example.maps[0].rows].names == ["whole text", "a", "dog", "on", "grass"]
    assert len(example.axes[example.maps[0].columns].names) == 65
    assert example.value is not None
    assert f"cosine {example.value:.3f}" in example.maps[0].note
    page = view.save(directory / "dog.html").read_text("utf-8")
    assert "No attention goes from words to patches" in page


def test_what_is_no_picture_is_refused(directory: Path) -> None:
    (directory / "notes.txt").write_text("a dog", "utf-8")
    with pytest.raises(InputError, match="picture file that can be read"):
        read_picture(directory / "notes.txt")
