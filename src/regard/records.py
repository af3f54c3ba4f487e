"""Data records: frozen, array-based, validated once, read-only.

Axis order is always batch, head, query, key, feature. Padding has relevance exactly 0.
Columns (one array for many examples, with offsets) rather than one object per row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import InputError, phrase
from regard.message import Json as Json
from regard.message import Message as Message
from regard.message import Text as Text
from regard.message import decoded as decoded
from regard.message import encoded as encoded
from regard.message import is_message as is_message
from regard.message import joined as joined
from regard.random_keys import keyed_rng
from regard.threat import Goal as Goal
from regard.threat import Threat as Threat
from regard.verdict_records import Answer as Answer
from regard.verdict_records import Contrast as Contrast
from regard.verdict_records import Graded as Graded
from regard.verdict_records import Judgement as Judgement
from regard.verdict_records import Reading as Reading
from regard.verdict_records import Verdict as Verdict

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

PlaceKind = Literal["span", "box", "range", "column"]
SiteKind = Literal["self", "cross", "causal", "windowed", "pooling"]


def frozen(values: ArrayLike, dtype: Any = np.float64) -> NDArray[Any]:
    """Return a read-only copy of `values`."""
    array = np.array(values, dtype=dtype, copy=True)
    array.setflags(write=False)
    return array


def _freeze(record: object, **arrays: NDArray[Any]) -> None:
    for name, array in arrays.items():
        object.__setattr__(record, name, array)


@dataclass(frozen=True, slots=True)
class Spec:
    """Serialisable description of a method: kind, name, JSON parameters.

    >>> spec = Spec.parse("explainer", "rollout:residual=0.3,heads=max")
    >>> str(spec), spec.params["residual"]
    ('rollout:heads=max,residual=0.3', 0.3)
    >>> Spec.from_json(spec.to_json()) == spec
    True
    """

    kind: str
    name: str
    params: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", MappingProxyType(dict(sorted(self.params.items()))))

    def __hash__(self) -> int:
        return hash((self.kind, self.name, json.dumps(dict(self.params), sort_keys=True)))

    def __str__(self) -> str:
        if not self.params:
            return self.name
        settings = (f"{k}={v if isinstance(v, str) else json.dumps(v)}" for k, v in self.params.items())
        return f"{self.name}:{','.join(settings)}"

    def __reduce__(self) -> tuple[object, ...]:
        return Spec, (self.kind, self.name, dict(self.params))

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.kind, "name": self.name, "params": dict(self.params)}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Spec:
        return Spec(str(value["kind"]), str(value["name"]), dict(value.get("params", {})))

    @staticmethod
    def parse(kind: str, text: str) -> Spec:
        """Parse `name` or `name:key=value,key=value`; values are JSON where they parse as JSON."""
        name, _, rest = text.partition(":")
        params: dict[str, Json] = {}
        for part in filter(None, re.split(r",(?=\w+=)", rest)):
            key, equals, value = part.partition("=")
            if not equals:
                raise InputError(f"{kind} {text!r}", expected="name:key=value,key=value", got=repr(part))
            try:
                params[key.strip()] = json.loads(value)
            except ValueError:
                params[key.strip()] = value
            except RecursionError as error:
                raise InputError(
                    f"{kind} {name[:80]!r}",
                    expected=phrase("errors.common.value"),
                    got=phrase("errors.records.brackets_too_deep"),
                ) from error
        return Spec(kind, name.strip(), params)


def _clipped(value: Any, most: int = 80) -> str:
    if isinstance(value, np.ndarray):
        return f"array{value.shape}"
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


class ShortHtml:
    """The `repr` of a record in a notebook."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"


