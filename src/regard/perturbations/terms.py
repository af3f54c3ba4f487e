"""Sensitive terms (names, pronouns, ages, places) exchanged for others, with a placebo exchange beside it.

The lists are small and the user's to edit: `terms.toml` beside this file says how.
"""

from __future__ import annotations

import importlib.resources
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from regard.errors import InputError, UnknownName
from regard.measures.keyed_random import Stream
from regard.perturbations.replacing import like
from regard.perturbations.script import Script
from regard.records import Example, Perturbed

_LITTLE = frozenset(
    [
        "a",
        "an",
        "the",
        "to",
        "and",
        "or",
        "but",
        "in",
        "on",
        "at",
        "for",
        "with",
        "of",
        "that",
        "as",
        "is",
        "was",
        "from",
        "by",
        "into",
        "about",
        "than",
    ]
)


@dataclass(frozen=True, slots=True)
class Family:
    """Terms in groups. aligned: the k-th of one group stands for the k-th of another; else any does. same: terms of one
    group stand for each other in the placebo; else `neutral` words do (word -> the one that stands for it)."""

    name: str
    groups: tuple[tuple[str, ...], ...]
    aligned: bool
    same: bool
    neutral: Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Swapped:
    """An example with its terms exchanged, and one with a placebo exchange; words: which were exchanged in each."""

    swap: Perturbed
    placebo: Perturbed
    words: tuple[int, ...]
    placebo_words: tuple[int, ...]


def shipped_lists() -> dict[str, list[str]]:
    """The terms as lists for templates: {names}, {places}, {he}, {she}, {young}, {old}."""
    families = {family.name: family for family in families_of(None)}
    he, she = families["pronouns"].groups
    young, old = families["ages"].groups
    flat = {name: [term for group in families[name].groups for term in group] for name in ("names", "places")}
    return {**flat, "he": list(he[:1]), "she": list(she[:1]), "young": list(young), "old": list(old)}


def families_of(path: Path | None, wanted: Sequence[str] | None = None) -> list[Family]:
    """The families of a file, or ours; `wanted` picks some by name."""
    given = _shipped() if path is None else _read(path)
    swaps = given.get("swap", {})
    if not swaps:
        raise InputError(f"terms {path}", expected="[swap.NAME] with groups = [[...], [...]]", got="none")
    pairs = given.get("placebo", {}).get("pairs", [])
    neutral = {a.lower(): b for one, other in pairs for a, b in ((one, other), (other, one))}
    for name in wanted or ():
        if name not in swaps:
            raise UnknownName("family of terms", name, swaps)
    return [_family(name, swaps[name], neutral) for name in (wanted or swaps)]


def _family(name: str, entry: Mapping[str, Any], neutral: Mapping[str, str]) -> Family:
    groups = tuple(tuple(map(str, group)) for group in entry.get("groups", []))
    aligned = bool(entry.get("aligned", False))
    if len(groups) < 2 or not all(groups) or (aligned and len({len(group) for group in groups}) > 1):
        wanted = "at least two groups of terms" + (", all of one length" if aligned else "")
        raise InputError(f"terms {name!r}", expected=wanted, got=f"{[len(group) for group in groups]}")
    return Family(name, groups, aligned, bool(entry.get("same", False)), neutral)


@cache
def _shipped() -> Mapping[str, Any]:
    return tomllib.loads(importlib.resources.files("regard.perturbations").joinpath("terms.toml").read_text("utf-8"))


def _read(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"terms {path}", expected="a TOML file with [swap.NAME]", got=str(error)) from error


def swapped(example: Example, family: Family, rng: Stream) -> Swapped | None:
    """The example with every term of the family exchanged, and with as many placebo exchanges.

    None where it has no such term, or nothing for a placebo. A term is exchanged for the same one through the text.
    """
    script = Script.of(example)
    places: dict[str, list[tuple[int, int]]] = {}
    for g, group in enumerate(family.groups):
        for k, term in enumerate(group):
            places.setdefault(term.lower(), []).append((g, k))
    found = [(w, *_place(script.words, w, places)) for w, word in enumerate(script.words) if word.lower() in places]
    if not found:
        return None
    step = 1 + rng.below(len(family.groups) - 1)
    turn = rng.below(64)
    swaps, placebos = {}, {}
    for w, g, k in found:
        other = family.groups[(g + step) % len(family.groups)]
        swaps[w] = _like(script.words[w], other[k if family.aligned else (k + turn) % len(other)])
        own = family.groups[g]
        if family.same and len(own) > 1:
            placebos[w] = _like(script.words[w], own[(k + 1 + turn % (len(own) - 1)) % len(own)])
    if not family.same:
        neutral = [w for w, word in enumerate(script.words) if word.lower() in family.neutral]
        for i in rng.sample(len(neutral), len(found)):
            placebos[neutral[i]] = like(script.words[neutral[i]], family.neutral[script.words[neutral[i]].lower()])
    if not placebos:
        return None
    return Swapped(script.with_words(swaps), script.with_words(placebos), tuple(sorted(swaps)), tuple(sorted(placebos)))


def _place(words: Sequence[str], w: int, places: Mapping[str, Sequence[tuple[int, int]]]) -> tuple[int, int]:
    """Where a term stands in the lists. One that stands there twice (her: him, his) is the second one before a noun,
    which is taken to be any word that is none of the little ones."""
    found = places[words[w].lower()]
    follows = words[w + 1].lower() if w + 1 < len(words) else ""
    return found[-1] if follows[:1].isalpha() and follows not in _LITTLE else found[0]


def _like(word: str, term: str) -> str:
    """The term in the case of the word; small where the data write names small."""
    return term.lower() if word.islower() else like(word, term)
