"""Experiments that are asked once about a whole audit: those that train. Each is a task of its own in the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.errors import RegardError, Unsupported
from regard.evaluate.shard import Settings, named_findings
from regard.protocols import Model
from regard.records import Example, Spec
from regard.registry import build, entry
from regard.store.ledger import Problem, canonical
from regard.store.pages import Cost, Page
from regard.store.run import RunWriter

FOLDER = "studies"
"""Beside the run: what was trained, so that a stopped audit goes on."""


@dataclass(frozen=True, slots=True)
class AuditStudy:
    """What such an experiment is given (implements `protocols.Study`)."""

    model: Model
    examples: tuple[Example, ...]
    seed: int
    folder: Path


def studies_of(settings: Settings) -> list[Spec]:
    """Those of the experiments that are asked once."""
    return [spec for spec in settings.experiments if entry(spec.kind, spec.name).facts.get("scope") == "study"]


def run_studies(
    writer: RunWriter,
    model: Model,
    examples: Sequence[Example],
    settings: Settings,
    say: Callable[[str], None],
) -> None:
    """Do those that are not settled yet, one after the other; one that fails is reported, and the others go on."""
    study = AuditStudy(model, tuple(examples), settings.seed, writer.path / FOLDER)
    settled = writer.settled()
    for spec in studies_of(settings):
        shard = [f"study {canonical(spec.to_json())}"]
        if writer.key(shard) in settled:
            continue
        say(f"experiment {spec.name}: {entry(spec.kind, spec.name).facts.get('cost') or 'trains networks'}")
        writer.commit(shard, _page(study, spec))


def _page(study: AuditStudy, spec: Spec) -> Page:
    name, start = f"experiment {spec.name}", time.monotonic()
    try:
        found = named_findings(build(spec)(study), spec)
    except Unsupported as refusal:
        return Page(skipped={name: str(refusal)})
    except Exception as error:  # one experiment never takes the audit with it
        said = str(error) if isinstance(error, RegardError) else f"{type(error).__name__}: {error}"
        return Page(problems=(Problem("", name, said),))
    return Page(findings=tuple(found), costs=(Cost("experiment", spec.name, time.monotonic() - start),))
