"""A run in MLflow: metrics, parameters, the report as an artifact, verdict and fingerprint as tags."""

from __future__ import annotations

import importlib
import json
import math
import re
import tempfile
from pathlib import Path
from typing import Any

from regard.errors import EnvironmentProblem
from regard.present.report.as_json import run_json
from regard.present.report.report import write_report
from regard.present.run_reader import Material
from regard.present.verdict_words import headline
from regard.store.run import Run

LONGEST_PARAMETER = 500
"""Maximum characters of a parameter in MLflow, with some room."""


def to_mlflow(run: Run, *, run_name: str | None = None) -> str:
    """Log into the active MLflow run, or into a new one; return its id."""
    try:
        mlflow: Any = importlib.import_module("mlflow")
    except ImportError as error:
        raise EnvironmentProblem(
            "run.to_mlflow", expected="mlflow", got=str(error), remedy="pip install mlflow-skinny"
        ) from error
    material = Material(run)
    active = mlflow.active_run()
    if active is not None:
        _log(mlflow, material, run)
        return str(active.info.run_id)
    with mlflow.start_run(run_name=run_name or run.path.name) as started:
        _log(mlflow, material, run)
        return str(started.info.run_id)


def _log(mlflow: Any, material: Material, run: Run) -> None:
    mlflow.set_tags(run_tags(material))
    mlflow.log_params(run_parameters(material))
    mlflow.log_metrics(run_metrics(material))
    with tempfile.TemporaryDirectory() as folder:
        mlflow.log_artifact(str(write_report(run, Path(folder) / "report.html")), "regard")
        numbers = Path(folder) / "report.json"
        numbers.write_text(json.dumps(_finite(run_json(run)), indent=1, ensure_ascii=False), "utf-8")
        mlflow.log_artifact(str(numbers), "regard")


def run_tags(material: Material) -> dict[str, str]:
    """Verdict, fingerprints and the method to show."""
    m = material.manifest
    judgements = m.get("judgements") or ()
    first = judgements[0] if judgements else {}
    return {
        "regard.verdict": str(first.get("reading", "")),
        "regard.headline": headline(first) if first else "",
        "regard.show": str((first.get("graded") or {}).get("show") or ""),
        "regard.fingerprint": str(m["model"]["fingerprint"]),
        "regard.data_fingerprint": str(m["data"]["fingerprint"]),
        "regard.status": str(m["status"]),
    }


def run_parameters(material: Material) -> dict[str, str]:
    m = material.manifest
    values = {
        "regard.model": m["model"]["source"],
        "regard.data": m["data"]["source"],
        "regard.profile": m.get("profile"),
        "regard.budget": (m.get("schedule") or {}).get("budget"),
        "regard.seed": m["seed"],
        "regard.examples": len(material.examples),
        "regard.methods": ",".join(material.methods),
        "regard.version": (m.get("versions") or {}).get("regard"),
    }
    return {name: str(value)[:LONGEST_PARAMETER] for name, value in values.items()}


def run_metrics(material: Material) -> dict[str, float]:
    """Every summary with the ends of its interval and n; the headline share likewise."""
    metrics: dict[str, float] = {}
    judgements = material.manifest.get("judgements") or ()
    graded = (judgements[0].get("graded") if judgements else None) or {}
    for end in ("share", "low", "high", "n"):
        if graded.get(end) is not None:
            metrics[f"regard.share.{end}"] = float(graded[end])
    for summary in material.summaries:
        setting = "_".join(str(value) for _, value in sorted(summary.where.items()))
        name = metric_name("regard", summary.metric, summary.method, setting)
        values = {"": summary.estimate, ".low": summary.low, ".high": summary.high, ".n": float(summary.n)}
        metrics |= {name + end: float(value) for end, value in values.items() if math.isfinite(value)}
    return metrics


def metric_name(*parts: str) -> str:
    """A name that MLflow accepts: letters, digits, _ - . / and spaces.

    >>> metric_name("regard", "aopc", "rollout:residual=0.3", "mask")
    'regard.aopc.rollout_residual_0.3.mask'
    """
    return ".".join(re.sub(r"[^\w\-. /]", "_", part) for part in parts if part)[:200]


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value
