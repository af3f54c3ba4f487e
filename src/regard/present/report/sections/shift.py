"""The same verdicts on other data: which survive."""

from __future__ import annotations

from regard.present.messages.messages import say
from regard.present.report.markup import Html, join, table, tag
from regard.present.run_reader import Material
from regard.present.terminal.shift_view import accuracy_line, fate, head, in_a_line, rows


def shift(material: Material) -> Html | None:
    """Only where the audit was made with --shift."""
    found = material.manifest.get("shift")
    if not found:
        return None
    parts = []
    for attention in found["attentions"]:
        warn = "warn" if attention["fate"] == "falls" else None
        body = [(q, h, t, tag("strong", None, fate(f))) for q, h, t, f in rows(attention)]
        shown = table(head(found["data"]), body)
        parts.append(join(tag("p", {"class": warn}, in_a_line(attention, found["data"])), shown))
    fates = [tag("li", None, f"{fate(name)}: {say('fate.means.' + name.replace(' ', '_'))}") for name in found["fates"]]
    return join(
        tag("p", None, accuracy_line(found)) if accuracy_line(found) else None,
        parts,
        tag("ul", {"class": "soft"}, fates),
        tag("p", {"class": "soft"}, say("shift.lies", data=found["data"][1], run=found["run"])),
    )
