"""Main numbers for every predicted class separately."""

from __future__ import annotations

from regard.present.by_group import parts_tables
from regard.present.report.markup import Html
from regard.present.run_reader import Material


def by_class(material: Material) -> Html | None:
    """Methods down, predicted classes across."""
    return parts_tables(material, "class")
