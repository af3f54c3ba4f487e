"""Plan that is written and hashed before its audit: settings, thresholds, data; and whether a run followed it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.audits.options import AuditOptions
from regard.errors import InputError, phrase
from regard.files import read_json
from regard.judge.further_margins import PRINTED_BESIDE
from regard.judge.margins import PRINTED
from regard.records import Json
from regard.store.ledger import canonical
from regard.store.manifest import now

SCHEMA = "regard.plan/1"
MACHINE = ("device", "resume", "workers", "engine")
"""Options about the machine; they change no number."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """A part of the plan that the run did not follow."""

    part: str
    planned: str
    actual: str


def preregister(
    model: str,
    data: str | None,
    options: AuditOptions,
    *,
    policy: tuple[str, bytes] | None = None,
    intended_use: str = "",
) -> dict[str, Json]:
    """Open model and data, and write the settings that decide the numbers; compute nothing.

    policy: name and content of the policy file of a gate.
    """
    from regard.audits.plan import check, make_plan
    from regard.audits.resolve import default_data, resolve

    check(options)
    source = default_data(model) if data is None else data
    subject, _ = resolve(model, source, options)
    contents: dict[str, Json] = {
        "schema": SCHEMA,
        "created": now(),
        "model": {"source": model, "fingerprint": subject.about_model["fingerprint"]},
        "data": {"source": source, "fingerprint": subject.about_data["fingerprint"], "n": len(subject.examples)},
        "options": options.to_json(),
        "identity": dict(make_plan(subject, options).identity),
        "thresholds": {**PRINTED, **PRINTED_BESIDE},
        "policy": None if policy is None else _policy_facts(*policy),
        "intended_use": intended_use,
    }
    return {**contents, "sha256": plan_digest(contents)}


def _policy_facts(name: str, content: bytes) -> dict[str, Json]:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise InputError(
            phrase("errors.common.policy_name", name=name),
            expected=phrase("errors.common.text_file"),
            got=phrase("errors.common.other_bytes"),
        ) from None
    return {"name": name, "sha256": hashlib.sha256(content).hexdigest(), "text": text}


def plan_digest(plan: Mapping[str, Json]) -> str:
    """sha256 over the canonical JSON of everything but the digest itself."""
    return hashlib.sha256(canonical({k: v for k, v in plan.items() if k != "sha256"}).encode()).hexdigest()


def read_plan(path: Path) -> dict[str, Any]:
    """The plan of a file; one that was changed after it was written is an error."""
    value = read_json(path)
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise InputError(
            phrase("errors.audits.plan_path", path=path),
            expected=phrase("errors.audits.file_written_by_regard_plan"),
            got=phrase("errors.common.another_one"),
        )
    if value.get("sha256") != plan_digest(value):
        raise InputError(
            phrase("errors.audits.plan_path", path=path),
            expected=phrase("errors.audits.content_that_hashed_with_value", value=str(value.get("sha256"))[:12]),
            got=phrase("errors.audits.another_one", value=plan_digest(value)[:12]),
            remedy=phrase("errors.audits.unchanged_file_or_new_plan"),
        )
    return value


def planned_options(plan: Mapping[str, Any], machine: AuditOptions) -> AuditOptions:
    """Options of a plan, with the machine options that the user passes now."""
    options = AuditOptions.from_json(plan["options"])
    return replace(options, **{name: getattr(machine, name) for name in MACHINE})


def deviations(plan: Mapping[str, Any], manifest: Mapping[str, Any], identity: Mapping[str, Any]) -> list[Deviation]:
    """List every part of the plan that the run did not follow; empty if it followed all of it.

    identity: of the run; facts that the writer added to it (threads) are no part of a plan.
    """
    rows = [
        Deviation(name, _short(planned), _short(identity.get(name)))
        for name, planned in plan["identity"].items()
        if identity.get(name) != planned
    ]
    judgements = manifest.get("judgements") or ()
    margins = judgements[0]["margins"] if judgements else {}
    rows += [
        Deviation(f"threshold.{name}", _short(planned), _short(margins.get(name)))
        for name, planned in plan["thresholds"].items()
        if margins and margins.get(name) != planned
    ]
    if str(manifest["created"]) < str(plan["created"]):
        rows.append(Deviation("date", str(plan["created"]), str(manifest["created"])))
    if plan.get("sha256") != plan_digest(plan):
        rows.append(Deviation("sha256", str(plan.get("sha256")), plan_digest(plan)))
    return rows


def policy_deviations(plan: Mapping[str, Any], policy: bytes | None) -> list[Deviation]:
    """Compare the checked policy with that of the plan; a plan without a policy permits any."""
    planned = plan.get("policy")
    if not planned:
        return []
    actual = "–" if policy is None else hashlib.sha256(policy).hexdigest()
    return [] if actual == planned["sha256"] else [Deviation("policy", _short(planned["sha256"]), actual)]


def _short(value: Any) -> str:
    text = canonical(value) if isinstance(value, list | dict) else str(value)
    return text if len(text) <= 120 else text[:117] + "..."
