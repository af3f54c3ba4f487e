"""Stored judgements (JSON) -> words for a person, in a terminal or anywhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from rich.console import Group, RenderableType
from rich.text import Text

from regard.present.decimals import decimals
from regard.present.judge_error_rate import in_a_sentence, track_record
from regard.present.messages.messages import count, known, render, say
from regard.present.terminal.terminal import plain_table
from regard.store.judgements import ANSWER_IDS, answer_id

Tone = Literal["good", "bad", "part", "open", "plain"]
_TONES: Final[dict[str, dict[str, Tone]]] = {
    "map": {"holds": "good", "fails": "bad"},
    "matter": {"holds": "good", "fails": "bad", "mixed": "part"},
    "points": {"holds": "good", "fails": "bad", "mixed": "part"},
    "stable": {"holds": "good", "fails": "bad", "mixed": "part"},
    "mixture": {"holds": "good", "fails": "part", "mixed": "part"},
    "same": {"holds": "good", "fails": "part", "mixed": "part"},
}
"""Question -> answer -> tone; an answer to any other question is neither good nor bad."""
SIGNS: Final[dict[Tone, str]] = {"good": "✓", "bad": "✗", "part": "~", "open": "?", "plain": "•"}
"""Marks of tones, distinguished by shape, not by colour alone."""
_STYLES: Final[dict[Tone, str]] = {"good": "green", "bad": "red", "part": "yellow", "open": "dim", "plain": ""}
ATTENTION = "attention"


def headline(judgement: Mapping[str, Any]) -> str:
    """Render the reading: "read it as evidence, for positive"."""
    if judgement["reading"] == "undecided" and (share := captured(judgement)):
        return say("graded.headline", share=share)
    if judgement["reading"] == "undecided" and (effect := _effect(judgement)):
        if judgement["graded"]["effect"][1:] == [None, None]:
            return say("graded.headline_few", n=count(judgement["graded"]["n"], "example"))
        return say("graded.headline_no_effect", **effect)
    words = say(f"reading.{judgement['reading'].replace(' ', '_')}")
    classes = judgement["classes"]
    return say("reading.for_classes", words=words, classes=", ".join(classes)) if classes else words


def whole_percent(share: float) -> str:
    """
    >>> whole_percent(0.548), whole_percent(-0.001)
    ('55', '0')
    """
    return f"{round(100 * share, 0) + 0.0:.0f}"


def captured(judgement: Mapping[str, Any]) -> str:
    """Share of the best method's effect that attention finds, with its interval; "" if there is none."""
    graded = judgement.get("graded")
    if not graded or graded["share"] is None:
        return ""
    return say("graded.share", share=_percent(graded["share"], ""), interval=interval(graded["low"], graded["high"]))


def interval(low: float | None, high: float | None, form: Callable[[float], str] = whole_percent) -> str:
    """An interval in brackets, in percent unless `form` says otherwise; in words if it has no end.

    >>> interval(0.53, 0.83), interval(0.1, None), interval(0.2, 0.4, "{:.2f}".format)
    ('[53, 83]', '[10, ∞]', '[0.20, 0.40]')
    >>> interval(None, None)
    '(too few examples for an interval)'
    """
    if low is None and high is None:
        return say("graded.too_few")
    first, last = ("-∞" if low is None else form(low)), ("∞" if high is None else form(high))
    return f"[{first}, {last}]"


def graded_lines(judgement: Mapping[str, Any]) -> list[str]:
    """The estimate, the readings that are ruled out, and the method to show."""
    estimate = estimate_line(judgement)
    return [*([estimate] if estimate else []), *action_lines(judgement)]


def estimate_line(judgement: Mapping[str, Any]) -> str:
    """Share of the best method's effect with its interval; "" if it is uninformative."""
    graded = judgement.get("graded")
    if not graded or judgement["reading"] == "nothing to read":
        return ""  # a share of an effect that has another cause says nothing
    share = captured(judgement)
    if not share:
        effect = _effect(judgement)
        key = "graded.little_effect" if effect else "graded.no_effect"
        return _about_units(key, judgement, n=graded["n"], best=graded["best"], **effect)
    good = _percent(judgement["margins"]["good"], "")
    return _about_units("graded.estimate", judgement, share=share, best=graded["best"], n=graded["n"], good=good)


