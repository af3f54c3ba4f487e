"""`vision`: images to classes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from regard.networks.checkpoint import save_checkpoint
from regard.networks.vision import VisionTransformer
from regard.protocols import Dataset
from regard.records import Json, Message
from regard.registry import method
from regard.training.batches import ArrayRows
from regard.training.inputs import stacked
from regard.training.labels import check_classes, label_names, numbered
from regard.training.learner import Learner
from regard.training.loop import Settings


@method("learner", modality="image", task="classification", network="VisionTransformer")
def vision(
    train: Dataset, *, patch: int = 2, size: int = 64, layers: int = 2, dropout: float = 0.1, noise: float = 0.3
) -> Learner:
    """A small Vision Transformer on images of one shape: grey (height, width), or 1 or 3 channels first or last.

    patch: side of a patch in pixels. noise: added to images in training, in spreads of each pixel.
    """
    names = label_names(train)
    check_classes(train, numbered(train, names), names)

    def rows(data: Dataset, learning: bool) -> ArrayRows:
        return ArrayRows(_channels_first(stacked(data, "image")), numbered(data, names), noise if learning else 0.0)

    pictures = rows(train, False).array
    channels, height, width = pictures.shape[1:]

    def network() -> VisionTransformer:
        model = VisionTransformer(
            height=height,
            width=width,
            patch=patch,
            classes=len(names),
            channels=channels,
            size=size,
            layers=layers,
            dropout=dropout,
        )
        model.standardise.learn(pictures)
        return model

    def save(out: Path, trained: VisionTransformer, facts: Mapping[str, Json]) -> None:
        save_checkpoint(out, trained, labels=names, task="classification", modality="image", facts=facts)

    settings = Settings(epochs=15, batch_size=32, rate=2e-3, weight_decay=0.01, warmup=0.05, patience=8)
    return Learner(Message("learner.vision"), network, rows, save, settings, names=names)


def _channels_first(images: Tensor) -> Tensor:
    """(examples, channels, height, width) of grey pictures, or of pictures with 1 or 3 channels first or last."""
    if images.dim() == 3:
        return images.unsqueeze(1)
    first, last = (images.shape[axis] in (1, 3) for axis in (1, -1))
    return images.movedim(-1, 1).contiguous() if last and not first else images
