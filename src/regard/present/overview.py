"""The first page of a result, the same in every medium: gauge, six answers, the method to show, the next command."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from regard.present.run_reader import Material
from regard.present.verdict_words import Tone, shows_another, tone
from regard.records import Json
from regard.store.codec import fields_to_json
from regard.store.judgements import answer_id
from regard.visible import shell_word

QUESTIONS = ("map", "matter", "points", "mixture", "stable", "better_method")
"""Headline questions: is there a map, does it matter, does it point, everywhere, is it stable, what is better."""
TEXT = "--text '...'"
PAIR = "--text '...' --pair '...'"
ROOM = 4 / 3
"""Ratio of an audit's passes to those of its rounds: the rest goes to predictions and further methods."""
AT_LEAST = 60
"""Minimum examples to recommend for an audit with too few of them."""
READING = ("--window", "--horizon", "--label-column", "--text-column", "--slice")
"""Options that decide how a file is read; a command on the same file repeats them."""
REPLACED = ("--budget", "--limit", "--out", "-o")
"""Options that a longer audit replaces; it also gets another run directory."""
SWITCHES = ("-q", "--quiet", "-v", "--verbose", "--json")
"""Options about the output alone."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """Shares of the best method's effect: random units have 0, the best method 1.

    share, low, high: those of attention; None if no method has a clear effect, or for an open end. has_map: False if
    the attention holds nothing to compare.
    """

    share: float | None
    low: float | None
    high: float | None
    threshold: float
    best: str
    n: int
    level: float
    has_map: bool = True


@dataclass(frozen=True, slots=True)
class HeadlineAnswer:
    """A headline question. answer: its id, the same in every medium. verdict: as the run stores it."""

    question: str
    answer: str
    tone: Tone
    verdict: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NextStep:
    """Recommended next command. purpose: id of a sentence in the catalogue ("next.show"); command: ready to type."""

    purpose: str
    command: str


@dataclass(frozen=True, slots=True)
class Overview:
    """First page. show: the method to show instead of attention, "" for none; ties: methods as good as it."""

    reading: str
    gauge: Gauge | None
    answers: tuple[HeadlineAnswer, ...]
    show: str
    ties: tuple[str, ...]
    steps: tuple[NextStep, ...]


def overview(material: Material) -> Overview | None:
    """Summarize the first judgement of a run; None if nothing was judged or the model is broken."""
    judgements = material.manifest.get("judgements") or ()
    if not judgements or material.broken:
        return None
    judgement = judgements[0]
    verdicts = {str(v["question"]): v for v in judgement["verdicts"]}
    graded = judgement.get("graded") or {}
    show = str(graded["show"]) if shows_another(graded) else ""
    return Overview(
        reading=str(judgement["reading"]),
        gauge=_gauge(judgement),
        answers=tuple(
            HeadlineAnswer(name, answer_id(verdicts[name]), tone(verdicts[name]), verdicts[name])
            for name in QUESTIONS
            if name in verdicts
        ),
        show=show,
        ties=tuple(map(str, graded.get("ties") or ())) if show else (),
        steps=_steps(material, judgement, show),
    )


def _gauge(judgement: Mapping[str, Any]) -> Gauge | None:
    graded, threshold = judgement.get("graded"), judgement["margins"].get("good")
    if not graded or threshold is None:
        return None
    has_map = judgement["reading"] != "nothing to read"  # else the effect of the units has another cause
    return Gauge(
        share=graded["share"] if has_map else None,
        low=graded["low"] if has_map else None,
        high=graded["high"] if has_map else None,
        threshold=float(threshold),
        best=str(graded["best"]),
        n=int(graded["n"]),
        level=float(graded["level"]),
        has_map=has_map,
    )


def _steps(material: Material, judgement: Mapping[str, Any], show: str) -> tuple[NextStep, ...]:
    steps, spans = [], any(e["units"]["place_kind"] == "span" for e in material.examples[:1])
    pair = any(max(e["units"]["part"], default=0) > 0 for e in material.examples[:1])
    if show:
        steps.append(NextStep("next.show", explain_command(material.manifest, show, spans=spans, pair=pair)))
    elif judgement["reading"] in ("read as evidence", "for most inputs"):
        steps.append(
            NextStep("next.attention", explain_command(material.manifest, "attention", spans=spans, pair=pair))
        )
    if judgement["reading"] == "undecided" and judgement["n"] < available(material.manifest):
        steps.append(
            NextStep(_promise(judgement, available(material.manifest)), longer_audit(material.manifest, judgement))
        )
    attention_leads = bool((judgement.get("graded") or {}).get("show")) and not show
    if not steps and attention_leads and judgement["reading"] in ("debugging only", "undecided"):
        steps.append(NextStep("next.check", explain_command(material.manifest, "attention", spans=spans, pair=pair)))
    if not steps:
        steps.append(NextStep("next.search", f"{_audit_command(material.manifest)} --explainers all"))
    return tuple(steps)


def _promise(judgement: Mapping[str, Any], most: int) -> str:
    """Purpose of a longer audit: what the numbers of examples that would settle its open questions allow to promise."""
    low, high = judgement.get("decides_between") or (None, None)
    ranges = [v.get("decides_between") for v in judgement["verdicts"] if v["question"] in QUESTIONS]
    fewest = [between[0] for between in ranges if between] if low is None else [low]
    if fewest and min(fewest) > most:
        return "next.too_few"
    likely = judgement.get("decides_at") or high
    return "next.settle" if likely is not None and likely <= most else "next.may_settle"


def explain_command(manifest: Mapping[str, Any], method: str, *, spans: bool, pair: bool = False) -> str:
    """Command that explains one input by a method. spans: the input is a text to type; pair: or two."""
    source = str(manifest["model"].get("source") or manifest["model"]["name"])
    row = (PAIR if pair else TEXT) if spans else f"{_data_options(manifest)} --row 0"
    return f"regard explain {shell_word(source)} {row} --method {shell_word(method)}"


def longer_audit(manifest: Mapping[str, Any], judgement: Mapping[str, Any]) -> str:
    """Command of this audit with a budget, or a number of examples, that would probably settle the reading."""
    words = _audit_command(manifest)
    n, schedule = _enough(judgement, manifest), manifest.get("schedule")
    if not schedule:
        return f"{words} --limit {n}"
    passes = ROOM * n * float(schedule["passes_per_example"])
    if str(schedule["budget"]).endswith("passes"):
        return f"{words} --budget {math.ceil(passes / 1000) * 1000}-passes"
    minutes = math.ceil(passes * float(schedule["seconds_per_pass"]) / 60) + 1
    return f"{words} --budget {minutes}m"


def _enough(judgement: Mapping[str, Any], manifest: Mapping[str, Any]) -> int:
    """Examples that would probably settle the reading, at most those available."""
    low, high = judgement.get("decides_between") or (None, None)
    n = int(high or low or max(AT_LEAST, 4 * judgement["n"]))
    return min(n, available(manifest))


def available(manifest: Mapping[str, Any]) -> int:
    """Examples that an audit of all the data would explain; an input may become several windows or steps."""
    return int((manifest.get("schedule") or {}).get("available") or manifest["data"].get("n") or 0)


def _typed(manifest: Mapping[str, Any]) -> list[str]:
    """Words of the command line that made the run; empty for a run made in Python."""
    command = [str(word) for word in manifest.get("command") or ()]
    return command if command[:2] == ["regard", "audit"] else []


def _audit_command(manifest: Mapping[str, Any]) -> str:
    """Command of this audit without its budget and output."""
    if typed := _typed(manifest):
        return " ".join(map(shell_word, _without(typed, REPLACED, SWITCHES)))
    source = str(manifest["model"].get("source") or manifest["model"]["name"])
    return f"regard audit {shell_word(source)} {_data_options(manifest)}"


def _data_options(manifest: Mapping[str, Any]) -> str:
    """Data as options of a command, with the columns and windows that the user named."""
    typed = _options(_typed(manifest), ("--data", *READING))
    if not any(name == "--data" for name, _ in typed):
        typed.insert(0, ("--data", str(manifest["data"].get("source") or manifest["data"]["name"])))
    return " ".join(f"{name} {shell_word(value)}" for name, value in typed)


def _options(command: Sequence[str], names: Sequence[str]) -> list[tuple[str, str]]:
    """
    >>> _options(["regard", "audit", "m", "--data=a.csv", "--window", "8", "--seed", "1"], ("--data", "--window"))
    [('--data', 'a.csv'), ('--window', '8')]
    """
    pairs = []
    for word, following in pairwise([*command, ""]):
        name, equals, value = word.partition("=")
        if name in names:
            pairs.append((name, value if equals else following))
    return pairs


def _without(command: Sequence[str], options: Sequence[str], switches: Sequence[str]) -> list[str]:
    """
    >>> _without(["regard", "audit", "m", "--budget", "5m", "-q", "--out=x"], ("--budget", "--out"), ("-q",))
    ['regard', 'audit', 'm']
    """
    words, value_follows = [], False
    for word in command:
        if not value_follows and word.partition("=")[0] not in (*options, *switches):
            words.append(word)
        value_follows = not value_follows and word in options
    return words


def overview_json(material: Material) -> Json:
    """First page as JSON; null if there is none."""
    page = overview(material)
    if page is None:
        return None
    return {
        **fields_to_json(page, "reading", "show", "ties"),
        "gauge": fields_to_json(page.gauge, "share", "low", "high", "threshold", "best", "n", "level")
        if page.gauge
        else None,
        "answers": [
            {**fields_to_json(a, "question", "answer"), "sentence": a.verdict["sentence"]} for a in page.answers
        ],
        "next": [fields_to_json(step, "purpose", "command") for step in page.steps],
    }
