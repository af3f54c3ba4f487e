"""A run in memory whose first judgement answers the six headline questions."""

from __future__ import annotations

from typing import Any

from fake_run import JUDGEMENT, FakeRun, fake_run

from regard.present.overview import QUESTIONS
from regard.store.judgements import judgement_to_json

GRADED = {
    "share": 0.55, "low": 0.25, "high": 0.85, "level": 0.95, "n": 40, "best": "leave_one_out", "ruled_out": [],
    "show": "integrated_gradients", "ties": ["leave_one_out"], "ahead": [0.2, 0.1, 0.3],
}  # fmt: skip


def verdict(question: str, answer: str, rule: str = "Q1.some") -> dict[str, Any]:
    return {
        "question": question, "answer": answer, "sentence": "Said.", "rule": rule, "rule_in_words": "", "rows": [],
        "not_claimed": "", "contrasts": [], "decides_at": None, "decides_between": None, "rests_on": 0, "overruled": "",
    }  # fmt: skip


def judged(reading: str = "undecided", **changes: Any) -> FakeRun:
    run = fake_run(n=12)
    judgement = judgement_to_json(JUDGEMENT)
    answers = ("holds", "fails", "mixed", "uninformative", "holds", "holds")
    judgement |= {
        "reading": reading, "graded": GRADED, "margins": {"good": 0.7}, "classes": [], "decides_between": None,
        "verdicts": [verdict(name, answer) for name, answer in zip(QUESTIONS, answers, strict=True)], **changes,
    }  # fmt: skip
    run.manifest["data"]["n"] = 811
    run.manifest |= {
        "judgements": [judgement],
        "command": ["regard", "audit", "bilstm", "--budget", "5m", "--seed", "1"],
    }
    return run
