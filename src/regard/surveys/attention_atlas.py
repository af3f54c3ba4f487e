"""Atlas of a long prompt: answer sentences by passages, and block pyramids of its attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.cards import Card, HasCard
from regard.errors import InputError, phrase
from regard.measures.pyramid import coarser_maxima, coarser_sums, sampling_error
from regard.records import Floats, Message, encoded
from regard.registry import upstairs
from regard.store.blobs import write_result
from regard.store.redaction import Redactor
from regard.tap.whole_attention import Blocks, WholeAttention

SCHEMA = "regard.atlas/1"


@dataclass(frozen=True, slots=True)
class Passage:
    """A source of the prompt: its text and the (start, stop) of its tokens."""

    text: str
    runs: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """A sentence of the answer: its text, and the (start, stop) of the rows that predict it."""

    text: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True, eq=False)
class AtlasLayer:
    """Layer of an atlas: the base of its pyramids, and (while the model is in memory) its exact weights."""

    layer: int
    site: str
    blocks: Blocks
    exact: WholeAttention | None = field(default=None, repr=False)

    @property
    def error(self) -> float:
        """Estimated relative L1 error of the block sums; 0 if every row was computed."""
        deviation = self.blocks.deviation
        return 0.0 if deviation is None else sampling_error(_wide(self.blocks.sums), _wide(deviation))

    def level(self, kind: str, times: int) -> Floats:
        """(head, row, column) of the pyramid "sum" or "max", `times` halvings above the base."""
        if kind not in ("sum", "max"):
            raise InputError("pyramid", expected=phrase("errors.surveys.sum_or_max"), got=repr(kind))
        level = _wide(self.blocks.sums if kind == "sum" else self.blocks.maxima)
        for _ in range(times):
            level = coarser_sums(level) if kind == "sum" else coarser_maxima(level)
        return level


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Atlas(HasCard):
    """The attention of a model over a long prompt and its answer. Attention is where weight went, not evidence.

    matrix: (sentence, passage and everything else) mean attention mass of a sentence's rows over all heads of all
    layers; rows sum to 1 (less where heads have sinks). strongest: (sentence, passage) the largest mean mass of any
    head, strongest_heads: its name. layers: pyramids. tokens: prompt and answer; answer_start: the first of the answer.
    """

    model: str
    tokens: tuple[str, ...]
    answer: str
    answer_start: int
    passages: tuple[Passage, ...]
    sentences: tuple[AnswerSentence, ...]
    matrix: Floats
    strongest: Floats
    strongest_heads: tuple[tuple[str, ...], ...]
    layers: tuple[AtlasLayer, ...]
    notes: tuple[Message, ...] = ()

    def _card(self) -> Card:
        rows: list[dict[str, Any]] = []
        for i, sentence in enumerate(self.sentences):
            best = int(np.argmax(self.strongest[i])) if self.strongest.shape[1] else None
            mass = None if best is None else float(self.strongest[i, best])
            head = "" if best is None else self.strongest_heads[i][best]
            rows.append({"sentence": sentence.text, "passage": best, "mass": mass, "head": head})
        facts = {"tokens": len(self.tokens), "passages": len(self.passages), "layers": len(self.layers)}
        return Card("Atlas", self.model, facts, rows, len(rows))

    def tile(self, layer: int, head: int, rows: slice, columns: slice) -> NDArray[np.float32]:
        """(row, column) exact weights of a rectangle, computed now."""
        found_layer = next((one for one in self.layers if one.layer == layer), None)
        if found_layer is None or found_layer.exact is None:
            raise InputError(
                phrase("errors.common.layer_layer", layer=layer),
                expected=phrase("errors.common.one_allowed", allowed=[one.layer for one in self.layers]),
                got=phrase("errors.surveys.no_such_layer"),
            )
        return found_layer.exact.tile(head, rows, columns)

    def redacted(self) -> Atlas:
        """Return the atlas with placeholders for all words; tokens become marks, numbers and places stay."""
        redactor = Redactor([*(passage.text for passage in self.passages), self.answer])
        return replace(
            self,
            tokens=tuple("".join(c if c.isspace() else "·" for c in token) for token in self.tokens),
            answer=redactor.words(self.answer),
            passages=tuple(replace(passage, text=redactor.words(passage.text)) for passage in self.passages),
            sentences=tuple(replace(sentence, text=redactor.words(sentence.text)) for sentence in self.sentences),
        )

    def to_json(self) -> dict[str, Any]:
        """Everything but the pyramids."""
        return {
            "schema": SCHEMA,
            "model": self.model,
            "tokens": list(self.tokens),
            "answer": self.answer,
            "answer_start": self.answer_start,
            "passages": encoded(self.passages),
            "sentences": encoded(self.sentences),
            "matrix": np.round(self.matrix, 6).tolist(),
            "strongest": np.round(self.strongest, 6).tolist(),
            "strongest_heads": [list(row) for row in self.strongest_heads],
            "layers": [
                {
                    "layer": one.layer,
                    "site": one.site,
                    "heads": one.blocks.sums.shape[0],
                    "block": one.blocks.block,
                    "every": one.blocks.every,
                    "error": one.error,
                }
                for one in self.layers
            ],
            "notes": encoded(self.notes),
        }

    def save(self, path: str | Path) -> Path:
        """Write the atlas as .html (with its pyramids) or .json (without)."""
        return write_result(path, self.to_json, self._page)

    def _page(self) -> str:
        pyramids: Sequence[tuple[Any, Any]] = [(one.blocks.sums, one.blocks.maxima) for one in self.layers]
        return str(upstairs("atlas_page")(self.to_json(), pyramids))


def _wide(values: NDArray[np.float32]) -> Floats:
    return values.astype(np.float64)
