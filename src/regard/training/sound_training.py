"""Training of `listener`: a small Hugging Face Wav2Vec2 or AST classifier on the sounds of `planted_sounds`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from regard.datasets.builtin.planted_sounds import PITCHES, RATE, planted_sounds
from regard.datasets.examples import Examples
from regard.datasets.formats.sounds import write_wav
from regard.models.open.checkpoints import quiet
from regard.records import Json
from regard.training.fixed_steps import save_parts, train_steps

RECORDINGS = "recordings"
"""Directory beside the weights with test sounds, one subdirectory per class."""
TRAINED_ON, TESTED, BATCH = 900, 120, 32
Kind = Literal["wav2vec2", "ast"]
USUAL: Mapping[Kind, tuple[int, float]] = {"wav2vec2": (200, 2e-3), "ast": (400, 5e-4)}
"""Kind -> steps and learning rate; with a larger rate the AST stays at chance."""


def train_listener(out: Path, *, kind: Kind, steps: int | None, seed: int) -> Mapping[str, Json]:
    """Train, save the model with its feature extractor and the test sounds; return the accuracy on them."""
    torch.manual_seed(seed)
    count, rate = (steps or USUAL[kind][0]), USUAL[kind][1]
    train, test = (planted_sounds(split=s, n=n, seed=seed) for s, n in (("train", TRAINED_ON), ("test", TESTED)))
    model, extractor = _wav2vec2() if kind == "wav2vec2" else _ast()
    features, labels = _features(extractor, train), _labels(train)
    order = np.random.default_rng(seed)

    def loss() -> torch.Tensor:
        rows = torch.from_numpy(order.choice(len(train), BATCH, replace=False))
        value: torch.Tensor = model(input_values=features[rows], labels=labels[rows]).loss
        return value

    train_steps(model, loss, steps=count, rate=rate, clip=1.0)
    with quiet(), torch.no_grad():
        right = model(input_values=_features(extractor, test)).logits.argmax(-1) == _labels(test)
    save_parts(out, model, extractor)
    for example in test:
        (out / RECORDINGS / str(example.label)).mkdir(parents=True, exist_ok=True)
        write_wav(out / RECORDINGS / str(example.label) / f"{example.id}.wav", example.inputs["audio"], RATE)
    return {"kind": kind, "steps": count, "test": len(test), "test_accuracy": float(right.double().mean())}


def _features(extractor: Any, data: Examples) -> torch.Tensor:
    sounds = [np.asarray(example.inputs["audio"], np.float32) for example in data]
    values: torch.Tensor = extractor(sounds, sampling_rate=RATE, return_tensors="pt")["input_values"]
    return values.float()


def _labels(data: Examples) -> torch.Tensor:
    return torch.tensor([data.labels.index(str(example.label)) for example in data])


def _names() -> dict[str, Any]:
    return {"id2label": dict(enumerate(PITCHES)), "label2id": {name: i for i, name in enumerate(PITCHES)}}


def _wav2vec2() -> tuple[Any, Any]:
    import transformers

    kind: Any = transformers.Wav2Vec2ForSequenceClassification
    extractor: Any = transformers.Wav2Vec2FeatureExtractor
    config = transformers.Wav2Vec2Config(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        conv_dim=(16, 32, 32),
        conv_kernel=(10, 8, 8),
        conv_stride=(5, 8, 8),
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=2,
        classifier_proj_size=32,
        feat_extract_norm="layer",
        do_stable_layer_norm=True,
        mask_time_prob=0.0,
        layerdrop=0.0,
        **_names(),
    )
    return kind(config), extractor(sampling_rate=RATE, do_normalize=True)


def _ast() -> tuple[Any, Any]:
    import transformers

    kind: Any = transformers.ASTForAudioClassification
    extractor: Any = transformers.ASTFeatureExtractor
    steps, bands = 98, 48  # one second, 10 ms apart
    config = transformers.ASTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_length=steps,
        num_mel_bins=bands,
        patch_size=8,
        frequency_stride=8,
        time_stride=8,
        **_names(),
    )
    return kind(config), extractor(sampling_rate=RATE, max_length=steps, num_mel_bins=bands)
