"""Encoded text: ids, attention mask, token types, special mask, offsets; and the removal of its units."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from regard.errors import InputError, UnknownName, phrase
from regard.message import Message
from regard.models.read.encoded import Item
from regard.models.read.long_text import cut, text_windows
from regard.models.read.regions import stacked
from regard.models.read.words import Span, group_spans, word_spans
from regard.records import Bools, Example, Ints, Text, Units

Overflow = Literal["windows", "cut", "error"]
EXTRA = "extra "
"""Prefix of the names of arrays without a position for each token."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one text or pair. Spans of special tokens are empty; part is 0 or 1."""

    ids: Ints
    spans: tuple[Span, ...]
    special: Bools
    part: Ints
    names: tuple[str, ...]
    types: Ints | None = None


Tokenize = Callable[[str, str | None], Tokens]


@dataclass(frozen=True, slots=True)
class Alphabet:
    """The ids that removal and padding need.

    pad: fills up a batch. blank: stands for "something was here" (mask token, else unknown); None if there is none.
    start: input when every unit was deleted. plain: ids that `resample` draws from. unknown: id of words outside the
    vocabulary; None if there is none.
    """

    pad: int
    blank: int | None
    start: int
    plain: Ints
    never: frozenset[int] = frozenset()
    unknown: int | None = None


Expected = tuple[list[int], list[tuple[int, int]]]
"""Ids of a text, and the characters of each; (0, 0) for an id without characters."""


