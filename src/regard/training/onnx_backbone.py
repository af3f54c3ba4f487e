"""Weights of an ONNX export, rebuilt into their Hugging Face class.

Exports keep the path of every module in the names of its nodes, and biases keep their own names; the weight of a linear
layer has lost its name and is found as the second input of the MatMul node of that path.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.errors import InputError, phrase
from regard.models.open.checkpoints import quiet

_PREFIX = "backbone."
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_BICUBIC = 3


def onnx_weights(file: Path) -> dict[str, Tensor]:
    """Parameters by their path in the exported module."""
    import onnx
    from onnx import numpy_helper

    graph: Any = onnx.load(str(file)).graph
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    weights = {name: torch.tensor(array) for name, array in arrays.items() if name.startswith(_PREFIX)}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in arrays:
            path = node.name.strip("/").rpartition("/")[0].replace("/", ".")
            weights[f"{path}.weight"] = torch.tensor(arrays[node.input[1]].T.copy())
    features = int(weights[f"{_PREFIX}embeddings.cls_token"].shape[-1])
    # the positions of class token and patches were folded into two nameless constants
    parts = [array for name, array in arrays.items() if "::" in name and array.ndim == 3]
    parts = sorted((part for part in parts if part.shape[-1] == features), key=lambda part: part.shape[1])
    if [part.shape[0] for part in parts] != [1, 1] or parts[0].shape[1] != 1:
        problem = ", ".join(str(part.shape) for part in parts) or phrase("errors.common.none")
        raise InputError(
            phrase("errors.common.file_place", place=file.name),
            expected=phrase("errors.training.positions_class_token_and_patches"),
            got=problem,
        )
    weights[f"{_PREFIX}embeddings.position_embeddings"] = torch.cat([torch.tensor(part) for part in parts], 1)
    return {name.removeprefix(_PREFIX): tensor for name, tensor in weights.items()}


def dinov2_directory(file: Path, out: Path, *, labels: Sequence[str], size: int) -> None:
    """Write a DINOv2 classifier with these weights, an empty head, and its processor."""
    import transformers
    from safetensors.torch import save_file

    weights = onnx_weights(file)
    positions = weights["embeddings.position_embeddings"].shape[1] - 1
    config = transformers.Dinov2Config(
        hidden_size=int(weights["embeddings.cls_token"].shape[-1]),
        num_hidden_layers=sum(name.endswith("layer_scale1.lambda1") for name in weights),
        num_attention_heads=6,
        patch_size=14,
        image_size=14 * round(positions**0.5),
        id2label=dict(enumerate(labels)),
        label2id={name: i for i, name in enumerate(labels)},
        architectures=["Dinov2ForImageClassification"],
    )
    raw = out / "raw"
    raw.mkdir()
    config.save_pretrained(raw)
    features = int(config.hidden_size)
    head = {
        "classifier.weight": torch.zeros(len(labels), 2 * features),
        "classifier.bias": torch.zeros(len(labels)),
        "dinov2.embeddings.mask_token": torch.zeros(1, features),
    }
    tensors = {f"dinov2.{name}": tensor.contiguous() for name, tensor in weights.items()} | head
    save_file(tensors, raw / "model.safetensors", metadata={"format": "pt"})
    maker: Any = transformers.Dinov2ForImageClassification
    with quiet():
        # transformers renames the modules of older releases; what is left without weights must be nothing
        model, loaded = maker.from_pretrained(raw, local_files_only=True, output_loading_info=True)
        wrong = [*loaded["missing_keys"], *loaded["unexpected_keys"]]
        if wrong:
            raise InputError(
                phrase("errors.common.file_place", place=file.name),
                expected=phrase("errors.training.weight_for_every_parameter"),
                got=", ".join(wrong[:5]),
            )
        model.save_pretrained(out)
    for path in raw.iterdir():
        path.unlink()
    raw.rmdir()
    facts = {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True,
        "size": {"height": size, "width": size},
        "resample": _BICUBIC,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": _MEAN,
        "image_std": _DEVIATION,
    }
    (out / "preprocessor_config.json").write_text(json.dumps(facts, indent=1) + "\n", "utf-8")
