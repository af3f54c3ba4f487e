"""Judgements as they are stored (JSON) -> words for a person, in a terminal or anywhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from regard.present.terminal import plain_table
from regard.present.track_record import in_a_sentence, track_record

READINGS = {
    "read as evidence": "read it as evidence",
    "debugging only": "use it for debugging only",
    "do not read": "do not read it as explanation",
    "nothing to read": "there is nothing to read",
    "undecided": "undecided",
}
_STYLES = {"holds": "green", "fails": "red", "mixed": "yellow", "uninformative": "dim"}


def headline(judgement: Mapping[str, Any]) -> str:
    """The reading as it is said: "read it as evidence, for positive"."""
    words = READINGS[judgement["reading"]]
    named = judgement["classes"]
    return f"{words}, for {', '.join(named)}" if named else words


def about(judgement: Mapping[str, Any]) -> str:
    """Which attention, and how many examples."""
    return f"“The attention” here: {judgement['attention'] or 'not found'}; {judgement['n']} examples."


def said(verdict: Mapping[str, Any]) -> str:
    """The answer in plain words, and what would settle an open one."""
    more = f" About {verdict['decides_at']} examples would probably decide it." if verdict["decides_at"] else ""
    return str(verdict["sentence"]) + more


def numbers(verdict: Mapping[str, Any], most: int = 2) -> str:
    """The comparisons that a rule made, the clearest first: estimate, interval, margin, n, p."""
    shown = []
    seen: set[tuple[str, str]] = set()
    for c in sorted(verdict["contrasts"], key=lambda c: (1.0 if c["p"] is None else c["p"], c["name"])):
        if c["estimate"] is None or (c["name"], str(c["where"])) in seen:
            continue
        seen.add((c["name"], str(c["where"])))
        shown.append(contrast(c))
    return "; ".join(shown[:most])


def weakest(verdict: Mapping[str, Any]) -> str:
    """The comparison on which a confident answer hangs: the least clear of those that came out. Else the clearest."""
    passed = [c for c in verdict["contrasts"] if c["corrected"] is not None and c["corrected"] < 0.05]
    if verdict["answer"] not in ("holds", "fails") or not passed:
        return numbers(verdict, most=1)
    return contrast(max(passed, key=lambda c: (c["p"], c["name"])))


def contrast(c: Mapping[str, Any]) -> str:
    """One comparison in a line."""
    low, high = (("-∞", "∞")[i] if c[k] is None else f"{c[k]:.2f}" for i, k in enumerate(("low", "high")))
    where = [str(c["where"][k]) for k in ("class", "operator") if k in c["where"]]
    about_ = f" ({', '.join(where)})" if where else ""
    p = "" if c["corrected"] is None else f", p {_p(c['p'])}, corrected {_p(c['corrected'])}"
    return (
        f"{c['name']}{about_} {c['estimate']:.2f} [{low}, {high}], {c['claim']} {c['margin']:g}? n = {c['n']}{p}"
    )  # fmt: skip


def _p(value: float | None) -> str:
    return "?" if value is None else "< .001" if value < 0.001 else f"{value:.3f}"


def verdict_table(judgements: Sequence[Mapping[str, Any]]) -> RenderableType:
    """The reading of each attention, and every question with its answer in plain words."""
    parts: list[RenderableType] = []
    for judgement in judgements:
        parts.append(Text(f"VERDICT: {headline(judgement)}", style="bold"))
        parts.append(Text(judgement["sentence"]))
        parts.append(Text(about(judgement), style="dim"))
        parts += [Text(note, style="yellow") for note in judgement["notes"]]
        parts.append(Text(""))
        rows: list[list[str | Text]] = []
        for v in judgement["verdicts"]:
            behind = weakest(v)
            words = Text.assemble(said(v), (f"\n{behind}" if behind else "", "dim"))
            rows.append([v["question"], Text(v["answer"], style=_STYLES[v["answer"]]), words])
        parts += [plain_table(("question", "answer", "in words"), rows), Text("")]
    if judgements:
        parts.append(Text(in_a_sentence(track_record()), style="dim"))
    return Group(*parts)
