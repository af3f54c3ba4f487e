"""Whether there is anything to look at: defects of the attention itself, told before any map of it."""

from __future__ import annotations

from regard.present.markup import Html, join, tag
from regard.present.run_reader import Material
from regard.present.wording import count

TITLE = "Before you look at attention"


def preconditions(material: Material) -> Html | None:
    """A warning for every defect; one quiet line where there is none; nothing where it was not tested."""
    found = material.manifest.get("preconditions")
    if not found:
        return None
    warnings = [tag("p", {"class": "warn", "role": "status"}, str(d["sentence"])) for d in found["defects"]]
    notes = [tag("p", {"class": "soft"}, str(note)) for note in found["notes"]]
    if warnings or not found["n"]:
        return join(warnings, notes) if warnings or notes else None
    where = f"{count(found['n'], 'example')} and {count(found['sites'], 'site')}"
    words = (
        f"None of the four was found in {where}: one key, uniform weights, weights that are constant across inputs, "
    )
    return join(tag("p", None, words + "weights that nothing downstream uses."), notes)
