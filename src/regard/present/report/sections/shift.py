"""Verdicts on other data: which ones survive."""

from __future__ import annotations

from regard.present.messages.messages import say
from regard.present.report.markup import Html, join, table, tag
from regard.present.run_reader import Material
from regard.present.terminal.shift_view import accuracy_line, fate, head, in_a_line, rows


def shift(material: Material) -> Html | None:
    """Build the section of an audit with --shift."""
    facts = material.manifest.get("shift")
    if not facts:
        return None
    parts = []
    for attention in facts["attentions"]:
        warn = "warn" if attention["fate"] == "falls" else None
        body = [(q, h, t, tag("strong", None, fate(f))) for q, h, t, f in rows(attention)]
        verdict_table = table(head(facts["data"]), body)
        parts.append(join(tag("p", {"class": warn}, in_a_line(attention, facts["data"])), verdict_table))
    fates = [tag("li", None, f"{fate(name)}: {say('fate.means.' + name.replace(' ', '_'))}") for name in facts["fates"]]
    return join(
        tag("p", None, accuracy_line(facts)) if accuracy_line(facts) else None,
        parts,
        tag("ul", {"class": "soft"}, fates),
        tag("p", {"class": "soft"}, say("shift.lies", data=facts["data"][1], run=facts["run"])),
    )
