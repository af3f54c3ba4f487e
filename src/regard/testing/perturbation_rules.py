"""Rules for noises: the same change for the same key, the same label, a true alignment, and monotone severity."""

from __future__ import annotations

import random
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from regard.errors import UnknownName, Unsupported
from regard.measures.keyed_random import keyed_rng
from regard.perturbations.apply import ENTRIES, SEVERITIES, perturber, stream_of
from regard.perturbations.columns import fitted
from regard.perturbations.script import Script
from regard.records import Example, Perturbed, Spec
from regard.registry import describe, names
from regard.testing.explainer_rules import failure

Noise = Callable[..., Any]
_TEXTS = (
    "A quiet, moving film that doesn't try too hard to please anybody, and it is wonderful for all that.",
    "Not bad, not good: just long, and very, very slow in the middle of the second half!",
    "三十年后的今天，他仍然在那里工作，而且非常高兴；我们都很喜欢他的电影和音乐。",
    "Ein Café in München, à la carte: the naïve waiter took 3.5 hours to bring the crème brûlée we had asked for.",
)
DRAWS = 8
_SLACK = 0.02
"""Tolerated fall of the mean amount of change from one severity to the next."""


def samples(modality: str) -> list[Example]:
    """Examples for noises of this modality, for texts also an empty one; read-only."""
    examples = _samples(modality)
    for value in (v for example in examples for v in example.inputs.values()):
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
    return examples


def _samples(modality: str) -> list[Example]:
    rng = keyed_rng(0, "perturbation samples", modality)
    if modality == "text":
        rationale = ((2.0, 7.0),)
        texts = [Example(f"t{i}", {"text": text}, i % 2, rationale) for i, text in enumerate(_TEXTS)]
        pair = Example("pair", {"text": _TEXTS[0], "text_pair": _TEXTS[1]}, label=1, group="g", parent="p")
        return [*texts, pair, Example("empty", {"text": ""}, label=0), Example("mark", {"text": "!"}, label=1)]
    if modality == "image":
        y, x = np.mgrid[0:24, 0:24] / 23
        shades = np.stack([x, y, (np.hypot(x - 0.5, y - 0.5) < 0.3) * 0.8], -1)
        grey = np.clip(shades[:8, :8, 2] + rng.random((8, 8)) / 2, 0, 1)
        return [
            Example("grey", {"image": grey}, 3),
            Example("colour", {"image": shades}, 1),
            Example("first", {"image": shades.transpose(2, 0, 1)}, 1),
        ]
    if modality in ("audio", "series"):
        wave = np.cumsum(rng.normal(size=400)) / 20  # not periodic, or a shift by a period would change nothing
        two = np.stack([wave, np.cos(np.linspace(0, 20, 400))], -1)
        return [Example("one", {modality: wave}, 1), Example("two", {modality: two}, 0)]
    rows = rng.normal(size=(3, 40)) * np.geomspace(0.5, 2, 40)
    return [Example(f"row{i}", {"row": row}, i % 2) for i, row in enumerate(rows)]


def perturbation_problems(function: Noise, model: Any = None) -> Iterator[str]:
    """Yield the rules that a noise breaks. model: for noises that need one; skip those without it."""
    facts = describe(function).facts
    if facts["modality"] not in ENTRIES:
        yield f"its modality is {facts['modality']!r}, expected one of {', '.join(ENTRIES)}"
        return
    if not facts["scale"]:
        yield "it does not say what its severities mean (scale=...)"
    needs = typing.cast("list[str]", facts["needs"])
    if "file" in needs or ("model" in needs and model is None):
        return
    examples = samples(str(facts["modality"]))
    try:
        spec = fitted(Spec("perturbation", function.__name__), examples)
    except UnknownName:  # a plug-in that is not installed yet has no name in the phone book
        spec = Spec("perturbation", function.__name__)
    own = {name: tuple(value) if isinstance(value, list) else value for name, value in spec.params.items()}
    more = (model,) if "model" in needs else ()

    def put_on(example: Example, severity: int) -> Any:
        return function(example, severity, stream_of(spec.name, severity, 0)(example.id), *more, **own)

    try:
        results = _all(put_on, examples)
    except Unsupported:
        raise
    except Exception as error:
        yield failure(error, "the example holds")
        return
    yield from _kept(examples, results)
    yield from _aligned(examples, results)
    yield from _repeats(put_on, examples, results)
    yield from _named(spec, model, examples, results)
    yield from _grows(put_on, examples)


Put = Callable[[Example, int], Any]
Changes = Mapping[tuple[str, int], Any]


