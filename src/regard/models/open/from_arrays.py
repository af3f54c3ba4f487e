"""Attention that was computed elsewhere (TensorFlow, JAX, a serving engine, a file), as a `Capture`.

capture = from_arrays(attentions, ["the", "film", "is", "good"])
capture = from_file("attention.npz")
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.cards import Card, HasCard
from regard.datasets.formats.arrays import read_npz
from regard.errors import InputError, phrase
from regard.files import kind_of, parse_json, reason
from regard.models.model_cards import capture_card
from regard.records import Answers, Attention, Message, Site, SiteKind, Text, Units
from regard.registry import upstairs
from regard.tap.site_attention import attention_text

_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class ArrayAttention:
    """User-supplied weights as a `SiteAttention`."""

    record: Attention

    @property
    def site(self) -> Site:
        return self.record.site

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return self.record.shape

    def __repr__(self) -> str:
        return attention_text(self)

    def rows(self, example: int, queries: Sequence[int], heads: Sequence[int] | None = None) -> NDArray[np.float32]:
        weights: NDArray[np.float32] = self.record.weights[example][:, list(queries)]
        return weights if heads is None else weights[list(heads)]

    def dense(self) -> Attention:
        return self.record


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GivenCapture(HasCard):
    """Implements `protocols.Capture` without a model, so there are no answers."""

    sites: tuple[ArrayAttention, ...]
    units: tuple[Units, ...]
    checked: Text
    rejected: tuple[tuple[str, Text], ...] = ()

    @property
    def answers(self) -> Answers:
        return Answers(np.zeros(len(self.units) + 1, np.int64), np.zeros(0), np.zeros(0))

    def _card(self) -> Card:
        return capture_card("GivenCapture", self, "")

    def show(self, view: str = "", *, lang: str = "en", static: bool = False) -> Any:
        """Draw in a notebook; `.save("page.html")`, `.svg`, `.png` or `.pdf` works anywhere (see `live.show`)."""
        return upstairs("show")(self, view=view, lang=lang, static=static)


def from_arrays(
    attentions: Any, units: Sequence[Units] | Units | Sequence[str], *, kind: SiteKind | None = None
) -> GivenCapture:
    """Build a capture of given weights.

    attentions: one array for each layer (a list, or a mapping by name, or one array with layers first), each of shape
    (batch, head, query, key); for a single example (head, query, key), (query, key) or (key,) works too. Tensors of any
    library that numpy can read. units: `Units` of each example, or the names of the units of a single one. Rows must
    sum to 1; a shortfall is recorded as sink; rows of zeros are padding.

    >>> capture = from_arrays([np.full((2, 3, 3), 1 / 3)], ["a", "good", "film"])
    >>> capture.sites[0].shape, capture.sites[0].site.key, str(capture.checked)
    ((1, 2, 3, 3), 'layer.0', 'given: rows sum to 1')
    """
    arrays = _named(attentions)
    if not arrays:
        raise InputError(
            "attentions", expected=phrase("errors.models.at_least_one_array"), got=phrase("errors.common.none")
        )
    built, lowest = [], 1.0
    for layer, (name, array) in enumerate(arrays.items()):
        weights = _weights(name, array)
        total = weights.sum(-1, dtype=np.float64)
        filled = total > 0
        if not filled.any():
            raise InputError(
                phrase("errors.common.attention_site", site=name),
                expected=phrase("errors.common.rows_that_sum"),
                got=phrase("errors.models.nothing_but_zeros"),
            )
        lowest = min(lowest, float(total[filled].min()))
        sink = None
        if float(total[filled].min()) < 1 - _TOLERANCE:
            sink = np.where(filled, np.maximum(0.0, 1.0 - total), 0.0).astype(np.float32)
        site = Site(name, 0, kind or _kind(weights), layer, weights.shape[1])
        built.append((site, weights, sink))
    checked = Message("check.given")
    if lowest < 1 - _TOLERANCE:
        checked = Message.of("check.given_sink", lowest=round(lowest, 3))
    sites = tuple(ArrayAttention(Attention(s, w, sink, checked)) for s, w, sink in built)
    described = _units(units)
    batch = {held.shape[0] for held in sites}
    if batch != {len(described)}:
        raise InputError(
            "units", expected=phrase("errors.models.examples_in_attentions", batch=max(batch)), got=f"{len(described)}"
        )
    for given_site in sites:
        for i, unit in enumerate(described):
            if unit.keys.max(initial=-1) >= given_site.shape[3]:
                raise InputError(
                    phrase("errors.models.units_example", i=i),
                    expected=phrase(
                        "errors.models.at_most_as_in_site", shape=given_site.shape[3], site=given_site.site.key
                    ),
                    got=str(len(unit)),
                )
    if not isinstance(units, Units) and all(isinstance(u, str) for u in units):
        lengths = {given_site.shape[3] for given_site in sites}
        if len(units) not in lengths:
            raise InputError(
                "units",
                expected=phrase("errors.models.names_one_for_each_key", lengths=max(lengths)),
                got=str(len(units)),
            )
    return GivenCapture(sites, described, checked)


def from_file(path: str | Path, units: Sequence[Units] | Units | Sequence[str] | None = None) -> GivenCapture:
    """Read a capture from a `.npz` or `.safetensors` file: one array for each site, in the order of their numbers.

    Names of units are read from an array `units` of strings (.npz) or from the metadata `units`, a JSON list
    (.safetensors), unless given. Nothing is unpickled.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(
            phrase("errors.common.file_place", place=path),
            expected=phrase("errors.models.npz_or_safetensors_file"),
            got=phrase("errors.common.no_such_file"),
        )
    arrays, names = (_read_npz if path.suffix == ".npz" else _read_safetensors)(path)
    if units is None:
        if names is None:
            raise InputError(
                phrase("errors.common.file_place", place=path),
                expected=phrase("errors.models.names_units"),
                got=phrase("errors.common.none"),
                remedy=phrase("errors.models.pass_units"),
            )
        units = names
    return from_arrays(dict(sorted(arrays.items(), key=lambda item: _natural(item[0]))), units)


