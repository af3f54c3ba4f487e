"""Records -> a pack, the data of every viewer: from a fresh capture or from a stored run.

    pack = pack_of_capture(regard.capture("bilstm", "a quiet film"), model="bilstm")
    page = viewer_page(pack)                      # present/pack/viewer_block.py: one self-contained file

`records` describes the format; `build.pack` makes one from other material. A viewer is mounted as
`mount(element, source)` with source = {manifest, chunk(id) -> Promise<ArrayBuffer>, live?}: `chunk` gives the gzip
bytes of `pack.chunks[id]` as they are; `live`, what a host with a model can do, is described in viewer/src/source.ts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from regard.audits.conclusions.run_facts import RunReader
from regard.measures.plausibility import inside
from regard.measures.walkthrough import Walkthrough
from regard.present.messages.messages import render, rendered, say
from regard.present.pack.alternatives import alternatives_of
from regard.present.pack.build import BUDGET, Alternative, Shown, pack
from regard.present.pack.long_sites import is_long, pooled_attention
from regard.present.pack.records import (
    AtlasEntry,
    CurveEntry,
    HeadEntry,
    MeasuredEntry,
    Pack,
    PairEntry,
    VerdictEntry,
    WalkEntry,
)
from regard.present.pack.rows import captured_attention, row_axes
from regard.present.run_reader import Material
from regard.present.trust_words import trust_line
from regard.present.verdict_words import headline
from regard.protocols import Capture
from regard.records import Attention, Bools, Example, Json, Relevance, Units
from regard.store.run import Run


def pack_of_capture(
    capture: Capture,
    *,
    model: str = "",
    labels: Sequence[str] = (),
    examples: Sequence[Example] | None = None,
    predicted: Sequence[Json] | None = None,
    relevances: Sequence[Relevance] = (),
    made: Sequence[str] | None = None,
    written: Sequence[Sequence[str] | None] | None = None,
    reading: Mapping[str, Sequence[int]] | None = None,
    alternatives: Mapping[int, Sequence[Alternative]] | None = None,
    walks: Sequence[Walkthrough] = (),
    judgement: Mapping[str, Any] | None = None,
    survey: Mapping[str, Any] | None = None,
    pairs: Sequence[PairEntry] = (),
    first: Sequence[tuple[str, int]] = (),
    title: str = "",
    task: str = "",
    budget_bytes: int = BUDGET,
    lazy: bool = False,
) -> Pack:
    """Build the pack of every example of a capture.

    A capture holds units and answers, not the inputs: `examples` supplies texts and pictures (without them, units make
    the titles), `predicted` the targets. made: the tokens that the model wrote after every example; written: those
    after each. relevances: columns over the same examples in the same order. walks: of example 0. judgement, survey:
    JSON forms (`store.judgements`, `HeadSurvey.to_json`). lazy: see `pack`.
    """
    # a batch is computed once; of a long site there is no whole to be kept
    dense = [captured_attention(site) if not is_long(site) else None for site in capture.sites]
    keys = [site.site.key for site in capture.sites]
    entries = [
        _captured(
            capture,
            dense,
            i=i,
            units=units,
            example=None if examples is None else examples[i],
            predicted=None if predicted is None else predicted[i],
            relevances=relevances,
            made=made if written is None else written[i],
            reading=reading or {},
            alternatives=(alternatives or {}).get(i, ()),
            walks=[walk_entry(w, keys) for w in walks] if i == 0 else (),
            model=model,
        )
        for i, units in enumerate(capture.units)
    ]
    return pack(
        entries,
        model=model,
        task=task,
        title=title,
        labels=labels,
        verdict=verdict_entry(judgement),
        atlas=atlas_entry(survey),
        pairs=pairs,
        first=first,
        budget_bytes=budget_bytes,
        lazy=lazy,
    )


def _captured(
    capture: Capture,
    dense: Sequence[Attention | None],
    i: int,
    units: Units,
    example: Example | None,
    predicted: Json,
    relevances: Sequence[Relevance],
    made: Sequence[str] | None,
    reading: Mapping[str, Sequence[int]],
    alternatives: Sequence[Alternative],
    walks: Sequence[WalkEntry],
    model: str,
) -> Shown:
    answers = capture.answers
    rows = answers.rows(i) if len(answers.offsets) > i + 1 else slice(0, 0)
    row_range = range(*rows.indices(len(answers.value)))
    row = row_range[0] if len(row_range) else None
    rationale = None if example is None else rationale_units(units, example.rationale)
    return Shown(
        id=str(i) if example is None else example.id,
        units=units,
        attentions=[
            pooled_attention(site, i) if whole is None else _alone(whole, i)
            for site, whole in zip(capture.sites, dense, strict=True)
        ],
        model=model,
        inputs={} if example is None else example.inputs,
        label=None if example is None else example.label,
        predicted=predicted,
        probability=None if row is None else float(answers.probability[row]),
        value=None if row is None else float(answers.value[row]),
        distribution=() if row is None or answers.distribution is None else answers.distribution[row].tolist(),
        relevances={r.method: (r.signed, r[i]) for r in relevances},
        rationale=rationale,
        alignment=None,
        made=made,
        reading=reading,
        axes=row_axes(capture, units, made),
        alternatives=alternatives,
        walks=walks,
    )


def _alone(attention: Attention, i: int) -> Attention:
    """Return one example of a batch."""
    sink = None if attention.sink is None else attention.sink[i : i + 1]
    weights = attention.weights[i : i + 1]
    if len(attention.weights) > 1:  # the padding of a shorter example is nothing to look at
        rows, columns = (_used(weights[0].any((0, axis))) for axis in (2, 1))
        weights = weights[:, :, :rows, :columns]
        sink = None if sink is None else sink[:, :, :rows]
    return Attention(attention.site, weights, sink, attention.checked)


def _used(there: Bools) -> int:
    """Length without the empty end."""
    return int(np.flatnonzero(there)[-1]) + 1 if there.any() else len(there)


def rationale_units(units: Units, rationale: Sequence[Sequence[float]] | None) -> list[int] | None:
    """Free units that a rationale marks; None without a rationale."""
    if rationale is None:
        return None
    inside_mask = inside(units.places, rationale) & (units.part == 0) & units.free
    return [int(i) for i in np.flatnonzero(inside_mask)]


def pack_of_run(
    run: RunReader,
    *,
    ids: Sequence[str] | None = None,
    survey: Mapping[str, Any] | None = None,
    pairs: Sequence[tuple[str, str, str]] = (),
    first: Sequence[tuple[str, int]] = (),
    budget_bytes: int = BUDGET,
    lazy: bool = False,
    most: int = 12,
) -> Pack:
    """Build the pack of a stored run: examples with stored attention, then others with relevance only.

    ids: which examples (default: up to `most`, those with attention first). pairs: (name, left id, right id) to
    compare.
    """
    material = Material(run)
    kept_ids = [name for name in run.kept() if name in material.by_id]
    names = list(ids) if ids is not None else [*kept_ids, *(n for n in material.by_id if n not in set(kept_ids))][:most]
    entries = [_stored(material, run, name, name in set(kept_ids)) for name in names if name in material.by_id]
    facts = material.manifest
    judgements = facts.get("judgements") or []
    at = {s.id: i for i, s in enumerate(entries)}
    linked = [PairEntry(name, at[a], at[b], None) for name, a, b in pairs if a in at and b in at]
    result = pack(
        entries,
        model=str(facts["model"]["name"]),
        task=str(facts["model"].get("task", "")),
        title=say("pack.title", model=facts["model"]["name"], data=facts["data"]["name"]),
        labels=list(facts["model"].get("labels") or ()),
        verdict=verdict_entry(judgements[0] if judgements else None),
        atlas=atlas_entry(survey),
        pairs=linked,
        first=first,
        budget_bytes=budget_bytes,
        lazy=lazy,
    )
    others = len(material.by_id) - len(entries)
    if others > 0:
        result.manifest.left_out.append(say("pack.left_examples", others=others, all=len(material.by_id)))
    return result


def _stored(material: Material, run: RunReader, name: str, has_attention: bool) -> Shown:
    example = material.by_id[name]
    u = example["units"]
    n = len(u["names"])
    units = Units(
        names=tuple(u["names"]),
        kind=u["kind"],
        place_kind=u["place_kind"],
        places=np.asarray(u["places"], np.float64).reshape(n, -1),
        special=np.asarray(u["special"], np.bool_),
        groups=np.asarray(u["groups"], np.int64),
        part=np.asarray(u["part"], np.int64),
        keys=np.asarray(u["keys"], np.int64),
        shape=tuple(u["shape"]),
        key_counts=None if u.get("key_counts") is None else np.asarray(u["key_counts"], np.int64),
    )
    inputs = {
        key: run.array(value) if isinstance(value, Mapping) and "blob" in value and isinstance(run, Run) else value
        for key, value in example["inputs"].items()
    }
    relevances = {
        m: (material.relevances[m].signed, values)
        for m in material.methods
        if (values := material.relevance_of(m, name)) is not None
    }
    sites = run.capture(name) if has_attention else ()
    keys = [s.site.key for s in sites]
    return Shown(
        id=name,
        units=units,
        attentions=sites,
        model=str(material.manifest["model"]["name"]),
        inputs=inputs,
        label=example.get("label"),
        predicted=_shown(material, example),
        probability=example.get("probability"),
        value=example.get("value"),
        distribution=example.get("distribution") or (),
        relevances=relevances,
        rationale=rationale_units(units, example.get("rationale")),
        reading=example.get("reading") or {},
        alternatives=alternatives_of(material.findings, example, units, sites),
        walks=[_walk(cut, keys) for cut in example.get("walks") or () if cut["site"] in keys and _is_finite(cut)],
        made=example.get("written") if material.task == "sequence_to_sequence" else None,
        trust=[trust_line(row, example) for row in material.conclusions.trust_of_examples if row.example == name],
    )


def _shown(material: Material, example: Mapping[str, Any]) -> Json:
    """Render the prediction; empty if there is none."""
    return None if example.get("predicted") is None else material.answer(example["predicted"])


def verdict_entry(judgement: Mapping[str, Any] | None) -> VerdictEntry | None:
    """Build the verdict beside every map."""
    if judgement is None:
        return None
    j = judgement
    return VerdictEntry(str(j["reading"]), headline(j), render(j["sentence"]), render(j["attention"]), int(j["n"]))


def atlas_entry(survey: Mapping[str, Any] | None) -> AtlasEntry | None:
    """Build the entry of a head survey from its JSON form."""
    if survey is None:
        return None
    heads = []
    for row in survey["heads"]:
        role, score = row["role"], row["role"]["score"]
        heads.append(
            HeadEntry(
                name=row["name"],
                site=row["site"],
                layer=row["layer"],
                number=row["number"],
                role=role["name"],
                others=list(role["others"]),
                confidence=_finite(role["confidence"]) if role["name"] else None,
                score=_measured(score),
                baseline=_finite(score["baseline"]) if score else None,
                spread=row["spread"],
                slope=_measured(row["slope"]),
                drop=_measured(row["drop"]),
                group=row["group"],
            )
        )
    curve = [
        CurveEntry(p["order"], p["measure"], p["removed"], p["share"], value)
        for p in survey["curve"]
        if (value := _measured(p)) is not None
    ]
    return AtlasEntry(
        model=survey["model"],
        data=survey["data"],
        n=survey["n"],
        seed=survey["seed"],
        heads=heads,
        curve=curve,
        notes=list(survey["notes"]),
    )


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _measured(value: Mapping[str, Any] | None) -> MeasuredEntry | None:
    if value is None or _finite(value["estimate"]) is None:
        return None
    return MeasuredEntry(float(value["estimate"]), _finite(value["low"]), _finite(value["high"]), int(value["n"]))


def walk_entry(found: Walkthrough, sites: Sequence[str], *, features: int = 8, keys: int = 12) -> WalkEntry:
    """Shorten a walk-through to its strongest keys and features."""
    return _walk(found.cut(features=features, keys=keys), sites)


def _is_finite(value: Any) -> bool:
    """Return whether a page can hold every number of a JSON value; a walk with NaN is not shown."""
    if isinstance(value, Mapping):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def _walk(cut: Mapping[str, Any], sites: Sequence[str]) -> WalkEntry:
    """Convert `Walkthrough.cut` to an entry with its site by index."""
    return WalkEntry(**{**cut, "site": list(sites).index(cut["site"]), "notes": rendered(cut["notes"])})
