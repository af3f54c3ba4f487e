"""The files of an evidence archive: report and dossier as PDF, numbers, manifest, plan, policy, instructions."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from regard.audits.conclusions.run_facts import RunReader
from regard.present.evidence.dossier import Beside, DossierOptions, dossier
from regard.present.messages.messages import rendered, say
from regard.present.report.as_json import run_json
from regard.present.report.printing import paper_size, pdf_document, print_html
from regard.present.report.report import Paper
from regard.store.evidence_archive import NAMESPACE, SIGNATURE, SUMS


def evidence_files(run: RunReader, options: DossierOptions, beside: Beside) -> dict[str, bytes]:
    """Name -> content."""
    numbers = run_json(run)
    files = {
        "report.pdf": pdf_document(run),
        "dossier.pdf": print_html(dossier(run, options, beside=beside, paper=Paper(paper_size()))),
        "report.json": _json(numbers),
        "manifest.json": _json(dict(run.manifest)),
        "README.txt": say("evidence.readme", sums=SUMS, signature=SIGNATURE, namespace=NAMESPACE).encode(),
    }
    stored = run.manifest.get("plan")
    if stored:
        files["plan.json"] = _json(stored["plan"])
    if beside.policy is not None:
        files["policy.toml"] = beside.policy
    if beside.gate is not None:
        files["gate.json"] = _json(beside.gate)
    return files


def _json(value: Any) -> bytes:
    text = json.dumps(_finite(rendered(value)), indent=2, ensure_ascii=False, sort_keys=True, default=str)
    return (text + "\n").encode()


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): _finite(inner) for name, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value
