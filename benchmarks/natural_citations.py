"""`python -m benchmarks.natural_citations [--model smollm2]`: are answers from memory cited?

Planted prompts (`benchmarks.citations`) have answers of a few fixed forms. Here people's everyday notes come with one
question that a note answers and two that general knowledge answers, all written by hand for this file
(`natural_prompts.json`). Counts, with Wilson intervals: answers from memory that are cited, and copied answers that are
cited, or cited wrongly. The parts "development" and "confirmation" were used to choose the rule, "test" was written
afterwards. Writes results/natural_citations.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.__main__ import commit
from benchmarks.citations import Row, share, write
from regard.models.open.load import load
from regard.surveys.citation_rule import DECISIVE, DELTA, GAIN, GAINS, SUFFICIENT
from regard.surveys.cite import cite

PROMPTS = Path(__file__).parent / "natural_prompts.json"
RESULTS = Path(__file__).parent / "results" / "natural_citations.json"


def measured(model: Any, scene: dict[str, Any]) -> Iterator[Row]:
    """Cite the answers of one scene: one row per answer."""
    copied = scene["copied"]
    cases = [(copied, [copied["note"]]), *((remembered, []) for remembered in scene["remembered"])]
    for case, gold in cases:
        messages = [{"role": "user", "content": "\n".join(scene["notes"]) + "\n\n" + case["question"]}]
        result = cite(model, messages, case["answer"], sources=scene["notes"], units="answer")
        (answer,) = result.sentences
        yield {
            "language": scene["language"],
            "part": scene["part"],
            "answer": case["answer"],
            "gold": gold,
            "status": answer.status,
            "cited": list(answer.cited),
            "effects": [round(effect or 0.0, 2) for effect in answer.effects],
            "gain": None if answer.alone is None else round(answer.alone.gain, 2),
            "word": None if answer.alone is None else round(answer.alone.word, 3),
            "passes": result.passes,
        }


def figures(rows: list[Row]) -> dict[str, Any]:
    """Return the counts of one part."""
    copied = [row for row in rows if row["gold"]]
    return {
        "false_citations": share([row for row in rows if not row["gold"]], lambda row: bool(row["cited"])),
        "cited": share(copied, lambda row: bool(row["cited"])),
        "cited_true": share([row for row in copied if row["cited"]], lambda row: row["cited"] == row["gold"]),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    model = load(options.model)
    rows = [row for scene in json.loads(PROMPTS.read_text("utf-8")) for row in measured(model, scene)]
    parts = sorted({(row["language"], row["part"]) for row in rows})
    record = {
        "command": f"python -m benchmarks.natural_citations {' '.join(sys.argv[1:])}".strip(),
        "commit": commit(),
        "model": options.model,
        "delta": DELTA,
        "gain": {language: GAINS.get(language, GAIN) for language, _ in parts},
        "sufficient": SUFFICIENT,
        "decisive": DECISIVE,
        "figures": {
            f"{language} {part}": figures([r for r in rows if (r["language"], r["part"]) == (language, part)])
            for language, part in parts
        },
        "rows": rows,
    }
    print(json.dumps(record["figures"], indent=1))
    write(options.out, record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
