"""Results of one shard as bytes and back: answers, relevances, scores, costs; and dense attention."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError, phrase
from regard.message import from_column, to_column
from regard.records import Attention, Floats, Json, Relevance, Score, Site, Text, Units, decoded, encoded
from regard.store.blobs import PACKED, damaged, pack, unpack
from regard.store.ledger import Problem
from regard.store.shapes import Mismatch
from regard.store.stored_shapes import SHARD_RESULT, SITES, WIDTHS

LARGEST_EXACT = 32 << 20
"""Attention of one example above this many bytes is stored in half precision."""


def passes_of(forwards: int, backwards: int) -> int:
    """Cost in passes through the model: a gradient takes about as long as two forward passes.

    >>> passes_of(10, 3)
    16
    """
    return forwards + 2 * backwards


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one method: its own wall time, forward and backward passes, requests."""

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
class ShardResult:
    """The results of one shard. `rows` are JSON facts about each example: prediction, units.

    `skipped` maps methods that the model does not support to the reason. `findings` are scores of experiments, kept
    apart because the tables of metrics do not average them. `predictions` are like `rows`, without units, of examples
    that were only predicted.
    """

    rows: tuple[Mapping[str, Json], ...] = ()
    relevances: tuple[Relevance, ...] = ()
    scores: tuple[Score, ...] = ()
    findings: tuple[Score, ...] = ()
    costs: tuple[Cost, ...] = ()
    problems: tuple[Problem, ...] = ()
    skipped: Mapping[str, Text] = field(default_factory=dict)
    attentions: Mapping[str, Sequence[Attention]] = field(default_factory=dict)
    predictions: tuple[Mapping[str, Json], ...] = ()

    @property
    def passes(self) -> int:
        """The passes of this page (see `passes_of`)."""
        return sum(passes_of(cost.forwards, cost.backwards) for cost in self.costs)

    def to_bytes(self) -> bytes:
        """Pack everything but problems and attentions, which the ledger stores separately."""
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
            "rows": rows,
            "relevances": relevances,
            "scores": scores,
            "costs": costs,
            "skipped": encoded(self.skipped),
            "findings": findings,
            **({"predictions": [dict(row) for row in self.predictions]} if self.predictions else {}),
        }
        return pack(arrays, facts)

    @staticmethod
    def from_bytes(data: bytes, *, file: Path | None = None) -> ShardResult:
        """Read the result that `to_bytes` wrote, checking every field; an error names `file`."""
        arrays, facts = unpack(data, file=file)
        with _naming(file):
            SHARD_RESULT(facts, "")
            relevances = tuple(_unpacked_relevance(r, f"r{i}", arrays) for i, r in enumerate(facts["relevances"]))
            scores = _unpacked_scores(facts["scores"], "s", arrays)
            findings = _unpacked_scores(facts.get("findings", []), "f", arrays)
            _consistent(facts["rows"], relevances, scores)
        costs = tuple(Cost(*c) for c in facts["costs"])
        return ShardResult(
            rows=tuple(facts["rows"]),
            relevances=relevances,
            scores=scores,
            findings=findings,
            costs=costs,
            skipped={name: decoded(reason) for name, reason in facts["skipped"].items()},
            predictions=tuple(facts.get("predictions", ())),
        )


@contextmanager
def _naming(file: Path | None) -> Iterator[None]:
    """Turn a mismatch inside the block into an error that names the file."""
    try:
        yield
    except Mismatch as error:
        raise damaged(file or PACKED, "", error.expected, error.got, error.place) from error
    except InputError as error:  # from the constructor of a record
        raise damaged(file or PACKED, error.subject, error.expected, error.got) from error


def _array(arrays: Mapping[str, NDArray[Any]], name: str, kinds: str, dimensions: int | None = None) -> NDArray[Any]:
    """Return one array after checking its dtype kind (numpy's letters f, i, u, b) and number of axes."""
    array = arrays.get(name)
    if array is None:
        raise Mismatch(name, phrase("errors.store.array"), phrase("errors.common.nothing"))
    if array.dtype.kind not in kinds or dimensions not in (None, array.ndim):
        raise Mismatch(
            name,
            phrase("errors.common.array_numbers"),
            phrase("errors.common.shape_name", name=array.dtype, value=array.shape),
        )
    return array


