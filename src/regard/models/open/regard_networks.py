"""regard's own networks: a directory with `regard.json` -> the adapter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.errors import InputError, UnknownName, Unsupported, phrase
from regard.message import Message
from regard.models import anomaly_score
from regard.models.adapter import Call, TorchModel, Traits
from regard.models.anomaly_score import AnomalyModel, Level
from regard.models.open.huggingface import UNLIMITED, Options, rename, task_row
from regard.models.read.encoded import Reader
from regard.models.read.images import as_channels_first, image_reader
from regard.models.read.pixels import note_unusual_pixels
from regard.models.read.regions import Array
from regard.models.read.series import series_reader
from regard.models.read.tabular import tabular_reader
from regard.models.read.text import Alphabet, TextReader, Tokens
from regard.networks.categories import Categories
from regard.networks.checkpoint import Translator, load_checkpoint
from regard.networks.classifier import AttentionClassifier
from regard.networks.imposed import Weights, load_imposed
from regard.networks.series import SeriesTransformer
from regard.networks.tabular import TabularTransformer
from regard.networks.transformer_translator import TransformerTranslator
from regard.networks.vision import VisionTransformer
from regard.networks.vocabulary import END, MASK, PAD, SPECIALS, START, UNK, Vocabulary
from regard.records import Text

_CONTEXT_FREE = ("transformer", "average")
"""Encoders that transmit nothing of a word that attention may not read; a recurrent one still does."""


def open_network(directory: Path, options: Options) -> TorchModel:
    """The adapter of a saved network of regard's own."""
    network, about = load_checkpoint(directory)
    modality = str(about["modality"])
    name = options.task or str(about["task"])
    row = task_row(f"{modality}_{name}" if name == "classification" and modality != "text" else name)
    labels = rename([str(label) for label in about["labels"]], options.labels)
    embedding: nn.Module | None = None
    reader: Reader
    call: Call = _call
    traits = Traits(pooling="class", config=about["config"])
    if isinstance(network, AttentionClassifier):
        reader, embedding = text_reader(network, about, directory, options), network.embedding
        call = _call_classifier
    elif isinstance(network, Translator):
        reader, embedding, call = (
            translation_reader(network, about, options),
            network.source_embedding,
            _call_translator,
        )
        longest = int(about.get("longest") or 64)
        traits = replace(
            traits, pooling="auto", encoder_decoder=True, new_tokens=longest, write=_write, ends=frozenset({END})
        )
    elif isinstance(network, VisionTransformer):
        reader = _images(network)
    elif isinstance(network, SeriesTransformer):
        steps = int(str(network.config["horizon"])) if row.name == anomaly_score.TASK else None
        reader = series_reader("series", int(str(network.config["channels"])), length=steps)
    elif isinstance(network, TabularTransformer):
        reader = _rows(network, about)
    else:
        raise Unsupported(
            phrase("errors.models.network_network", network=about["network"]),
            expected=phrase("errors.models.network_with_adapter"),
            got=phrase("errors.common.none"),
        )
    model = TorchModel(
        network,
        reader,
        row,
        name=options.name or directory.name,
        labels=labels,
        device=options.device,
        dtype=options.dtype,
        traits=traits,
        embedding=embedding,
        call=call,
        spec=options.spec,
        notes=options.notes,
    )
    if row.name != anomaly_score.TASK:
        return model
    level = about[anomaly_score.TASK]
    return AnomalyModel(model, Level(float(level["threshold"]), float(level["spread"])))


def _call(module: nn.Module, tensors: Mapping[str, Tensor]) -> Any:
    return module(*tensors.values())


def _call_classifier(module: nn.Module, tensors: Mapping[str, Tensor]) -> Any:
    beside = tensors.get("imposed")
    if "token_type_ids" in tensors:
        beside = tensors["token_type_ids"][:, 0]  # the aspect, the same at every position
    return module(tensors["input_ids"], beside, tensors["attention_mask"].bool())


def _call_translator(module: nn.Module, tensors: Mapping[str, Tensor]) -> Any:
    labels = tensors["labels"]
    target_ids = labels.masked_fill(labels < 0, PAD)
    before = torch.cat([torch.full_like(target_ids[:, :1], START), target_ids[:, :-1]], dim=1)
    return module(tensors["input_ids"], before, tensors["attention_mask"].bool())


def _write(module: nn.Module, tensors: Mapping[str, Tensor], limit: int) -> list[list[int]]:
    writer: Any = module
    rows = writer.generate(tensors["input_ids"], tensors["attention_mask"].bool(), limit=limit).tolist()
    return [row[: row.index(END) + 1] if END in row else row for row in rows]


def _tokenize(vocabulary: Vocabulary, text: str) -> Tokens:
    """Every word of the text is a unit."""
    ids, spans = vocabulary.encode(text)
    zeros = np.zeros(len(ids), dtype=np.int64)
    names = tuple(text[a:b] for a, b in spans)
    return Tokens(np.array(ids, dtype=np.int64), tuple(spans), zeros.astype(bool), zeros, names)


