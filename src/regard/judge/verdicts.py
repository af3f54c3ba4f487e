"""The door of this room: a stored run -> judgements."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from regard.errors import UnknownName
from regard.judge.evidence import evidence_of
from regard.judge.judge import judge
from regard.judge.map_exists import WHY
from regard.judge.margins import PRINTED
from regard.judge.nouns import about
from regard.judge.refusal import refused
from regard.records import Judgement, Spec, Verdict
from regard.registry import entry
from regard.store.judgements import keep_judgements
from regard.store.manifest import broken_model
from regard.store.run import Run


def verdicts(run: Run | str | Path, *, keep: bool = False) -> list[Judgement]:
    """What the evidence in a run says about each attention that was audited; the model is not needed.

    The first is the attention that the report shows. Empty where no experiment could be made (`Run.skipped` says why).
    keep: write them into the run, where the report finds them.
    """
    opened = run if isinstance(run, Run) else Run(run)
    manifest = opened.manifest
    tested = manifest.get("preconditions") or {}
    labels = manifest["model"].get("labels") or []
    defects = tested.get("defects", [])
    own, plain = _methods(manifest)
    examples = opened.examples()
    found = evidence_of(
        examples, opened.findings(), defects=defects, labels=labels, scores=opened.scores(), own=own,
        plain=plain,
    )  # fmt: skip
    rows = [row["units"] for row in examples if row["units"] is not None]
    made = [judge(evidence) for evidence in found]
    if not made and _nothing(tested):
        made = [_from_defects(tested)]
    broken = broken_model(manifest)
    if broken:
        made = [refused(judgement, broken) for judgement in made]
    if rows:
        made = [about(judgement, str(rows[0]["kind"]), str(rows[0]["place_kind"])) for judgement in made]
    if keep:
        keep_judgements(opened.path, made)
    return made


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
    """Whether every site has a defect, so that no experiment is needed to know that there is nothing to read."""
    whole = {d["site"] for d in tested.get("defects", []) if d["heads"] is None}
    return bool(whole) and len(whole) == tested.get("sites")


def _from_defects(tested: Mapping[str, Any]) -> Judgement:
    first = tested["defects"][0]
    said = "There is nothing here to read: " + WHY[first["what"]][0].lower() + WHY[first["what"]][1:]
    verdict = Verdict(
        "is there a map to read?", "fails", WHY[first["what"]], f"P.{first['what']}",
        "Fails if the weights of every attention site show a defect that is measured exactly.",
        "It says nothing about other inputs.",
    )  # fmt: skip
    notes = tuple(str(d["sentence"]) for d in tested["defects"])
    return Judgement(
        "nothing to read", said, "there is no map", str(first["site"]), tested["n"], (verdict,), (), PRINTED, notes
    )
