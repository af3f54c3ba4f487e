"""What one task leaves behind, as bytes and back: answers, relevances, scores, costs. Also attention, dense."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.records import Attention, Floats, Json, Relevance, Score, Site, Units
from regard.store.blobs import pack, unpack
from regard.store.ledger import Problem

LARGEST_EXACT = 32 << 20
"""Attention of one example above this many bytes is kept in half precision."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one method spent: seconds of its own, rows through the model, gradients, questions asked."""

    kind: str
    method: str
    seconds: float = 0.0
    forwards: int = 0
    backwards: int = 0
    requests: int = 0

    def plus(self, other: Cost) -> Cost:
        return replace(
            self,
            seconds=self.seconds + other.seconds,
            forwards=self.forwards + other.forwards,
            backwards=self.backwards + other.backwards,
            requests=self.requests + other.requests,
        )


@dataclass(frozen=True, slots=True)
class Page:
    """The results of one task. `rows` are JSON facts about each example: what was predicted, its units.

    `skipped` are methods that this model does not support, with the reason. `findings` are what experiments left:
    scores too, but in a drawer of their own, because nobody averages them into the tables of metrics.
    """

    rows: tuple[Mapping[str, Json], ...] = ()
    relevances: tuple[Relevance, ...] = ()
    scores: tuple[Score, ...] = ()
    findings: tuple[Score, ...] = ()
    costs: tuple[Cost, ...] = ()
    problems: tuple[Problem, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    attentions: Mapping[str, Sequence[Attention]] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Everything but problems and attentions, which are entered apart."""
        arrays: dict[str, NDArray[Any]] = {}
        relevances: list[Json] = []
        for i, r in enumerate(self.relevances):
            arrays[f"r{i}.offsets"], arrays[f"r{i}.values"] = r.offsets, r.values
            arrays.update({f"r{i}.x.{name}": np.asarray(values) for name, values in r.extras.items()})
            relevances.append({"method": r.method, "ids": [*r.ids], "signed": r.signed, "extras": [*sorted(r.extras)]})
        scores = _packed_scores(self.scores, "s", arrays)
        findings = _packed_scores(self.findings, "f", arrays)
        costs: list[Json] = [[c.kind, c.method, c.seconds, c.forwards, c.backwards, c.requests] for c in self.costs]
        rows: list[Json] = [dict(row) for row in self.rows]
        facts: Json = {
            "rows": rows, "relevances": relevances, "scores": scores, "costs": costs, "skipped": dict(self.skipped),
            "findings": findings,
        }  # fmt: skip
        return pack(arrays, facts)

    @staticmethod
    def from_bytes(data: bytes) -> Page:
        arrays, facts = unpack(data)
        relevances = tuple(
            Relevance(
                r["method"], tuple(r["ids"]), arrays[f"r{i}.offsets"], arrays[f"r{i}.values"], r["signed"],
                {name: arrays[f"r{i}.x.{name}"] for name in r["extras"]},
            )
            for i, r in enumerate(facts["relevances"])
        )  # fmt: skip
        return Page(
            rows=tuple(facts["rows"]), relevances=relevances, scores=_unpacked_scores(facts["scores"], "s", arrays),
            findings=_unpacked_scores(facts.get("findings", []), "f", arrays),
            costs=tuple(Cost(*c) for c in facts["costs"]), skipped=facts["skipped"],
        )  # fmt: skip


def _packed_scores(scores: Sequence[Score], mark: str, arrays: dict[str, NDArray[Any]]) -> list[Json]:
    facts: list[Json] = []
    for i, s in enumerate(scores):
        arrays[f"{mark}{i}.values"] = s.values
        arrays.update({f"{mark}{i}.c.{name}": np.asarray(values) for name, values in s.curves.items()})
        facts.append(
            {
                "metric": s.metric, "method": s.method, "ids": [*s.ids], "better": s.better,
                "where": dict(s.where), "grid": [*s.grid], "curves": [*sorted(s.curves)],
            }
        )  # fmt: skip
    return facts


def _unpacked_scores(facts: Sequence[Any], mark: str, arrays: Mapping[str, NDArray[Any]]) -> tuple[Score, ...]:
    return tuple(
        Score(
            s["metric"], s["method"], tuple(s["ids"]), arrays[f"{mark}{i}.values"], s["better"], s["where"],
            {name: arrays[f"{mark}{i}.c.{name}"] for name in s["curves"]}, tuple(s["grid"]),
        )
        for i, s in enumerate(facts)
    )  # fmt: skip


def units_to_json(units: Units) -> dict[str, Json]:
    """Units as JSON, places and all."""
    return {
        "names": list(units.names), "kind": units.kind, "place_kind": units.place_kind,
        "places": units.places.tolist(), "special": units.special.tolist(), "groups": units.groups.tolist(),
        "part": units.part.tolist(), "keys": units.keys.tolist(), "shape": list(units.shape),
    }  # fmt: skip


def units_from_json(value: Mapping[str, Any]) -> Units:
    """The units that `units_to_json` wrote."""
    n = len(value["names"])
    width = {"span": 2, "box": 4, "range": 2, "column": 1}[value["place_kind"]]
    return Units(
        tuple(value["names"]), value["kind"], value["place_kind"],
        np.asarray(value["places"], np.float64).reshape(n, width),
        np.asarray(value["special"], np.bool_), np.asarray(value["groups"], np.int64),
        np.asarray(value["part"], np.int64), np.asarray(value["keys"], np.int64), tuple(value["shape"]),
    )  # fmt: skip


def attention_to_bytes(sites: Sequence[Attention]) -> bytes:
    """The sites of one example as a safetensors file; half precision where exact weights would be very large."""
    size = sum(site.weights.size for site in sites) * 4
    dtype = np.float32 if size <= LARGEST_EXACT else np.float16
    arrays: dict[str, NDArray[Any]] = {}
    facts: list[Json] = []
    for i, attention in enumerate(sites):
        arrays[f"{i}.weights"] = np.asarray(attention.weights, dtype)
        if attention.sink is not None:
            arrays[f"{i}.sink"] = np.asarray(attention.sink, np.float32)
        s = attention.site
        facts.append([s.name, s.call, s.kind, s.layer, s.heads, s.module, attention.checked])
    return pack(arrays, facts)


def attention_from_bytes(data: bytes) -> list[Attention]:
    """The sites that `attention_to_bytes` wrote, in float32."""
    arrays, facts = unpack(data)
    return [
        Attention(Site(*fact[:6]), arrays[f"{i}.weights"].astype(np.float32), arrays.get(f"{i}.sink"), fact[6])
        for i, fact in enumerate(facts)
    ]


def joined_relevance(parts: Sequence[Relevance], order: Mapping[str, int]) -> Relevance:
    """The parts of one method as one column, examples by `order`. Extras that are per example or per unit follow."""
    found = sorted(
        ((order[name], p, i) for p, part in enumerate(parts) for i, name in enumerate(part.ids)), key=lambda x: x[0]
    )
    rows = [parts[p][i] for _, p, i in found]
    extras: dict[str, Floats] = {}
    for name in sorted(set.intersection(*(set(p.extras) for p in parts))) if parts else []:
        pieces = [_extra(parts[p], name, i) for _, p, i in found]
        kept = [piece for piece in pieces if piece is not None]
        if kept and len(kept) == len(pieces):
            extras[name] = np.concatenate(kept)
    ids = [parts[p].ids[i] for _, p, i in found]
    return Relevance.of(parts[0].method, ids, rows, signed=parts[0].signed, extras=extras)


def _extra(part: Relevance, name: str, i: int) -> Floats | None:
    values = part.extras[name]
    if len(values) == len(part.ids):
        return values[i : i + 1]
    if len(values) == len(part.values):
        return values[int(part.offsets[i]) : int(part.offsets[i + 1])]
    return None


def joined_scores(parts: Sequence[Score], order: Mapping[str, int]) -> Score:
    """The parts of one (metric, method, setting) as one column, examples by `order`."""
    found = sorted(
        ((order[name], p, i) for p, part in enumerate(parts) for i, name in enumerate(part.ids)), key=lambda x: x[0]
    )
    first = parts[0]
    values = np.array([parts[p].values[i] for _, p, i in found], np.float64)
    curves = {}
    for name in sorted(set.intersection(*(set(p.curves) for p in parts))):
        pieces = [np.asarray(parts[p].curves[name])[i] for _, p, i in found]
        if len({piece.shape for piece in pieces}) == 1:
            curves[name] = np.stack(pieces)
    ids = tuple(parts[p].ids[i] for _, p, i in found)
    return Score(first.metric, first.method, ids, values, first.better, first.where, curves, first.grid)


def number(value: float) -> float | None:
    """A float for JSON: None where it is not finite."""
    return float(value) if math.isfinite(value) else None
