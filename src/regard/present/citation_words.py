"""Sentences about a cited answer that the terminal and the page share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.present.messages.messages import say

MEASURED_MODEL = "smollm2"
"""Name of the model whose citations the printed error rates count."""


def citation_errors(facts: Mapping[str, Any]) -> list[str]:
    """Return the thresholds of a cited answer's JSON, and the error rate of citations with them."""
    kind = "thresholds" if facts.get("contrast") is None else "thresholds_contrast"
    thresholds = say(f"term.cite.{kind}", **{"word": 0.0, **facts["thresholds"]})  # older results have no word
    measured = facts["reliability"]
    if measured is None:
        return [thresholds, say("term.cite.errors_unknown")]
    wrong = {f"wrong_{name}": value for name, value in measured["wrong"].items()}
    facts_of = {"prompts": measured["prompts"], "model": measured["model"], **measured["false"], **wrong}
    language = say(f"cite.language.{measured['language']}")
    lines = [thresholds, say("term.cite.errors", language=language, **facts_of)]
    if natural := measured.get("natural"):  # results that older versions stored have none
        lines.append(say("term.cite.natural", language=language, **natural))
    if facts["model"] != MEASURED_MODEL:
        lines.append(say("term.cite.other_model", measured=measured["model"], model=facts["model"]))
    return lines


def meaning_of_numbers(facts: Mapping[str, Any]) -> str:
    """Explain the numbers of a cited answer's JSON: drops of its log-odds, or of its lead over another text."""
    if facts.get("contrast") is None:
        return say("term.cite.legend")
    (sentence,) = facts["sentences"]
    lead = sentence["log_odds"]
    return say("term.cite.legend_contrast", text=sentence["text"].strip(), other=facts["contrast"].strip(), lead=lead)


def unclear_reasons(facts: Mapping[str, Any]) -> list[str]:
    """Return, for every unclear sentence of a cited answer's JSON, the condition of a citation that it misses."""
    return [
        say("cite.unclear.line", number=number, reason=_reason(sentence, facts))
        for number, sentence in enumerate(facts["sentences"], 1)
        if sentence["status"] == "unclear"
    ]


def _reason(sentence: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    thresholds, alone = facts["thresholds"], sentence["alone"]
    strongest = max((effect for effect in sentence["effects"] if effect is not None), default=0.0)
    if not sentence["checked"]:
        return say("cite.unclear.limit")
    if alone and alone["gain"] < thresholds["gain"]:
        return say("cite.unclear.gain", gain=alone["gain"], needed=thresholds["gain"])
    if alone and alone["probability"] >= thresholds["probability"]:
        return say("cite.unclear.word", word=alone["word"], needed=thresholds["word"])
    if alone:
        return say("cite.unclear.probability", probability=alone["probability"], needed=thresholds["probability"])
    if sentence.get("repeats") is not None:
        return say("cite.unclear.repeats", earlier=sentence["repeats"] + 1)
    if strongest < thresholds["effect"]:
        return say("cite.unclear.weak", whole=sentence["whole"], strongest=strongest, needed=thresholds["effect"])
    if facts.get("picture"):
        return say("cite.unclear.replaced_region", strongest=strongest, needed=thresholds["effect"])
    return say("cite.unclear.replaced", strongest=strongest, needed=thresholds["effect"])