@dataclass(slots=True)
class TextReader:
    """Text -> Item. `limit` is the number of positions the model reads (None: no limit).

    spell, join: ids of a generating model -> the names of its tokens, and its text. imposed: the attention weights of
    an example (id, positions), for a model that takes them as input. pieces: ids -> spelling of each, and whether it
    begins a word. extras: (text, second text) -> further inputs of the module by name, which belong to no unit.
    segment: text -> spans of the words that group tokens. expected: target text -> its ids up to the end, and the
    characters of each.
    """

    tokenize: Tokenize
    alphabet: Alphabet
    limit: int | None = None
    overflow: Overflow = "windows"
    overlap: float = 0.25
    pads: bool = True
    maskable: bool = True
    deletable: bool = True
    siamese: bool = False
    kind: str = "token"
    observations: list[Text] = field(default_factory=list)
    spell: Callable[[list[int]], list[str]] | None = None
    join: Callable[[list[int]], str] = str
    expected: Callable[[str], Expected] | None = None
    imposed: Callable[[str, int], NDArray[np.float32]] | None = None
    pieces: Callable[[list[int]], tuple[list[str], list[bool]]] | None = None
    extras: Callable[[str, str | None], Mapping[str, NDArray[Any]]] | None = None
    segment: Callable[[str], list[Span]] = word_spans

    @property
    def modality(self) -> str:
        return "text"

    @property
    def main(self) -> str:
        return "input_ids"

    @property
    def operators(self) -> tuple[str, ...]:
        offered = {
            "mask": self.alphabet.blank is not None,
            "delete": self.deletable,
            "attention_mask": self.maskable,
            "resample": True,
        }
        return tuple(name for name, there in offered.items() if there)

    @property
    def baselines(self) -> tuple[str, ...]:
        always = ("zero", "resample", "pad")
        return ("mask", *always) if self.alphabet.blank is not None else always

    def notes(self) -> list[Text]:
        return list(self.observations)

    def unknown(self, item: Item) -> int:
        """Count the units outside the vocabulary, which all share one embedding."""
        if self.alphabet.unknown is None:
            return 0
        return int((item.units.free & (item.arrays["input_ids"] == self.alphabet.unknown)).sum())

    def encode(self, example: Example) -> Item:
        text, pair = self.texts(example)
        side = pair if self.siamese else None
        tokens = self.tokenize(text, None if self.siamese else pair)
        tokens = self._fitted(example.id, tokens)
        if tokens.special.all():
            raise InputError(
                phrase("errors.common.example_example", example=repr(example.id)),
                expected=phrase("errors.models.text_with_at_least_one"),
                got=phrase("errors.models.empty_text")
                if not text.strip()
                else phrase("errors.models.only_special_tokens_in_text", text=repr(text[:40])),
                remedy=phrase("errors.models.drop_example_or_add_text"),
            )
        aside: dict[str, NDArray[Any]] = {}
        if side is not None:
            aside = text_arrays(self._fitted(example.id, self.tokenize(side, None)))
        units = token_units(tokens, (text, pair or ""), self.kind, self.segment)
        arrays = text_arrays(tokens)
        if self.imposed is not None:
            arrays["imposed"] = self.imposed(example.id, len(tokens.ids))
        if self.extras is not None:
            arrays |= {EXTRA + name: array for name, array in self.extras(text, pair).items()}
        return Item(units, arrays, np.arange(len(tokens.ids)), len(tokens.ids), aside)

    def texts(self, example: Example) -> tuple[str, str | None]:
        text, pair = example.inputs.get("text"), example.inputs.get("text_pair")
        if not isinstance(text, str) or not (pair is None or isinstance(pair, str)):
            raise InputError(
                phrase("errors.common.example_example", example=repr(example.id)),
                expected=phrase("errors.common.text"),
                got=phrase(
                    "errors.common.inputs_all_inputs",
                    all_inputs=", ".join(sorted(example.inputs)) or phrase("errors.models.without_any_entry"),
                ),
                remedy='Example(id, {"text": ...})',
            )
        return text, pair

    def _fitted(self, subject: Text, tokens: Tokens) -> Tokens:
        n = len(tokens.ids)
        if self.limit is None or n <= self.limit:
            return tokens
        if self.overflow != "cut":
            raise InputError(
                phrase("errors.common.example_example", example=repr(subject)),
                expected=phrase("errors.models.at_most_tokens", limit=self.limit),
                got=phrase("errors.models.tokens_n", n=n),
                remedy=phrase("errors.models.read_in_windows_model_windows"),
            )
        note = phrase("errors.models.cut_tokens", place=subject, n=n, limit=self.limit)
        if note not in self.observations:
            self.observations.append(note)
        keep = cut(tokens.special, tokens.part, self.limit)
        return Tokens(
            ids=tokens.ids[keep],
            spans=tuple(tokens.spans[i] for i in keep),
            special=tokens.special[keep],
            part=tokens.part[keep],
            names=tuple(tokens.names[i] for i in keep),
            types=None if tokens.types is None else tokens.types[keep],
        )

    def windows(self, example: Example) -> list[Example]:
        if self.limit is None or self.overflow == "cut":
            return [example]
        text, pair = self.texts(example)
        if len(text) + len(pair or "") <= self.limit // 4:  # no tokenizer makes 4 positions of a character
            return [example]
        tokens = self.tokenize(text, None if self.siamese else pair)
        if len(tokens.ids) <= self.limit:
            return [example]
        if self.overflow == "error":
            self._fitted(example.id, tokens)
        windows = text_windows(
            example,
            tokens.spans,
            tokens.special,
            part=tokens.part,
            limit=self.limit,
            overlap=self.overlap,
            count=self._count,
        )
        note = Message.of(
            "data.read_in_windows",
            name=example.id,
            tokens=len(tokens.ids),
            n=len(windows),
            limit=self.limit,
            overlap=self.overlap,
        )
        if note not in self.observations:
            self.observations.append(note)
        return windows

    def _count(self, example: Example) -> int:
        text, pair = self.texts(example)
        return len(self.tokenize(text, None if self.siamese else pair).ids)

    def remove(self, item: Item, drop: Bools, operator: str, rng: np.random.Generator) -> Item:
        if operator not in self.operators:
            raise UnknownName("operator", operator, self.operators)
        # by position: a unit may own several; owner -1 reads the appended False
        removed = np.append(np.asarray(drop, bool) & item.units.free, False)[item.owner]
        if not removed.any():
            return item
        arrays = dict(item.arrays)
        if operator == "delete":
            return self._deleted(item, removed)
        if operator == "attention_mask":
            arrays["attention_mask"] = np.where(removed, 0, arrays["attention_mask"])
            if not arrays["attention_mask"].any():  # attention over nothing is no number
                return self._deleted(item, removed)
        else:
            ids = arrays["input_ids"].copy()
            if operator == "resample":
                ids[removed] = self.alphabet.plain[rng.integers(len(self.alphabet.plain), size=len(ids))][removed]
            else:
                ids[removed] = self.alphabet.blank
            arrays["input_ids"] = ids
        shift = None if item.shift is None else np.where(removed[:, None], np.float32(0), item.shift)
        return replace(item, arrays=arrays, shift=shift)

    def _deleted(self, item: Item, gone: Bools) -> Item:
        keep = np.flatnonzero(~gone)
        if not len(keep):  # a model cannot read nothing: it reads its start token, which belongs to no unit
            arrays = {k: v if k.startswith(EXTRA) else v[:1].copy() for k, v in item.arrays.items()}
            arrays["input_ids"][:] = self.alphabet.start
            nobody = np.array([-1])
            return replace(item, units=_picked(item.units, keep), arrays=arrays, owner=nobody, length=1, shift=None)
        arrays = {name: a if name.startswith(EXTRA) else a[keep] for name, a in item.arrays.items()}
        return replace(
            item,
            units=_picked(item.units, keep),
            arrays=arrays,
            owner=np.arange(len(keep)),
            length=len(keep),
            shift=None if item.shift is None else item.shift[keep],
        )

    def collate(
        self, batch: Sequence[Item | Mapping[str, NDArray[Any]]], device: torch.device, dtype: torch.dtype
    ) -> dict[str, torch.Tensor]:
        """Pad to (batch, positions) tensors on the right."""
        rows = [b.arrays if isinstance(b, Item) else b for b in batch]
        width = max(len(row["input_ids"]) for row in rows)
        fill = {"input_ids": self.alphabet.pad}
        out = {}
        for name in rows[0]:
            if name.startswith(EXTRA):
                out[name.removeprefix(EXTRA)] = stacked([row[name] for row in rows], device, dtype)
                continue
            numbers = rows[0][name].dtype.kind == "f"
            table = np.full((len(rows), width), fill.get(name, 0), dtype=np.float32 if numbers else np.int64)
            for i, row in enumerate(rows):
                table[i, : len(row[name])] = row[name]
            out[name] = torch.from_numpy(table).to(device, dtype if numbers else torch.int64)
        return out