@dataclass(frozen=True, slots=True)
class Example(ShortHtml):
    """Input of a model, with its label and its origin.

    `inputs` holds the user's input: {"text": ...}, {"text": ..., "text_pair": ...}, {"image": array}, {"series": array
    (steps, channels)}, {"row": array}. `rationale` lists the places (see `Units.places`) that a person, or the
    generator, marks as decisive. `group` (patient, author) clusters splits and bootstraps. `parent` is the example this
    one was made from (a window, a noisy copy). `alignment`, where the label is a text made from the input text: links
    (start, end, start, end), characters of the input and the characters of the label that come from them;
    `measures.alignment` turns them into links of tokens.
    """

    id: str
    inputs: Mapping[str, Any]
    label: Json = None
    rationale: tuple[tuple[float, ...], ...] | None = None
    group: str | None = None
    parent: str | None = None
    slices: Mapping[str, str] = field(default_factory=dict)
    alignment: tuple[tuple[int, int, int, int], ...] | None = None

    def __repr__(self) -> str:
        """Show the fields that are set; cut long values."""
        names = ("label", "rationale", "group", "parent", "slices", "alignment")
        parts = [f"{name}={_clipped(value)}" for name, value in self.inputs.items()]
        parts += [f"{name}={_clipped(getattr(self, name))}" for name in names if getattr(self, name) not in (None, {})]
        return f"Example({', '.join([repr(self.id), *parts])})"

    @property
    def cluster(self) -> str:
        """Id of the independent draw that this example belongs to; statistics resample by it."""
        return self.group or self.parent or self.id


@dataclass(frozen=True, slots=True, eq=False)
class Perturbed:
    """An example that a noise changed, and where its words come from.

    origin: for each word of the changed text (first and second text one after the other, words as
    `models.words.word_spans` cuts them) the word of the original it comes from, -1 for an inserted one; None if places
    correspond one to one (images, sounds, series, rows).
    """

    example: Example
    origin: Ints | None = None

    def __post_init__(self) -> None:
        if self.origin is not None and (self.origin.flags.writeable or self.origin.dtype != np.int64):
            _freeze(self, origin=frozen(self.origin, np.int64))


@dataclass(frozen=True, slots=True)
class Units:
    """Units that relevance is assigned to: sub-words, patches, time steps or columns, one entry each.

    places: (n, 2) character spans or time ranges, (n, 4) boxes top, left, bottom, right, or (n, 1) columns. special:
    units the user did not write ([CLS], a class token); never removed, relevance exactly 0. groups: the larger unit
    each belongs to (sub-word -> word); -1 for special units. part: 0 for the first text, 1 for the second. keys:
    position of the unit on the key axis of the model's attention; -1 if it has none. key_counts: positions from there
    on that belong to the unit; None: one each.
    """

    names: tuple[str, ...]
    kind: str
    place_kind: PlaceKind
    places: Floats
    special: Bools
    groups: Ints
    part: Ints
    keys: Ints
    shape: tuple[int, ...]
    key_counts: Ints | None = None

    def __post_init__(self) -> None:
        n = len(self.names)
        width = {"span": 2, "box": 4, "range": 2, "column": 1}[self.place_kind]
        if np.shape(self.places) != (n, width):
            raise InputError(
                "units",
                expected=phrase("errors.records.places_shape", value=(n, width)),
                got=str(np.shape(self.places)),
            )
        for name in ("special", "groups", "part", "keys", *(() if self.key_counts is None else ("key_counts",))):
            if np.shape(getattr(self, name)) != (n,):
                raise InputError(
                    "units",
                    expected=phrase("errors.common.shape_name", name=name, value=(n,)),
                    got=str(np.shape(getattr(self, name))),
                )
        _freeze(
            self,
            places=frozen(self.places),
            special=frozen(self.special, np.bool_),
            groups=frozen(self.groups, np.int64),
            part=frozen(self.part, np.int64),
            keys=frozen(self.keys, np.int64),
        )
        if self.key_counts is not None:
            _freeze(self, key_counts=frozen(self.key_counts, np.int64))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def free(self) -> Bools:
        """Units that may be removed and that relevance is shared among."""
        return np.logical_not(self.special)

    @property
    def positions(self) -> int:
        """Positions of the key axis up to the last one that belongs to a unit."""
        return int((self.keys + (1 if self.key_counts is None else self.key_counts)).max(initial=0))

    def keys_of(self, unit: int) -> range:
        """Positions of the key axis that belong to a unit with a place there."""
        first = int(self.keys[unit])
        return range(first, first + (1 if self.key_counts is None else int(self.key_counts[unit])))

    @property
    def free_keys(self) -> list[range]:
        """Positions of the key axis that belong to each free unit."""
        return [self.keys_of(int(unit)) for unit in np.flatnonzero(self.free)]

    def gathered(self, values: Floats) -> Floats:
        """(..., key) -> (..., unit): the sum over the positions of each unit."""
        if self.key_counts is None:
            return values[..., np.maximum(self.keys, 0)]
        return np.stack([values[..., [*self.keys_of(unit)]].sum(-1) for unit in range(len(self))], -1)


