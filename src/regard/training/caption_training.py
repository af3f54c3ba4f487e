"""Training of the image-to-text model `captioner` on the pictures of `quadrants`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.datasets.builtin.quadrants import COLOURS, quadrants
from regard.models.open.checkpoints import quiet
from regard.records import Example, Json
from regard.training.fixed_steps import batch_of, save_parts, train_steps
from regard.training.word_tokenizer import spaced_words

PLACES = ("above-left", "above-right", "below-left", "below-right")
"""The quadrants in reading order, as a prompt names them."""
WORDS = ("<pad>", "<s>", "</s>", "<image>", "<unk>", ":", *COLOURS, *PLACES)
SIDE, PATCH = 32, 8
BATCH = 32
TRAINED_ON = 1600
RATE = 3e-3
TESTED = 200


def train_captioner(out: Path, *, steps: int, seed: int) -> Mapping[str, Json]:
    """Train, save the model with its processor, and return the share of colours that it gets right on test pictures."""
    torch.manual_seed(seed)
    model, processor = _model(), _processor()
    data = quadrants(split="train", n=TRAINED_ON, seed=seed).items
    order = np.random.default_rng(seed)

    def loss() -> Tensor:
        batch = batch_of(data, BATCH, order)
        inputs, answers = _inputs(processor, batch, order)
        labels = inputs["input_ids"].clone()
        labels[:, : -answers.shape[1]] = -100
        value: Tensor = model(**inputs, labels=labels).loss
        return value

    train_steps(model, loss, steps=steps, rate=RATE)
    save_parts(out, model, processor)
    test = quadrants(n=TESTED, seed=seed).items
    inputs, answers = _inputs(processor, test, np.random.default_rng(seed))
    with torch.no_grad():
        predicted = model(**inputs).logits[:, -answers.shape[1] - 1 : -1].argmax(-1)
    # the order of the quadrants is free, so that only the colours can be right or wrong
    right = (predicted == answers)[:, ::2]
    return {"steps": steps, "test": len(test), "test_accuracy": float(right.double().mean())}


def _model() -> Any:
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

    seeing = CLIPVisionConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        image_size=SIDE,
        patch_size=PATCH,
        projection_dim=32,
    )
    writing = LlamaConfig(
        vocab_size=len(WORDS),
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=64,
        pad_token_id=WORDS.index("<pad>"),
        bos_token_id=WORDS.index("<s>"),
        eos_token_id=WORDS.index("</s>"),
    )
    config = LlavaConfig(
        vision_config=seeing,
        text_config=writing,
        image_token_index=WORDS.index("<image>"),
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
        image_seq_length=(SIDE // PATCH) ** 2,
    )
    model: Any = LlavaForConditionalGeneration(config)
    for name in ("bos", "eos", "pad"):
        setattr(model.generation_config, f"{name}_token_id", getattr(writing, f"{name}_token_id"))
    return model


def _processor() -> Any:
    """Words split at spaces, pictures of 0..255 to -1..1."""
    import transformers

    processor_kind: Any = transformers.LlavaProcessor
    tokenizer = spaced_words(WORDS, "<s> $A", "<s>", bos_token="<s>", eos_token="</s>")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<image>"]})
    with quiet():
        from transformers import CLIPImageProcessor

        images = CLIPImageProcessor(
            size={"height": SIDE, "width": SIDE}, do_center_crop=False, image_mean=[0.5] * 3, image_std=[0.5] * 3
        )
        return processor_kind(
            image_processor=images,
            tokenizer=tokenizer,
            patch_size=PATCH,
            vision_feature_select_strategy="default",
            num_additional_image_tokens=1,
        )


def asked(example: Example, places: Sequence[int]) -> tuple[str, str]:
    """Build a prompt that names the first of these quadrants, and a true description that continues in this order.

    >>> asked(quadrants(n=1)[0], (3, 0, 1, 2))
    ('<image> : below-right', 'red above-left green above-right yellow below-left blue')
    """
    colours = str(example.slices["caption"]).split()
    first, *rest = [f"{PLACES[place]} {colours[place]}" for place in places]
    place, colour = first.split()
    return f"<image> : {place}", " ".join((colour, *rest))


def _inputs(
    processor: Any, batch: Sequence[Example], rng: np.random.Generator
) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Return the model's input, quadrants in random order and the answer at the end; and the answer."""
    texts = [" ".join((*asked(example, rng.permutation(4).tolist()), "</s>")) for example in batch]
    pictures = [np.asarray(example.inputs["image"]) for example in batch]
    encoding = processor(text=texts, images=pictures, return_tensors="pt")
    inputs = {name: tensor for name, tensor in encoding.items() if isinstance(tensor, torch.Tensor)}
    return inputs, inputs["input_ids"][:, -8:]
