"""Checkpoint of a network: `regard.json` (description) and `model.safetensors` (weights). Loading executes no code."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from regard.errors import InputError, Text, UnknownName, listing, phrase
from regard.files import read_json
from regard.networks.classifier import AttentionClassifier
from regard.networks.recurrent_translator import RecurrentTranslator
from regard.networks.series import SeriesTransformer
from regard.networks.tabular import TabularTransformer
from regard.networks.transformer_translator import TransformerTranslator
from regard.networks.vision import VisionTransformer
from regard.records import Json

Translator = RecurrentTranslator | TransformerTranslator
Network = AttentionClassifier | VisionTransformer | TabularTransformer | SeriesTransformer | Translator

FORMAT: Final = "regard-network"
VERSION: Final = 1
NETWORKS: Final[Mapping[str, Callable[..., Network]]] = {
    kind.name: kind
    for kind in (
        AttentionClassifier,
        VisionTransformer,
        TabularTransformer,
        SeriesTransformer,
        RecurrentTranslator,
        TransformerTranslator,
    )
}
_ABOUT, _WEIGHTS = "regard.json", "model.safetensors"
MOST_LAYERS: Final = 64
"""Layers that a config may always have."""
FREE_NUMBERS: Final = 1 << 22
"""Parameters that a config may have beyond its weights, so that the error can name the mismatched tensors."""


def save_checkpoint(
    directory: str | Path,
    network: Network,
    *,
    labels: Sequence[str],
    task: str,
    modality: Literal["text", "image", "series", "tabular"],
    facts: Mapping[str, Json] | None = None,
) -> None:
    """Write `network` into `directory`, each file atomically.

    `facts` are further entries of regard.json: vocabulary (of a text), columns (of a table), training, ...
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    weights = directory / f".{_WEIGHTS}.new"
    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}, weights)
    about = {
        "format": FORMAT,
        "version": VERSION,
        "network": network.name,
        "config": network.config,
        "labels": list(labels),
        "task": task,
        "modality": modality,
        "sha256": _sha256(weights),
        **(facts or {}),
    }
    described = directory / f".{_ABOUT}.new"
    described.write_text(json.dumps(about, ensure_ascii=False, indent=1) + "\n", "utf-8")
    os.replace(weights, directory / _WEIGHTS)
    os.replace(described, directory / _ABOUT)


def load_checkpoint(directory: str | Path) -> tuple[Network, dict[str, Any]]:
    """Load the network, in eval mode on the CPU, and its regard.json; raise an error on any mismatch."""
    directory = Path(directory)
    about = _read_about(directory / _ABOUT)
    kind = str(about.get("network"))
    if kind not in NETWORKS:
        raise UnknownName("network", kind, NETWORKS)
    weights = directory / _WEIGHTS
    try:
        tensors: dict[str, torch.Tensor] = load_file(weights)
    except (OSError, SafetensorError) as error:
        raise InputError(str(weights), expected=phrase("errors.common.safetensors_file"), got=str(error)) from error
    if about.get("sha256") not in (None, _sha256(weights)):
        remedy = phrase("errors.networks.save_checkpoint_again")
        expected = phrase("errors.networks.weights_that_regard_json_describes")
        raise InputError(str(weights), expected=expected, got=phrase("errors.networks.another_sha"), remedy=remedy)
    network = _built(kind, about.get("config"), tensors, directory)
    _fill(network, tensors, str(weights))
    return network.eval(), about


def _built(kind: str, config: Any, tensors: Mapping[str, torch.Tensor], directory: Path) -> Network:
    """Build the network of a config; reject a config that does not fit the tensors before allocating memory."""
    path = directory / _ABOUT
    try:
        layers = config.get("layers", 0)
        if not isinstance(layers, int) or layers > max(MOST_LAYERS, len(tensors)):
            description: Text = phrase("errors.networks.layers_with_tensors", layers=str(layers)[:40], n=len(tensors))
            raise InputError(
                str(path), expected=phrase("errors.networks.config_that_fits_weights", kind=kind), got=description
            )
        with torch.device("meta"):
            shapes = {name: tensor.shape for name, tensor in NETWORKS[kind](**config).state_dict().items()}
        if sum(shape.numel() for shape in shapes.values()) > FREE_NUMBERS + sum(t.numel() for t in tensors.values()):
            raise InputError(
                str(path),
                expected=phrase("errors.networks.config_that_fits_weights", kind=kind),
                got=phrase("errors.networks.far_larger_one"),
            )
        return NETWORKS[kind](**config)
    except InputError:
        raise
    except Exception as error:  # wrong types and sizes fail at their first use
        description = f"{type(error).__name__}: {error}".split("\n", 1)[0][:200]
        raise InputError(
            str(path), expected=phrase("errors.networks.config_kind", kind=kind), got=description
        ) from error


def _read_about(path: Path) -> dict[str, Any]:
    try:
        about = read_json(path, str(path))
    except InputError as error:
        raise InputError(
            str(path), expected=phrase("errors.networks.description_regard_network"), got=error.got
        ) from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InputError(str(path), expected=f'"format": "{FORMAT}"', got=phrase("errors.common.another_file"))
    if about.get("version") != VERSION:
        remedy = phrase("errors.networks.matching_regard_release")
        raise InputError(
            str(path),
            expected=phrase("errors.networks.version_version", version=VERSION),
            got=repr(about.get("version")),
            remedy=remedy,
        )
    return about


def _fill(network: nn.Module, tensors: Mapping[str, torch.Tensor], subject: str) -> None:
    own_tensors = network.state_dict()
    missing, unexpected = sorted(own_tensors.keys() - tensors.keys()), sorted(tensors.keys() - own_tensors.keys())
    if missing or unexpected:
        absent = phrase("errors.networks.missing_names", names=", ".join(missing)) if missing else ""
        further = phrase("errors.networks.unexpected_names", names=", ".join(unexpected)) if unexpected else ""
        difference = listing([part for part in (absent, further) if part])
        expected: Text = phrase("errors.networks.tensors_n", n=len(own_tensors), type=type(network).__name__)
        raise InputError(subject, expected=expected, got=difference)
    for name, tensor in tensors.items():
        if tensor.shape != own_tensors[name].shape:
            expected = str(tuple(own_tensors[name].shape))
            raise InputError(
                phrase("errors.networks.tensor_subject", subject=subject, name=name),
                expected=expected,
                got=str(tuple(tensor.shape)),
            )
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise InputError(
                phrase("errors.networks.tensor_subject", subject=subject, name=name),
                expected=phrase("errors.common.finite_numbers"),
                got=phrase("errors.common.nan_or_infinity"),
            )
    network.load_state_dict(dict(tensors), strict=True)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