def single_class_line(judgement: Mapping[str, Any]) -> str:
    """Name the classes behind "partly" or "no", if the share is over more classes; "" if there is no need.

    Without it, a share above the threshold could stand beside an answer that contradicts it.
    """
    verdict = next((v for v in judgement["verdicts"] if v["question"] == "points"), None)
    if verdict is None or verdict["answer"] not in ("mixed", "fails"):
        return ""
    below = [c for c in verdict["contrasts"][: verdict.get("rests_on", 0)] if c["claim"] == "below"]
    names = dict.fromkeys(str(c["where"]["class"]) for c in below if "class" in c["where"])
    classes = dict.fromkeys(str(row["class"]) for row in verdict.get("rows") or () if "class" in row)
    if not names or not set(names) < set(classes):
        return ""
    return say("graded.single_class", answer=answer(verdict), classes=say("listed").join(names))


def action_lines(judgement: Mapping[str, Any]) -> list[str]:
    """The readings that are ruled out, and the method to show with those that tie with it."""
    graded, lines = judgement.get("graded"), []
    if not graded:
        return []
    if judgement["reading"] == "undecided" and graded["ruled_out"]:
        readings = [say(f"reading.{name.replace(' ', '_')}") for name in graded["ruled_out"]]
        lines.append(say("graded.ruled_out", readings=say("graded.or").join(readings)))
    if shows_another(graded):
        key = "graded.show_until" if judgement["reading"] == "undecided" else "graded.show"
        lines.append(say(key, method=graded["show"], lead=_lead(judgement, graded), ties=_ties(graded)))
    elif graded["show"] and graded["show"] != ATTENTION:
        others = {**graded, "ties": [name for name in graded["ties"] if name != ATTENTION]}
        lines.append(say("graded.no_better", lead=_lead(judgement, graded, of=graded["show"]), ties=_ties(others)))
    return lines


def shows_another(graded: Mapping[str, Any]) -> bool:
    """Return whether there is a method to show instead of attention: one that does not tie with it."""
    return bool(graded.get("show")) and ATTENTION not in (graded["show"], *graded.get("ties", ()))


def _about_units(key: str, judgement: Mapping[str, Any], **values: object) -> str:
    """A sentence with the nouns of the judgement: words of a text, patches of an image."""
    sentence = judgement["sentence"]
    own = sentence.get("params", {}) if isinstance(sentence, Mapping) else {}
    nouns = {name: own[name] for name in ("unit", "input") if name in own}
    return render({"message": key, "params": {**nouns, **values}})


def _lead(judgement: Mapping[str, Any], graded: Mapping[str, Any], of: str = "") -> str:
    estimate, low, high = graded["ahead"]
    if estimate is None or low is None or high is None:
        return ""
    numbers = {"points": _percent(estimate, ""), "low": _percent(low, ""), "high": _percent(high, "")}
    key = "graded.lead_of" if of else "graded.lead" if low > 0 else "graded.lead_open"
    return _about_units(key, judgement, method=of, **numbers)


def _effect(judgement: Mapping[str, Any]) -> dict[str, str]:
    """Return the effect of the best method's first unit on the prediction, in points; empty if it was not measured."""
    estimate, low, high = (judgement.get("graded") or {}).get("effect") or (None, None, None)
    if estimate is None:
        return {}
    return {"points": _percent(estimate, ""), "interval": interval(low, high)}


def _ties(graded: Mapping[str, Any]) -> str:
    return say("graded.ties", methods=", ".join(graded["ties"])) if graded["ties"] else ""


def _percent(value: float | None, missing: str) -> str:
    return missing if value is None else whole_percent(value)


def about(judgement: Mapping[str, Any]) -> str:
    """Name the attention and the number of examples."""
    which = render(judgement["attention"]) or say("reading.not_found")
    return say("reading.about", attention=which, n=count(judgement["n"], "example"))


def said(verdict: Mapping[str, Any]) -> str:
    """The answer in plain words, with the evidence that would settle an open one."""
    more = _what_decides(verdict)
    return render(verdict["sentence"]) + (say("joint") + more if more else "")


def _what_decides(verdict: Mapping[str, Any]) -> str:
    """Range of examples that would decide an open question; older runs store one number."""
    between = verdict.get("decides_between")
    if between:
        low, high = between
        if low == high:
            return say("reading.decides_at", n=low)
        return (
            say("reading.decides_from", n=low) if high is None else say("reading.decides_between", low=low, high=high)
        )
    return say("reading.decides_at", n=verdict["decides_at"]) if verdict["decides_at"] else ""


