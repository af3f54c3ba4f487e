"""Facts of the audit: one line in the head of the report, and all of it further down."""

from __future__ import annotations

import math
import re
from typing import Any

from regard.present.messages.messages import count, render, say
from regard.present.overview import available
from regard.present.report.markup import Html, join, tag
from regard.present.run_reader import Material
from regard.records import is_message


def facts(material: Material) -> Html | None:
    """Model, data, examples, accuracy, seed, profile, date and hashes of the run."""
    m = material.manifest
    model, data = m["model"], m["data"]
    lines = {
        "model": join(str(model["name"]), " ", tag("span", {"class": "soft"}, str(model.get("task", "")))),
        "data": str(data["name"]),
        "examples": examples(material),
        "right": right(material) or say("facts.no_labels"),
        "seed": str(m.get("seed", say("unknown"))),
        "profile": str(m.get("profile", say("unknown"))),
        "made": str(m.get("created", say("unknown"))),
        "checked": _checked(m.get("checked")),
        "model_hash": tag("code", None, short(model.get("fingerprint"))),
        "data_hash": tag("code", None, short(data.get("fingerprint"))),
        "regard": str((m.get("versions") or {}).get("regard", say("unknown"))),
    }
    grid = [tag("div", None, tag("dt", None, say(f"facts.{n}")), tag("dd", None, value)) for n, value in lines.items()]
    return tag("dl", {"class": "facts"}, grid)


def fact_line(material: Material) -> Html:
    """The facts of the run as the paragraph below the title."""
    return tag("p", {"class": "lead"}, fact_words(material))


def fact_words(material: Material) -> str:
    """The facts of the run in one sentence."""
    m = material.manifest
    return say(
        "facts.line",
        model=m["model"]["name"],
        data=m["data"]["name"],
        examples=examples(material),
        right=right_beside_majority(material),
        seed=m.get("seed", say("unknown")),
        profile=m.get("profile", say("unknown")),
        made=str(m.get("created", say("unknown")))[:10],
    )


def unfinished(material: Material) -> Html | None:
    """Banner for an incomplete run."""
    status = str(material.manifest.get("status", "complete"))
    if status in {"complete", "done", "finished"}:
        return None
    n, everything = len(material.examples), max(available(material.manifest), len(material.examples))
    words = say("facts.unfinished", status=status, n=n, all=everything)
    return tag("p", {"class": "warn", "role": "status"}, words)


def broken(material: Material) -> Html | None:
    """Banner for a model that does not repeat its answers."""
    return tag("p", {"class": "warn", "role": "alert"}, render(material.broken)) if material.broken else None


def examples(material: Material) -> str:
    audited, everything = len(material.examples), available(material.manifest)
    number = count(audited, "example")
    return say("facts.of", n=number, all=everything) if audited < everything else number


def right(material: Material) -> str:
    """State the accuracy: explanations of a model that guesses are about its guesses. "" unknown."""
    accuracy = material.conclusions.accuracy
    if accuracy is None:
        return ""
    numbers = {"right": accuracy.right, "n": accuracy.n, "share": f"{accuracy.right / accuracy.n:.0%}"}
    if math.isnan(accuracy.low):
        return say("facts.right_of", **numbers)  # a run of before groups had an interval
    return say("facts.right_interval", **numbers, low=f"{accuracy.low:.0%}", high=f"{accuracy.high:.0%}")


def right_beside_majority(material: Material) -> str:
    """Render the accuracy in words, with the share of the most frequent label if known."""
    share, works = right(material), material.conclusions.model_works
    if not share:
        return say("facts.no_labels")
    if works is not None and works.works:
        share = say("facts.beside", right=share, majority=f"{works.majority:.0%}")
    return say("facts.right_short", right=share)


def short(value: Any) -> str:
    """Shorten a hash; the settings show the whole one."""
    return str(value)[:16] if value else say("unknown")


def _checked(value: Any) -> str:
    if isinstance(value, dict) and not is_message(value):
        return unbroken(", ".join(f"{k}: {v}" for k, v in value.items())) or say("facts.not_checked")
    return unbroken(render(value)) if value else say("facts.not_recorded")


def unbroken(text: str) -> str:
    """Keep a number such as 4e-08 on one line: a browser may break it after its minus.

    >>> len(unbroken("max error 4e-08")) - len("max error 4e-08")
    1
    """
    return re.sub(r"(\de-)(?=\d)", "\\1\u2060", text)
