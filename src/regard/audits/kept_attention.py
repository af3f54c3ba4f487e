"""Stored facts about an example beside its attention, so that a view without the model can label it.

`reading`: the query rows that the answer reads, by site. `audited`: the sites that stand for "the attention" of this
model (of every layer; the experiments say which of them they changed). `walks`: some rows of the last of them, step by
step, as `Walkthrough.cut` writes them; without names, so that no word is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.errors import RegardError
from regard.explainers._alignment import rows_read
from regard.explainers._site_choice import chosen_sites
from regard.models.walkthrough import walked_heads
from regard.protocols import SiteAttention
from regard.records import Json

T = TypeVar("T")
WALKED = 3
"""Number of stored examples, from the first, that are also stored step by step."""
HEADS = 4
"""Number of heads of each, from the first."""


def facts_of(desk: Desk, case: DeskCase, i: int, *, walk: bool) -> dict[str, Json]:
    """Return `reading`, `audited` and `walks` of example i; empty if the model does not support them."""
    sites = _or_none(lambda: list(case.attention(i)))
    reading: dict[str, Json] = {s.site.key: list(_or_none(lambda s=s: rows_read(case, i, s))) for s in sites}  # type: ignore[misc]
    audited = _or_none(lambda: list(chosen_sites(case, i, "all", "kept attention")))
    walks: list[Json] = []
    if walk and audited:
        with desk.charged_to("model", "kept attention"):
            walks += _or_none(lambda: _walks(desk, case, i, audited[-1]))
    return {"reading": reading, "audited": [s.site.key for s in audited], "walks": walks}


def _walks(desk: Desk, case: DeskCase, i: int, site: SiteAttention) -> list[Json]:
    heads = range(min(HEADS, site.shape[1]))
    encoded = desk.encode(case.examples[i])
    return [found.cut() for found in walked_heads(desk.model, encoded, case.targets[i], site, heads)]


def _or_none(ask: Callable[[], Sequence[T]]) -> Sequence[T]:
    try:
        return ask()
    except RegardError:
        return ()
