"""A run in memory in which every column has its own number of defined values, so that a wrong n cannot hide.

`column` hands out n = 119, 118, ...: no two columns share one. Two examples are one independent draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from fake_run import text_example

from regard.measures.summarise import summarise
from regard.records import Attention, Contrast, Floats, Json, Judgement, Relevance, Score, Summary, Verdict
from regard.store.judgements import judgement_to_json

N = 120
METHODS = ("attention", "leave_one_out", "random")
OPERATORS = ("mask", "delete", "mean")
NOISES, SEVERITIES = ("keyboard", "ocr"), (1, 3)
ATTACKS = {"greedy_word": "black box", "hotflip": "white box", "random_words": "black box"}
HEADS = ("attention", "0.0", "0.1", "0.2")
GRID = (0.1, 0.5)
WORDS = ("a", "fine", "and", "moving", "film")
DRIFT = ("rank", "top_k", "jsd", "centre", "unaligned", "per_change", "excess")


def _verdict(rule: str, margin: float, n: int) -> Verdict:
    compared = Contrast("change under permuted weights", "above", margin, 0.4, 0.3, 0.5, 0.95, n, n, 0.001, 0.006)
    return Verdict("matter", "holds", "Yes.", rule, "If ...", "No.", (compared,))


JUDGEMENT = Judgement(
    "read as evidence", "You may use this map.", "it matters, and it points at the evidence", "the pooling weights", 41,
    (_verdict("Q1.holds", 0.05, 40), _verdict("Q2.holds", 0.06, 39), _verdict("Q4.holds", 0.07, 38)),
    ("positive",), {"level": 0.05},
)  # fmt: skip


@dataclass
class DistinctRun:
    """Implements `present.run_reader.RunReader`. numbers: whether the model answers with a number, not with a class."""

    numbers: bool = False
    found: list[Score] = field(default_factory=list)
    judged: list[Score] = field(default_factory=list)
    last: int = N

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(0)
        self._examples = [self._example(i) for i in range(N)]
        self.ids = tuple(str(e["id"]) for e in self._examples)
        self.clusters = {name: "patient" if i < 2 else name for i, name in enumerate(self.ids)}
        self._relevances = {}
        for method in METHODS:
            self.last -= 1
            ids = self.ids[N - self.last :]
            rows = [np.concatenate([[0.0], self._rng.random(len(WORDS))]) for _ in ids]
            self._relevances[method] = Relevance.of(method, ids, rows)
        self._judge()
        self._robustness() if not self.numbers else self._answers()
        if not self.numbers:
            self._attention()
        self._summaries = [self._summary(score) for score in self.judged]
        self._summaries += [self._summary(part) for score in self.judged for part in self._by_class(score)]

    def _example(self, i: int) -> dict[str, Any]:
        example = {**text_example(i, " ".join(WORDS)), "group": "patient" if i < 2 else None}
        return {
            **example,
            "label": None if i < 7 or self.numbers else i % 2,
            "predicted": ("negative", "positive")[i % 3 > 0],
        }

    # ------------------------------------------------------------------ columns

    def column(self, *, share: bool = False, curves: int = 0, within: Floats | None = None) -> tuple[Floats, Floats]:
        """(N,) values and (N, curves) with fewer defined ones than any column before; each point loses one more."""
        self.last -= 1
        values = (self._rng.random(N) < 0.6).astype(float) if share else self._rng.random(N)
        values[self._rng.permutation(N)[: N - self.last]] = np.nan
        points = np.repeat(values[:, None], curves, 1) * self._rng.random((N, curves)) if curves else np.zeros((N, 0))
        for j in range(1, curves):
            self.last -= 1
            points[np.flatnonzero(~np.isnan(points[:, 0]))[:j], j] = np.nan
        return values, points

    def _judge(self) -> None:
        for metric, better, operators in (
            ("comprehensiveness", "higher", OPERATORS),
            ("sufficiency", "lower", OPERATORS[:1]),
        ):
            for operator in operators:
                for method in METHODS:
                    values, points = self.column(curves=2 if (metric, operator) == ("comprehensiveness", "mask") else 0)
                    curves = {"drop": points} if points.size else {}
                    where = {"operator": operator}
                    self.judged.append(
                        Score(metric, method, self.ids, values, better, where, curves, GRID if curves else ())
                    )  # type: ignore[arg-type]

    def find(self, metric: str, method: str = "model", *, share: bool = False, curves: int = 0, **where: Json) -> Score:
        values, points = self.column(share=share, curves=curves)
        names = {"attack_success": "success", "max_jsd": "jsd", "pointing": "removed"}
        if metric == "attack_success":
            points = np.where(np.isnan(points), np.nan, (points > 0.3).astype(float))
        columns = {names[metric]: points} if curves else {}
        grid = tuple(float(k + 1) for k in range(curves))
        score = Score(metric, method, self.ids, values, "higher", where, columns, grid)
        self.found.append(score)
        return score

    def _robustness(self) -> None:
        for noise, severity in [("none", 0), *((n, s) for n in NOISES for s in SEVERITIES)]:
            about: dict[str, Json] = {"noise": noise, "severity": severity}
            for metric in ("confidence", "nll", "brier"):
                self.find(metric, **about)
            if severity:
                self.find("accuracy", share=True, **about)
                self.find("flips", share=True, **about)
                self.find("prediction_kept", share=True, **about)
        for level in (*SEVERITIES, "all"):
            self.find("worst_case_accuracy", share=True, severity=level, noises_tried=2)
        for method in METHODS[:2]:
            self.find("explanation_seed_rank", method)
            for quantity in DRIFT:
                self.find(f"explanation_{quantity}", method, noise="keyboard", severity=1)
            self.find("comprehensiveness", method, noise="keyboard", severity=1, operator="mask")
        for attack, access in ATTACKS.items():
            where: dict[str, Json] = {"attack": attack, "access": access, "constraints": attack, "budget": 9}
            where |= {"role": "baseline"} if attack == "random_words" else {}
            self.find("attack_success", share=True, curves=2, **where)
            self.find("accuracy", share=True, **where)
            self.find("attack_queries", **where)
            self.find("attack_perturbed", **where)
            self.find("attack_similarity", **where, similarity="words")
        for method in METHODS[:2]:
            self.find("explanation_rank", method, attack="greedy_word")
        self.find("worst_case_attack_accuracy", share=True, attacks_tried=2)
        smooth: dict[str, Json] = {"smoothing": "masks", "samples": 1000, "sigma": None}
        self.find("smoothed_accuracy", share=True, **smooth)
        self.find("abstained", share=True, **smooth)
        for radius in (1, 2):
            self.find("certified_accuracy", share=True, radius=radius, **smooth)

    def _answers(self) -> None:
        self.find("absolute_error", noise="none", severity=0, answer="number")
        for noise in NOISES:
            for severity in SEVERITIES:
                about: dict[str, Json] = {"noise": noise, "severity": severity, "answer": "number"}
                self.find("flips", share=True, **about)
                self.find("output_change", **about)
                self.find("output_shift", **about)
                self.find("absolute_error", **about)
        for level in (*SEVERITIES, "all"):
            self.find("worst_case_flips", share=True, severity=level, noises_tried=2)

    def _attention(self) -> None:
        for operator in OPERATORS[:1]:
            for method in (*METHODS[:2], "random:0"):
                self.find("pointing", method, curves=2, operator=operator)
        self.find("permuted", "attention")
        score = self.find("max_jsd", "attention", curves=2)
        other = np.full((N, 4), -1.0)
        self.found[-1] = Score(score.metric, score.method, score.ids, score.values, "none", {},
                               {**score.curves, "other": other, "change": np.zeros((N, 2))}, (0.05, 0.1))  # fmt: skip
        for head in HEADS:
            self.find("head_gain", head)

    def _by_class(self, score: Score) -> list[Score]:
        parts = []
        for name in ("negative", "positive"):
            inside = [i for i, e in enumerate(self._examples) if e["predicted"] == name]
            ids = tuple(self.ids[i] for i in inside)
            parts.append(
                Score(
                    score.metric, score.method, ids, score.values[inside], score.better, {**score.where, "class": name}
                )
            )
        return parts

    def _summary(self, score: Score) -> Summary:
        role: Any = "baseline" if score.method == "random" else "method"
        return summarise(score, [self.clusters[name] for name in score.ids], seed=0, role=role)

    # ------------------------------------------------------------------ the reader

    @property
    def manifest(self) -> Mapping[str, Any]:
        return {
            "model": {"name": "bilstm", "source": "bilstm", "fingerprint": "ab" * 32, "task": "classification",
                      "labels": [] if self.numbers else ["negative", "positive"], "operators": [*OPERATORS]},
            "data": {"name": "reviews", "source": "reviews", "fingerprint": "cd" * 32, "n": 133, "notes": []},
            "seed": 0, "profile": "quick", "versions": {"regard": "0.1.0"}, "specs": [], "status": "complete",
            "created": "2026-11-15T12:00:00+00:00", "command": ["regard", "audit"], "skipped": {},
            "preconditions": {"n": 8, "sites": 1, "defects": [], "notes": []}, "methods": [*METHODS],
            "judgements": [] if self.numbers else [judgement_to_json(JUDGEMENT)],
        }  # fmt: skip

    def examples(self) -> list[dict[str, Any]]:
        return self._examples

    def predictions(self) -> list[dict[str, Any]]:
        return [{**e, "cluster": e.get("group") or e["id"]} for e in self.examples() if e.get("units")]

    def methods(self) -> list[str]:
        return [*METHODS]

    def relevance(self, method: str) -> Relevance:
        return self._relevances[method]

    def scores(self) -> list[Score]:
        return self.judged

    def findings(self) -> list[Score]:
        return self.found

    def summaries(self) -> list[Summary]:
        return self._summaries

    def problems(self) -> list[dict[str, Any]]:
        return []

    def costs(self) -> list[dict[str, Any]]:
        return []

    def kept(self) -> list[str]:
        return []

    def capture(self, example_id: str) -> list[Attention]:
        return []
