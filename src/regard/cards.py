"""Cards: one description of a public object, from which its short text (`repr`) and its HTML come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from regard.records import Json
from regard.registry import upstairs


@dataclass(frozen=True, slots=True)
class Card:
    """Short description of a public object: class, name, facts and the first rows of its table.

    kind: the class, as a user knows it. title: the object's own name. facts: NAME -> value, where the catalogues hold
    `card.NAME`; empty values are skipped. rows: the first rows of its table; total: the number of all rows.
    """

    kind: str
    title: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    rows: Sequence[Mapping[str, Json]] = ()
    total: int = 0


class HasCard:
    """A short text and a short HTML form for classes that describe themselves by `_card`."""

    __slots__ = ()

    def _card(self) -> Card:
        raise NotImplementedError

    def __repr__(self) -> str:
        return str(upstairs("card_text")(self._card()))

    def _repr_html_(self) -> str:
        """The card in a notebook."""
        return str(upstairs("card_html")(self._card()))