def question(verdict: Mapping[str, Any]) -> str:
    """Question that a verdict answers; one without an entry stays unchanged."""
    key = f"judge.{verdict['question']}.question"
    return say(key) if known(key) else str(verdict["question"])


def answer(verdict: Mapping[str, Any]) -> str:
    """Answer in a word of the current language."""
    word = answer_id(verdict)
    return say(f"answer.{verdict['answer'] if word in ANSWER_IDS.values() else word.replace(' ', '_')}")


def tone(verdict: Mapping[str, Any]) -> Tone:
    """Return whether an answer is good or bad news for a reader of the map.

    "open" without an answer, "plain" for neither.
    """
    if answer_id(verdict) not in ("yes", "no", "partly"):
        return "open"
    return _TONES.get(verdict["question"], {}).get(verdict["answer"], "plain")


def answer_style(verdict: Mapping[str, Any]) -> str:
    """The colour of an answer in a terminal."""
    return _STYLES[tone(verdict)]


def weakest(verdict: Mapping[str, Any]) -> str:
    """Return the deciding comparison: the least clear of those behind the answer, or of those that left it open."""
    decided = verdict["contrasts"][: verdict.get("rests_on", 0)]
    return contrast(decided[0]) if decided and decided[0]["estimate"] is not None else ""


def contrast(c: Mapping[str, Any]) -> str:
    """Render one comparison in a line."""
    d = decimals(c["estimate"], c["low"], c["high"], apart=c["margin"])
    p = "" if c["corrected"] is None else say("contrast.p", p=_p(c["p"]), corrected=_p(c["corrected"]))
    return say(
        "contrast.line",
        name=render(c["name"]),
        about=contrast_about(c),
        estimate=f"{c['estimate']:.{d}f}",
        interval=interval(c["low"], c["high"], f"{{:.{d}f}}".format),
        claim=say(f"contrast.{c['claim']}"),
        margin=f"{c['margin']:g}",
        n=c["n"],
        p=p,
    )


def contrast_about(c: Mapping[str, Any]) -> str:
    """Name class and operator, in brackets."""
    where = [str(c["where"][k]) for k in ("class", "operator") if k in c["where"]]
    return say("contrast.about", where=", ".join(where)) if where else ""


def _p(value: float | None) -> str:
    return "?" if value is None else "< .001" if value < 0.001 else f"{value:.3f}"


def kinds_line(verdict: Mapping[str, Any]) -> str:
    """Ids of examples on which the map is right, and wrong, if the verdict names both."""
    ids = {
        kind: [str(row["example"]) for row in verdict["rows"] if row.get("here") == kind] for kind in ("right", "wrong")
    }
    if verdict["answer"] not in ("fails", "mixed") or not all(ids.values()):
        return ""
    return say("trust.kinds", right=say("listed").join(ids["right"]), wrong=say("listed").join(ids["wrong"]))


def verdict_table(judgements: Sequence[Mapping[str, Any]], *, covered: bool) -> RenderableType:
    """The reading of each attention, and every question with its answer in plain words.

    covered: whether the error rate of the judge was measured on models of this kind (`judge_error_rate.covers`).
    """
    parts: list[RenderableType] = []
    for judgement in judgements:
        parts.append(Text(f"{say('reading.verdict')}: {headline(judgement)}", style="bold"))
        parts.append(Text(render(judgement["sentence"])))
        parts += [Text(line) for line in graded_lines(judgement)]
        parts.append(Text(about(judgement), style="dim"))
        parts += [Text(render(note), style="yellow") for note in judgement["notes"]]
        parts.append(Text(""))
        rows: list[list[str | Text]] = []
        for v in judgement["verdicts"]:
            behind = "\n".join(filter(None, (kinds_line(v), weakest(v))))
            words = Text.assemble(said(v), (f"\n{behind}" if behind else "", "dim"))
            label = Text(answer(v), style=answer_style(v))
            rows.append([question(v), label, words])
        head = tuple(say(f"reading.{name}") for name in ("question", "answer", "in_words"))
        table = plain_table(head, rows)
        # the words are what is read: the question folds to a third, the answer is never broken
        table.columns[0].ratio, table.columns[2].ratio, table.columns[1].no_wrap = 1, 2, True
        table.expand = True
        parts += [table, Text("")]
    if judgements:
        parts.append(Text(in_a_sentence(track_record(), covered=covered), style="dim"))
    return Group(*parts)
