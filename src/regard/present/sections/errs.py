"""How often the judge errs where the truth is known: the table that stands beside every verdict."""

from __future__ import annotations

from regard.present.markup import Html, join, table, tag
from regard.present.run_reader import Material
from regard.present.track_record import ANSWERS, in_a_sentence, track_record

TITLE = "How often this judge errs"
NAMES = {
    "all": "all questions", "map": "is there a map", "matter": "does it matter", "points": "does it point",
    "agree": "does it agree", "exclusive": "is it exclusive", "same": "the same for each class",
}  # fmt: skip


def errs(material: Material) -> Html | None:
    """The sealed table, in every report that has verdicts."""
    if not material.manifest.get("judgements"):
        return None
    record = track_record()
    if record is None:
        return tag("p", {"class": "soft"}, in_a_sentence(None))
    rows = [
        (NAMES[question], truth, *(str(counts[truth][said]) for said in ANSWERS))
        for question, counts in record["tables"].items()
        for truth in ANSWERS
        if sum(counts[truth].values())
    ]
    made = f"measured {record['date'][:10]} at commit {record['commit']}"
    opened = f"{made}; the sealed half was opened {record['openings']} times"
    return join(
        tag("p", None, in_a_sentence(record)),
        table(("question", "true", *(f"said: {a}" for a in ANSWERS)), rows, caption=f"Sealed half; {opened}."),
        tag(
            "p",
            {"class": "soft"},
            "Planted models are small and their effects large; on natural text expect less power.",
        ),
    )
