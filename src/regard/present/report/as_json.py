"""A run as one JSON value, the output of `regard audit --json` and `regard report --format json`."""

from __future__ import annotations

from regard.audits.conclusions.run_facts import RunReader
from regard.present.messages.messages import rendered
from regard.present.overview import overview_json
from regard.present.report.exhibits.as_json import exhibits_json
from regard.present.run_reader import Material
from regard.present.summary import reading
from regard.records import Json
from regard.store.codec import fields_to_json, to_json
from regard.store.judgements import with_answer_ids

_DIFFERENCE = ("metric", "setting", "method", "baseline", "estimate", "low", "high", "n", "reading")
_SUMMARY = (
    *("metric", "method", "where", "estimate", "low", "high", "level"),
    *("n", "clusters", "undefined", "seed", "better", "role"),
)


def run_json(run: RunReader) -> dict[str, Json]:
    """Manifest, summaries, differences to the baseline, words, problems, costs. Undefined numbers are null."""
    material = Material(run)
    manifest = dict(material.manifest)
    against: list[Json] = [
        fields_to_json(d, *_DIFFERENCE) | {"setting": dict(d.setting)} for d in material.conclusions.differences
    ]
    contents = {
        "manifest": manifest,
        "summaries": [fields_to_json(s, *_SUMMARY) for s in material.summaries],
        "differences": against,
        "overview": overview_json(material),
        "verdicts": [with_answer_ids(j) for j in manifest.pop("judgements", None) or ()],
        "exhibits": exhibits_json(material),
        "trust": [to_json(row) for row in material.conclusions.trust_of_examples],
        "preconditions": manifest.get("preconditions"),
        "repeatability": manifest.get("repeatability"),
        "reading": list(reading(material)),
        "problems": [dict(p) for p in run.problems()],
        "costs": [dict(c) for c in run.costs()],
    }
    return dict(rendered(contents))
