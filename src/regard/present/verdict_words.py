"""Judgements as they are stored (JSON) -> words for a person, in a terminal or anywhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from regard.present.decimals import decimals
from regard.present.judge_error_rate import in_a_sentence, track_record
from regard.present.messages.messages import count, known, render, say
from regard.present.terminal.terminal import plain_table

NOT_ASKED, REFUSED = {"message": "judge.rule.not_asked"}, {"message": "judge.rule.refused"}
_STYLES = {"holds": "green", "fails": "red", "mixed": "yellow", "uninformative": "dim"}


def headline(judgement: Mapping[str, Any]) -> str:
    """The reading as it is said: "read it as evidence, for positive"."""
    words = say(f"reading.{judgement['reading'].replace(' ', '_')}")
    classes = judgement["classes"]
    return say("reading.for_classes", words=words, classes=", ".join(classes)) if classes else words


def about(judgement: Mapping[str, Any]) -> str:
    """Which attention, and how many examples."""
    which = render(judgement["attention"]) or say("reading.not_found")
    return say("reading.about", attention=which, n=count(judgement["n"], "example"))


def said(verdict: Mapping[str, Any]) -> str:
    """The answer in plain words, and what would settle an open one."""
    more = say("joint") + say("reading.decides_at", n=verdict["decides_at"]) if verdict["decides_at"] else ""
    return render(verdict["sentence"]) + more


def question(verdict: Mapping[str, Any]) -> str:
    """The question that a verdict answers; one that no catalogue holds stays as it is."""
    key = f"judge.{verdict['question']}.question"
    return say(key) if known(key) else str(verdict["question"])


def answer(verdict: Mapping[str, Any]) -> str:
    """In a word; a question that was not tested, or does not apply, is not the same as one that was tested in vain."""
    if ".not tested" in verdict["rule"]:
        return say("answer.not_tested")
    if verdict.get("overruled") in (NOT_ASKED, REFUSED):
        return say("answer.not_applicable")
    return say("answer.too_few" if verdict["rule"] == "Q2.few" else f"answer.{verdict['answer']}")


def weakest(verdict: Mapping[str, Any]) -> str:
    """The comparison on which the answer hangs: the least clear of those that it rests on, or that left it open."""
    decided = verdict["contrasts"][: verdict.get("rests_on", 0)]
    return contrast(decided[0]) if decided and decided[0]["estimate"] is not None else ""


def contrast(c: Mapping[str, Any]) -> str:
    """One comparison in a line."""
    d = decimals(c["estimate"], c["low"], c["high"], apart=c["margin"])
    low, high = (("-∞", "∞")[i] if c[k] is None else f"{c[k]:.{d}f}" for i, k in enumerate(("low", "high")))
    p = "" if c["corrected"] is None else say("contrast.p", p=_p(c["p"]), corrected=_p(c["corrected"]))
    return say(
        "contrast.line",
        name=render(c["name"]),
        about=contrast_about(c),
        estimate=f"{c['estimate']:.{d}f}",
        low=low,
        high=high,
        claim=say(f"contrast.{c['claim']}"),
        margin=f"{c['margin']:g}",
        n=c["n"],
        p=p,
    )


def contrast_about(c: Mapping[str, Any]) -> str:
    """Which class and operator, in brackets."""
    where = [str(c["where"][k]) for k in ("class", "operator") if k in c["where"]]
    return say("contrast.about", where=", ".join(where)) if where else ""


def _p(value: float | None) -> str:
    return "?" if value is None else "< .001" if value < 0.001 else f"{value:.3f}"


def verdict_table(judgements: Sequence[Mapping[str, Any]]) -> RenderableType:
    """The reading of each attention, and every question with its answer in plain words."""
    parts: list[RenderableType] = []
    for judgement in judgements:
        parts.append(Text(f"{say('reading.verdict')}: {headline(judgement)}", style="bold"))
        parts.append(Text(render(judgement["sentence"])))
        parts.append(Text(about(judgement), style="dim"))
        parts += [Text(render(note), style="yellow") for note in judgement["notes"]]
        parts.append(Text(""))
        rows: list[list[str | Text]] = []
        for v in judgement["verdicts"]:
            behind = weakest(v)
            words = Text.assemble(said(v), (f"\n{behind}" if behind else "", "dim"))
            label = Text(answer(v), style=_STYLES[v["answer"]])
            rows.append([question(v), label, words])
        head = tuple(say(f"reading.{name}") for name in ("question", "answer", "in_words"))
        table = plain_table(head, rows)
        # the words are what is read: the question folds to a third, the answer is never broken
        table.columns[0].ratio, table.columns[2].ratio, table.columns[1].no_wrap = 1, 2, True
        table.expand = True
        parts += [table, Text("")]
    if judgements:
        parts.append(Text(in_a_sentence(track_record()), style="dim"))
    return Group(*parts)