@dataclass(frozen=True, slots=True)
class Site:
    """Place where a model computes attention: a module, and the number of its call."""

    name: str
    call: int
    kind: SiteKind
    layer: int
    heads: int
    module: str = ""

    @property
    def key(self) -> str:
        return f"{self.name}#{self.call}" if self.call else self.name


EDITED = Message("check.edited")
"""Weights under edits, which differ from the model's own on purpose."""
UNCHECKED = Message("check.never")
"""Captured weights that no self-check has seen."""


@dataclass(frozen=True, slots=True)
class Attention:
    """The weights of one site: (batch, head, query, key), rows summing to 1 minus `sink`.

    Rows and columns of padding are 0. `checked` tells how the weights were proved.
    """

    site: Site
    weights: NDArray[np.float32]
    sink: NDArray[np.float32] | None = None
    checked: Text = UNCHECKED

    def __post_init__(self) -> None:
        if np.ndim(self.weights) != 4:
            raise InputError(
                phrase("errors.common.attention_site", site=self.site.key),
                expected=phrase("errors.records.weights_shape_batch_head_query"),
                got=str(np.shape(self.weights)),
            )
        self.weights.setflags(write=False)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        b, h, q, k = self.weights.shape
        return b, h, q, k


@dataclass(frozen=True, slots=True)
class Edit:
    """Change of one site's attention.

    what: "uniform", "permute", "replace" (with `values`), "scale" (by `factor`), "knock_out" (scores of the
    edges queries x keys set to minus infinity, rows renormalised), "mask_heads" (the heads' output is zeroed).
    site: a site key, or a glob over site keys. heads, queries, keys: None means all.
    """

    what: Literal["uniform", "permute", "replace", "scale", "knock_out", "mask_heads"]
    site: str = "*"
    heads: tuple[int, ...] | None = None
    queries: tuple[int, ...] | None = None
    keys: tuple[int, ...] | None = None
    factor: float = 1.0
    seed: int = 0
    values: NDArray[np.float32] | None = None

    def stream_start(self, site: str) -> int:
        """Return the first state of the random stream that permutes this site, the same in any batch and process."""
        return int(keyed_rng(self.seed, "permute", site).integers(1 << 62))


Edits: TypeAlias = Sequence[Edit] | Sequence[Sequence[Edit]]
"""Edits for the whole batch, or one list of edits per row."""
Mode = Literal["qk", "weights"]
"""Stored form of a site in a capture: queries and keys (weights follow on demand), or the weights themselves."""
Check = Literal["first", "always", "never"]
"""Schedule of capture self-checks: on the first pass of a module, on every pass, or never."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers of the model to a ragged list of inputs: example i owns rows offsets[i]:offsets[i + 1].

    value: the objective (a logit-like scalar; gradients are taken of it).
    probability: the same on a 0..1 scale (for regression: the value itself).
    distribution: (rows, classes) where the task has few classes, else None.
    """

    offsets: Ints
    value: Floats
    probability: Floats
    distribution: Floats | None = None

    def rows(self, i: int) -> slice:
        return slice(int(self.offsets[i]), int(self.offsets[i + 1]))


