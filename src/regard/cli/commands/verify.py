"""`regard verify`: check an evidence archive: checksums, signature, and whether the run followed its plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from regard.cli.console import echo, print_json, results
from regard.cli.verb import verb
from regard.errors import InputError, phrase
from regard.files import parse_json


@verb("verify", "regard verify evidence.zip", "regard verify evidence.zip --signers allowed_signers")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--signers", type=click.Path(path_type=Path))
def command(file: Path, signers: Path | None, as_json: bool) -> int:
    from regard.present.messages.messages import say
    from regard.store.evidence_archive import verify_archive

    if signers is not None and not signers.is_file():
        raise InputError(
            f"--signers {signers}",
            expected=phrase("errors.cli.allowed_signers_file"),
            got=phrase("errors.common.no_such_file"),
        )
    checked = verify_archive(file, signers=signers)
    plan = _plan(checked.files)
    if as_json:
        print_json(
            {
                "intact": checked.intact,
                "files": sorted(checked.files),
                "changed": list(checked.changed),
                "missing": list(checked.missing),
                "unlisted": list(checked.unlisted),
                "signed": checked.signed,
                "signer": checked.signer,
                "plan": plan,
            }
        )
        return 0 if checked.intact else 1
    for kind in ("changed", "missing", "unlisted"):
        for name in getattr(checked, kind):
            results().print(say(f"term.verify.{kind}", name=name), markup=False, style="red")
    signature = say(f"term.verify.signed_{checked.signed.replace(' ', '_')}", name=checked.signer)
    results().print(signature, markup=False)
    followed = plan["followed"]
    key = "no_plan" if followed is None else "plan_yes" if followed else "plan_no"
    results().print(say(f"term.verify.{key}", n=len(plan["deviations"])), markup=False)
    for part, planned, actual in plan["deviations"]:
        results().print(say("term.verify.deviation", part=part, planned=planned, actual=actual), markup=False)
    echo(say("term.verify.intact" if checked.intact else "term.verify.broken", n=len(checked.files)))
    return 0 if checked.intact else 1


def _plan(files: Any) -> dict[str, Any]:
    """Recompute from the files whether the run followed the plan in the archive."""
    from regard.audits.preregistration import deviations, policy_deviations

    try:
        manifest = parse_json(files["manifest.json"])
        stored = manifest.get("plan")
        if not stored:
            return {"followed": None, "deviations": []}
        plan = json.loads(files["plan.json"])
        rows = deviations(plan, manifest, stored["identity"]) + policy_deviations(plan, files.get("policy.toml"))
    except (KeyError, ValueError, AttributeError, TypeError):
        return {"followed": None, "deviations": []}
    return {"followed": not rows, "deviations": [[row.part, row.planned, row.actual] for row in rows]}