def _alphabet(vocabulary: Vocabulary) -> Alphabet:
    return Alphabet(PAD, MASK, UNK, np.arange(len(SPECIALS), len(vocabulary)), unknown=UNK)


def text_reader(
    network: AttentionClassifier, about: Mapping[str, Any], directory: Path, options: Options
) -> TextReader:
    """Reader of words of the network's own vocabulary, each a unit. The second text is the aspect, if any."""
    vocabulary = Vocabulary.from_json(about["vocabulary"])
    aspects = [str(aspect) for aspect in about.get("aspects") or map(str, range(int(str(network.config["aspects"]))))]

    def tokenize(text: str, pair: str | None) -> Tokens:
        if not aspects:
            return _tokenize(vocabulary, text if pair is None else f"{text} {pair}")
        if pair not in aspects:
            if pair is None:
                raise InputError(
                    phrase("errors.models.text_text", text=repr(text[:40])),
                    expected=phrase("errors.models.aspect_beside", aspects=", ".join(aspects)),
                    got=phrase("errors.common.none"),
                    remedy=phrase("errors.models.second_text_names_text", aspects=repr(aspects[0])),
                )
            raise UnknownName("aspect", pair, aspects)
        tokens = _tokenize(vocabulary, text)
        return replace(tokens, types=np.full(len(tokens.ids), aspects.index(pair)))

    reader = TextReader(
        tokenize,
        _alphabet(vocabulary),
        options.max_length or UNLIMITED,
        options.overflow,
        maskable=network.config["encoder"] in _CONTEXT_FREE,
        kind="word",
        pieces=lambda ids: ([vocabulary.words[i] for i in ids], [True] * len(ids)),
    )
    if network.config["attention"] == "frozen":
        reader.imposed = _imposed(load_imposed(directory), reader.observations)
    return reader


def _imposed(stored: Mapping[str, Weights], said: list[Text]) -> Callable[[str, int], Weights]:
    """Look up the imposed weights of an example; uniform weights with a note if there are none."""

    def find(ident: str, n: int) -> Weights:
        row = stored.get(ident)
        if row is not None and len(row) == n:
            return row
        note = Message.of("model_note.no_stored_attention", name=ident)
        if row is not None:
            note = Message.of("model_note.other_length", name=ident, stored=len(row), n=n)
        if note not in said:
            said.append(note)
        return np.full(n, 1 / max(1, n), np.float32)

    return find


def translation_reader(network: Translator, about: Mapping[str, Any], options: Options) -> TextReader:
    """Build the reader of a translator.

    Units are words, figures or characters of the source vocabulary; the output uses the target vocabulary.
    """
    source, target = (Vocabulary.from_json(about[name]) for name in ("source_vocabulary", "target_vocabulary"))

    def tokenize(text: str, pair: str | None) -> Tokens:
        return _tokenize(source, text if pair is None else f"{text} {pair}")

    return TextReader(
        tokenize,
        _alphabet(source),
        options.max_length or UNLIMITED,
        options.overflow,
        maskable=isinstance(network, TransformerTranslator),
        kind="character" if source.cut == "character" else "word",
        spell=lambda ids: [target.words[i] for i in ids],
        join=target.join,
        expected=lambda text: (target.sentence(text), [*target.encode(text)[1], (0, 0)]),
    )


def _images(network: VisionTransformer) -> Reader:
    channels, patch = int(str(network.config["channels"])), network.patch

    def prepare(given: Any, subject: Text) -> Array:
        note_unusual_pixels(np.asarray(given), channels, reader.observations)
        return as_channels_first(given, channels, subject)

    reader = image_reader("images", prepare, (patch, patch), 1)
    reader.trial = (int(str(network.config["height"])), int(str(network.config["width"])), channels)
    return reader


def _rows(network: TabularTransformer, about: Mapping[str, Any]) -> Reader:
    count = int(str(network.config["columns"]))
    categories = Categories.from_json(about.get("categories"))
    if categories.sizes != network.groups:
        raise InputError(
            "regard.json",
            expected=phrase("errors.models.categories_of_weights", sizes=str(network.groups)),
            got=str(categories.sizes),
        )
    columns = [str(c) for c in about.get("columns") or (f"x{i}" for i in range(count + len(categories.names)))]
    centre, spread = (torch.as_tensor(t).double().cpu().numpy() for t in _statistics(network))
    background = about.get("background")
    table = None if background is None else np.asarray(background, np.float64)
    if categories.names and table is None:
        raise InputError(
            "regard.json", expected=phrase("errors.models.background_of_categories"), got=phrase("errors.common.none")
        )
    return tabular_reader("rows", columns, centre=centre, spread=spread, background=table, categories=categories)


def _statistics(network: TabularTransformer) -> tuple[Tensor, Tensor]:
    return network.standardise.mean, network.standardise.scale
