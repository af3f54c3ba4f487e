"""A run as a section of a Hugging Face model card: `model-index` metadata in front, Markdown below."""

from __future__ import annotations

import json
import math
from typing import Any

from regard.audits.conclusions.run_facts import RunReader
from regard.present.messages.messages import render, say
from regard.present.model_warning import model_warning
from regard.present.objective_scale import about_task
from regard.present.report.as_markdown import plain_markdown
from regard.present.report.sections.limits import ALWAYS
from regard.present.run_reader import Material
from regard.present.verdict_words import answer, graded_lines, headline, question
from regard.records import Json

TASKS = {
    "classification": "text-classification",
    "multi_label": "text-classification",
    "regression": "text-classification",
    "token_classification": "token-classification",
    "question_answering": "question-answering",
    "next_token": "text-generation",
    "masked_token": "fill-mask",
    "sequence_to_sequence": "text2text-generation",
    "similarity": "sentence-similarity",
    "image_classification": "image-classification",
    "audio_classification": "audio-classification",
    "series_classification": "time-series-forecasting",
    "forecasting": "time-series-forecasting",
    "tabular_classification": "tabular-classification",
}
"""Task of a model -> its name on the Hub."""


def run_card(run: RunReader) -> str:
    """Metadata and section, in the current language; add both to the README.md of the model."""
    material = Material(run)
    with about_task(material.task):
        return f"---\n{_yaml(_metadata(material))}---\n\n{_section(material)}"


def _metadata(material: Material) -> dict[str, Json]:
    m = material.manifest
    task: dict[str, Json] = {"type": TASKS.get(material.task, "other")}
    dataset: dict[str, Json] = {
        "type": str(m["data"]["name"]),
        "name": str(m["data"]["name"]),
        "revision": m["data"]["fingerprint"],
    }
    result: dict[str, Json] = {"task": task, "dataset": dataset, "metrics": list(_metrics(material))}
    entry: dict[str, Json] = {"name": str(m["model"]["name"]), "results": [result]}
    return {"model-index": [entry], "tags": ["regard-audit"]}


def _metrics(material: Material) -> list[dict[str, Json]]:
    """Accuracy, the share of the headline, and comprehensiveness of each method against random units."""
    rows: list[dict[str, Json]] = []
    accuracy = material.conclusions.accuracy
    if accuracy is not None:
        rows.append(_metric("accuracy", "accuracy", accuracy.right / accuracy.n))
    judgements = material.manifest.get("judgements") or ()
    graded = (judgements[0].get("graded") if judgements else None) or {}
    if graded.get("share") is not None:
        rows.append(_metric("attention_share_of_best", say("model_card.share"), graded["share"]))
    for d in material.conclusions.differences:
        operator = str(dict(d.setting).get("operator", ""))
        if d.metric == "comprehensiveness" and math.isfinite(d.estimate):
            name = say("model_card.metric", method=d.method, operator=operator, n=d.n)
            rows.append(_metric(f"comprehensiveness_{d.method}_{operator}", name, d.estimate))
    return rows


def _metric(kind: str, name: str, value: float) -> dict[str, Json]:
    return {"type": kind, "name": name, "value": round(float(value), 4), "verified": False}


def _section(material: Material) -> str:
    m = material.manifest
    judgements = m.get("judgements") or ()
    lines = [f"## {say('model_card.title')}"]
    if material.broken:
        lines.append(f"**{plain_markdown(render(material.broken))}**")
    if warning := model_warning(material):
        lines.append(f"**{plain_markdown(warning)}**")
    if judgements:
        lines.append(f"**{plain_markdown(headline(judgements[0]))}**")
        lines += [plain_markdown(line) for line in graded_lines(judgements[0])]
        table = [f"| {say('model_card.question')} | {say('model_card.answer')} |", "|---|---|"]
        for verdict in judgements[0]["verdicts"]:
            table.append(f"| {plain_markdown(question(verdict))} | {plain_markdown(answer(verdict))} |")
        lines.append("\n".join(table))
    facts = {
        "data": m["data"]["name"],
        "n": len(material.examples),
        "seed": material.seed,
        "version": (m.get("versions") or {}).get("regard"),
        "fingerprint": m["model"]["fingerprint"],
    }
    lines.append(plain_markdown(say("model_card.facts", **facts)))
    lines.append("\n".join(f"- {plain_markdown(say(f'limits.{name}'))}" for name in ALWAYS))
    lines.append(plain_markdown(say("caveat")))
    return "\n\n".join(lines) + "\n"


def _yaml(value: Any, indent: int = 0) -> str:
    """Block YAML of dictionaries and lists, with every text as JSON, which YAML reads as the same text."""
    pad, lines = "  " * indent, []
    if isinstance(value, dict):
        for name, inner in value.items():
            nested = isinstance(inner, dict | list) and inner
            lines.append(f"{pad}{name}:\n{_yaml(inner, indent + 1)}" if nested else f"{pad}{name}: {_scalar(inner)}\n")
    else:
        for inner in value:
            block = _yaml(inner, indent + 1) if isinstance(inner, dict) else f"{pad}  {_scalar(inner)}\n"
            lines.append(f"{pad}- {block[len(pad) + 2 :]}")
    return "".join(lines)


def _scalar(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
