"""Records of a pack, the one data format of every viewer: a manifest (JSON) and gzip chunks (bytes) by name.

The TypeScript types of the viewer are generated from this file (`scripts/viewer_types.py`; a test compares them), so
a field is changed here and nowhere else. Arrays of numbers never stand in the manifest: they are chunks.

Chunk names, for example number e and site number s (as they stand in the manifest):

    e/thumbs                  every head of every site, max-pooled to at most 32 x 32 bytes, site after site
    e/s/all                   a site stored "whole": (heads, queries, keys) bytes
    e/s/h                     a site stored by "heads": (queries, keys) bytes of head h
    e/s/h/level/row/column    a site stored in "tiles" of 256 x 256 bytes; level l is max-pooled by 2**l
    e/s/pooled                heads that are not stored, pooled: (heads, rows, columns) bytes
    e/relevance               (methods, units) float32, little-endian
    e/picture, e/series       see `Picture`, `Series`
    e/map/i                   see `MapEntry`

A byte b of head h stands for the weight tops[h] * (b / 255)**2: linear bytes would erase every weight below 1/510.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Storage = Literal["whole", "heads", "tiles"]


@dataclass(frozen=True, slots=True)
class UnitsEntry:
    """Units of relevance (see `records.Units`). places: [start, end], [top, left, bottom, right] or [column]."""

    kind: str
    place_kind: Literal["span", "box", "range", "column"]
    names: list[str]
    places: list[list[float]]
    special: list[bool]
    groups: list[int]
    part: list[int]
    keys: list[int]
    shape: list[int]


@dataclass(frozen=True, slots=True)
class AxisEntry:
    """Names along one axis of a site. units: the unit at each place, -1 for none. part: 0 or 1.

    boxes: [top, left, bottom, right] in the picture for a place that is a patch, [] for one that is not.
    """

    names: list[str]
    units: list[int]
    special: list[bool]
    part: list[int]
    boxes: list[list[float]]


@dataclass(frozen=True, slots=True)
class SiteEntry:
    """Place of attention. queries and keys are numbers of axes of the example.

    tops: the largest weight of each head. error: the largest difference between a stored and the true weight. full: the
    heads whose weights are in the pack; the others are only pooled. reading: the query rows that the answer reads.
    sink: a part of each row may go to no key. thumb: rows, columns, and the offset in `e/thumbs`.
    """

    key: str
    kind: Literal["self", "cross", "causal", "windowed", "pooling"]
    layer: int
    heads: int
    queries: int
    keys: int
    rows: int
    columns: int
    storage: Storage
    levels: int
    tops: list[float]
    error: float
    full: list[int]
    reading: list[int]
    sink: bool
    thumb: list[int]
    pooled: list[int] | None = None
    checked: str = ""


@dataclass(frozen=True, slots=True)
class MethodEntry:
    """Row of `e/relevance`."""

    name: str
    signed: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """`e/picture`: (height, width, channels) bytes, 1 or 3 channels. scale: pixels of the picture per unit of a box."""

    height: int
    width: int
    channels: int
    scale: float


@dataclass(frozen=True, slots=True)
class Series:
    """`e/series`: (steps, channels) float32. as_spectrogram: many channels, drawn as a map instead of lines.

    rate: samples per second of a sound, which can be played; 0 for a series.
    """

    steps: int
    channels: int
    as_spectrogram: bool
    names: list[str]
    rate: int


@dataclass(frozen=True, slots=True)
class AlternativeEntry:
    """Another attention that gives (nearly) the same answer, found by a search: chunk `name`, (heads, rows, columns).

    tops as in `SiteEntry`; change: change of the answer (total variation); divergence: Jensen-Shannon, in nats.
    """

    site: int
    chunk: str
    tops: list[float]
    change: float
    divergence: float
    note: str


@dataclass(frozen=True, slots=True)
class WalkEntry:
    """Row of attention by hand (see `measures.walkthrough`). Small: its builder cuts features and keys."""

    site: int
    head: int
    query: int
    form: str
    features: list[int]
    all_features: int
    keys: list[int]
    query_vector: list[float]
    key_vectors: list[list[float]]
    products: list[list[float]]
    dots: list[float]
    factor: float
    scaled: list[float]
    added: list[float]
    exponentials: list[float]
    total: float
    weights: list[float]
    output_features: list[int]
    weighted_values: list[list[float]]
    output: list[float]
    difference: float
    notes: list[str]


@dataclass(frozen=True, slots=True)
class MapEntry:
    """Joint worth of a word and a patch, which is not attention: `e/map/i`, (rows, columns) float32.

    rows and columns are numbers of axes of the example; row 0 is the whole text, column 0 the whole picture. note:
    meaning of the numbers, in words.
    """

    name: str
    note: str
    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class ExampleEntry:
    """Example of one model. made: generated tokens. row: a table row's numbers by column.

    trust: effect of removing the marked units on this prediction, one line per map, in words. outlines: [top, left,
    bottom, right] that a detector finds at each object query, [] at a query without a box.
    """

    id: str
    title: str
    model: str
    text: str | None
    text_pair: str | None
    label: str | None
    predicted: str
    probability: float | None
    value: float | None
    distribution: list[float]
    units: UnitsEntry
    axes: list[AxisEntry]
    sites: list[SiteEntry]
    methods: list[MethodEntry]
    rationale: list[int] | None
    alignment: list[list[int]] | None
    made: list[str] | None
    picture: Picture | None
    series: Series | None
    row: list[float] | None
    alternatives: list[AlternativeEntry] = field(default_factory=list)
    walks: list[WalkEntry] = field(default_factory=list)
    maps: list[MapEntry] = field(default_factory=list)
    outlines: list[list[float]] = field(default_factory=list)
    trust: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MeasuredEntry:
    """A number with its interval and n; low and high are None if there is none."""

    estimate: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class HeadEntry:
    """Head of the survey. site: the key of its site."""

    name: str
    site: str
    layer: int
    number: int
    role: str
    others: list[str]
    confidence: float | None
    score: MeasuredEntry | None
    baseline: float | None
    spread: str
    slope: MeasuredEntry | None
    drop: MeasuredEntry | None
    group: int | None


@dataclass(frozen=True, slots=True)
class CurveEntry:
    """Point of the pruning curve."""

    order: str
    measure: str
    removed: int
    share: float
    value: MeasuredEntry


@dataclass(frozen=True, slots=True)
class AtlasEntry:
    """Survey of every head, and its data."""

    model: str
    data: str
    n: int
    seed: int
    heads: list[HeadEntry]
    curve: list[CurveEntry]
    notes: list[str]


@dataclass(frozen=True, slots=True)
class PairEntry:
    """Two examples worth comparing. origin: for each unit of the right one, the unit of the left one, or -1."""

    name: str
    left: int
    right: int
    origin: list[int] | None


@dataclass(frozen=True, slots=True)
class VerdictEntry:
    """Verdict of an audit of this very model on its attention. Without an audit: reading "" ."""

    reading: str
    headline: str
    sentence: str
    attention: str
    n: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything but the numbers. left_out: in words, the parts that the pack lacks."""

    title: str
    model: str
    task: str
    labels: list[str]
    caveat: str
    verdict: VerdictEntry | None
    examples: list[ExampleEntry]
    atlas: AtlasEntry | None
    pairs: list[PairEntry]
    left_out: list[str]
    notes: list[str]
    format: Literal["regard-pack"] = "regard-pack"
    version: Literal[1] = 1


@dataclass(frozen=True, slots=True)
class Pack:
    """A manifest and its chunks (gzip)."""

    manifest: Manifest
    chunks: Mapping[str, bytes]

    @property
    def size(self) -> int:
        """Bytes of all chunks."""
        return sum(map(len, self.chunks.values()))

    def manifest_json(self) -> dict[str, Any]:
        """The manifest as plain JSON values."""
        return asdict(self.manifest)
