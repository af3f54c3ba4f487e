"""A text to be rewritten: its words, what stands between them, and where every new word comes from.

A noise over text says which words become what (`with_words`), or gives the whole text anew as pieces, each with the
word of the original it comes from (`with_pieces`). The alignment is then read off the text that came out: a word
belongs to the original word that it shares most characters with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from regard.errors import InputError
from regard.measures.keyed_random import Stream
from regard.models.words import Span, word_spans
from regard.records import Example, Ints, Perturbed

FIELDS = ("text", "text_pair")
Piece: TypeAlias = tuple[str, int]
"""Some characters and the word they come from, counted over all texts of the example; -1: from none."""
SHARES = (0.05, 0.1, 0.2, 0.35, 0.5)
"""The share of words that severities 1 to 5 change, where a noise says nothing else; at least one word."""


@dataclass(frozen=True, slots=True)
class Script:
    """The texts of an example. words: of all texts, in order; spans: where they stand, text by text."""

    example: Example
    texts: tuple[str, ...]
    spans: tuple[list[Span], ...]
    words: list[str]

    @staticmethod
    def of(example: Example) -> Script:
        found = [example.inputs[name] for name in FIELDS if example.inputs.get(name) is not None]
        if not found or not all(isinstance(text, str) for text in found):
            raise InputError(
                f"example {example.id!r}", expected="a text", got=f"inputs {', '.join(sorted(example.inputs))}",
                remedy="regard list perturbation shows what each noise is for",
            )  # fmt: skip
        spans = tuple(word_spans(text) for text in found)
        words = [text[a:b] for text, here in zip(found, spans, strict=True) for a, b in here]
        return Script(example, tuple(found), spans, words)

    def pieces(self) -> list[list[Piece]]:
        """Every text as words and the gaps between them, in order."""
        made, number = [], 0
        for text, spans in zip(self.texts, self.spans, strict=True):
            here: list[Piece] = []
            at = 0
            for a, b in spans:
                if a > at:
                    here.append((text[at:a], -1))
                here.append((text[a:b], number))
                number, at = number + 1, b
            if at < len(text):
                here.append((text[at:], -1))
            made.append(here)
        return made

    def with_words(self, changes: Mapping[int, str]) -> Perturbed:
        """Some words written differently, everything else as it was."""
        made = [[(changes.get(w, piece), w) for piece, w in here] for here in self.pieces()]
        return self.with_pieces(made)

    def with_pieces(self, made: Sequence[Sequence[Piece]]) -> Perturbed:
        """The texts made anew of pieces."""
        texts = ["".join([piece for piece, _ in here]) for here in made]
        spans = [word_spans(text) for text in texts]
        origin = np.array([w for s, here in zip(spans, made, strict=True) for w in _origins(s, here)], np.int64)
        names = [name for name in FIELDS if self.example.inputs.get(name) is not None]
        inputs: dict[str, Any] = {**self.example.inputs, **dict(zip(names, texts, strict=True))}
        marked = self.example.rationale
        if marked is not None:
            marked = self._carried(marked, spans[0], origin)
        # an alignment counts characters of the text as it was
        example = replace(self.example, inputs=inputs, rationale=marked, alignment=None)
        return Perturbed(example, origin)

    def _carried(
        self, rationale: Sequence[tuple[float, ...]], spans: Sequence[Span], origin: Ints
    ) -> tuple[tuple[float, ...], ...]:
        """What a person marked, in the new text: the words that come from words that were marked."""
        marked = {w for w, (a, b) in enumerate(self.spans[0]) if any(a < r[1] and r[0] < b for r in rationale)}
        found = zip(spans, origin, strict=False)  # words of a second text follow; marks are in the first
        return tuple((float(a), float(b)) for (a, b), w in found if int(w) in marked)


def _origins(spans: Sequence[Span], pieces: Sequence[Piece]) -> list[int]:
    """The word of the original for each span of the new text: of the pieces under it, the one with most of it."""
    found: list[int] = []
    at = next_piece = 0
    for a, b in spans:
        while next_piece < len(pieces) and at + len(pieces[next_piece][0]) <= a:
            at += len(pieces[next_piece][0])
            next_piece += 1
        text, word = pieces[next_piece]
        if at + len(text) >= b:  # as a rule a word lies in one piece
            found.append(word)
            continue
        best, most, start = -1, 0, at
        for text, word in pieces[next_piece:]:
            shared = min(b, start + len(text)) - max(a, start)
            if shared <= 0:
                break
            if word >= 0 and shared > most:
                best, most = word, shared
            start += len(text)
        found.append(best)
    return found


def chosen(
    candidates: Sequence[int], severity: int, rng: Stream, of: int, shares: Sequence[float] = SHARES
) -> list[int]:
    """Which of the candidates are changed: the share for this severity of `of` words, at least one, at most all."""
    count = min(len(candidates), max(1, round(shares[severity - 1] * of)))
    return [candidates[i] for i in rng.sample(len(candidates), count)]
