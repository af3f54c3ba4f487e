"""The worst examples beside their changed versions, with the attention of both."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.audits.conclusions.finding_means import picked
from regard.present.messages.messages import say
from regard.present.report.drawings.unit_drawing import unit_drawing
from regard.present.report.markup import Html, join, tag
from regard.present.run_reader import Material
from regard.records import Score

MOST = 3
"""Numbers of examples: for noises and for attacks."""


def witnesses(material: Material) -> Html | None:
    """Show the largest changes of a prediction under noise, and the smallest changes of a successful attack."""
    examples = [s for s in picked(material.findings, "witness") if s.ids[0] in material.by_id]
    noisy = sorted((s for s in examples if "noise" in s.where), key=_lost)[:MOST]
    attacked = sorted((s for s in examples if "attack" in s.where), key=lambda s: float(str(s.where["perturbed"])))[
        :MOST
    ]
    if not noisy and not attacked:
        return None
    return join(
        tag("h3", None, say("robustness.worst_examples")),
        tag("p", {"class": "soft"}, say("robustness.worst_note")),
        tag("div", {"class": "examples"}, [_pair(material, s) for s in (*noisy, *attacked)]),
    )


def _lost(score: Score) -> float:
    """Sort key: smallest for the largest loss of a prediction; a number may move either way."""
    change = float(score.values[0])
    return -abs(change) if "answer" in score.where else change


def _pair(material: Material, score: Score) -> Html:
    facts: dict[str, Any] = dict(score.where)
    before = material.by_id[score.ids[0]]
    relevance = facts.get("relevance")
    method = relevance["method"] if relevance else ""
    rows = []
    if method and method in material.relevances:
        values = material.relevance_of(method, score.ids[0])
        if values is not None:
            first = {**before, "predicted": None} if facts.get("answer") == "number" else before
            rows.append(_row(say("robustness.before"), first, values, material, method))
    if relevance:
        second = {
            "inputs": facts["inputs"],
            "units": facts["units"],
            "predicted": facts["predicted"],
            "probability": facts["probability"],
        }
        rows.append(_row(say("robustness.after"), second, np.asarray(relevance["values"]), material, method))
    if "noise" in facts:
        how = say("robustness.by_noise", noise=facts["noise"], severity=facts["severity"])
    else:
        share = f"{100 * float(facts['perturbed']):.0f}"
        how = say("robustness.by_attack", attack=facts["attack"], queries=facts["queries"], share=share)
    pictures = facts["units"]["place_kind"] == "box"
    label = before.get("label")
    truth = say("robustness.label", label=material.label(label)) if label is not None else ""
    title = join(how, " ", tag("span", {"class": "soft"}, truth))
    grid = tag("div", {"class": "rows pictures" if pictures else "rows"}, rows)
    return tag("details", {"open": ""}, tag("summary", None, title), grid)


def _row(who: str, example: Any, values: Any, material: Material, method: str) -> Html:
    p = example.get("probability")
    if example["predicted"] is None and p is not None:
        sentence = say("robustness.said_number", value=f"{float(p):.3g}")
    else:
        probability_text = "–" if p is None else f"{float(p):.2f}"
        sentence = say("robustness.said", label=material.answer(example["predicted"]), p=probability_text)
    signed = material.relevances[method].signed if method in material.relevances else False
    drawing = unit_drawing(example, values, signed=signed)
    head = tag("div", {"class": "who"}, tag("b", None, who), tag("span", None, sentence), tag("span", None, method))
    pictures = example["units"]["place_kind"] == "box"
    return tag("div", None, drawing, head) if pictures else join(head, tag("div", None, drawing))
