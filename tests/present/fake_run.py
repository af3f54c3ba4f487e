"""A run that exists only in memory, in every modality: what a report is developed and tested against."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regard.measures.summarise import summarise
from regard.records import Attention, Contrast, Judgement, Message, Relevance, Score, Site, Summary, Verdict

METHODS = ("attention", "rollout", "input_x_gradient", "integrated_gradients", "leave_one_out", "random")
SIGNED = {"input_x_gradient", "integrated_gradients", "leave_one_out"}
STRENGTH = {
    "attention": 0.9,
    "rollout": 0.5,
    "input_x_gradient": 1.0,
    "integrated_gradients": 1.3,
    "leave_one_out": 1.8,
}
GRID = (0.01, 0.05, 0.1, 0.2, 0.5)
SENTENCES = (
    "A quiet , moving film that never begs for tears .",
    "The plot is a mess and the jokes are worse .",
    "Gorgeous to look at , yet oddly hollow .",
    "I laughed , I cried , I checked my watch .",
)
JUDGEMENT = Judgement(
    "read as evidence", "You may use this map.", Message("judge.why.read_as_evidence"), "the pooling weights", 40,
    (
        Verdict(
            "matter", "holds", "Its answer would change.", "Q1.holds",
            Message("judge.same.rule"), Message("judge.matter.not_claimed"),
            (Contrast(Message("judge.matter.change"), "above", 0.05, 0.4, 0.3, 0.5, 0.95, 40, 40, 0.001, 0.006),),
        ),
    ),
    ("positive",), {"level": 0.05},
)  # fmt: skip


@dataclass
class FakeRun:
    """Implements `present.run_reader.RunReader`; `examples_` may be changed by a test before use."""

    examples_: list[dict[str, Any]]
    seed: int = 0
    manifest: dict[str, Any] = field(default_factory=dict)
    problems_: list[dict[str, str]] = field(default_factory=list)
    keep: int = 3
    findings_: list[Score] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        ids = tuple(e["id"] for e in self.examples_)
        self._relevances = {}
        for method in METHODS:
            rows = []
            for e in self.examples_:
                free = ~np.asarray(e["units"]["special"])
                row = rng.normal(size=len(free)) if method in SIGNED else rng.gamma(0.6, size=len(free))
                rows.append(np.where(free, row, 0.0))
            self._relevances[method] = Relevance.of(method, ids, rows, signed=method in SIGNED)
        self._scores, self._summaries = [], []
        for metric, better in (("comprehensiveness", "higher"), ("sufficiency", "lower")):
            for operator in ("mask", "delete"):
                for method in METHODS:
                    self._add_removal(metric, better, operator, method, ids, rng)
        for method in METHODS:
            values = np.clip(rng.normal(0.0 if method == "random" else 0.25, 0.2, len(ids)), -1, 1)
            values = np.full(len(ids), np.nan) if method == "leave_one_out" else values
            where, columns = {"other": "leave_one_out", "measure": "kendall"}, {"null_sd": np.full((len(ids), 1), 0.2)}
            score = Score("agreement", method, ids, values, "higher", where, columns)
            self._keep(score, {"random": "baseline", "input_x_gradient": "ceiling"}.get(method, "method"))
        defaults = {
            "model": {
                "name": "bilstm", "source": "bilstm", "fingerprint": "ab" * 32, "task": "classification",
                "labels": ["negative", "positive"], "operators": ["mask", "delete"],
            },
            "data": {
                "name": "reviews", "source": "reviews", "fingerprint": "cd" * 32, "n": len(ids),
                "notes": ["200 of 8530 examples were drawn, stratified by label, seed 0."],
            },
            "seed": self.seed, "profile": "quick", "versions": {"regard": "0.1.0", "torch": "2.13.0"},
            "specs": [{"kind": "explainer", "name": m, "params": {}} for m in METHODS], "status": "complete",
            "created": "2026-11-15T12:00:00+00:00", "command": ["regard", "audit"], "checked": "first",
            "label_table": [{"model": "negative", "data": "0"}, {"model": "positive", "data": "1"}], "skipped": {},
            "preconditions": {"n": 8, "sites": 1, "defects": [], "notes": []},
        }  # fmt: skip
        self.manifest = {**defaults, **self.manifest}

    def _add_removal(self, metric: str, better: str, operator: str, method: str, ids: Any, rng: Any) -> None:
        rise = (1 - np.exp(-6 * np.asarray(GRID))) * STRENGTH.get(method, 0.2) * 0.4
        rise = rise if metric == "comprehensiveness" else 0.5 - rise
        curves = rise + rng.normal(0, 0.1, (len(ids), 1)) + rng.normal(0, 0.02, (len(ids), len(GRID)))
        score = Score(metric, method, ids, curves.mean(1), better, {"operator": operator}, {"drop": curves}, GRID)
        self._keep(score, "baseline" if method == "random" else "method")
        for name in ("negative", "positive"):
            inside = [i for i, e in enumerate(self.examples_) if e["predicted"] == name]
            part = Score(metric, method, tuple(ids[i] for i in inside), score.values[inside], better,
                         {"operator": operator, "class": name})  # fmt: skip
            self._summaries.append(summarise(part, part.ids, seed=self.seed))

    def _keep(self, score: Score, role: Any) -> None:
        self._scores.append(score)
        self._summaries.append(summarise(score, score.ids, seed=self.seed, role=role))

    def examples(self) -> list[dict[str, Any]]:
        return self.examples_

    def predictions(self) -> list[dict[str, Any]]:
        return [{**e, "cluster": e.get("group") or e["id"]} for e in self.examples() if e.get("units")]

    def methods(self) -> list[str]:
        return list(METHODS)

    def relevance(self, method: str) -> Relevance:
        return self._relevances[method]

    def scores(self) -> list[Score]:
        return self._scores

    def findings(self) -> list[Score]:
        return self.findings_

    def summaries(self) -> list[Summary]:
        return self._summaries

    def problems(self) -> list[dict[str, str]]:
        return self.problems_

    def costs(self) -> list[dict[str, Any]]:
        return [
            {"kind": "explainer", "method": m, "seconds": 1.5, "forwards": 200, "backwards": 0, "share": 1 / 6}
            for m in METHODS
        ]

    def kept(self) -> list[str]:
        return [e["id"] for e in self.examples_[: self.keep]]

    def capture(self, example_id: str) -> list[Attention]:
        n = len(next(e for e in self.examples_ if e["id"] == example_id)["units"]["names"])
        rng = np.random.default_rng(len(example_id))
        sites = [
            Site("encoder.0", 0, "self", 0, 2),
            Site("encoder.1", 0, "self", 1, 2),
            Site("pool", 0, "pooling", 2, 1),
        ]
        made = []
        for site in sites:
            weights = rng.gamma(0.3, size=(1, site.heads, 1 if site.kind == "pooling" else n, n)).astype(np.float32)
            made.append(Attention(site, weights / weights.sum(-1, keepdims=True), checked="first"))
        return made


def _example(i: int, inputs: dict[str, Any], units: dict[str, Any]) -> dict[str, Any]:
    n = len(units["names"])
    units = {"special": [False] * n, "groups": list(range(n)), "part": [0] * n, "keys": list(range(n)), **units}
    predicted = ("negative", "positive")[i % 2]
    return {
        "id": f"e{i}", "inputs": inputs, "label": (i % 3 == 0 and 1) or 0, "predicted": predicted, "target": i % 2,
        "probability": 0.6 + 0.01 * (i % 30), "value": 0.4, "distribution": [0.4, 0.6], "group": None, "parent": None,
        "slices": {}, "rationale": None, "units": {"shape": [n], **units},
    }  # fmt: skip


def text_example(i: int, text: str) -> dict[str, Any]:
    names, places, at = ["[CLS]"], [[0, 0]], 0
    for word in text.split(" "):
        names.append(word)
        places.append([at, at + len(word)])
        at += len(word) + 1
    special = [True] + [False] * (len(names) - 1)
    groups = [-1, *range(len(names) - 1)]
    units = {
        "names": names,
        "kind": "word",
        "place_kind": "span",
        "places": places,
        "special": special,
        "groups": groups,
    }
    return _example(i, {"text": text}, units)


def image_example(i: int) -> dict[str, Any]:
    rng = np.random.default_rng(i)
    image = np.clip(rng.normal(8, 6, (8, 8)), 0, 16)
    boxes = [[y, x, y + 2, x + 2] for y in range(0, 8, 2) for x in range(0, 8, 2)]
    names = [f"patch {b[0] // 2},{b[1] // 2}" for b in boxes]
    units = {"names": names, "kind": "patch", "place_kind": "box", "places": boxes, "shape": [4, 4]}
    return _example(i, {"image": image.tolist()}, units)


def series_example(i: int) -> dict[str, Any]:
    t = np.arange(24)
    series = np.sin(t / 3 + i)[:, None]
    units = {"names": [f"t{k}" for k in t], "kind": "step", "place_kind": "range", "places": [[k, k + 1] for k in t]}
    return _example(i, {"series": series.tolist()}, units)


def row_example(i: int) -> dict[str, Any]:
    names = [f"feature number {k}" for k in range(20)]
    units = {"names": names, "kind": "column", "place_kind": "column", "places": [[k] for k in range(20)]}
    return _example(i, {"row": [float(k) for k in range(20)]}, units)


MODALITIES = {
    "text": lambda i: text_example(i, SENTENCES[i % len(SENTENCES)]),
    "image": image_example,
    "series": series_example,
    "tabular": row_example,
}


def fake_run(modality: str = "text", n: int = 24, **changes: Any) -> FakeRun:
    return FakeRun([MODALITIES[modality](i) for i in range(n)], **changes)
