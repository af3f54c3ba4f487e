"""Entry point of the judge: a stored run -> judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.errors import UnknownName
from regard.judge.evidence import evidence_of
from regard.judge.judge import judge
from regard.judge.map_exists import DEFECTS, QUESTION
from regard.judge.margins import PRINTED
from regard.judge.refusal import refused
from regard.records import Judgement, Message, Spec, Text, Verdict, decoded
from regard.registry import entry, upstairs
from regard.store.judgements import keep_judgements
from regard.store.manifest import broken_model
from regard.store.run import Run

HEADLINE = ("map", "matter", "points", "stable", "better_method")
"""Questions whose answers end the rounds of an audit with a budget."""
AWAITED = "same"
"""Also waited for, as long as more examples may decide it: an answer for all classes hides one that differs."""
FURTHER = ("agree", "exclusive")
"""Questions that more rounds are made for once the headline is settled, if the budget pays for them."""
INPUTS = {"box": "image", "range": "series", "column": "row"}
"""Kind of place -> what an example is called; a text where places are spans."""


class Judgements(list[Judgement]):
    """Judgements of a run, the attention that the report shows first; shown in words."""

    def __repr__(self) -> str:
        return str(upstairs("judgements_text")(self))

    def _repr_html_(self) -> str:
        """The answers in a notebook."""
        return str(upstairs("judgements_html")(self))


def verdicts(run: Run | str | Path, *, keep: bool = False) -> Judgements:
    """Judge each audited attention of a run from its stored evidence; needs no model.

    The first is the attention that the report shows. Empty where no experiment could be made (`Run.skipped` says why).
    keep: write them into the run, where the report finds them.
    """
    stored_run = run if isinstance(run, Run) else Run(run)
    manifest = stored_run.manifest
    tested = manifest.get("preconditions") or {}
    labels = manifest["model"].get("labels") or []
    defects = tested.get("defects", [])
    own, plain = _methods(manifest)
    examples = stored_run.examples()
    evidences = evidence_of(
        examples,
        stored_run.findings(),
        defects=defects,
        labels=labels,
        scores=stored_run.scores(),
        own=own,
        plain=plain,
        schedule=manifest.get("schedule") or {},
        steps=manifest["model"].get("task") == "written_token",
    )
    judgements = [judge(evidence) for evidence in evidences]
    if not judgements and _nothing(tested):
        judgements = [_from_defects(tested)]
    broken = broken_model(manifest)
    if broken:
        judgements = [refused(judgement, broken) for judgement in judgements]
    units = next((row["units"] for row in examples if row["units"] is not None), None)
    if units is not None and units["place_kind"] in INPUTS:
        heard = units["kind"] in ("frame", "segment")
        nouns = {"unit": str(units["kind"]), "input": "sound" if heard else INPUTS[units["place_kind"]]}
        judgements = [_about(judgement, nouns) for judgement in judgements]
    if keep:
        keep_judgements(stored_run.path, judgements)
    return Judgements(judgements)


def headline_settled(judgements: Sequence[Judgement]) -> bool:
    """Return whether every headline question about the attention in the report has an answer.

    A question that nothing was measured for has none to wait for, and neither have the others where there is no map.
    """
    if not judgements:
        return False
    first = judgements[0]
    verdicts = [
        v
        for v in first.verdicts
        if v.contrasts and (v.question in HEADLINE or (v.question == AWAITED and v.decides_at is not None))
    ]
    return first.reading == "nothing to read" or (bool(verdicts) and all(v.answer != "uninformative" for v in verdicts))


def further_awaited(judgements: Sequence[Judgement], available: int) -> bool:
    """Return whether as many examples as are available may settle a further question that is open."""
    if not judgements:
        return False
    waiting = [
        v for v in judgements[0].verdicts if v.question in FURTHER and v.answer == "uninformative" and v.contrasts
    ]
    return any(v.decides_between is not None and v.decides_between[0] <= available for v in waiting)


def _methods(manifest: Mapping[str, Any]) -> tuple[dict[str, str], set[str]]:
    """Explainer -> the operator that it removes units with; and the explainers that are baselines."""
    own: dict[str, str] = {}
    plain: set[str] = set()
    specs = [Spec.from_json(spec) for spec in (manifest.get("settings") or {}).get("explainers", ())]
    for name, spec in zip(manifest.get("methods") or (), specs, strict=False):
        with suppress(UnknownName):  # a method that is not installed here has left its numbers all the same
            facts = entry(spec.kind, spec.name)
            if facts.facts.get("role") == "baseline":
                plain.add(str(name))
            if any(p.name == "operator" for p in facts.parameters) and "operator" in spec.params:
                own[str(name)] = str(spec.params["operator"])
    return own, plain


def _nothing(tested: Mapping[str, Any]) -> bool:
    """Return whether every site has a defect, so that no experiment is needed to reject the map."""
    whole = {d["site"] for d in tested.get("defects", []) if d["heads"] is None}
    return bool(whole) and len(whole) == tested.get("sites")


def _from_defects(tested: Mapping[str, Any]) -> Judgement:
    first = tested["defects"][0]
    verdict = Verdict(
        question=QUESTION,
        answer="fails",
        sentence=DEFECTS[first["what"]],
        rule=f"P.{first['what']}",
        rule_in_words=Message("judge.map.rule_every_site"),
        not_claimed=Message("judge.map.not_claimed_inputs"),
    )
    return Judgement(
        reading="nothing to read",
        sentence=Message.of("judge.reading.nothing_to_read", why=Message(f"judge.because.{first['what']}")),
        why=Message("judge.why.no_map"),
        attention=str(first["site"]),
        n=tested["n"],
        verdicts=(verdict,),
        margins=PRINTED,
        notes=tuple(decoded(d["sentence"]) for d in tested["defects"]),
    )


def _about(judgement: Judgement, nouns: Mapping[str, str]) -> Judgement:
    """The judgement with messages about patches of an image, columns of a row, steps of a series."""

    def renamed(text: Text) -> Text:
        return Message(text.key, {**nouns, **text.params}) if isinstance(text, Message) else text

    verdicts = tuple(
        replace(
            v,
            sentence=renamed(v.sentence),
            rule_in_words=renamed(v.rule_in_words),
            not_claimed=renamed(v.not_claimed),
            contrasts=tuple(replace(c, name=renamed(c.name)) for c in v.contrasts),
        )
        for v in judgement.verdicts
    )
    return replace(judgement, sentence=renamed(judgement.sentence), verdicts=verdicts)
