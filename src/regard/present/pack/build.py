"""Examples -> a pack (see `records` for the format), within a budget of bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError, UnknownName, phrase
from regard.message import to_column
from regard.present.messages.messages import say
from regard.present.pack.axes import axes_of
from regard.present.pack.chunks import Chunks
from regard.present.pack.inputs import label_of, outlines_of, picture_of, series_of, sound_of, title_of
from regard.present.pack.long_sites import PooledAttention
from regard.present.pack.records import (
    AlternativeEntry,
    AtlasEntry,
    AxisEntry,
    ExampleEntry,
    Manifest,
    MapEntry,
    MethodEntry,
    Pack,
    PairEntry,
    SiteEntry,
    UnitsEntry,
    VerdictEntry,
    WalkEntry,
)
from regard.present.pack.weights import POOLED, THUMB, chunks_of, levels_of, pooled, storage_of, to_bytes
from regard.records import Attention, Floats, Json, Units

BUDGET = 50 << 20
"""Maximum bytes of chunks in one pack, before base64."""


@dataclass(frozen=True, slots=True, eq=False)
class Alternative:
    """Another attention of one site: weights (head, query, key), change of the answer, and distance."""

    site: str
    weights: NDArray[np.float32]
    change: float
    divergence: float
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class PairMap:
    """Words and patches: values (row, column) with the axes that they stand on (see `MapEntry`)."""

    name: str
    note: str
    rows: AxisEntry
    columns: AxisEntry
    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """Example as it goes into a pack. attentions: weights of shape (1, head, query, key).

    relevances: method -> (signed, values per unit). rationale: units. reading: site key -> query rows that the answer
    reads. axes: site key -> its (query, key) axes, if they are not the units. made: the generated tokens. trust: the
    effect of removing the marked units, in words. outlines: the box that a detector finds at each object query.
    """

    id: str
    units: Units
    attentions: Sequence[Attention | PooledAttention]
    model: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    label: Json = None
    predicted: Json = None
    probability: float | None = None
    value: float | None = None
    distribution: Sequence[float] = ()
    relevances: Mapping[str, tuple[bool, Floats]] = field(default_factory=dict)
    rationale: Sequence[int] | None = None
    alignment: Sequence[tuple[int, int]] | None = None
    made: Sequence[str] | None = None
    reading: Mapping[str, Sequence[int]] = field(default_factory=dict)
    axes: Mapping[str, tuple[AxisEntry, AxisEntry]] = field(default_factory=dict)
    alternatives: Sequence[Alternative] = ()
    walks: Sequence[WalkEntry] = ()
    maps: Sequence[PairMap] = ()
    trust: Sequence[str] = ()
    outlines: Sequence[Sequence[float]] = ()


def pack(
    shown: Sequence[Shown],
    *,
    model: str = "",
    task: str = "",
    title: str = "",
    labels: Sequence[str] = (),
    verdict: VerdictEntry | None = None,
    atlas: AtlasEntry | None = None,
    pairs: Sequence[PairEntry] = (),
    notes: Sequence[str] = (),
    first: Sequence[tuple[str, int]] = (),
    budget_bytes: int = BUDGET,
    lazy: bool = False,
) -> Pack:
    """Build the pack of these examples.

    Thumbnails of every head always go in; whole heads as long as `budget_bytes` lasts, those of `first` (site key,
    head) before the others, and a version pooled to 128 x 128 of the rest. The manifest lists the omissions. lazy:
    chunks are made on request (live hosts); the budget then counts bytes before compression.
    """
    chunks = Chunks(budget_bytes, lazy=lazy)
    left_out: list[str] = []
    entries = [
        _example(s, number, chunks=chunks, labels=labels, first=set(first), left_out=left_out)
        for number, s in enumerate(shown)
    ]
    default_title = say("pack.attention_of", model=model) if model else say("pack.attention")
    if len(entries) == 1 and entries[0].picture is not None:
        default_title = say("pack.of_picture", title=default_title, name=entries[0].title)
    manifest = Manifest(
        title=title or default_title,
        model=model,
        task=task,
        labels=list(labels),
        caveat=say("caveat"),
        verdict=verdict,
        examples=entries,
        atlas=atlas,
        pairs=list(pairs),
        left_out=left_out,
        notes=list(notes),
    )
    return Pack(manifest, chunks)


def _example(
    shown: Shown, number: int, chunks: Chunks, labels: Sequence[str], first: set[tuple[str, int]], left_out: list[str]
) -> ExampleEntry:
    shown = _known(shown, left_out)
    axes, where = axes_of(
        shown.units,
        [a.site for a in shown.attentions],
        [a.shape for a in shown.attentions],
        given=shown.axes,
        made=shown.made,
    )
    thumbs: list[NDArray[np.uint8]] = []
    sites: list[SiteEntry] = []
    missing = 0
    for at, attention in enumerate(shown.attentions):
        entry, absent = _site(
            attention,
            f"{number}/{at}",
            axes=where[at],
            chunks=chunks,
            first=first,
            thumbs=thumbs,
            reading=shown.reading,
        )
        sites.append(entry)
        missing += absent
    if thumbs:
        chunks.add(f"{number}/thumbs", np.concatenate([t.ravel() for t in thumbs]))
    heads = sum(s.heads for s in sites)
    if missing:
        left_out.append(say("pack.left_heads", missing=missing, heads=heads, id=shown.id, most=POOLED))
    if shown.relevances:
        table = np.stack([np.asarray(v, np.float32) for _, v in shown.relevances.values()])
        chunks.add(f"{number}/relevance", table.astype("<f4"))
    picture, pixels = picture_of(shown.inputs.get("image"))
    series, numbers = series_of(shown.inputs.get("series"))
    if series is None:
        series, numbers = sound_of(shown.inputs.get("audio"), shown.inputs.get("rate"))
    for name, array in (("picture", pixels), ("series", numbers)):
        if array is not None:
            chunks.add(f"{number}/{name}", array)
    others = [_alternative(a, i, number, sites, chunks) for i, a in enumerate(shown.alternatives)]
    maps = []
    for i, m in enumerate(shown.maps):
        chunks.add(f"{number}/map/{i}", m.values.astype("<f4"))
        maps.append(MapEntry(m.name, m.note, len(axes), len(axes) + 1))
        axes += [m.rows, m.columns]
    u = shown.units
    row = shown.inputs.get("row")
    return ExampleEntry(
        id=shown.id,
        title=title_of(shown.inputs, u, shown.id),
        model=shown.model,
        text=_text(shown.inputs, "text"),
        text_pair=_text(shown.inputs, "text_pair"),
        label=None if shown.label is None else label_of(shown.label, labels),
        predicted="" if shown.predicted is None else label_of(shown.predicted, labels),
        probability=_number(shown.probability),
        value=_number(shown.value),
        distribution=[float(p) for p in shown.distribution] if np.isfinite(shown.distribution).all() else [],
        units=UnitsEntry(
            kind=u.kind,
            place_kind=u.place_kind,
            names=list(u.names),
            places=u.places.tolist(),
            special=u.special.tolist(),
            groups=u.groups.tolist(),
            part=u.part.tolist(),
            keys=u.keys.tolist(),
            shape=list(u.shape),
        ),
        axes=axes,
        sites=sites,
        methods=[MethodEntry(name, signed) for name, (signed, _) in shown.relevances.items()],
        rationale=None if shown.rationale is None else [int(i) for i in shown.rationale],
        alignment=None if shown.alignment is None else [[int(a), int(b)] for a, b in shown.alignment],
        made=None if shown.made is None else list(shown.made),
        picture=picture,
        series=series,
        row=None if row is None else [float(x) for x in np.asarray(row, np.float64).ravel()],
        alternatives=others,
        walks=list(shown.walks),
        trust=list(shown.trust),
        maps=maps,
        outlines=[list(box) for box in shown.outlines] or outlines_of(shown.inputs),
    )


def _long_site(
    attention: PooledAttention,
    prefix: str,
    axes: tuple[int, int],
    chunks: Chunks,
    thumbs: list[NDArray[np.uint8]],
    reading: Mapping[str, Sequence[int]],
) -> tuple[SiteEntry, int]:
    """Entry of a long site: its pooled heads, and in a live host exact tiles computed on request."""
    site = attention.site
    packed, tops, error = to_bytes(attention.maxima)
    _, heads, rows, columns = attention.shape
    small = min(THUMB, packed.shape[1]), min(THUMB, packed.shape[2])
    offset = sum(t.size for t in thumbs)
    thumbs.append(np.stack([pooled(head, *small) for head in packed]))
    chunks.add(f"{prefix}/pooled", packed)
    if chunks.lazy:
        chunks.promise(attention.tiles(prefix, tops))
    full = list(range(heads)) if chunks.lazy else []
    entry = SiteEntry(
        key=site.key,
        kind=site.kind,
        layer=site.layer,
        heads=heads,
        queries=axes[0],
        keys=axes[1],
        rows=rows,
        columns=columns,
        storage="tiles",
        levels=levels_of(rows, columns),
        tops=tops,
        error=error,
        full=full,
        reading=[int(r) for r in reading.get(site.key, ())],
        sink=False,
        thumb=[*small, offset],
        pooled=list(packed.shape[1:]),
        checked=to_column(attention.checked),
    )
    return entry, heads - len(full)


def _site(
    attention: Attention | PooledAttention,
    prefix: str,
    axes: tuple[int, int],
    chunks: Chunks,
    first: set[tuple[str, int]],
    thumbs: list[NDArray[np.uint8]],
    reading: Mapping[str, Sequence[int]],
) -> tuple[SiteEntry, int]:
    """Entry of one site, and the number of its heads that did not fit."""
    if isinstance(attention, PooledAttention):
        return _long_site(attention, prefix, axes, chunks=chunks, thumbs=thumbs, reading=reading)
    site = attention.site
    packed, tops, error = to_bytes(np.asarray(attention.weights[0], np.float32))
    heads, rows, columns = packed.shape
    small = min(THUMB, rows), min(THUMB, columns)
    offset = sum(t.size for t in thumbs)
    thumbs.append(np.stack([pooled(head, *small) for head in packed]))
    storage = storage_of(rows, columns, heads)
    order = sorted(range(heads), key=lambda h: ((site.key, h) not in first, h))
    if storage == "whole":
        full = list(range(heads)) if chunks.offer(chunks_of(packed, prefix, storage, order)) else []
    else:
        full = [h for h in order if chunks.offer(chunks_of(packed, prefix, storage, [h]))]
    pooled_shape: list[int] | None = None
    if len(full) < heads:
        pooled_shape = [min(POOLED, rows), min(POOLED, columns)]
        chunks.add(f"{prefix}/pooled", np.stack([pooled(head, pooled_shape[0], pooled_shape[1]) for head in packed]))
    entry = SiteEntry(
        key=site.key,
        kind=site.kind,
        layer=site.layer,
        heads=heads,
        queries=axes[0],
        keys=axes[1],
        rows=rows,
        columns=columns,
        storage=storage,
        levels=levels_of(rows, columns),
        tops=tops,
        error=error,
        full=sorted(full),
        reading=[int(r) for r in reading.get(site.key, ())],
        sink=attention.sink is not None,
        thumb=[*small, offset],
        pooled=pooled_shape,
        checked=to_column(attention.checked),
    )
    return entry, heads - len(full)


def _known(shown: Shown, left_out: list[str]) -> Shown:
    """Return the example without maps and relevances that contain NaN, since a 0 in its place would be a claim."""
    sites = [a for a in shown.attentions if np.isfinite(_values(a)).all()]
    methods = {name: pair for name, pair in shown.relevances.items() if np.isfinite(pair[1]).all()}
    keys = {a.site.key for a in sites}
    others = [a for a in shown.alternatives if np.isfinite(a.weights).all() and a.site in keys]
    maps = [m for m in shown.maps if np.isfinite(m.values).all()]
    if len(sites) == len(shown.attentions) and len(methods) == len(shown.relevances):
        return replace(shown, alternatives=others, maps=maps)
    odd = sum(int((~np.isfinite(_values(a))).sum()) for a in shown.attentions)
    odd += sum(int((~np.isfinite(values)).sum()) for _, values in shown.relevances.values())
    left_out.append(say("pack.not_numbers", n=odd, id=shown.id))
    return replace(shown, attentions=sites, relevances=methods, alternatives=others, maps=maps)


def _values(attention: Attention | PooledAttention) -> NDArray[np.float32]:
    return attention.maxima if isinstance(attention, PooledAttention) else attention.weights


def _alternative(
    found: Alternative, i: int, number: int, sites: Sequence[SiteEntry], chunks: Chunks
) -> AlternativeEntry:
    at = next((k for k, s in enumerate(sites) if s.key == found.site), None)
    if at is None:
        raise UnknownName("site", found.site, [s.key for s in sites])
    shape = (sites[at].heads, sites[at].rows, sites[at].columns)
    if found.weights.shape != shape:
        raise InputError(
            phrase("errors.present.alternative_at_site", site=found.site),
            expected=phrase("errors.common.weights_shape", expected=shape),
            got=str(found.weights.shape),
        )
    packed, tops, _ = to_bytes(found.weights)
    name = f"{number}/alternative/{i}"
    chunks.add(name, packed)
    return AlternativeEntry(
        site=at, chunk=name, tops=tops, change=found.change, divergence=found.divergence, note=found.note
    )


def _text(inputs: Mapping[str, Any], name: str) -> str | None:
    value = inputs.get(name)
    return value if isinstance(value, str) else None


def _number(value: float | None) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None
