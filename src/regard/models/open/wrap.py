"""Any `torch.nn.Module` with an encode function -> the adapter."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from regard.errors import InputError, Text, UnknownName, phrase
from regard.models.adapter import Pooling, TorchModel, Traits
from regard.models.exported.onnx_module import accepted_names
from regard.models.open.huggingface import UNLIMITED, task_row
from regard.models.open.module_output import OutputChoice
from regard.models.read.encoded import Reader
from regard.models.read.images import as_channels_first, image_reader
from regard.models.read.pixels import note_unusual_pixels
from regard.models.read.regions import Array
from regard.models.read.series import series_reader
from regard.models.read.tabular import tabular_reader
from regard.models.read.text import Alphabet, Overflow, TextReader, Tokenize, Tokens
from regard.models.read.words import Span, word_spans
from regard.models.trial_input import PICTURE

Encode = Callable[..., Any]
TOKEN_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "offset_mapping", "special_tokens_mask")
"""Entries that tokenizers return beside the ids."""
Modality = Literal["text", "image", "series", "tabular"]


def wrap(
    module: nn.Module,
    encode: Encode | None = None,
    *,
    task: str = "classification",
    modality: Modality = "text",
    labels: Sequence[str] = (),
    output: str | int | None = None,
    mask: str | None = None,
    padding: str | None = None,
    fixed_length: bool = False,
    embedding: str | None = None,
    pad_id: int = 0,
    mask_id: int | None = None,
    special_ids: Sequence[int] = (),
    patch: int = 1,
    unit: Literal["step", "channel"] = "step",
    columns: Sequence[str] = (),
    background: Array | None = None,
    channels: int = 1,
    class_tokens: int = 0,
    pooling: Pooling = "auto",
    overflow: Overflow = "windows",
    max_length: int | None = None,
    device: str = "auto",
    dtype: str | torch.dtype | None = None,
    name: str | None = None,
) -> TorchModel:
    """Wrap your own module as a model for every method.

    encode: text -> token ids, or (ids, character spans); for arrays: your input -> the float array that the module
    reads (default: unchanged). The module is called with a batch of these as its first argument. For several inputs,
    encode returns a mapping: its first entry holds the units, the others are passed by name. With two parameters it
    gets the second text of a pair. output: the name or number of the output to read (default: `logits`, or the only one
    that fits; a loss is skipped). mask, padding: the name of the module's argument that is True on real (`mask`) or on
    padded (`padding`) positions; without either, only texts of one length share a batch. fixed_length: the module takes
    no shorter text, so units are replaced, never deleted. unit: a series is explained by its steps or by its channels.
    embedding: the path of the input-embedding module (default: the first nn.Embedding). class_tokens: vectors that the
    module puts before patches, steps or columns (-1: its attention is not over these units). pooling: the position
    whose attention row is the map: "class" (the first), "last", or "mean" of all; "auto" decides by the task.

    >>> module = nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(12, 2))
    >>> model = wrap(module, lambda text: [len(w) for w in text.split()], labels=["no", "yes"])
    >>> from regard.records import Example
    >>> model.encode(Example("a", {"text": "one two four"})).units.names
    ('one', 'two', 'four')
    """
    row_name = f"{modality}_{task}" if task == "classification" and modality != "text" else task
    row = task_row(row_name)
    if task in ("regression", "multi_label"):
        row = replace(row, modality=modality)
    if row.modality != modality:
        raise InputError(
            phrase("errors.models.task_task", task=task),
            expected=phrase("errors.models.task_for_noun", noun=modality),
            got=phrase("errors.models.one_for_task", task=row.modality),
        )
    parameters = accepted_names(module)
    for argument in filter(None, (mask, padding)):
        if argument not in parameters:
            raise UnknownName(phrase("errors.models.argument_module"), argument, parameters)
    reader: Reader
    layer: nn.Module | None = None
    if modality == "text":
        layer = _embedding(module, embedding)
        reader = _text(
            encode,
            layer,
            row.placed,
            pad_id=pad_id,
            mask_id=mask_id if mask_id is not None or not fixed_length else pad_id,
            special_ids=special_ids,
            overflow=overflow,
            max_length=max_length,
        )
        reader.deletable = reader.deletable and not fixed_length
        reader.siamese = row.name == "similarity"
        reader.maskable = mask is not None or padding is not None
    else:
        reader = _arrays(
            modality,
            encode,
            patch,
            columns=columns,
            background=background,
            channels=channels,
            class_tokens=class_tokens,
            unit=unit,
        )
    traits = Traits(pads=mask is not None or padding is not None, pooling=pooling, mask_id=mask_id, pad_id=pad_id)

    read_output = OutputChoice(task, tuple(labels), output)
    main = reader.main

    def call(inner: nn.Module, tensors: Mapping[str, Tensor]) -> Any:
        others = {name: tensor for name, tensor in tensors.items() if name not in (main, *TOKEN_INPUTS)}
        real = tensors.get("attention_mask")
        if real is not None and mask is not None:
            others[mask] = real.bool()
        elif real is not None and padding is not None:
            others[padding] = ~real.bool()
        return read_output(_called(inner, tensors[main], others), len(tensors[main]))

    return TorchModel(
        module,
        reader,
        row,
        name=name or type(module).__name__,
        labels=labels,
        device=device,
        dtype=dtype,
        traits=traits,
        embedding=layer,
        call=call,
    )


def _embedding(module: nn.Module, path: str | None) -> nn.Module | None:
    modules: dict[str, nn.Module] = dict(module.named_modules())
    if path is not None:
        if path not in modules:
            raise UnknownName("module", path, modules)
        return modules[path]
    return next((inner for inner in modules.values() if isinstance(inner, nn.Embedding)), None)


def _text(
    encode: Encode | None,
    layer: nn.Module | None,
    placed: bool,
    pad_id: int,
    mask_id: int | None,
    special_ids: Sequence[int],
    overflow: Overflow,
    max_length: int | None,
) -> TextReader:
    if encode is None:
        raise InputError(
            "wrap",
            expected=phrase("errors.models.encode_function_text_token_ids"),
            got=phrase("errors.common.none"),
            remedy="encode=...",
        )
    rows = layer.num_embeddings if isinstance(layer, nn.Embedding) else None
    never = {pad_id, mask_id, *special_ids}
    plain = np.array([i for i in range(rows or 0) if i not in never], dtype=np.int64)
    if not len(plain):
        plain = np.array([i for i in range(2) if i != pad_id], dtype=np.int64)
    start = special_ids[0] if special_ids else mask_id if mask_id is not None else int(plain[0])
    alphabet = Alphabet(pad_id, mask_id, int(start), plain)
    return TextReader(
        tokenize_by(encode, frozenset(special_ids), rows),
        alphabet,
        max_length or UNLIMITED,
        overflow,
        deletable=not placed,
        extras=_extras_of_text(encode),
    )


def tokenize_by(encode: Encode, special_ids: frozenset[int], rows: int | None) -> Tokenize:
    """Build `Tokens` from a function of one text; search for the spans if the function returns none."""

    def tokenize(text: str, pair: str | None) -> Tokens:
        encoding, whole = _encoding(encode, text, pair)
        if isinstance(encoding, Mapping):
            encoding = encoding["input_ids"] if "input_ids" in encoding else next(iter(encoding.values()), [])
        ids_given, spans = encoding if isinstance(encoding, tuple) and len(encoding) == 2 else (encoding, None)
        try:
            ids = np.asarray(ids_given, dtype=np.int64).reshape(-1)
        except (TypeError, ValueError) as problem:
            raise InputError(
                phrase("errors.models.encode_function"),
                expected=phrase("errors.models.token_ids"),
                got=f"{type(encoding).__name__}: {problem}",
            ) from problem
        if rows is not None and len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < rows:
            raise InputError(
                phrase("errors.models.encode_function"),
                expected=phrase("errors.models.ids_in_range", rows=rows - 1),
                got=phrase("errors.models.to_start", start=int(ids.min()), stop=int(ids.max())),
            )
        special = np.array([int(i) in special_ids for i in ids], dtype=bool)
        token_spans = _spans(whole, special) if spans is None else [(int(a), int(b)) for a, b in spans]
        if len(token_spans) != len(ids):
            raise InputError(
                phrase("errors.models.encode_function"),
                expected=phrase("errors.models.spans_one_per_id", n=len(ids)),
                got=str(len(token_spans)),
            )
        names = tuple(
            whole[a:b] if b > a else (f"[{i}]" if special[at] else f"#{at}:{i}")
            for at, (i, (a, b)) in enumerate(zip(ids.tolist(), token_spans, strict=True))
        )
        return Tokens(ids, tuple(token_spans), special, np.zeros(len(ids), dtype=np.int64), names)

    return tokenize


def _encoding(encode: Encode, text: str, pair: str | None) -> tuple[Any, str]:
    """Return the result of the encode function, and the text that contains its units."""
    if takes_pair(encode):
        return encode(text, pair), text
    whole = text if pair is None else f"{text} {pair}"
    return encode(whole), whole


def takes_pair(encode: Encode) -> bool:
    """Return whether an encode function has two parameters of its own."""
    if hasattr(encode, "save_pretrained"):  # a tokenizer has many
        return False
    try:
        parameters = inspect.signature(encode).parameters.values()
    except (TypeError, ValueError):
        return False
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in plain and p.default is p.empty for p in parameters) == 2


def _extras_of_text(encode: Encode) -> Callable[[str, str | None], dict[str, Array]]:
    def extras(text: str, pair: str | None) -> dict[str, Array]:
        return further_inputs(_encoding(encode, text, pair)[0])

    return extras


def further_inputs(encoding: Any) -> dict[str, Array]:
    """Return the entries of a mapping other than the units and those that a tokenizer adds."""
    if not isinstance(encoding, Mapping):
        return {}
    main = "input_ids" if "input_ids" in encoding else next(iter(encoding), "")
    arrays = {str(k): np.asarray(v) for k, v in encoding.items() if k != main and k not in TOKEN_INPUTS}
    return {k: a.astype(np.float32) if a.dtype.kind == "f" else a for k, a in arrays.items()}


def _called(module: nn.Module, first: Tensor, named: Mapping[str, Tensor]) -> Any:
    try:
        return module(first, **named)
    except TypeError as problem:
        parameters = accepted_names(module)
        unknown = [name for name in named if name not in parameters]
        if not unknown:
            raise
        raise UnknownName(phrase("errors.models.argument_module"), unknown[0], parameters) from problem
    except RuntimeError as problem:
        text = str(problem)
        if first.dtype != torch.int64 or not re.search(r"mat1 and mat2|size of tensor|shape|expected.*size", text):
            raise
        raise InputError(
            phrase("errors.models.module_type", type=type(module).__name__),
            expected=phrase("errors.models.module_that_reads_texts_any"),
            got=text.splitlines()[0][:120],
            remedy=phrase("errors.models.regard_wrap_module_encode"),
        ) from problem


def _spans(text: str, special: Any) -> list[Span]:
    """Character spans if there are as many ids as pieces between spaces, words, or characters; else empty spans."""
    count = int((~special).sum())
    at, pieces = 0, list[Span]()
    for piece in text.split():
        at = text.index(piece, at)
        pieces.append((at, at + len(piece)))
        at += len(piece)
    characters = [(i, i + 1) for i in range(len(text))]
    fitting = next((s for s in (pieces, word_spans(text), characters) if len(s) == count), [(0, 0)] * count)
    free = iter(fitting)
    return [(0, 0) if s else next(free) for s in special]


def _arrays(
    modality: str,
    encode: Encode | None,
    patch: int,
    columns: Sequence[str],
    background: Array | None,
    channels: int,
    class_tokens: int,
    unit: str,
) -> Reader:
    def encoded(given: Any) -> Any:
        return given if encode is None else encode(given)

    def own(given: Any) -> Any:
        encoding = encoded(given)
        main = next(iter(encoding.values())) if isinstance(encoding, Mapping) else encoding
        return main if encode is None else np.asarray(main, dtype=np.float32)

    def extras(given: Any) -> dict[str, Array]:
        return further_inputs(encoded(given))

    if modality == "image":

        def pixels(given: Any, subject: Text) -> Array:
            array = np.asarray(own(given))
            note_unusual_pixels(array, channels, reader.observations)
            return as_channels_first(array, channels, subject)

        reader = image_reader("image", pixels, (patch, patch), class_tokens)
        reader.extras = extras
        reader.trial = (*PICTURE[:2], channels)
        return reader
    if modality == "series":
        names = columns if unit == "channel" else None
        reader = series_reader("series", None, patch=patch, lead=class_tokens, channel_units=names)
    else:
        width = len(columns) or (0 if background is None else background.shape[1])
        if not width:
            raise InputError(
                "wrap",
                expected=phrase("errors.models.columns_names_or_background"),
                got=phrase("errors.common.none"),
                remedy="columns=[...]",
            )
        names = columns or [f"x{i}" for i in range(width)]
        reader = tabular_reader("row", names, background=background, lead=class_tokens)
    plain = reader.prepare
    reader.prepare = lambda given, subject: plain(own(given), subject)
    reader.extras = extras
    return reader
