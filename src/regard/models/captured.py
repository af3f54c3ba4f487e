"""What a capture returns: the attention of every site, with the units and answers of its examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regard.cards import Card, HasCard
from regard.models.model_cards import capture_card
from regard.protocols import SiteAttention, Target
from regard.records import Answers, Json, Text, Units
from regard.registry import upstairs


@dataclass(frozen=True, slots=True, repr=False)
class Captured(HasCard):
    """Implements `protocols.Capture`; also holds the targets and their names, for display.

    names: the targets in words. written: the tokens of each, where the model writes tokens.
    """

    sites: Sequence[SiteAttention]
    rejected: Sequence[tuple[str, Text]]
    checked: Text
    units: Sequence[Units]
    answers: Answers
    model: str = ""
    labels: tuple[str, ...] = ()
    targets: tuple[Target, ...] = ()
    task: str = ""
    names: tuple[Json, ...] = ()
    written: tuple[tuple[str, ...] | None, ...] = ()

    def _card(self) -> Card:
        return capture_card("Captured", self, self.model, answer=", ".join(map(str, self.names)))

    def show(self, view: str = "", *, lang: str = "en", static: bool = False) -> Any:
        """Draw in a notebook; `.save("page.html")`, `.svg`, `.png` or `.pdf` works anywhere (see `live.show`)."""
        return upstairs("show")(self, view=view, lang=lang, static=static)
