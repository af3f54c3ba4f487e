"""Effects of a recipe of `regard improve`, if it trained the audited model."""

from __future__ import annotations

from typing import Any

from regard.present.messages.messages import render, say
from regard.present.report.markup import Html, join, table, tag
from regard.present.run_reader import Material
from regard.present.search_words import search_sentence


def improvement(material: Material) -> Html | None:
    """Show the comparison if the model is in a directory that `regard improve` wrote."""
    facts = material.manifest["model"].get("improvement")
    if not facts:
        return None
    return join(
        tag(
            "p", None, say("improvement.lead", arm=facts["arm"], what=render(facts["what"]), seeds=len(facts["seeds"]))
        ),
        tag("p", None, search_sentence(facts["search"])) if facts.get("search") else None,
        [_compared(comparison, facts) for comparison in facts["comparisons"]],
        tag("p", {"class": "soft"}, say("improvement.rule")),
    )


def _compared(comparison: dict[str, Any], found: dict[str, Any]) -> Html:
    control = comparison["against"] != "plain"
    head = [say(f"improvement.{key}") for key in ("quantity", "before", "after", "difference", "seeds", "n", "verdict")]
    rows = [_row(row, found) for row in comparison["rows"]]
    return table(head, rows, caption=say("improvement.control" if control else "improvement.plain"), numeric=True)


def _row(row: dict[str, Any], found: dict[str, Any]) -> list[str | Html]:
    plan = found["plan"]
    plain = row["quantity"] == "attack_success" and plan["attack"] != "greedy_word"
    name = say(
        f"improvement.{'plain_' if plain else ''}{row['quantity']}",
        learned=", ".join(plan["learned_noises"]),
        others=", ".join(plan["other_noises"]),
        first=plan["learned_noises"][0],
        attack=plan["attack"],
    )
    verdict = row["verdict"] if row["verdict"] in ("better", "worse") else "few" if row["low"] is None else "none"
    means = [say("unknown") if row[k] is None else f"{row[k]:.3f}" for k in ("before", "after")]
    gap = say("unknown") if row["difference"] is None else f"{row['difference']:+.3f}"
    gap += "" if row["low"] is None else f" [{row['low']:+.3f}, {row['high']:+.3f}]"
    verdict_text = say(f"improvement.verdict_{verdict}")
    return [
        name,
        *means,
        gap,
        f"{row['seeds_better']}/{row['seeds']}",
        str(row["n"]),
        verdict_text if verdict in ("none", "few") else tag("strong", None, verdict_text),
    ]