def _unpacked_relevance(facts: Mapping[str, Any], mark: str, arrays: Mapping[str, NDArray[Any]]) -> Relevance:
    offsets, values = _array(arrays, f"{mark}.offsets", "iu", 1), _array(arrays, f"{mark}.values", "f", 1)
    if not len(offsets) or offsets[0] != 0 or (np.diff(offsets.astype(np.int64)) < 0).any():
        raise Mismatch(f"{mark}.offsets", phrase("errors.store.offsets_that_rise"), phrase("errors.common.others"))
    extras = {name: _array(arrays, f"{mark}.x.{name}", "fiub") for name in facts["extras"]}
    if any(not extra.ndim for extra in extras.values()):
        raise Mismatch(f"{mark}.x", phrase("errors.store.one_value_per_example"), phrase("errors.store.single_number"))
    ids, signed = tuple(facts["ids"]), facts["signed"]
    return Relevance(facts["method"], ids, offsets, values, signed=signed, extras=extras)


def _consistent(rows: Sequence[Mapping[str, Any]], relevances: Sequence[Relevance], scores: Sequence[Score]) -> None:
    """Check that every relevance has one value per unit and every score belongs to a method with a relevance."""
    methods = {relevance.method for relevance in relevances}
    for score in scores:
        if methods and score.method not in methods:
            raise Mismatch(
                f"scores[{score.metric}]",
                phrase("errors.store.method_this_page"),
                phrase("errors.store.method_method", method=score.method[:40]),
            )
    counts = {row["id"]: len(row["units"]["names"]) for row in rows if row.get("units")}
    for relevance in relevances:
        for name, values in zip(relevance.ids, relevance, strict=True):
            if len(values) != counts.get(name, len(values)):
                sizes = phrase("errors.store.values_for_units", n=len(values), counts=counts[name])
                raise Mismatch(
                    f"relevances[{relevance.method}][{name}]",
                    phrase("errors.store.value_for_each_unit"),
                    sizes,
                )


def _packed_scores(scores: Sequence[Score], mark: str, arrays: dict[str, NDArray[Any]]) -> list[Json]:
    facts: list[Json] = []
    for i, s in enumerate(scores):
        arrays[f"{mark}{i}.values"] = s.values
        arrays.update({f"{mark}{i}.c.{name}": np.asarray(values) for name, values in s.curves.items()})
        names: dict[str, Json] = {"metric": s.metric, "method": s.method, "ids": [*s.ids], "better": s.better}
        facts.append({**names, "where": dict(s.where), "grid": [*s.grid], "curves": [*sorted(s.curves)]})
    return facts


def _unpacked_scores(facts: Sequence[Any], mark: str, arrays: Mapping[str, NDArray[Any]]) -> tuple[Score, ...]:
    return tuple(_unpacked_score(s, f"{mark}{i}", arrays) for i, s in enumerate(facts))


def _unpacked_score(facts: Mapping[str, Any], mark: str, arrays: Mapping[str, NDArray[Any]]) -> Score:
    curves = {name: _array(arrays, f"{mark}.c.{name}", "f") for name in facts["curves"]}
    for name, curve in curves.items():
        if curve.ndim < 2 or len(curve) != len(facts["ids"]):
            raise Mismatch(
                f"{mark}.c.{name}",
                phrase("errors.store.curves_n", n=len(facts["ids"])),
                phrase("errors.common.array_shape", shape=curve.shape),
            )
    values, ids, grid = _array(arrays, f"{mark}.values", "f", 1), tuple(facts["ids"]), tuple(facts["grid"])
    names = {name: facts[name] for name in ("metric", "method", "better", "where")}
    return Score(**names, ids=ids, values=values, curves=curves, grid=grid)


_UNIT_TYPES: dict[str, Any] = {"special": np.bool_, "groups": np.int64, "part": np.int64, "keys": np.int64}


def units_to_json(units: Units) -> dict[str, Json]:
    """Convert units to JSON."""
    arrays = {name: getattr(units, name).tolist() for name in ("places", *_UNIT_TYPES)}
    names: dict[str, Json] = {"names": list(units.names), "kind": units.kind, "place_kind": units.place_kind}
    counts: dict[str, Json] = {} if units.key_counts is None else {"key_counts": units.key_counts.tolist()}
    return {**names, **arrays, **counts, "shape": list(units.shape)}


def units_from_json(value: Mapping[str, Any]) -> Units:
    """Read the units that `units_to_json` wrote."""
    places = np.asarray(value["places"], np.float64).reshape(len(value["names"]), WIDTHS[value["place_kind"]])
    arrays: dict[str, Any] = {name: np.asarray(value[name], dtype) for name, dtype in _UNIT_TYPES.items()}
    tuples: dict[str, Any] = {name: tuple(value[name]) for name in ("names", "shape")}
    if value.get("key_counts") is not None:
        arrays["key_counts"] = np.asarray(value["key_counts"], np.int64)
    return Units(kind=value["kind"], place_kind=value["place_kind"], places=places, **tuples, **arrays)


