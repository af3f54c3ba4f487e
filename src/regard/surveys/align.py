"""Alignment of every written word with the words of a source text, or with the seconds of a sound.

The map is the cross-attention. If links are known, the head is chosen on one half of the examples and judged on the
other; otherwise it is chosen by a property of the weights alone, and the result says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.errors import InputError, Unsupported, phrase
from regard.measures.alignment import LinkCounts, Links, error_rate_interval, strongest, token_links
from regard.measures.intervals import Interval
from regard.measures.keyed_random import keyed_rng
from regard.measures.time_alignment import monotone_path, trimmed
from regard.models.open.load import load
from regard.models.writing_steps import writer
from regard.protocols import Model
from regard.records import Example, Floats, Text, Units, encoded
from regard.registry import upstairs

FEWEST = 4
"""Minimum examples with known links to hold some out and judge a head."""
TIMED_HEADS = 6
"""Number of heads whose mean gives the times of words if no links are known."""


@dataclass(frozen=True, slots=True)
class Head:
    """A head of a cross-attention; number None: the mean of all heads of the site."""

    site: str
    layer: int
    number: int | None

    @property
    def name(self) -> str:
        return f"{self.site}:{'mean' if self.number is None else self.number}"


@dataclass(frozen=True, slots=True)
class HeadRate:
    """The alignment error rate of a head on the examples that it was, or was not, chosen on."""

    head: Head
    rate: Interval
    n: int


@dataclass(frozen=True, slots=True)
class AlignedWord:
    """A written word and its origin.

    source: the word of the source text, or "". start, end: its characters there, or seconds of the sound. weight: share
    of the word's attention on it.
    """

    word: str
    source: str
    start: float
    end: float
    weight: float


@dataclass(frozen=True, slots=True)
class AlignedExample:
    """Input, the text written from it (`expected`: the label replaces the model's text), and its words."""

    id: str
    source: str
    written: str
    expected: bool
    words: tuple[AlignedWord, ...]


@dataclass(frozen=True, slots=True)
class Alignments:
    """Result of `align`. heads: error rates on the examples of choice; chosen: rate of the best, held out.

    baselines: the diagonal and the mean of all heads, on held-out examples. rule: selection of the head, "gold", "path"
    or "sharp".
    """

    model: str
    modality: str
    seed: int
    rule: str
    used: tuple[Head, ...]
    examples: tuple[AlignedExample, ...]
    heads: tuple[HeadRate, ...] = ()
    chosen: HeadRate | None = None
    diagonal: HeadRate | None = None
    mean: HeadRate | None = None
    notes: tuple[Text, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the whole result; an undefined number is null."""
        facts: dict[str, Any] = _finite({**encoded(self), "used": [head.name for head in self.used]})
        return facts

    def save(self, path: Any, data: Sequence[Example]) -> None:
        """Write the page of `regard align --html`. data: the examples that were aligned, for their waveforms."""
        inputs = {example.id: dict(example.inputs) for example in data}
        upstairs("write_alignment_page")(self.to_json(), [inputs.get(e.id, {}) for e in self.examples], path)


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """Example with its weights: (head, written token, unit), all heads of all cross-attentions."""

    example: Example
    units: Units
    weights: Floats
    spans: tuple[tuple[int, int], ...]
    text: str
    expected: bool
    links: Links | None


def align(
    model: str | Model,
    data: Sequence[Example],
    *,
    head: tuple[str, int | None] | None = None,
    use_labels: bool = True,
    seed: int = 0,
) -> Alignments:
    """Align the words that a model writes with the words, or the seconds, that they come from.

    head: (ending of a site, number; None for its mean) instead of a choice. use_labels: the decoder reads a text label
    instead of generating, so that known links fit.
    """
    live = writer(load(model))
    if not data:
        raise InputError(
            "data", expected=phrase("errors.common.at_least_one_example"), got=phrase("errors.common.none")
        )
    reads: list[_Read] = []
    heads: list[Head] = []
    for example in data:
        for window in live.windows(example):
            readings, heads = _read(live, window, use_labels=use_labels)
            reads.append(readings)
    with_links = [i for i, r in enumerate(reads) if r.links is not None and r.links.possible]
    facts: dict[str, Any] = {}
    if head is not None:
        indices, rule = [_named(heads, *head)], "named"
    elif len(with_links) >= FEWEST:
        indices, facts = _chosen_by_gold(reads, with_links, heads, seed)
        rule = "gold"
    elif live.modality == "audio":
        order = np.argsort(-np.mean([_path_masses(r.weights) for r in reads], axis=0), kind="stable")
        indices, rule = [int(k) for k in order[:TIMED_HEADS]], "path"
    else:
        indices, rule = [int(np.argmax(np.mean([_sharpness(r) for r in reads], axis=0)))], "sharp"
    rate = int(getattr(live.reader, "rate", 0) or 0)
    return Alignments(
        model=live.name,
        modality=live.modality,
        seed=seed,
        rule=rule,
        used=tuple(heads[k] for k in indices),
        examples=tuple(_aligned(r, r.weights[indices].mean(0), rate) for r in reads),
        notes=tuple(live.notes),
        **facts,
    )


def _read(live: Any, example: Example, *, use_labels: bool) -> tuple[_Read, list[Head]]:
    item = live.encode(example)
    reader: Any = live.reader
    label = example.label if use_labels and isinstance(example.label, str) else None
    if label is not None and reader.expected is not None:
        ids, spans = reader.expected(label)
        text = label
    else:
        label = None
        ids = live.generate([item])[0]
        text, spans = _spelt(reader, ids)
    capture = live.capture([item], [list(ids)], mode="weights")
    cross = [site for site in capture.sites if site.site.kind == "cross" and site.shape[2] >= len(ids)]
    if not cross:
        raise Unsupported(
            phrase("errors.common.model_live", live=live.name),
            expected=phrase("errors.surveys.cross_attention_over_input"),
            got=phrase("errors.common.none"),
        )
    keys = np.maximum(item.units.keys, 0)
    heads: list[Head] = []
    weights: list[Floats] = []
    for site in cross:
        rows = np.asarray(site.rows(0, range(len(ids))), np.float64)[:, :, keys]
        rows = np.where(item.units.free, rows, 0.0)
        heads += [Head(site.site.key, site.site.layer, k) for k in range(len(rows))]
        heads.append(Head(site.site.key, site.site.layer, None))
        weights += [*rows, rows.mean(0)]
    links = None
    if label is not None and example.alignment is not None:
        scale = _scale(live, example)
        scaled = [(int(a * scale), int(b * scale), c, d) for a, b, c, d in example.alignment]
        places = [
            tuple(map(int, p)) if free else (0, 0) for p, free in zip(item.units.places, item.units.free, strict=True)
        ]
        links = token_links(scaled, places, spans)
    return _Read(example, item.units, np.stack(weights), tuple(spans), text, label is not None, links), heads


def _scale(live: Any, example: Example) -> float:
    """Samples of the model per sample of the user's sound."""
    own, rate = getattr(live.reader, "rate", 0), example.inputs.get("rate")
    return float(own) / float(rate) if own and rate else 1.0


def _spelt(reader: Any, ids: Sequence[int]) -> tuple[str, list[tuple[int, int]]]:
    """Return the text of ids, and the characters of each; tokens that the text does not show have none."""
    text, spans, at = str(reader.join(list(ids))), list[tuple[int, int]](), 0
    for piece in reader.spell(list(ids)):
        place = text.find(piece.strip(), at) if piece.strip() else -1
        spans.append((place, place + len(piece.strip())) if place >= 0 else (0, 0))
        at = spans[-1][1] if place >= 0 else at
    return text, spans


def _written(read: _Read) -> list[int]:
    """The tokens that stand for characters."""
    return [j for j, (a, b) in enumerate(read.spans) if b > a]


def _path_masses(weights: Floats) -> Floats:
    return np.array([monotone_path(rows).mass for rows in weights])


def _sharpness(read: _Read) -> Floats:
    """(head,) mean over written tokens of the largest weight on a unit."""
    return np.asarray(read.weights[:, _written(read)].max(-1).mean(-1))


def _named(heads: Sequence[Head], site: str, number: int | None) -> int:
    fitting = [k for k, h in enumerate(heads) if (h.site == site or h.site.endswith("." + site)) and h.number == number]
    if not fitting:
        names = ", ".join(h.name for h in heads[:6])
        raise InputError(
            phrase("errors.surveys.head_site", site=site, number=number),
            expected=phrase("errors.surveys.one_names", names=names),
            got=phrase("errors.surveys.no_such_head"),
        )
    return fitting[-1]


def _chosen_by_gold(
    reads: Sequence[_Read], known: Sequence[int], heads: Sequence[Head], seed: int
) -> tuple[list[int], dict[str, Any]]:
    """Choose the head with the lowest error rate on one half; return its rate and baselines on the other half."""
    order = [known[int(i)] for i in keyed_rng(seed, "align", len(known)).permutation(len(known))]
    choice, held_out = sorted(order[: len(order) // 2]), sorted(order[len(order) // 2 :])
    counts = {i: [_counts(reads[i], reads[i].weights[k]) for k in range(len(heads))] for i in known}

    def rate(k: int, half: Sequence[int]) -> HeadRate:
        return HeadRate(heads[k], error_rate_interval([counts[i][k] for i in half], seed=seed), len(half))

    on_choice = [rate(k, choice) for k in range(len(heads))]
    best = min(range(len(heads)), key=lambda k: (_or_one(on_choice[k].rate.estimate), k))
    diagonal = error_rate_interval([_diagonal(reads[i]) for i in held_out], seed=seed)
    everything = [_counts(reads[i], reads[i].weights.mean(0)) for i in held_out]
    ranked = sorted(on_choice, key=lambda r: _or_one(r.rate.estimate))
    facts = {
        "heads": tuple(ranked),
        "chosen": rate(best, held_out),
        "diagonal": HeadRate(Head("diagonal", -1, None), diagonal, len(held_out)),
        "mean": HeadRate(Head("all heads", -1, None), error_rate_interval(everything, seed=seed), len(held_out)),
    }
    return [best], facts


def _or_one(rate: float) -> float:
    return rate if math.isfinite(rate) else 1.0


def _counts(read: _Read, weights: Floats) -> LinkCounts:
    assert read.links is not None
    return LinkCounts.of(strongest(weights, read.links.targets), read.links)


def _diagonal(read: _Read) -> LinkCounts:
    """Baseline alignment without knowledge: written token j of m comes from unit j n / m."""
    assert read.links is not None
    free, words = np.flatnonzero(read.units.free), _written(read)
    place = {j: int(free[min(len(free) - 1, k * len(free) // max(1, len(words)))]) for k, j in enumerate(words)}
    return LinkCounts.of({(place[j], j) for j in read.links.targets if j in place}, read.links)


def _aligned(read: _Read, weights: Floats, rate: int) -> AlignedExample:
    sound = read.units.place_kind == "range"
    words = _words(read)
    rows = [weights[tokens].mean(0) for _, tokens in words]
    aligned = (
        _timed(read, words, rows, rate)
        if sound
        else [_linked(read, w, row) for (w, _), row in zip(words, rows, strict=True)]
    )
    source = "" if sound else str(read.example.inputs.get("text", ""))
    return AlignedExample(read.example.id, source, read.text, read.expected, tuple(aligned))


def _words(read: _Read) -> list[tuple[str, list[int]]]:
    """The written words and their tokens; a text without spaces has one word per token."""
    words: list[tuple[int, int, list[int]]] = []
    spaced = " " in read.text or read.units.place_kind == "range"
    for token in _written(read):
        start, end = read.spans[token]
        between = read.text[words[-1][1] : start + 1] if words else " "
        same = bool(words) and (start < words[-1][1] or (spaced and " " not in between))
        if same:
            words[-1] = (words[-1][0], max(end, words[-1][1]), [*words[-1][2], token])
        else:
            words.append((start, end, [token]))
    return [(read.text[a:b].strip(), tokens) for a, b, tokens in words]


def _linked(read: _Read, word: str, row: Floats) -> AlignedWord:
    """The source word with the most attention."""
    units = read.units
    groups = np.where(units.groups >= 0, units.groups, len(units) + np.arange(len(units)))
    total = float(row.sum())
    masses = {int(g): float(row[groups == g].sum()) for g in np.unique(groups[units.free])}
    best = max(masses, key=lambda g: masses[g]) if masses else -1
    places = units.places[(groups == best) & units.free]
    if not len(places):
        return AlignedWord(word, "", 0, 0, float("nan"))
    start, end = float(places[:, 0].min()), float(places[:, 1].max())
    text = str(read.example.inputs.get("text", ""))
    return AlignedWord(
        word, text[int(start) : int(end)].strip(), start, end, masses[best] / total if total else math.nan
    )


def _timed(
    read: _Read, words: Sequence[tuple[str, Sequence[int]]], rows: Sequence[Floats], rate: int
) -> list[AlignedWord]:
    """The seconds of every word along the best monotone path through the sound."""
    if not words:
        return []
    table = np.stack(rows)
    path = monotone_path(table)
    aligned = []
    for k, (word, _) in enumerate(words):
        first, last = trimmed(table[k], int(path.first[k]), int(path.last[k]))
        start, end = (float(place) / (rate or 1) for place in (read.units.places[first, 0], read.units.places[last, 1]))
        total = float(table[k].sum())
        inside = float(table[k, first : last + 1].sum()) / total if total else math.nan
        aligned.append(AlignedWord(word, "", start, end, inside))
    return aligned


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
