"""regard's own networks: a directory with `regard.json` -> the adapter."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.errors import Unsupported
from regard.models.adapter import TorchModel, Traits
from regard.models.encoded import Reader
from regard.models.huggingface import UNLIMITED, Options, rename, task_row
from regard.models.images import as_channels_first, image_reader
from regard.models.regions import Array
from regard.models.series import series_reader
from regard.models.tabular import tabular_reader
from regard.models.text import Alphabet, TextReader, Tokens
from regard.networks.checkpoint import load_checkpoint
from regard.networks.classifier import AttentionClassifier
from regard.networks.series import SeriesTransformer
from regard.networks.tabular import TabularTransformer
from regard.networks.vision import VisionTransformer
from regard.networks.vocabulary import MASK, PAD, SPECIALS, UNK, Vocabulary

_CONTEXT_FREE = ("transformer", "average")
"""Encoders that pass nothing on when attention may not read a word; a recurrent one still does."""


def open_network(directory: Path, options: Options) -> TorchModel:
    """The adapter of a saved network of regard's own."""
    network, about = load_checkpoint(directory)
    modality = str(about["modality"])
    name = options.task or str(about["task"])
    row = task_row(f"{modality}_{name}" if name == "classification" and modality != "text" else name)
    labels = rename([str(label) for label in about["labels"]], options.labels)
    embedding: nn.Module | None = None
    reader: Reader
    traits = Traits(pooling="class", config=about["config"])
    if isinstance(network, AttentionClassifier):
        reader, embedding = text_reader(network, Vocabulary.from_json(about["vocabulary"]), options), network.embedding
    elif isinstance(network, VisionTransformer):
        reader = _images(network)
    elif isinstance(network, SeriesTransformer):
        reader = series_reader("series", int(str(network.config["channels"])))
    elif isinstance(network, TabularTransformer):
        reader = _rows(network, about)
    else:
        raise Unsupported(f"network {about['network']}", expected="a network with an adapter", got="none")
    return TorchModel(
        network, reader, row, name=options.name or directory.name, labels=labels, device=options.device,
        dtype=options.dtype, traits=traits, embedding=embedding, call=_call, spec=options.spec, notes=options.notes,
    )  # fmt: skip


def _call(module: nn.Module, tensors: Mapping[str, Tensor]) -> Any:
    if "input_ids" in tensors:
        return module(tensors["input_ids"], mask=tensors["attention_mask"].bool())
    return module(*tensors.values())


def text_reader(network: AttentionClassifier, vocabulary: Vocabulary, options: Options) -> TextReader:
    """Words of the network's own vocabulary; every word is a unit."""

    def tokenize(text: str, pair: str | None) -> Tokens:
        ids, spans = vocabulary.encode(text if pair is None else f"{text} {pair}")
        whole = text if pair is None else f"{text} {pair}"
        n = len(ids)
        names = tuple(whole[a:b] for a, b in spans)
        zeros = np.zeros(n, dtype=np.int64)
        return Tokens(np.array(ids, dtype=np.int64), tuple(spans), zeros.astype(bool), zeros, names)

    alphabet = Alphabet(PAD, MASK, UNK, np.arange(len(SPECIALS), len(vocabulary)), unknown=UNK)
    return TextReader(
        tokenize, alphabet, options.max_length or UNLIMITED, options.overflow,
        maskable=network.config["encoder"] in _CONTEXT_FREE, kind="word",
    )  # fmt: skip


def _images(network: VisionTransformer) -> Reader:
    channels, patch = int(str(network.config["channels"])), network.patch

    def prepare(given: Any, subject: str) -> Array:
        return as_channels_first(given, channels, subject)

    return image_reader("images", prepare, (patch, patch), 1)


def _rows(network: TabularTransformer, about: Mapping[str, Any]) -> Reader:
    count = int(str(network.config["columns"]))
    columns = [str(c) for c in about.get("columns") or (f"x{i}" for i in range(count))]
    centre, spread = (torch.as_tensor(t).double().cpu().numpy() for t in _statistics(network))
    background = about.get("background")
    table = None if background is None else np.asarray(background, np.float64)
    return tabular_reader("rows", columns, centre=centre, spread=spread, background=table)


def _statistics(network: TabularTransformer) -> tuple[Tensor, Tensor]:
    return network.standardise.mean, network.standardise.scale
