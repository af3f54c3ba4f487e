"""Numbers in plain words, with their limits. Rules, not opinions: each sentence has its numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from regard.audits.conclusions.differences import Difference
from regard.audits.conclusions.settings import of_a_part, other_method
from regard.errors import UnknownName
from regard.present import counts
from regard.present.messages.messages import count, render, say
from regard.present.objective_scale import objective_scale
from regard.present.results_table import Column, evidence, main_settings
from regard.present.run_reader import Material
from regard.records import Relevance, Summary
from regard.registry import entry

FEW = 20
"""Minimum independent draws below which the intervals come with a warning."""

SPOKEN = ("comprehensiveness", "sufficiency", "agreement")
TRUTH_SEEKING = ("faithfulness", "agreement", "plausibility")

TOLERABLE = 0.1
"""Share of the whole that an additive method may miss, and share of examples that may do so, before a warning."""


def reading(material: Material) -> list[str]:
    """Sentences in the order that a reader needs them."""
    results = evidence(material.summaries, material.methods, material.own_operators)
    if not results.cells:
        return [*_broken(material), say("words.no_summary")]
    if material.broken:
        return [*_broken(material), *_few(material), *_left_nothing(material)]
    against = material.conclusions.differences
    sentences = []
    for column in _spoken(main_settings(results.columns)):
        here = [d for d in against if (d.metric, d.setting) == (column.metric, column.setting) and d.n]
        if here:
            own = {d.method for d in here if results.judged_by_itself(d.method, column)}
            sentences.append(against_random(column, here, own, _without_sign(material)))
    return [*sentences, *_agreement(material), *limits(material)]


def _without_sign(material: Material) -> set[str]:
    """Methods that also mark units that lower a number: removing those raises it, which is no sign of a bad map."""
    if not _is_number(material):
        return set()
    return {method for method, relevance in material.relevances.items() if not relevance.signed}


def limits(material: Material) -> list[str]:
    """Limits of the numbers: few examples, methods that miss a part, no labels, no verdict."""
    sentences = [*_few(material), *_incomplete(material), *_absorbed(material), *_left_nothing(material)]
    if not any(example.get("label") is not None for example in material.examples):
        sentences.append(say("words.no_labels"))
    if not material.manifest.get("judgements"):
        sentences.append(say("words.number_no_verdict" if _is_number(material) else "not_a_verdict"))
    return sentences


def _is_number(material: Material) -> bool:
    """Return whether the model outputs a number instead of choosing among answers."""
    return objective_scale(material.task) in ("regression", "similarity")


def _broken(material: Material) -> list[str]:
    """State that the model does not repeat its answers, so that no claim about methods is possible."""
    return [render(material.broken)] if material.broken else []


def _spoken(columns: Sequence[Column]) -> list[Column]:
    """Return the columns that get a sentence: those every audit has, else all that measure faithfulness.

    Stability, simplicity or robustness is not better than random, only different.
    """
    usual = [column for column in columns if column.metric in SPOKEN]
    return usual or [column for column in columns if _family(column.metric) in TRUTH_SEEKING]


def _family(metric: str) -> str:
    try:
        return str(entry("metric", metric).facts.get("family", "faithfulness"))
    except UnknownName:  # a score that was made elsewhere
        return "faithfulness"


def _few(material: Material) -> list[str]:
    """Warn about few independent draws, for which bootstrap intervals are too narrow."""
    independent = len({material.cluster(example["id"]) for example in material.examples})
    if independent >= FEW:
        return []
    return [say("words.few", draws=count(independent, "draw"))]


def against_random(column: Column, here: list[Difference], own: set[str], without_sign: set[str]) -> str:
    parts = []
    ns = [d.n for d in here]
    unclear = [d.method for d in here if d.method in without_sign and d.reading == "worse"]
    here = [d for d in here if d.method not in unclear]
    for outcome in ("better", "worse", "not told apart", "undefined"):
        names = [
            say("words.own", method=d.method) if d.method in own else d.method for d in here if d.reading == outcome
        ]
        if names:
            parts.append(say(f"words.{outcome.replace(' ', '_')}", names=", ".join(names)))
    if unclear:
        parts.append(say("words.number_without_sign", names=", ".join(unclear)))
    where = say("words.where", detail=column.detail) if column.detail else ""
    n = counts.examples(ns)
    return say("words.column", title=column.title.capitalize(), where=where, examples=n, said=" ".join(parts))


def _agreement(material: Material) -> list[str]:
    """Place attention between chance and the ceiling."""
    whole = [s for s in material.summaries if other_method(s.where) and not of_a_part(s.where)]
    summary = next((s for s in whole if s.method == "attention" and math.isfinite(s.low)), None)
    if summary is None:
        return []
    other = other_method(summary.where) or ""
    spread = summary.where.get("null_sd")
    chance = say("words.agreement_chance", spread=f"{spread:.2f}") if isinstance(spread, float) else ""
    ceiling = next(
        (s for s in whole if s.role == "ceiling" and s.where.get("other") == summary.where.get("other")), None
    )
    beside = ""
    if ceiling is not None and math.isfinite(ceiling.low):
        beside = say("words.agreement_ceiling", method=ceiling.method, other=other, interval=_interval(ceiling))
    return [
        say(
            "words.agreement",
            other=other,
            interval=_interval(summary),
            measure=_measure(summary),
            n=summary.n,
            chance=chance,
            ceiling=beside,
        )
    ]


def _left_nothing(material: Material) -> list[str]:
    """Name the methods that failed on every example, which have no row and no column."""
    skipped = material.manifest.get("skipped", {})
    scored = {score.metric for score in material.scores}
    stages = [(f"explainer {m}", m) for m in material.manifest.get("methods", []) if m not in material.methods]
    specs = [s for s in material.manifest.get("specs", []) if s["kind"] == "metric" and s["name"] not in scored]
    stages += [(f"metric {name} of", name) for name in dict.fromkeys(s["name"] for s in specs)]
    sentences = []
    for stage, name in stages:
        messages = [p["message"] for p in material.run.problems() if str(p["stage"]).startswith(stage)]
        if messages and name not in skipped:
            times = count(len(messages), "time")
            sentences.append(say("words.left_nothing", name=name, times=times, message=messages[0]))
    return sentences


def _incomplete(material: Material) -> list[str]:
    """Additive methods whose parts do not sum to the whole: the path was too coarse, or the model jumps along it."""
    sentences = []
    for method, relevance in material.relevances.items():
        error, whole = relevance.extras.get("completeness_error"), relevance.extras.get("difference")
        if error is None or whole is None:
            continue
        off = np.abs(error) > TOLERABLE * np.abs(whole)
        if off.mean() > TOLERABLE:
            share, n = f"{TOLERABLE:.0%}", len(off)
            sentences.append(say("words.incomplete", method=method, share=share, off=int(off.sum()), n=n))
    return sentences


def incomplete(relevance: Relevance, i: int) -> tuple[float, float] | None:
    """Sum of an additive method on example i, and the difference that it should equal; None if it is close enough."""
    errors, wholes = relevance.extras.get("completeness_error"), relevance.extras.get("difference")
    if errors is None or wholes is None or abs(errors[i]) <= TOLERABLE * abs(wholes[i]):
        return None
    specials = relevance.extras.get("special_sum")
    return float(np.sum(relevance[i])) + (float(specials[i]) if specials is not None else 0.0), float(wholes[i])


def _absorbed(material: Material) -> list[str]:
    """Methods that distribute the objective: its share on the units, and elsewhere."""
    shares = {method: absorbed_shares(relevance) for method, relevance in material.relevances.items()}
    return [say("words.absorbed", method=method, **parts) for method, parts in shares.items() if parts]


def absorbed_shares(relevance: Relevance) -> dict[str, float]:
    """Mean share, in absolute amounts, of units, bias, position, softmax and the rest; empty without accounts."""
    accounts = {name.removeprefix("absorbed_"): values for name, values in relevance.extras.items()}
    if not {"bias", "position", "softmax"} <= accounts.keys() or not len(relevance.ids):
        return {}
    amounts = {"units": np.array([row.sum() for row in relevance])}
    amounts |= {name: np.asarray(values) for name, values in accounts.items() if name != "value"}
    total = np.maximum(sum(np.abs(values) for values in amounts.values()), 1e-12)
    shares = {name: float(np.mean(np.abs(values) / total)) for name, values in amounts.items()}
    own_shares = {name: shares[name] for name in ("units", "bias", "position", "softmax")}
    return {**own_shares, "rest": max(0.0, 1.0 - sum(own_shares.values()))}


def _interval(s: Summary) -> str:
    return f"{s.estimate:.2f} [{s.low:.2f}, {s.high:.2f}]"


def _measure(s: Summary) -> str:
    name = str(s.where.get("measure", "kendall"))
    return say("words.kendall") if name == "kendall" else name
