"""Text to perturb: its words, the gaps between them, and the origin of every new word.

A text noise either replaces words (`with_words`), or builds the whole text from pieces, each with its original word
(`with_pieces`). The alignment follows from the new text: a word belongs to the original word with which it shares most
characters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np

from regard.errors import InputError, phrase
from regard.measures.keyed_random import Stream
from regard.models.read.words import Span, word_parts, word_spans
from regard.records import Example, Ints, Perturbed, frozen

FIELDS = ("text", "text_pair")
Piece: TypeAlias = tuple[str, int]
"""Some characters and their original word, counted over all texts of the example; -1 for none."""
SHARES = (0.05, 0.1, 0.2, 0.35, 0.5)
"""Default shares of words that severities 1 to 5 change; at least one word."""
_KINDS = {ord(c): "0" if c.isdigit() else "a" for c in map(chr, range(128)) if c.isalnum()}
_JOINTS = frozenset(".,'")
"""Characters that may join the words on both sides (3.5, don't)."""


@dataclass(slots=True)
class Script:
    """Texts of an example. parts: gap, word, gap, ..., gap of each text. words: of all texts, in order."""

    example: Example
    parts: list[list[str]]
    words: list[str]

    @staticmethod
    def of(example: Example) -> Script:
        parts: list[list[str]] = []
        for name in FIELDS:
            text = example.inputs.get(name)
            if isinstance(text, str):
                parts.append(word_parts(text))
        if not parts:
            remedy = phrase("errors.perturbations.regard_list_perturbation_shows")
            problem = phrase("errors.common.inputs_all_inputs", all_inputs=", ".join(sorted(example.inputs)))
            raise InputError(
                phrase("errors.common.example_example", example=repr(example.id)),
                expected=phrase("errors.common.text"),
                got=problem,
                remedy=remedy,
            )
        return Script(example, parts, parts[0][1::2] if len(parts) == 1 else parts[0][1::2] + parts[1][1::2])

    @property
    def firsts(self) -> list[int]:
        """Return the index of the first word of each text, and the number of words."""
        return [0, *accumulate(len(here) // 2 for here in self.parts)]

    def pieces(self) -> list[list[Piece]]:
        """Return every text as words and non-empty gaps, in order."""
        texts = []
        for first, here in zip(self.firsts, self.parts, strict=False):
            numbered = [(part, first + i // 2 if i % 2 else -1) for i, part in enumerate(here)]
            texts.append([piece for piece in numbered if piece[0]])
        return texts

    def with_words(self, changes: Mapping[int, str], *, kept: bool = False) -> Perturbed:
        """Replace some words and keep everything else.

        kept: every word stays one word, with letters at its ends and beside an apostrophe as before, so that there is
        no need to split the text again.
        """
        was = self.example
        if was.rationale is None:
            if kept and len(self.parts) == 1 and "text" in was.inputs:  # the way of most texts, without detours
                parts = self.parts[0].copy()
                for w, new in changes.items():
                    parts[2 * w + 1] = new
                inputs = {**was.inputs, "text": "".join(parts)}
                changed_example = Example(
                    was.id, inputs, was.label, None, was.group, parent=was.parent, slices=was.slices
                )
                return Perturbed(changed_example, _as_they_are(len(self.words)))
            spliced = self._spliced(changes, kept)
            if spliced is not None:
                return spliced
        return self.with_pieces([[(changes.get(w, piece), w) for piece, w in here] for here in self.pieces()])

    def _spliced(self, changes: Mapping[int, str], kept: bool) -> Perturbed | None:
        """Fast `with_words` if every word certainly stays one word; else None."""
        parts = [here.copy() for here in self.parts]
        second = len(parts[0]) // 2
        for w, new in changes.items():
            here, i = (parts[0], 2 * w + 1) if w < second else (parts[1], 2 * (w - second) + 1)
            if not kept and not _stays(here, i, new):
                return None
            here[i] = new
        texts = ["".join(here) for here in parts]
        return self._finished(texts, self.example.rationale, _as_they_are(len(self.words)))

    def with_pieces(self, pieces: Sequence[Sequence[Piece]]) -> Perturbed:
        """Build the texts from pieces."""
        texts = ["".join([piece for piece, _ in here]) for here in pieces]
        spans = [word_spans(text) for text in texts]
        origin = np.array([w for s, here in zip(spans, pieces, strict=True) for w in _origins(s, here)], np.int64)
        rationale = self.example.rationale
        if rationale is not None:
            rationale = self._carried(rationale, spans[0], origin)
        return self._finished(texts, rationale, origin)

    def _finished(
        self, texts: Sequence[str], rationale: tuple[tuple[float, ...], ...] | None, origin: Ints
    ) -> Perturbed:
        was = self.example
        inputs: dict[str, Any] = dict(was.inputs)
        for name, text in zip(FIELDS if "text" in inputs else FIELDS[1:], texts, strict=False):
            inputs[name] = text
        # drop the alignment, which counts characters of the original text
        changed_example = Example(was.id, inputs, was.label, rationale, was.group, parent=was.parent, slices=was.slices)
        return Perturbed(changed_example, origin)

    def _carried(
        self, rationale: Sequence[tuple[float, ...]], spans: Sequence[Span], origin: Ints
    ) -> tuple[tuple[float, ...], ...]:
        """Map a rationale to the new text: the words that come from marked words."""
        old = word_spans("".join(self.parts[0]))
        rationale_words = {w for w, (a, b) in enumerate(old) if any(a < r[1] and r[0] < b for r in rationale)}
        words = zip(spans, origin, strict=False)  # words of a second text follow; marks are in the first
        return tuple((float(a), float(b)) for (a, b), w in words if int(w) in rationale_words)


def _stays(parts: Sequence[str], i: int, new: str) -> bool:
    """Return whether the word at place i certainly stays a separate word when respelled."""
    old = parts[i]
    if not (old.isascii() and new.isascii()):
        return False
    if old.translate(_KINDS) == new.translate(_KINDS):  # letters and digits stand where they stood
        return True
    if not (old.isalnum() and new.isalnum()):
        return False
    # 3.5 and don't: a word that was letters and is digits now might join the one behind a point
    after = parts[i + 1 : i + 5]
    joins = len(after) == 4 and after[1] in _JOINTS and not (after[0] or after[2])
    return not joins and not (i > 3 and parts[i - 2] in _JOINTS and not (parts[i - 1] or parts[i - 3]))


@lru_cache(maxsize=512)
def _as_they_are(count: int) -> Ints:
    return frozen(np.arange(count), np.int64)


def _origins(spans: Sequence[Span], pieces: Sequence[Piece]) -> list[int]:
    """Return the original word of each span of the new text: of the pieces under it, the longest."""
    origins: list[int] = []
    at = next_piece = 0
    for a, b in spans:
        while next_piece < len(pieces) and at + len(pieces[next_piece][0]) <= a:
            at += len(pieces[next_piece][0])
            next_piece += 1
        text, word = pieces[next_piece]
        if at + len(text) >= b:  # as a rule a word lies in one piece
            origins.append(word)
            continue
        best, most, start = -1, 0, at
        for text, word in pieces[next_piece:]:
            shared = min(b, start + len(text)) - max(a, start)
            if shared <= 0:
                break
            if word >= 0 and shared > most:
                best, most = word, shared
            start += len(text)
        origins.append(best)
    return origins


def chosen(
    candidates: Sequence[int], severity: int, rng: Stream, of: int, shares: Sequence[float] = SHARES
) -> list[int]:
    """Draw the candidates to change: the share for this severity of `of` words, at least one, at most all."""
    return [candidates[i] for i in rng.sample(len(candidates), max(1, round(shares[severity - 1] * of)))]