def _all(put_on: Put, examples: Sequence[Example]) -> Changes:
    return {(e.id, s): put_on(e, s) for e in examples for s in SEVERITIES}


def _kept(examples: Sequence[Example], changes: Changes) -> Iterator[str]:
    for example in examples:
        for s in SEVERITIES:
            change = changes[example.id, s]
            if not isinstance(change, Perturbed):
                yield f"it returns {type(change).__name__}, not a Perturbed"
                return
            facts = [(e.id, e.label, e.group, e.parent, e.slices) for e in (example, change.example)]
            if facts[0] != facts[1]:
                yield f"id, label, group, parent and slices must stay: {facts[0]} became {facts[1]}"
                return
            if set(change.example.inputs) != set(example.inputs):
                yield f"the inputs {sorted(example.inputs)} became {sorted(change.example.inputs)}"
                return
            for name, value in change.example.inputs.items():
                if isinstance(value, np.ndarray):
                    if value.shape != np.shape(example.inputs[name]):
                        yield f"the shape {np.shape(example.inputs[name])} of {name} became {value.shape}"
                    elif not np.isfinite(value).all():
                        yield f"severity {s} gives values of {name} that are not finite"


def _aligned(examples: Sequence[Example], changes: Changes) -> Iterator[str]:
    for example in examples:
        if "text" not in example.inputs:
            if any(changes[example.id, s].origin is not None for s in SEVERITIES):
                yield "places correspond one to one here, so origin must be None"
            continue
        before = Script.of(example).words
        for s in SEVERITIES:
            change = changes[example.id, s]
            after = Script.of(change.example).words
            if change.origin is None or len(change.origin) != len(after):
                entries = None if change.origin is None else len(change.origin)
                yield f"origin has {entries} entries for {len(after)} words"
                return
            if len(change.origin) and (change.origin.min() < -1 or change.origin.max() >= len(before)):
                yield f"origin names words that are not there: {change.origin.tolist()} of {len(before)}"
                return
            if "text_pair" not in example.inputs and change.example.inputs == example.inputs and after != before:
                yield "the text is the same but its words are not"


def _repeats(put_on: Put, examples: Sequence[Example], changes: Changes) -> Iterator[str]:
    legacy, state = np.random.get_state(), random.getstate()
    again = _all(put_on, list(reversed(examples)))
    untouched = all(np.array_equal(a, b) for a, b in zip(legacy, np.random.get_state(), strict=True))
    if not untouched or state != random.getstate():
        yield "it draws from global random numbers; use rng"
    if any(amount(changes[key].example, again[key].example) for key in changes):
        yield "the same key gives another change the second time, or in another order"


def _named(spec: Spec, model: Any, examples: Sequence[Example], changes: Changes) -> Iterator[str]:
    if spec.name not in names("perturbation"):
        return
    through = perturber(spec, 0, model)
    if any(amount(through(e, 3).example, changes[e.id, 3].example) for e in examples):
        yield "put on through its name it gives another change than called directly"


def _grows(put_on: Put, examples: Sequence[Example]) -> Iterator[str]:
    # the mean over several draws: how much a draw changes is partly chance
    draws = 2 if "text" in examples[0].inputs else DRAWS  # how many words are changed is fixed
    many = [replace(e, id=f"{e.id} {draw}") for e in examples for draw in range(draws)]
    results = _all(put_on, many)
    sizes = [float(np.mean([amount(e, results[e.id, s].example) for e in many])) for s in SEVERITIES]
    if sizes[-1] == 0:
        yield "it changes nothing at severity 5"
    slack = _SLACK * max(sizes)
    if any(b < a - slack for a, b in pairwise(sizes)):
        yield f"the amount of change does not rise with severity: {[round(size, 3) for size in sizes]}"
    if sizes[-1] <= sizes[0]:
        yield f"severity 5 changes no more than severity 1: {[round(size, 3) for size in sizes]}"


def amount(before: Example, after: Example) -> float:
    """Size of a change: for texts the share of changed characters, else the root mean square of the difference."""
    total = 0.0
    for name, old in before.inputs.items():
        new = after.inputs.get(name)
        if new is None:
            total += 1
        elif isinstance(old, str):
            total += edits(old, new) / max(1, len(old)) if new != old else 0.0
        else:
            total += float(np.sqrt(np.mean((np.asarray(new, np.float64) - np.asarray(old, np.float64)) ** 2)))
    return total


def edits(a: str, b: str) -> int:
    """Levenshtein distance: characters to insert, delete or replace (1966).

    >>> edits("film", "fimls")
    2
    """
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]
