"""Main numbers for every slice of the data separately (`--slice COLUMN`)."""

from __future__ import annotations

from regard.present.by_group import parts_tables
from regard.present.report.markup import Html
from regard.present.run_reader import Material


def by_slice(material: Material) -> Html | None:
    """Build the table of methods down, slices across; nothing if the run has no slices."""
    return parts_tables(material, "slice")
