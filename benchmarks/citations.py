"""`python -m benchmarks.citations [--model smollm2] [--n 30] [--seed 1] [--languages en,zh]`: are citations right?

Cites planted prompts, whose truth is known (`regard.datasets.planted_answers`), and counts, with Wilson intervals: the
first source of the ranking is a true one; both passages of an agreeing pair come first; the citation names a true
passage, or a wrong one; answers without a source passage are cited nevertheless. Chinese prompts are counted apart.
Writes results/citations.json; rows are cached in a file beside it, so that an interrupted run continues. Answers are
teacher-forced, so a model that would give another answer is measured too; `top_1_right` counts only answers that the
model gives more than half of its probability. `--model copier` measures the second decoder with weights, a tiny one
that is trained here, on prompts of its own (three models: each copies, or answers from memory). `--model gemma3`
measures Gemma-3-270M, if its packages are installed: a base model without chat template reads the same words as a plain
prompt.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks.__main__ import commit
from regard.datasets.copying_prompts import RULES, copying_prompts
from regard.datasets.planted_answers import KINDS, PlantedAnswer, planted_answers
from regard.measures.intervals import wilson
from regard.models.ask.chat_model import chat_model
from regard.models.open.load import load
from regard.surveys.citation_rule import DECISIVE, DELTA, GAIN, GAINS, LIMIT, SUFFICIENT
from regard.surveys.cite import cite
from regard.surveys.cited_answer import CitedSentence

RESULTS = Path(__file__).parent / "results" / "citations.json"
COPIER = "copier"
Row = dict[str, Any]
T = TypeVar("T")


def measured(model: Any, prompt: PlantedAnswer) -> list[Row]:
    """Cite one prompt: one row per sentence of its answer."""
    messages: Any = prompt.messages
    if not chat_model(model).tokenizer.chat_template:
        messages = "".join(message["content"] + "\n\n" for message in messages)
    start = time.process_time()
    result = cite(model, messages, prompt.answer, sources=prompt.passages, prefix=prompt.prefix)
    seconds = time.process_time() - start
    shared = {
        "kind": prompt.kind,
        "language": prompt.language,
        "passages": len(prompt.passages),
        "tokens": result.prompt_tokens,
        "ranking_passes": result.ranking_passes,
        "passes": result.passes,
        "seconds": round(seconds, 2),
    }
    pairs = zip(result.sentences, prompt.gold, strict=True)
    return [{**shared, **_sentence(sentence, sorted(gold))} for sentence, gold in pairs]


def remembered(path: Path, key: str, compute: Callable[[], list[Row]]) -> list[Row]:
    """Return the rows of one prompt from the file, or compute and append them."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    for line in lines:
        entry = json.loads(line)
        if entry["key"] == key:
            return list(entry["rows"])
    rows = [{"number": key, **row} for row in compute()]
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"key": key, "rows": rows}) + "\n")
    return rows


def _sentence(sentence: CitedSentence, gold: Sequence[int]) -> Row:
    order = [int(c) for c in np.argsort([-(effect or 0.0) for effect in sentence.effects], kind="stable")]
    return {
        "gold": list(gold),
        "order": order[:3],
        "status": sentence.status,
        "checked": sentence.checked,
        "cited": list(sentence.trace.sources if sentence.trace else sentence.cited),
        "supported": sentence.supported,
        "log_odds": round(sentence.log_odds, 2),
        "effects": [round(sentence.effects[c] or 0.0, 2) for c in order[:3]],
        "whole": round(sentence.whole, 2),
        "gain": None if sentence.alone is None else round(sentence.alone.gain, 2),
        "alone": None if sentence.alone is None else round(sentence.alone.probability, 3),
        "word": None if sentence.alone is None else round(sentence.alone.word, 3),
    }


