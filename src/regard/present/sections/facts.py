"""What was audited, with what: the head of the report."""

from __future__ import annotations

from typing import Any

from regard.measures.intervals import wilson
from regard.present.markup import Html, join, tag
from regard.present.run_reader import Material
from regard.present.wording import CAVEAT, count


def facts(material: Material) -> Html:
    """Title, key facts, and a banner where the run is not complete."""
    m = material.manifest
    model, data = m["model"], m["data"]
    asked, all_of_them = len(material.examples), int(data.get("n", len(material.examples)))
    lines = {
        "Model": join(str(model["name"]), " ", tag("span", {"class": "soft"}, str(model.get("task", "")))),
        "Data": str(data["name"]),
        "Examples": count(asked, "example") + (f" of {all_of_them}" if asked != all_of_them else ""),
        "Model is right": _right(material),
        "Seed": str(m.get("seed", "–")),
        "Profile": str(m.get("profile", "–")),
        "Made": str(m.get("created", "–")),
        "Attention proved by": _checked(m.get("checked")),
        "Model hash": tag("code", None, short(model.get("fingerprint"))),
        "Data hash": tag("code", None, short(data.get("fingerprint"))),
        "regard": str((m.get("versions") or {}).get("regard", "–")),
    }
    grid = [tag("div", None, tag("dt", None, name), tag("dd", None, value)) for name, value in lines.items()]
    status = str(m.get("status", "complete"))
    banner = None
    if status not in {"complete", "done", "finished"}:
        words = f"This run is {status}: {asked} of {all_of_them} examples are in. Run the same command again to go on."
        banner = tag("p", {"class": "warn", "role": "status"}, words)
    return join(
        tag("h1", None, f"Audit of {model['name']} on {data['name']}"),
        tag("p", {"class": "lead"}, "How far can attention and other explanations of this model be trusted?"),
        banner,
        tag("dl", {"class": "facts"}, grid),
        tag("p", {"class": "note"}, CAVEAT),
    )


def _right(material: Material) -> str:
    """How often the prediction is the label: explanations of a model that guesses are about its guesses."""
    classes = {str(name) for name in material.manifest["model"].get("labels") or []}
    told = [e for e in material.examples if e.get("label") is not None and material.label(e["label"]) in classes]
    if not told:
        return "not known: no labels"
    right = sum(material.label(e["label"]) == material.label(e.get("predicted")) for e in told)
    share = f"{right} of {len(told)} ({right / len(told):.0%}"
    if len({material.cluster(e["id"]) for e in told}) < len(told):
        return f"{share})"  # rows of one group are not independent: no simple interval
    low, high = wilson(right, len(told))
    return f"{share} [{float(low):.0%}, {float(high):.0%}])"


def short(value: Any) -> str:
    """A hash that can be read aloud; the whole one is in the settings."""
    return str(value)[:16] if value else "–"


def _checked(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}: {v}" for k, v in value.items()) or "not checked"
    return str(value) if value else "not recorded"
