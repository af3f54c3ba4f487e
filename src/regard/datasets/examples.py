"""`Examples`, the result of every reader and generator."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from regard.cards import Card, HasCard
from regard.records import Example, Json, Text
from regard.store.frames import HasFrames

Modality = Literal["text", "image", "audio", "series", "tabular"]

IN_MEMORY = "in-memory"
"""Name of data that came from no file, the same in every language."""
MOST_SHOWN = 5
"""Number of examples on a card."""


@dataclass(frozen=True, repr=False)
class Examples(HasFrames, HasCard):
    """Examples in a fixed order, with their origin (implements `protocols.Dataset`).

    labels: label names, if any. columns: names of the columns of a table row, or of the channels of a series. notes:
    everything that was guessed, cut, dropped or sampled, in words.

    >>> two = Examples("tiny", (Example("a", {"text": "good"}, 1), Example("b", {"text": "bad"}, 0)))
    >>> len(two), [e.id for e in two], len(two.fingerprint)
    (2, ['a', 'b'], 64)
    """

    name: str
    items: tuple[Example, ...]
    labels: tuple[str, ...] = ()
    notes: tuple[Text, ...] = ()
    columns: tuple[str, ...] = ()
    modality: Modality = "text"

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of the content: ids, inputs, labels, rationales, alignments, groups and slices, in order."""
        digest = hashlib.sha256()
        for example in self.items:
            digest.update(_content(example))
        return digest.hexdigest()

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Example]:
        return iter(self.items)

    def __getitem__(self, i: int) -> Example:
        return self.items[i]

    def records(self) -> list[dict[str, Json]]:
        """Build one dict per example: id, inputs and slices as columns, label (by name if it has one); no arrays."""
        return [
            {
                "id": example.id,
                **{name: value for name, value in example.inputs.items() if not isinstance(value, np.ndarray)},
                "label": self._label(example),
                **example.slices,
            }
            for example in self.items
        ]

    def _label(self, example: Example) -> Json:
        code = example.label
        return self.labels[code] if isinstance(code, int) and 0 <= code < len(self.labels) else code

    def _card(self) -> Card:
        rows = dataclasses.replace(self, items=self.items[:MOST_SHOWN]).records()
        facts: dict[str, Any] = {"examples": len(self), "modality": self.modality, "labels": list(self.labels)}
        return Card("Examples", self.name, facts, rows, len(self))

    def keep(self, items: Sequence[Example], *notes: Text) -> Examples:
        """Copy the data set with other examples and more notes."""
        return dataclasses.replace(self, items=tuple(items), notes=self.notes + notes)


def _content(example: Example) -> bytes:
    facts = [example.id, example.label, example.rationale, example.group, example.parent, dict(example.slices)]
    facts += [] if example.alignment is None else [example.alignment]
    parts = [json.dumps(facts, sort_keys=True, default=float).encode()]
    for key in sorted(example.inputs):
        parts += [key.encode(), _bytes(example.inputs[key])]
    return b"\x1f".join(parts) + b"\x1e"


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, np.ndarray):
        # the shape is part of the content: (2, 8) and (4, 4) hold the same bytes
        return f"{value.dtype.str}{value.shape}".encode() + np.ascontiguousarray(value).tobytes()
    return json.dumps(value, sort_keys=True, default=str).encode()
