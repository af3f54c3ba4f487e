"""What one task leaves behind, as bytes and back: answers, relevances, scores, costs. Also attention, dense."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError
from regard.records import Attention, Floats, Json, Relevance, Score, Site, Units
from regard.store.blobs import PACKED, damaged, pack, unpack
from regard.store.ledger import Problem
from regard.store.shapes import Mismatch
from regard.store.stored_shapes import PAGE, SITES, WIDTHS

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
    def from_bytes(data: bytes, *, file: Path | None = None) -> Page:
        """The page that `to_bytes` wrote, every field checked; `file` is named where one does not fit."""
        arrays, facts = unpack(data, file=file)
        with _naming(file):
            PAGE(facts, "")
            relevances = tuple(_unpacked_relevance(r, f"r{i}", arrays) for i, r in enumerate(facts["relevances"]))
            scores = _unpacked_scores(facts["scores"], "s", arrays)
            findings = _unpacked_scores(facts.get("findings", []), "f", arrays)
            _consistent(facts["rows"], relevances, scores)
        return Page(
            rows=tuple(facts["rows"]), relevances=relevances, scores=scores, findings=findings,
            costs=tuple(Cost(*c) for c in facts["costs"]), skipped=facts["skipped"],
        )  # fmt: skip


@contextmanager
def _naming(file: Path | None) -> Iterator[None]:
    """What does not fit inside the block becomes an error that names the file."""
    try:
        yield
    except Mismatch as error:
        raise damaged(file or PACKED, "", error.expected, error.got, error.place) from error
    except InputError as error:  # of a record that its own constructor refuses
        raise damaged(file or PACKED, error.subject, error.expected, error.got) from error


def _array(arrays: Mapping[str, NDArray[Any]], name: str, kinds: str, dimensions: int | None = None) -> NDArray[Any]:
    """One array, of these kinds (numpy's letters: f, i, u, b) and with that many axes."""
    array = arrays.get(name)
    if array is None:
        raise Mismatch(name, "an array", "nothing")
    if array.dtype.kind not in kinds or dimensions not in (None, array.ndim):
        raise Mismatch(name, "an array of numbers", f"{array.dtype} of shape {array.shape}")
    return array


def _unpacked_relevance(facts: Mapping[str, Any], mark: str, arrays: Mapping[str, NDArray[Any]]) -> Relevance:
    offsets, values = _array(arrays, f"{mark}.offsets", "iu", 1), _array(arrays, f"{mark}.values", "f", 1)
    if not len(offsets) or offsets[0] != 0 or (np.diff(offsets.astype(np.int64)) < 0).any():
        raise Mismatch(f"{mark}.offsets", "offsets that rise from 0", "others")
    extras = {name: _array(arrays, f"{mark}.x.{name}", "fiub") for name in facts["extras"]}
    if any(not extra.ndim for extra in extras.values()):
        raise Mismatch(f"{mark}.x", "one value per example or unit", "a single number")
    return Relevance(facts["method"], tuple(facts["ids"]), offsets, values, facts["signed"], extras)


def _consistent(rows: Sequence[Mapping[str, Any]], relevances: Sequence[Relevance], scores: Sequence[Score]) -> None:
    """A relevance has a value for each unit of an example, and a score is of a method that left a relevance."""
    methods = {relevance.method for relevance in relevances}
    for score in scores:
        if methods and score.method not in methods:
            raise Mismatch(f"score {score.metric}", "a method of this page", f"the method {score.method[:40]}")
    counts = {row["id"]: len(row["units"]["names"]) for row in rows if row.get("units")}
    for relevance in relevances:
        for name, values in zip(relevance.ids, relevance, strict=True):
            if len(values) != counts.get(name, len(values)):
                got = f"{len(values)} values for {counts[name]} units"
                raise Mismatch(f"relevance by {relevance.method}, example {name}", "a value for each unit", got)


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
    return tuple(_unpacked_score(s, f"{mark}{i}", arrays) for i, s in enumerate(facts))


def _unpacked_score(facts: Mapping[str, Any], mark: str, arrays: Mapping[str, NDArray[Any]]) -> Score:
    curves = {name: _array(arrays, f"{mark}.c.{name}", "f") for name in facts["curves"]}
    for name, curve in curves.items():
        if curve.ndim < 2 or len(curve) != len(facts["ids"]):
            raise Mismatch(f"{mark}.c.{name}", f"{len(facts['ids'])} curves", f"an array of shape {curve.shape}")
    return Score(
        facts["metric"], facts["method"], tuple(facts["ids"]), _array(arrays, f"{mark}.values", "f", 1),
        facts["better"], facts["where"], curves, tuple(facts["grid"]),
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
    n, width = len(value["names"]), WIDTHS[value["place_kind"]]
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


def attention_from_bytes(data: bytes, *, file: Path | None = None) -> list[Attention]:
    """The sites that `attention_to_bytes` wrote, in float32; `file` is named where they are damaged."""
    arrays, facts = unpack(data, file=file)
    with _naming(file):
        SITES(facts, "sites")
        return [_unpacked_site(fact, i, arrays) for i, fact in enumerate(facts)]


def _unpacked_site(fact: Sequence[Any], i: int, arrays: Mapping[str, NDArray[Any]]) -> Attention:
    weights = _array(arrays, f"{i}.weights", "f", 4)
    sink = _array(arrays, f"{i}.sink", "f") if f"{i}.sink" in arrays else None
    if weights.shape[1] != fact[4]:
        raise Mismatch(f"{i}.weights", f"{fact[4]} heads", f"an array of shape {weights.shape}")
    return Attention(Site(*fact[:6]), weights.astype(np.float32), sink, fact[6])


def joined_relevance(parts: Sequence[Relevance], order: Mapping[str, int]) -> Relevance:
    """The parts of one method as one column, examples by `order`. Extras that are per example or per unit follow."""
    found = sorted(
        ((order.get(name, len(order)), p, i) for p, part in enumerate(parts) for i, name in enumerate(part.ids)),
        key=lambda x: x[0],
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
        ((order.get(name, len(order)), p, i) for p, part in enumerate(parts) for i, name in enumerate(part.ids)),
        key=lambda x: x[0],
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