def _read_npz(path: Path) -> tuple[dict[str, Any], list[str] | None]:
    arrays = read_npz(path)
    names = arrays.pop("units", None)
    return arrays, None if names is None else [str(n) for n in names]


def _read_safetensors(path: Path) -> tuple[dict[str, Any], list[str] | None]:
    from safetensors import SafetensorError, safe_open

    kind_of(path)  # refuses pipes and devices
    try:
        with safe_open(str(path), "np") as tensors:
            arrays = {name: tensors.get_tensor(name) for name in tensors.keys()}  # noqa: SIM118
            names = (tensors.metadata() or {}).get("units")
    except (SafetensorError, OSError, TypeError, ValueError) as problem:
        raise InputError(
            phrase("errors.common.file_place", place=path),
            expected=phrase("errors.models.safetensors_file"),
            got=reason(problem),
        ) from problem
    try:
        listed = None if names is None else parse_json(names)
    except ValueError:
        listed = ()
    if listed is not None and not isinstance(listed, list):
        raise InputError(
            phrase("errors.common.file_place", place=path),
            expected=phrase("errors.models.units_json_list_names"),
            got=str(names)[:60],
        )
    return arrays, None if listed is None else [str(name) for name in listed]


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _array(name: str, values: Any) -> NDArray[np.float32]:
    if type(values).__module__.partition(".")[0] == "torch":
        values = values.detach().cpu().float()  # numpy cannot read a tensor with gradients, or bfloat16
    try:
        array = np.asarray(values)
    except ValueError as problem:
        raise InputError(
            phrase("errors.common.attention_site", site=name),
            expected=phrase("errors.common.array_numbers"),
            got=phrase("errors.models.lists_unequal_length"),
        ) from problem
    if array.dtype.kind not in "fiub":
        raise InputError(
            phrase("errors.common.attention_site", site=name),
            expected=phrase("errors.common.array_numbers"),
            got=phrase("errors.models.array_dtype", dtype=array.dtype.name),
        )
    return array.astype(np.float32)


def _named(attentions: Any) -> dict[str, Any]:
    if isinstance(attentions, Mapping):
        return {str(name): array for name, array in attentions.items()}
    if not isinstance(attentions, (list, tuple)):
        array = _array("given", attentions)
        attentions = list(array) if array.ndim in (4, 5) else [array]
    return {f"layer.{i}": array for i, array in enumerate(attentions)}


def _weights(name: str, given: Any) -> NDArray[np.float32]:
    array = _array(name, given)
    if not 1 <= array.ndim <= 4:
        raise InputError(
            phrase("errors.common.attention_site", site=name),
            expected=phrase("errors.models.shape_batch_head_query_key"),
            got=str(array.shape),
        )
    array = array.reshape((1,) * (4 - array.ndim) + array.shape)
    for expected, wrong in (
        (phrase("errors.models.only_finite_weights"), ~np.isfinite(array)),
        (phrase("errors.models.weights_not_negative"), array < 0),
        (phrase("errors.models.rows_sum_at_most_one"), array.sum(-1, dtype=np.float64) > 1 + _TOLERANCE),
    ):
        if wrong.any():
            raise InputError(
                phrase("errors.common.attention_site", site=name),
                expected=expected,
                got=phrase("errors.models.those_that_differ", wrong=int(wrong.sum())),
            )
    return np.ascontiguousarray(array)


def _kind(weights: NDArray[np.float32]) -> SiteKind:
    _, _, queries, keys = weights.shape
    if queries == 1 < keys:
        return "pooling"
    if queries != keys:
        return "cross"
    return "causal" if queries > 1 and not np.triu(weights, 1).any() else "self"


def _units(units: Sequence[Units] | Units | Sequence[str]) -> tuple[Units, ...]:
    if isinstance(units, Units):
        return (units,)
    entries = list(units)
    if all(isinstance(u, Units) for u in entries):
        return tuple(u for u in entries if isinstance(u, Units))
    names = tuple(str(u) for u in entries)
    ends = np.cumsum([len(n) + 1 for n in names])
    places = np.stack([ends - 1 - [len(n) for n in names], ends - 1], -1) if names else np.zeros((0, 2))
    n = len(names)
    zeros, place = np.zeros(n, np.int64), np.arange(n)
    return (
        Units(
            names=names,
            kind="token",
            place_kind="span",
            places=places,
            special=np.zeros(n, np.bool_),
            groups=place,
            part=zeros,
            keys=place,
            shape=(n,),
        ),
    )