def text_arrays(tokens: Tokens) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {"input_ids": tokens.ids, "attention_mask": np.ones_like(tokens.ids)}
    return arrays if tokens.types is None else {**arrays, "token_type_ids": tokens.types}


def token_units(
    tokens: Tokens, texts: tuple[str, str], kind: str, segment: Callable[[str], list[Span]] = word_spans
) -> Units:
    groups = np.full(len(tokens.ids), -1, dtype=np.int64)
    for side in (0, 1):
        positions = np.flatnonzero((tokens.part == side) & ~tokens.special)
        if len(positions):
            word_indices, _ = group_spans([tokens.spans[i] for i in positions], texts[side], segment)
            first = int(groups.max()) + 1
            groups[positions] = np.where(word_indices >= 0, word_indices + first, -1)
    n = len(tokens.ids)
    places = np.array(tokens.spans, dtype=np.float64).reshape(n, 2)
    return Units(
        names=tokens.names,
        kind=kind,
        place_kind="span",
        places=places,
        special=tokens.special,
        groups=groups,
        part=tokens.part,
        keys=np.arange(n),
        shape=(n,),
    )


def _picked(units: Units, keep: NDArray[np.intp]) -> Units:
    n = len(keep)
    return Units(
        names=tuple(units.names[i] for i in keep),
        kind=units.kind,
        place_kind=units.place_kind,
        places=units.places[keep],
        special=units.special[keep],
        groups=units.groups[keep],
        part=units.part[keep],
        keys=np.arange(n),
        shape=(n,),
    )