@dataclass(frozen=True, slots=True, repr=False)
class Relevance(ShortHtml):
    """Relevance of every unit of many examples by one method, as one column."""

    method: str
    ids: tuple[str, ...]
    offsets: Ints
    values: Floats
    signed: bool = False
    extras: Mapping[str, Floats] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Relevance({self.method!r}, examples={len(self.ids)}, units={len(self.values)}, signed={self.signed})"

    def __post_init__(self) -> None:
        if len(self.offsets) != len(self.ids) + 1 or int(self.offsets[-1]) != len(self.values):
            raise InputError(
                phrase("errors.common.relevance_by_label", label=self.method),
                expected=phrase("errors.records.values_for_examples", offsets=int(self.offsets[-1]), n=len(self.ids)),
                got=phrase("errors.records.values_and_offsets", n=len(self.values), n_2=len(self.offsets)),
            )
        if not self.signed and (np.asarray(self.values) < 0).any():
            raise InputError(
                phrase("errors.common.relevance_by_label", label=self.method),
                expected=phrase("errors.records.no_negative_values_where_signed"),
                got=f"{np.min(self.values):.3g}",
                remedy=phrase("errors.records.signed_true_or_magnitudes"),
            )
        _freeze(self, offsets=frozen(self.offsets, np.int64), values=frozen(self.values))

    def __getitem__(self, i: int) -> Floats:
        return self.values[int(self.offsets[i]) : int(self.offsets[i + 1])]

    def __iter__(self) -> Iterator[Floats]:
        return (self[i] for i in range(len(self.ids)))

    @staticmethod
    def of(
        method: str,
        ids: Sequence[str],
        rows: Sequence[ArrayLike],
        *,
        signed: bool = False,
        extras: Mapping[str, ArrayLike] | None = None,
    ) -> Relevance:
        arrays = [np.asarray(row, np.float64).ravel() for row in rows]
        offsets = np.concatenate([[0], np.cumsum([len(a) for a in arrays])]).astype(np.int64)
        values = np.concatenate(arrays) if arrays else np.zeros(0)
        kept = {k: frozen(v) for k, v in (extras or {}).items()}
        return Relevance(method, tuple(ids), offsets, values, signed, kept)

    def score(
        self,
        metric: str,
        values: Floats,
        *,
        better: Literal["higher", "lower", "none"],
        where: Mapping[str, Json] = MappingProxyType({}),
        curves: Mapping[str, Floats] = MappingProxyType({}),
        grid: tuple[float, ...] = (),
    ) -> Score:
        """Build the score of this relevance under a metric."""
        return Score(metric, self.method, self.ids, values, better, dict(where), dict(curves), grid)


@dataclass(frozen=True, slots=True)
class Score(ShortHtml):
    """Values of one metric for one method, one per example; NaN where undefined (counted, never averaged in).

    `where` names the setting (operator, k, the other method). `curves` holds (examples, points) arrays,
    `grid` their x axis.
    """

    metric: str
    method: str
    ids: tuple[str, ...]
    values: Floats
    better: Literal["higher", "lower", "none"]
    where: Mapping[str, Json] = field(default_factory=dict)
    curves: Mapping[str, Floats] = field(default_factory=dict)
    grid: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if np.shape(self.values) != (len(self.ids),):
            raise InputError(
                phrase("errors.records.score_metric", metric=self.metric),
                expected=phrase("errors.records.values_n", n=len(self.ids)),
                got=str(np.shape(self.values)),
            )
        if np.isinf(self.values).any():
            raise InputError(
                phrase("errors.records.score_metric", metric=self.metric),
                expected=phrase("errors.records.numbers_nan_where_undefined"),
                got=phrase("errors.records.infinite_values"),
            )
        _freeze(self, values=frozen(self.values))


@dataclass(frozen=True, slots=True)
class Summary(ShortHtml):
    """A number that may be shown: estimate, interval, n, clusters, undefined count, seed."""

    metric: str
    method: str
    estimate: float
    low: float
    high: float
    n: int
    clusters: int
    undefined: int
    seed: int
    level: float = 0.95
    better: Literal["higher", "lower", "none"] = "none"
    role: Literal["method", "baseline", "ceiling", "null"] = "method"
    where: Mapping[str, Json] = field(default_factory=dict)


AttackStatus = Literal["success", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Attacked:
    """Result of one attack on one example.

    status: skipped examples were never attacked and belong to no denominator; `why` is the id of the reason
    ("misclassified", "no_open_word"), or words of the attack's own. example: the changed example nearest to the goal,
    even if that was not reached; None if nothing was changed or if there is no such input (embeddings). before, after:
    the classes, with their probabilities in `said_before` and `said_after`. perturbed: share of the words changed, or
    the size of the change as a share of the range of the inputs. similarity: see `similarity_is`, an id
    ("ngram_overlap", "norm_ratio") or words of the attack's own. curve: (queries so far, probability of the class that
    was predicted): the best by each query. origin: word of the original from which each word comes, None where places
    correspond. extras: other measured quantities (shift of attention, shift of the explanation). notes: caveats for the
    reader.
    """

    id: str
    attack: str
    status: AttackStatus
    queries: int = 0
    example: Example | None = None
    before: int | None = None
    after: int | None = None
    said_before: tuple[float, ...] = ()
    said_after: tuple[float, ...] = ()
    perturbed: float = 0.0
    similarity: float = 1.0
    similarity_is: str = "ngram_overlap"
    curve: tuple[tuple[int, float], ...] = ()
    origin: tuple[int, ...] | None = None
    extras: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[Text, ...] = ()
    why: str = ""