def attention_to_bytes(sites: Sequence[Attention]) -> bytes:
    """Pack the sites of one example into a safetensors file, very large weights in half precision."""
    size = sum(site.weights.size for site in sites) * 4
    dtype = np.float32 if size <= LARGEST_EXACT else np.float16
    arrays: dict[str, NDArray[Any]] = {}
    facts: list[Json] = []
    for i, attention in enumerate(sites):
        arrays[f"{i}.weights"] = np.asarray(attention.weights, dtype)
        if attention.sink is not None:
            arrays[f"{i}.sink"] = np.asarray(attention.sink, np.float32)
        s = attention.site
        facts.append([s.name, s.call, s.kind, s.layer, s.heads, s.module, to_column(attention.checked)])
    return pack(arrays, facts)


def attention_from_bytes(data: bytes, *, file: Path | None = None) -> list[Attention]:
    """Read the sites that `attention_to_bytes` wrote, in float32; an error names `file`."""
    arrays, facts = unpack(data, file=file)
    with _naming(file):
        SITES(facts, "sites")
        return [_unpacked_site(fact, i, arrays) for i, fact in enumerate(facts)]


def _unpacked_site(fact: Sequence[Any], i: int, arrays: Mapping[str, NDArray[Any]]) -> Attention:
    weights = _array(arrays, f"{i}.weights", "f", 4)
    sink = _array(arrays, f"{i}.sink", "f") if f"{i}.sink" in arrays else None
    if weights.shape[1] != fact[4]:
        raise Mismatch(
            f"{i}.weights",
            phrase("errors.store.heads_fact", fact=fact[4]),
            phrase("errors.common.array_shape", shape=weights.shape),
        )
    return Attention(Site(*fact[:6]), weights.astype(np.float32), sink, from_column(fact[6]))


def joined_relevance(parts: Sequence[Relevance], order: Mapping[str, int]) -> Relevance:
    """Join the parts of one method, examples sorted by `order`, with extras per example or per unit."""
    ordered = _by_order(parts, order)
    rows = [parts[p][i] for p, i in ordered]
    extras: dict[str, Floats] = {}
    for name in sorted(set.intersection(*(set(p.extras) for p in parts))) if parts else []:
        pieces = [_extra(parts[p], name, i) for p, i in ordered]
        whole_pieces = [piece for piece in pieces if piece is not None]
        if whole_pieces and len(whole_pieces) == len(pieces):
            extras[name] = np.concatenate(whole_pieces)
    ids = [parts[p].ids[i] for p, i in ordered]
    return Relevance.of(parts[0].method, ids, rows, signed=parts[0].signed, extras=extras)


def _extra(part: Relevance, name: str, i: int) -> Floats | None:
    values = part.extras[name]
    if len(values) == len(part.ids):
        return values[i : i + 1]
    if len(values) == len(part.values):
        return values[int(part.offsets[i]) : int(part.offsets[i + 1])]
    return None


def relevance_to_json(relevance: Relevance) -> dict[str, Json]:
    """Convert a relevance to JSON, exactly."""
    extras: dict[str, Json] = {name: np.asarray(values).tolist() for name, values in relevance.extras.items()}
    rows: list[Json] = [np.asarray(row).tolist() for row in relevance]
    return {
        "method": relevance.method,
        "ids": [*relevance.ids],
        "rows": rows,
        "signed": relevance.signed,
        "extras": extras,
    }


def relevance_from_json(value: Mapping[str, Any]) -> Relevance:
    """Read the relevance that `relevance_to_json` wrote."""
    extras = {name: np.asarray(values) for name, values in value["extras"].items()}
    rows = [np.asarray(row, np.float64) for row in value["rows"]]
    return Relevance.of(value["method"], value["ids"], rows, signed=value["signed"], extras=extras)


def joined_scores(parts: Sequence[Score], order: Mapping[str, int]) -> Score:
    """Join the parts of one (metric, method, setting), examples sorted by `order`."""
    ordered = _by_order(parts, order)
    values = np.array([parts[p].values[i] for p, i in ordered], np.float64)
    curves = {}
    for name in sorted(set.intersection(*(set(p.curves) for p in parts))):
        pieces = [np.asarray(parts[p].curves[name])[i] for p, i in ordered]
        if len({piece.shape for piece in pieces}) == 1:
            curves[name] = np.stack(pieces)
    ids = tuple(parts[p].ids[i] for p, i in ordered)
    return replace(parts[0], ids=ids, values=values, curves=curves)


def _by_order(parts: Sequence[Relevance | Score], order: Mapping[str, int]) -> list[tuple[int, int]]:
    """(part, row) of every example, sorted by `order`."""
    places = ((order.get(name, len(order)), p, i) for p, part in enumerate(parts) for i, name in enumerate(part.ids))
    return [(p, i) for _, p, i in sorted(places, key=lambda place: place[0])]


def number(value: float) -> float | None:
    """Return a float for JSON, None if it is not finite."""
    return float(value) if math.isfinite(value) else None
