"""The main numbers apart for every slice of the data (`--slice COLUMN`)."""

from __future__ import annotations

from regard.present.by_group import parts_tables
from regard.present.report.markup import Html
from regard.present.run_reader import Material


def by_slice(material: Material) -> Html | None:
    """Build the table of methods down, slices across; nothing where the run has no slices."""
    return parts_tables(material, "slice")
