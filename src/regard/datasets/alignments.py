"""Aligned text pairs, built from linked pieces or read from links of words."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeAlias

from regard.errors import phrase

Alignment: TypeAlias = tuple[tuple[int, int, int, int], ...]


class Piece(NamedTuple):
    """Piece of a text with the names of its meaning; pieces of two texts that share a name are linked."""

    text: str
    stands_for: tuple[Hashable, ...] = ()


def aligned(source: Sequence[Piece], target: Sequence[Piece]) -> tuple[str, str, Alignment]:
    """Join both texts and return the links (start, end, start, end) of their pieces, in target order.

    >>> aligned([Piece("3", ("day",)), Piece(" May", ("month",))], [Piece("05-", ("month",)), Piece("03", ("day",))])
    ('3 May', '05-03', ((1, 5, 0, 3), (0, 1, 3, 5)))
    """
    origins: dict[Hashable, list[tuple[int, int]]] = {}
    for piece, span in zip(source, _spans(source), strict=True):
        for name in piece.stands_for:
            origins.setdefault(name, []).append(span)
    links: dict[tuple[int, int, int, int], None] = {}
    for piece, (start, end) in zip(target, _spans(target), strict=True):
        spans = {span for name in piece.stands_for for span in origins.get(name, ())}
        links.update(dict.fromkeys((*span, start, end) for span in sorted(spans)))
    return "".join(p.text for p in source), "".join(p.text for p in target), tuple(links)


def word_links(links: str, source: str, target: str) -> Alignment:
    """Read links of words in Pharaoh format ("0-0 1-2": source word - target word, counted from 0) as characters.

    Words are separated by spaces. A ValueError explains the mistake.

    >>> word_links("0-1 1-0", "good film", "film bon")
    ((0, 4, 5, 8), (5, 9, 0, 4))
    """
    spans = [[match.span() for match in re.finditer(r"\S+", text)] for text in (source, target)]
    alignment = []
    for link in links.split():
        parts = re.fullmatch(r"(\d+)[-–p?](\d+)", link)
        if parts is None:
            raise ValueError(phrase("errors.datasets.no_link", link=repr(link)))
        places = [int(part) for part in parts.groups()]
        for place, words in zip(places, spans, strict=True):
            if place >= len(words):
                last = len(words) - 1
                raise ValueError(phrase("errors.datasets.link_beyond", link=repr(link), place=place, last=last))
        alignment.append((*spans[0][places[0]], *spans[1][places[1]]))
    return tuple(alignment)


def _spans(pieces: Sequence[Piece]) -> list[tuple[int, int]]:
    spans, at = [], 0
    for piece in pieces:
        spans.append((at, at + len(piece.text)))
        at += len(piece.text)
    return spans
