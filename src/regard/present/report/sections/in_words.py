"""Numbers of the audit in plain words."""

from __future__ import annotations

from regard.present.report.markup import Html, tag
from regard.present.run_reader import Material
from regard.present.summary import reading


def in_words(material: Material) -> Html | None:
    """Write one sentence per finding, each with its numbers."""
    return tag("ul", None, [tag("li", None, sentence) for sentence in reading(material)])
