"""What was not tested."""

from __future__ import annotations

from regard.present.markup import Html, tag
from regard.present.run_reader import Material
from regard.present.wording import LIMITS

TITLE = "What these numbers do not say"


def limits(material: Material) -> Html | None:
    """The limits of this kind of audit, and of this run."""
    return tag("ul", None, [tag("li", None, words) for words in LIMITS])
