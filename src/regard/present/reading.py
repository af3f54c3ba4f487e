"""What the numbers say in plain words, and what they do not. Rules, not opinions: each sentence has its numbers."""

from __future__ import annotations

import math

from regard.present.differences import Difference, differences
from regard.present.evidence import CLASS, Column, evidence, first_settings, other_method
from regard.present.run_reader import Material
from regard.present.wording import NOT_A_VERDICT, count, plain


def reading(material: Material) -> list[str]:
    """Sentences in the order in which a reader needs them."""
    found = evidence(material.summaries, material.methods)
    if not found.cells:
        return ["There are no summary numbers yet: the run is not complete."]
    against = differences(material)
    sentences = []
    for column in first_settings(found.columns):
        here = [d for d in against if d.metric == column.metric and d.setting == column.setting]
        if here:
            sentences.append(_against_random(column, here))
    sentences += _agreement(material)
    if not any(example.get("label") is not None for example in material.examples):
        sentences.append("The data have no labels: everything here is about the predicted class.")
    sentences.append(NOT_A_VERDICT)
    return sentences


def _against_random(column: Column, here: list[Difference]) -> str:
    groups = {
        "better": "better than random units", "worse": "worse than random units",
        "not told apart": "not told apart from random units by this run",
        "undefined": "without an interval",
    }
    parts = []
    for outcome, words in groups.items():
        names = [f"{plain(d.method)} ({_signed(d)})" for d in here if d.reading == outcome]
        if names:
            parts.append(f"{words}: {', '.join(names)}")
    where = f" ({column.detail})" if column.detail else ""
    n = max(d.n for d in here)
    direction = f"{column.better} is better; " if column.better != "none" else ""
    return f"{column.title.capitalize()}{where}, {direction}difference to random on the same {count(n, 'example')} – " + \
        "; ".join(parts) + "."


def _signed(d: Difference) -> str:
    if not math.isfinite(d.low):
        return "too few examples"
    return f"{d.estimate:+.3f} [{d.low:+.3f}, {d.high:+.3f}]"


def _agreement(material: Material) -> list[str]:
    pairs = {
        (s.method, other_method(s.where)): s for s in material.summaries if other_method(s.where) and CLASS not in s.where
    }
    summary = pairs.get(("attention", "leave_one_out")) or pairs.get(("leave_one_out", "attention"))
    if summary is None or not math.isfinite(summary.estimate):
        return []
    sentence = (
        f"Attention and leave one out rank the units of an example alike to {summary.estimate:.2f} "
        f"[{summary.low:.2f}, {summary.high:.2f}] (Kendall's tau, n = {summary.n})"
    )
    spread = next((v for k, v in summary.where.items() if "null" in k and isinstance(v, float)), None)
    if spread is not None:
        sentence += f"; two unrelated rankings of such examples differ from 0 by about {spread:.2f} each time"
    ceiling = next((s for s in material.summaries if s.role == "ceiling" and s.metric == summary.metric and CLASS not in s.where), None)
    if ceiling is not None and math.isfinite(ceiling.estimate):
        sentence += (
            f"; the ceiling ({plain(ceiling.method)} with {plain(other_method(ceiling.where) or 'itself')}) is "
            f"{ceiling.estimate:.2f} [{ceiling.low:.2f}, {ceiling.high:.2f}]"
        )
    return [sentence + "."]
