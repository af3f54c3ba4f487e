"""Evidence -> verdicts -> one reading. A pure function: the same evidence gives the same words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from regard.judge.agreement import agree, exclusive
from regard.judge.better_method import heads_instead, methods_instead
from regard.judge.claim import Draft, settled
from regard.judge.evidence import Evidence
from regard.judge.further_margins import PRINTED_BESIDE
from regard.judge.map_exists import there
from regard.judge.margins import FEWEST, PRINTED
from regard.judge.points_at_evidence import OfClass, by_class, points, same
from regard.judge.seed_noise import seed_noise, stable
from regard.judge.transfer import hides, needed, transfer
from regard.judge.weights_matter import matter
from regard.records import Judgement, Reading, Verdict

SENTENCES: dict[Reading, str] = {
    "read as evidence": "You may use this map to see which word the model relied on{classes}; the map does not say in "
    "which direction, or that the reason is a good one.",
    "debugging only": "Use it to look for ideas, and check each with a test; do not show it as a reason.",
    "do not read": "Do not show this map as a reason: the model relies on other words than the ones it lights up.",
    "nothing to read": "There is nothing here to read: {why}.",
    "undecided": "We cannot say with {n} examples{more}.",
}
RULES: dict[Reading, str] = {
    "nothing to read": "there is no map, or it does not matter to the prediction",
    "do not read": "it does not point at the evidence",
    "undecided": "whether it matters, or whether it points at the evidence, could not be found out",
    "read as evidence": "it matters, and it points at the evidence",
    "debugging only": "it matters in part, or points at the evidence in part",
}
BESIDE = "Not asked: {why}. The numbers are shown all the same."
ALONE = "Not asked: {why}."


def judge(evidence: Evidence) -> Judgement:
    """The verdicts about one attention, and the reading that follows from them.

    Nothing to read if there is no map or it does not matter; else do not read if it does not point; else undecided if
    either is open; else read as evidence if both hold; else debugging only. Nothing else decides: neither agreement
    and exclusivity, nor the further questions, which are about other networks, methods and heads. The first six are
    corrected among themselves, the further ones for all that were asked.
    """
    classes = by_class(evidence)
    map_, why = there(evidence)
    drafts = [map_, matter(evidence), points(evidence, classes), agree(evidence), exclusive(evidence), same(classes)]
    verdicts = settled(drafts)
    about_map, instead = _further(evidence)
    beyond = settled([*drafts, *about_map, *instead])[len(drafts) :]
    map_verdict, matters, pointing = verdicts[:3]
    if map_verdict.answer == "fails" or matters.answer == "fails":
        reason = f"it is {why}" if map_verdict.answer == "fails" else "the decision is made elsewhere"
        first = 1 if map_verdict.answer == "fails" else 2
        asked, others = [*verdicts, *beyond[: len(about_map)]], beyond[len(about_map) :]
        verdicts = [*asked[:first], *(_silenced(v, reason) for v in asked[first:]), *others]
        return _judgement(evidence, "nothing to read", verdicts, why=_nothing(why))
    verdicts += beyond
    if pointing.answer == "fails":
        return _judgement(evidence, "do not read", verdicts)
    if "uninformative" in (matters.answer, pointing.answer):
        return _judgement(evidence, "undecided", verdicts)
    if matters.answer == "holds" and pointing.answer == "holds":
        return _judgement(evidence, "read as evidence", verdicts, classes=[c for c in classes if c.cell == "holds"])
    return _judgement(evidence, "debugging only", verdicts)


def _further(evidence: Evidence) -> tuple[list[Draft], list[Draft]]:
    """The questions about this map beside other networks; and those that are worth asking whatever it is."""
    beside = evidence.beside
    about_map = [seed_noise(evidence, beside), transfer(beside), stable(evidence, beside)]
    trained = [draft for draft in (needed(beside), hides(beside)) if draft is not None]
    return about_map, [*trained, methods_instead(evidence, beside), heads_instead(evidence, beside)]


def _nothing(why: str) -> str:
    return {
        "one key": "there is only one place to look", "flat": "the model looks everywhere equally",
        "constant": "the map is the same whatever the text says", "unused": "nothing reads this attention",
        "": "the decision is made elsewhere",
    }[why]  # fmt: skip


def _silenced(verdict: Verdict, reason: str) -> Verdict:
    said = (BESIDE if verdict.contrasts else ALONE).format(why=reason)
    return replace(verdict, answer="uninformative", sentence=said, rule=f"{verdict.rule}, not asked", decides_at=None)


def _judgement(
    evidence: Evidence, reading: Reading, verdicts: Sequence[Verdict], *, why: str = "", classes: Sequence[OfClass] = ()
) -> Judgement:
    named = tuple(c.name for c in classes)
    # as many as there are decide nothing: it is independent draws, not examples, that are wanting
    verdicts = [replace(v, decides_at=None) if (v.decides_at or 0) <= len(evidence) else v for v in verdicts]
    everything = len(named) == len(set(evidence.classes))
    about = f", when it answers {', '.join(named)}" if named and not everything else ""
    needed = [v.decides_at for v in verdicts[1:3] if v.answer == "uninformative"]
    known = [n for n in needed if n is not None]
    decides_at = max(known) if reading == "undecided" and known and len(known) == len(needed) else None
    few = _few(evidence)
    more = f"; about {decides_at} would probably decide it" if decides_at and decides_at > len(evidence) else ""
    if few:
        more = f": {few}"
        decides_at = None
    sentence = SENTENCES[reading].format(classes=about, why=why, n=len(evidence), more=more)
    notes = [said for _, said in evidence.defects]
    notes += [few] if few and reading != "undecided" else []
    return Judgement(
        reading, sentence, RULES[reading], evidence.attention, len(evidence), tuple(verdicts), named,
        {**PRINTED, **PRINTED_BESIDE},
        tuple(notes), decides_at,
    )  # fmt: skip


def _few(evidence: Evidence) -> str:
    counts = {name: evidence.classes.count(name) for name in sorted(set(evidence.classes))}
    rare = [f"{name} has {n}" for name, n in counts.items() if n < FEWEST]
    return f"regard says nothing about a class below {FEWEST} predictions ({', '.join(rare)})" if rare else ""
