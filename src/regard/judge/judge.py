"""Evidence -> verdicts -> one reading. A pure function: the same evidence gives the same result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from regard.judge.captured_share import graded
from regard.judge.claim import Draft, settled
from regard.judge.evidence import Evidence
from regard.judge.further_margins import PRINTED_BESIDE
from regard.judge.map_exists import seems_empty, there
from regard.judge.margins import FEWEST, PRINTED
from regard.judge.mixture import MOST as RIGHT_ON_MOST
from regard.judge.mixture import QUESTION as MIXTURE
from regard.judge.mixture import matters_where_right
from regard.judge.points_at_evidence import OfClass, by_class, counts
from regard.judge.weights_matter import seems_not_to
from regard.records import Json, Judgement, Message, Reading, Spec, Text, Verdict
from regard.registry import Entry, build, entry, find, in_process, names, owner


def judge(evidence: Evidence) -> Judgement:
    """The verdicts about one attention, and the reading that follows from them.

    Nothing to read if there is no map or it does not matter; undecided if that is open and seems so; else do not read
    if it does not point; else for most inputs if it is established to be right on most, where it matters, and wrong on
    others; else undecided if either is open (debugging only if two kinds of inputs are established); else read as
    evidence if both hold; else debugging only. Nothing else decides: neither agreement and exclusivity, nor the further
    questions, which are about other networks, methods and heads. The first six are corrected among themselves, the
    further ones for all that were asked.
    """
    classes, why = by_class(evidence), there(evidence)[1]
    drafts, about_map, further = (_claims(evidence, family) for family in ("first", "map", "further"))
    verdicts = settled(drafts)
    beyond = settled([*drafts, *about_map, *further])[len(drafts) :]
    map_verdict, matters, pointing = verdicts[:3]
    if map_verdict.answer == "fails" or matters.answer == "fails":
        reason = Message(f"judge.because.{why or 'elsewhere'}")
        first = 1 if map_verdict.answer == "fails" else 2
        map_verdicts, others = [*verdicts, *beyond[: len(about_map)]], beyond[len(about_map) :]
        verdicts = [*map_verdicts[:first], *(silenced(v, reason, "not_asked") for v in map_verdicts[first:]), *others]
        return _judgement(evidence, "nothing to read", verdicts, why=reason)
    waiting = _waiting(evidence, map_verdict, matters)
    if waiting is not None:
        first, reason = waiting
        open_verdict = verdicts[first - 1]
        map_verdicts, others = [*verdicts, *beyond[: len(about_map)]], beyond[len(about_map) :]
        held_back = [
            replace(
                silenced(v, reason, "not_yet"),
                decides_at=open_verdict.decides_at,
                decides_between=open_verdict.decides_between,
            )
            for v in map_verdicts[first:]
        ]
        # what they would say holds however the earlier question is settled, as far as it rules readings out
        return _judgement(
            evidence, "undecided", [*map_verdicts[:first], *held_back, *others], established=[*verdicts, *beyond]
        )
    verdicts += beyond
    if pointing.answer == "fails":
        return _judgement(evidence, "do not read", verdicts)
    kinds = _two_kinds(evidence, verdicts)
    if kinds == RIGHT_ON_MOST:
        return _judgement(evidence, "for most inputs", verdicts)
    if kinds and pointing.answer == "uninformative":
        return _judgement(evidence, "debugging only", verdicts)
    if "uninformative" in (matters.answer, pointing.answer):
        return _judgement(evidence, "undecided", verdicts)
    if matters.answer == "holds" and pointing.answer == "holds":
        return _judgement(evidence, "read as evidence", verdicts, classes=[c for c in classes if c.cell == "holds"])
    return _judgement(evidence, "debugging only", verdicts)


def _waiting(evidence: Evidence, map_verdict: Verdict, matters: Verdict) -> tuple[int, Message] | None:
    """Return how many verdicts stand and why the others wait, where an earlier question is open and leans to "no"."""
    if map_verdict.answer == "uninformative" and seems_empty(evidence):
        return 1, Message("judge.because.no_map_so_far")
    if matters.answer == "uninformative" and seems_not_to(evidence):
        return 2, Message("judge.because.elsewhere_so_far")
    return None


def _two_kinds(evidence: Evidence, verdicts: Sequence[Verdict]) -> str:
    """The rule by which the map is right on some inputs, where it matters, and wrong on others; "" for none.

    Classes that differ, or that are too few, are said first: a mixture of classes is no mixture of inputs.
    """
    matters, pointing = verdicts[1:3]
    rules = [v.rule for v in verdicts if v.question == MIXTURE and v.answer in ("fails", "mixed")]
    if not rules or pointing.rule in ("Q2.classes differ", "Q2.few"):
        return ""
    return rules[0] if matters.answer == "holds" or matters_where_right(evidence) else ""


def _claims(evidence: Evidence, family: str) -> list[Draft]:
    """The claims of our own questions of a family, in the order of their ranks."""
    entries = [entry("question", name) for name in names("question") if not owner("question", name)]
    entries = sorted(
        (row for row in entries if row.facts["family"] == family), key=lambda row: int(str(row.facts["rank"]))
    )
    claims = [find("question", row.name)(evidence) for row in entries]
    return [claim for claim in claims if claim is not None]


def _added(evidence: Evidence) -> tuple[list[Verdict], dict[str, Json]]:
    """Verdicts on the questions of others, and their margins: beside ours, corrected among themselves.

    Others are installed packages, and the functions that this process decorated with `@question`.
    """
    claims: list[tuple[Entry, Draft]] = []
    for name in [*(name for name in names("question") if owner("question", name)), *in_process("question")]:
        claim = build(Spec("question", name))(evidence)
        if claim is not None:
            claims.append((entry("question", name), claim))
    verdicts = []
    for (row, _), verdict in zip(claims, settled([claim for _, claim in claims]), strict=True):
        sentence = Message("judge.rule.chance") if verdict.overruled else verdict.sentence
        rule, not_claimed = str(row.facts["rule"]), str(row.facts["not_claimed"])
        complete = replace(
            verdict, question=row.summary, rule_in_words=rule, not_claimed=not_claimed, sentence=sentence
        )
        verdicts.append(complete)
    margins = {f"{row.name}: {key}": value for row, _ in claims for key, value in _margins(row).items()}
    return verdicts, margins


def _margins(row: Entry) -> Mapping[str, Json]:
    margins = row.facts["margins"]
    return margins if isinstance(margins, dict) else {}


def silenced(verdict: Verdict, reason: Message, how: Literal["not_asked", "not_yet", "refused"]) -> Verdict:
    """The verdict without its answer; its numbers stay."""
    key = "judge.not_asked_numbers" if verdict.contrasts else "judge.not_asked"
    key = "judge.not_yet" if how == "not_yet" else key
    sentence, overruled = Message.of(key, why=reason), Message(f"judge.rule.{how}")
    return replace(
        verdict, answer="uninformative", sentence=sentence, overruled=overruled, decides_at=None, decides_between=None
    )


def _judgement(
    evidence: Evidence,
    reading: Reading,
    verdicts: Sequence[Verdict],
    *,
    why: Text = "",
    classes: Sequence[OfClass] = (),
    established: Sequence[Verdict] | None = None,
) -> Judgement:
    """Return the judgement. established: the verdicts as they would be if none had to wait, where some had to."""
    class_names = tuple(c.name for c in classes)
    added, margins = _added(evidence)
    verdicts = [*verdicts, *added]
    verdicts = [_capped(v, evidence) for v in verdicts]
    needed = [v for v in verdicts[1:3] if v.answer == "uninformative"]
    decides_at, decides_between = _all_decided(needed) if reading == "undecided" else (None, None)
    few = _few(evidence)
    more: Text = ""
    if few:
        more, decides_at, decides_between = Message.of("judge.undecided_few", few=few), None, None
    elif decides_between:
        low, high = decides_between
        more = (
            Message.of("judge.undecided_from", n=low)
            if high is None
            else Message.of("judge.undecided_more", low=low, high=high)
        )
    everything = len(class_names) == len(set(evidence.classes))
    about = Message.of("judge.when_predicting", classes=list(class_names)) if class_names and not everything else ""
    params: dict[Reading, dict[str, Any]] = {
        "read as evidence": {"of": about},
        "nothing to read": {"why": why},
        "undecided": {"n": len(evidence), "more": more},
    }
    name = reading.replace(" ", "_")
    variant = _open_part(verdicts) if reading == "undecided" else ""
    if established is not None and established[2].answer == "fails":  # do not read it, or nothing to read
        name, variant = "undecided_either_way", ""
    return Judgement(
        reading=reading,
        sentence=Message(f"judge.reading.{name}", params.get(reading, {})),
        why=Message(f"judge.why.{name}{variant}"),
        attention=evidence.attention,
        n=len(evidence),
        verdicts=tuple(verdicts),
        classes=class_names,
        margins={**PRINTED, **PRINTED_BESIDE, **margins},
        notes=(*(sentence for _, sentence in evidence.defects), *([few] if few and reading != "undecided" else [])),
        decides_at=decides_at,
        decides_between=decides_between,
        graded=graded(evidence, verdicts, established) if evidence.pointing else None,
    )


def _open_part(verdicts: Sequence[Verdict]) -> str:
    """Return which of the two deciding questions is open, where one alone is, and whether the other is "partly"."""
    matters, pointing = (v.answer for v in verdicts[1:3])
    if matters == pointing == "uninformative":
        return ""
    open_question, other = ("_matter", pointing) if matters == "uninformative" else ("_points", matters)
    return open_question + ("_in_part" if other == "mixed" else "")


def _capped(verdict: Verdict, evidence: Evidence) -> Verdict:
    """Limit the numbers of examples that would decide to those available, where that is known.

    As many as were judged decide nothing: it is independent draws, not examples, that are wanting.
    """
    likely, between = verdict.decides_at, verdict.decides_between
    if between is None or (likely is not None and likely <= len(evidence)):
        return replace(verdict, decides_at=None, decides_between=None)
    low, high = between
    low = max(low, len(evidence) + 1)
    available = evidence.available
    if available is not None and low <= available:
        high = min(high or available, available)
    return replace(verdict, decides_between=(low, None if high is None else max(low, high)))


def _all_decided(verdicts: Sequence[Verdict]) -> tuple[int | None, tuple[int, int | None] | None]:
    """Return the numbers of examples that would decide all of several open questions."""
    ranges = [v.decides_between for v in verdicts if v.decides_between is not None]
    if not ranges or len(ranges) < len(verdicts):
        return None, None
    likely, highs = [v.decides_at for v in verdicts], [high for _, high in ranges]
    most = None if None in highs else max(h for h in highs if h is not None)
    return (
        None if None in likely else max(n for n in likely if n is not None),
        (max(low for low, _ in ranges), most),
    )


def _few(evidence: Evidence) -> Message | None:
    predictions = [(name, evidence.classes.count(name)) for name in sorted(set(evidence.classes))]
    rare = [(name, n) for name, n in predictions if n < FEWEST]
    return Message.of("judge.few", fewest=FEWEST, counts=counts(rare)) if rare else None