def share(rows: Iterable[T], hit: Callable[[T], bool]) -> dict[str, float | int | None]:
    """Count the hits, with the Wilson interval of their share."""
    hits = [bool(hit(row)) for row in rows]
    if not hits:
        return {"k": 0, "n": 0, "low": None, "high": None}
    low, high = wilson(sum(hits), len(hits))
    return {"k": sum(hits), "n": len(hits), "low": round(float(low), 3), "high": round(float(high), 3)}


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Return every figure of one language."""
    copied = [row for row in rows if row["gold"]]
    pairs = [row for row in copied if row["kind"] == "pair"]
    ignoring = [row for row in rows if not row["gold"]]
    brief = [row for row in rows if row["kind"] != "long"]

    def first_is_true(row: Row) -> bool:
        return row["order"][0] in row["gold"]

    def named(row: Row) -> bool:
        return bool(row["cited"]) or row["status"] == "traced"

    found: dict[str, Any] = {
        "top_1": share(copied, first_is_true),
        "top_1_right": share([row for row in copied if row["log_odds"] > 0], first_is_true),
        "both_of_a_pair": share(pairs, lambda row: set(row["order"][:2]) == set(row["gold"])),
        "cited": share(copied, named),
        "cited_true": share(filter(named, copied), lambda row: set(row["cited"]) <= set(row["gold"])),
        "false_citations": share(ignoring, named),
        "unchecked": share(rows, lambda row: not row["checked"]),
        "complete": share(_prompts(rows), lambda own: all(row["checked"] for row in own) and own[0]["passes"] <= LIMIT),
        "supported_copied": share(copied, lambda row: bool(row["supported"])),
        "supported_ignoring": share(ignoring, lambda row: bool(row["supported"])),
        "ranking_passes": _summary(rows, "ranking_passes"),
        "passes": _summary(rows, "passes"),
        "passes_up_to_two_sentences": _summary(brief, "passes"),
        "prompts": len({row["number"] for row in rows}),
        "seconds": _summary(rows, "seconds"),
    }
    by_kind = {kind: [row for row in rows if row["kind"] == kind] for kind in (*KINDS, *RULES)}
    found["by_kind"] = {
        kind: {
            "top_1": share([row for row in own if row["gold"]], first_is_true) if any(r["gold"] for r in own) else None,
            "false_citations": share([row for row in own if not row["gold"]], named),
            "statuses": {status: sum(row["status"] == status for row in own) for status in STATUSES},
        }
        for kind, own in by_kind.items()
        if own
    }
    return found


def _prompts(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows by prompt."""
    return [[row for row in rows if row["number"] == number] for number in dict.fromkeys(r["number"] for r in rows)]


STATUSES = ("cite", "either", "traced", "none", "unclear")


def _summary(rows: Sequence[Row], name: str) -> dict[str, float | None]:
    values = [float(row[name]) for row in rows]
    if not values:
        return {"mean": None, "most": None}
    return {"mean": round(float(np.mean(values)), 2), "most": round(max(values), 2)}


def write(path: Path, record: dict[str, Any]) -> None:
    """Write the record, one row per line."""
    text = json.dumps({key: value for key, value in record.items() if key != "rows"}, indent=1)
    lines = ",\n  ".join(json.dumps(row) for row in record["rows"])
    path.write_text(f'{text[:-2]},\n "rows": [\n  {lines}\n ]\n}}\n', "utf-8")


def prompts_of(model: str, kind: str, n: int, seed: int, language: str) -> list[PlantedAnswer]:
    """Return planted prompts; for the trained copier, those of its own rule."""
    if model != COPIER:
        return planted_answers(kind, n=n, seed=seed, language=language)
    return [
        PlantedAnswer(
            kind=kind,
            language=language,
            messages=tuple(prompt.messages),
            passages=tuple(prompt.sources or ()),
            prefix=prompt.prefix,
            answer=str(prompt.answer),
            gold=(frozenset(prompt.truth or ()),),
        )
        for prompt in copying_prompts(kind, n=n, seed=seed)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--n", type=int, default=30, help="prompts of each kind")
    parser.add_argument("--more", default="", help="other numbers of some kinds: pair=60,memory=60")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--languages", default="en")
    parser.add_argument("--kinds", default="", help="kinds of planted answers; for the copier, its rules")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    copier = options.model == COPIER
    kinds = options.kinds.split(",") if options.kinds else RULES if copier else KINDS
    names = {kind: f"{COPIER}:rule={kind}" if copier else options.model for kind in kinds}
    live = {name: load(name) for name in dict.fromkeys(names.values())}
    record: dict[str, Any] = {
        "command": f"python -m benchmarks.citations {' '.join(sys.argv[1:])}".strip(),
        "commit": commit(),
        "model": options.model,
        "delta": DELTA,
        "gain": {language: GAINS.get(language, GAIN) for language in options.languages.split(",")},
        "sufficient": SUFFICIENT,
        "decisive": DECISIVE,
        "figures": {},
        "rows": [],
    }
    for language in options.languages.split(","):
        rows: list[Row] = []
        more = dict(pair.split("=") for pair in options.more.split(",") if pair)
        for kind in kinds:
            n = int(more.get(kind, options.n))
            for i, prompt in enumerate(prompts_of(options.model, kind, n, options.seed, language)):
                key = f"{options.model} {options.seed} {language} {kind} {i}"
                ask = partial(measured, live[names[kind]], prompt)
                rows += remembered(options.out.with_suffix(".partial.jsonl"), key, ask)
            print(language, kind, len(rows), flush=True)
        record["figures"][language] = figures(rows)
        record["rows"] += rows
        print(json.dumps(record["figures"][language], indent=1), flush=True)
        write(options.out, record)
    options.out.with_suffix(".partial.jsonl").unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
