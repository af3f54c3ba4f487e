"""Experiments that run once per audit because they train. Each is a task of its own in the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from regard.audits.plan import Plan
from regard.audits.shard import Settings, named_findings
from regard.errors import Unsupported, error_message
from regard.protocols import Model
from regard.records import Example, Message, Score, Spec, Text
from regard.registry import build, entry, fact_text
from regard.store.ledger import Problem, canonical
from regard.store.run_writer import RunWriter
from regard.store.shard_result import Cost, ShardResult
from regard.tap.pass_history import forget_passes

FOLDER = "studies"
"""Directory beside the run for trained networks, so that a stopped audit can continue."""


@dataclass(frozen=True, slots=True)
class AuditStudy:
    """Study of an audit: the argument of such experiments (implements `protocols.Study`)."""

    model: Model
    examples: tuple[Example, ...]
    seed: int
    folder: Path


def studies_of(settings: Settings) -> list[Spec]:
    """Return the experiments that run once per audit."""
    return [spec for spec in settings.experiments if entry(spec.kind, spec.name).facts.get("scope") == "study"]


def without_studies(plan: Plan) -> Plan:
    """Return the plan without experiments that run once: they are about the network, not about the data."""
    studies = studies_of(plan.settings)
    rest = tuple(spec for spec in plan.settings.experiments if spec not in studies)
    return replace(plan, settings=replace(plan.settings, experiments=rest))


def trainings(spec: Spec) -> int:
    """Return the maximum number of networks that an experiment trains; equal networks of another one are reused."""
    method_entry = entry(spec.kind, spec.name)
    per_seed = method_entry.facts.get("trainings")
    params = {**{p.name: p.default for p in method_entry.parameters}, **spec.params}
    seeds, weights = params.get("seeds"), params.get("weights")
    if not isinstance(per_seed, int) or not isinstance(seeds, int):
        return 0
    return per_seed * seeds * (len(weights) if isinstance(weights, list | tuple) else 1)


def cost_in_words(settings: Settings) -> Text:
    """Describe the networks that the studies of an audit will train; "" where they train none."""
    count = {spec.name: trainings(spec) for spec in studies_of(settings)}
    studies = [f"{name} {n}" for name, n in count.items() if n]
    return Message.of("estimate.trainings", n=sum(count.values()), studies=studies) if studies else ""


def run_studies(
    writer: RunWriter,
    model: Model,
    examples: Sequence[Example],
    settings: Settings,
    say: Callable[[Text], None],
) -> None:
    """Run the unfinished studies one after the other; report one that fails, and continue with the others."""
    # what is trained knows the words of the data; a run without words may not hold it
    with nullcontext(writer.path / FOLDER) if writer.text else TemporaryDirectory() as folder:
        _run_all(writer, AuditStudy(model, tuple(examples), settings.seed, Path(folder)), settings, say)


def _run_all(writer: RunWriter, study: AuditStudy, settings: Settings, say: Callable[[Text], None]) -> None:
    settled = writer.settled()
    for spec in studies_of(settings):
        shard = [f"study {canonical(spec.to_json())}"]
        if writer.key(shard) in settled:
            continue
        cost = fact_text(spec.kind, spec.name, "cost")
        say(Message.of("estimate.study" if cost else "estimate.study_trains", name=spec.name, cost=cost))
        page = _page(study, spec)
        writer.commit(shard, page)
        for finding in page.findings:
            if sentence := finding_line(finding):
                say(sentence)


def finding_line(score: Score) -> Text:
    """Describe a finding over training seeds in one line; "" for one with a row per example.

    >>> import numpy as np
    >>> where = {"seeds": [1, 2], "mean": 0.7, "low": 0.6, "high": 0.8, "n": 90, "baseline": 0.5, "when": "test"}
    >>> print(finding_line(Score("accuracy", "attention", ("seed 1", "seed 2"), np.array([0.7, 0.7]), "higher", where)))
    accuracy (test): 0.700 [0.600, 0.800] over 2 seeds, n = 90, baseline 0.500
    """
    about = score.where
    if "mean" not in about or "seeds" not in about:
        return ""
    setting = ", ".join(str(about[k]) for k in ("attention", "network", "when", "weight") if k in about)
    finding = Message.of(
        "estimate.finding",
        quantity=score.metric + (f" ({setting})" if setting else ""),
        mean=f"{about['mean']:.3f}",
        interval="" if about["low"] is None else f" [{about['low']:.3f}, {about['high']:.3f}]",
        seeds=Message.of(f"count.seed.{'one' if len(score.ids) == 1 else 'many'}", n=len(score.ids)),
        n=about["n"],
    )
    if about["baseline"] is None:
        return finding
    return Message.of("estimate.finding_baseline", finding=finding, baseline=about["baseline"])


def _page(study: AuditStudy, spec: Spec) -> ShardResult:
    name, start = f"experiment {spec.name}", time.monotonic()
    forget_passes()
    try:
        findings = named_findings(build(spec)(study), spec)
    except Unsupported as refusal:
        return ShardResult(skipped={name: refusal.message})
    except Exception as error:  # one experiment never takes the audit with it
        return ShardResult(problems=(Problem("", name, error_message(error)),))
    return ShardResult(findings=tuple(findings), costs=(Cost("experiment", spec.name, time.monotonic() - start),))
