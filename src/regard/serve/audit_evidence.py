"""The result of an audit beside a served model: verdict, measured trust of each method, and the audited range.

An audit counts only if its fingerprint is that of the served weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from regard.audits.conclude import ConcludedRun
from regard.errors import InputError, phrase
from regard.present.messages.messages import rendered
from regard.protocols import Model
from regard.records import Json, Spec
from regard.serve.audited_range import AuditedRange
from regard.store.run import Run

FAITHFULNESS = ("comprehensiveness", "sufficiency")
ATTENTION = "attention"


@dataclass(frozen=True, slots=True)
class AuditEvidence:
    """Evidence of an audit. summary: part of every explanation. trust: method -> its measurements. specs: name -> Spec.

    range: None if the served weights were not audited.
    """

    audited: bool
    summary: Mapping[str, Json]
    trust: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    specs: Mapping[str, Spec] = field(default_factory=dict)
    range: AuditedRange | None = None

    def trust_of(self, label: str) -> dict[str, Json]:
        """Measurements of a method under its label in results; `measured` is false if the audit has none."""
        return dict(self.trust.get(label, {"measured": False}))


def unaudited(model: Model, reason: str) -> AuditEvidence:
    """Evidence without an audit. reason: "no audit" or "an audit of other weights"."""
    return AuditEvidence(False, {"audited": False, "fingerprint": model.fingerprint, "reason": reason})


def audit_evidence(model: Model, run: Run | None) -> AuditEvidence:
    """Read a run; if it audited other weights, every explanation carries that warning."""
    if run is None:
        return unaudited(model, "no audit")
    manifest = run.manifest
    if manifest["model"]["fingerprint"] != model.fingerprint:
        return unaudited(model, "an audit of other weights")
    judgements = manifest.get("judgements") or []
    if not judgements:
        raise InputError(
            phrase("errors.common.run_run", run=run.path),
            expected=phrase("errors.serve.audit_with_verdicts"),
            got=phrase("errors.common.none"),
            remedy="regard verdicts RUN --keep",
        )
    judgement, facts = judgements[0], ConcludedRun(run)
    graded = judgement.get("graded") or {}
    summary: dict[str, Json] = {
        "audited": True,
        "fingerprint": model.fingerprint,
        "run": run.path.name,
        "data": manifest["data"]["name"],
        "verdict": judgement["reading"],
        "sentence": rendered(judgement["sentence"]),
        "n": judgement["n"],
        "seed": manifest["seed"],
        "share": graded.get("share"),
        "low": graded.get("low"),
        "high": graded.get("high"),
        "level": graded.get("level"),
        "show": graded.get("show") or ATTENTION,
    }
    specs = {str(s["name"]): Spec.from_json(s) for s in reversed(manifest["settings"]["explainers"])}
    return AuditEvidence(
        audited=True,
        summary=summary,
        trust={method: _measured(facts, judgement, method) for method in facts.methods},
        specs=specs,
        range=AuditedRange.of(facts.examples),
    )


def _measured(facts: ConcludedRun, judgement: Mapping[str, Any], method: str) -> dict[str, Json]:
    """Effect of the method's units compared with random ones, with interval, n and baseline."""
    own = facts.own_operators.get(method)
    rows: list[Json] = [
        {
            "metric": d.metric,
            "operator": str(dict(d.setting).get("operator", "")),
            "baseline": d.baseline,
            "estimate": round(d.estimate, 4),
            "low": round(d.low, 4),
            "high": round(d.high, 4),
            "level": round(d.level, 6),
            "n": d.n,
            "reading": d.reading,
        }
        for d in facts.conclusions.differences
        if d.method == method and d.metric in FAITHFULNESS and dict(d.setting).get("operator") != own
    ]
    verdicts = {v["question"]: v for v in judgement["verdicts"]}
    ranked = (verdicts.get("better_method") or {}).get("rows") or ()
    row = next((r for r in ranked if r["method"] == method), None)
    graded = judgement.get("graded") or {}
    recommended = method in (graded.get("show") or ATTENTION, *(graded.get("ties") or ()))
    measured: dict[str, Json] = {
        "measured": bool(rows),
        "recommended": recommended,
        "beyond_random": None if row is None else {"estimate": row["above random"], "n": row["n"]},
        "seed": facts.seed,
        "against_random": rows,
    }
    if method == ATTENTION and graded:
        measured["share_of_best"] = {name: graded.get(name) for name in ("share", "low", "high", "level", "n", "best")}
    return measured
