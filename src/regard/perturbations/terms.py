"""Swaps of sensitive terms (names, pronouns, ages, places), with placebo swaps for comparison.

The lists are small, and users can edit them: see `terms.toml` beside this file.
"""

from __future__ import annotations

import importlib.resources
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from regard.errors import InputError, UnknownName, phrase
from regard.files import read_toml
from regard.measures.keyed_random import Stream
from regard.models.read.words import word_parts
from regard.perturbations.replacing import like
from regard.perturbations.script import Script
from regard.records import Example, Perturbed

_KEYS = ("groups", "aligned", "same")
_HYPHENS = frozenset("-\u2010\u2011")
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
    """Terms in groups.

    aligned: the k-th term of one group replaces the k-th of another; else any does. same: in the placebo, terms of one
    group replace each other; else `neutral` words do (word -> its replacement).
    """

    name: str
    groups: tuple[tuple[str, ...], ...]
    aligned: bool
    same: bool
    neutral: Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Swapped:
    """An example with swapped terms, and one with placebo swaps; words: the swapped words of each."""

    swap: Perturbed
    placebo: Perturbed
    words: tuple[int, ...]
    placebo_words: tuple[int, ...]


def shipped_lists() -> dict[str, list[str]]:
    """Return the terms as lists for templates: {names}, {places}, {he}, {she}, {young}, {old}."""
    families = {family.name: family for family in families_of(None)}
    he, she = families["pronouns"].groups
    young, old = families["ages"].groups
    flat = {name: [term for group in families[name].groups for term in group] for name in ("names", "places")}
    return {**flat, "he": list(he[:1]), "she": list(she[:1]), "young": list(young), "old": list(old)}


def families_of(path: Path | None, selected: Sequence[str] | None = None) -> list[Family]:
    """Read the families of a file, or the built-in ones; `selected` selects by name."""
    content = _shipped() if path is None else _read(path)
    swaps, placebo = content.get("swap", {}), content.get("placebo", {})
    if not isinstance(swaps, dict) or not swaps or not all(isinstance(one, dict) for one in swaps.values()):
        problem = phrase("errors.common.none") if not swaps else phrase("errors.common.something_else")
        raise InputError(
            phrase("errors.perturbations.terms_path", path=path),
            expected=phrase("errors.perturbations.swap_name_with_groups"),
            got=problem,
        )
    pairs = placebo.get("pairs", _shipped()["placebo"]["pairs"]) if isinstance(placebo, dict) else placebo
    if not isinstance(pairs, list) or not all(_words(pair) and len(pair) == 2 for pair in pairs):
        raise InputError(
            phrase("errors.perturbations.terms_path", path=path),
            expected=phrase("errors.perturbations.placebo_with_pairs_film_movie"),
            got=repr(pairs),
        )
    neutral = {a.lower(): b for one, other in pairs for a, b in ((one, other), (other, one))}
    for name in selected or ():
        if name not in swaps:
            raise UnknownName(phrase("errors.perturbations.family_terms"), name, swaps)
    return [_family(name, swaps[name], neutral) for name in (selected or swaps)]


def _words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _family(name: str, entry: Mapping[str, Any], neutral: Mapping[str, str]) -> Family:
    for key in entry:
        if key not in _KEYS:
            raise UnknownName(phrase("errors.perturbations.key_terms", name=repr(name)), key, _KEYS)
    lists = entry.get("groups", [])
    if not isinstance(lists, list) or not all(map(_words, lists)) or not all(w.strip() for g in lists for w in g):
        raise InputError(
            phrase("errors.perturbations.terms_path", path=repr(name)),
            expected='groups = [["he", "his"], ["she", "her"]]',
            got=repr(lists),
        )
    groups = tuple(tuple(group) for group in lists)
    aligned = bool(entry.get("aligned", False))
    if len(groups) < 2 or not all(groups) or (aligned and len({len(group) for group in groups}) > 1):
        expected = (
            phrase("errors.perturbations.at_least_two_groups_terms")
            if aligned
            else phrase("errors.perturbations.two_groups_of_terms")
        )
        raise InputError(
            phrase("errors.perturbations.terms_path", path=repr(name)),
            expected=expected,
            got=f"{[len(group) for group in groups]}",
        )
    return Family(name, groups, aligned, bool(entry.get("same", False)), neutral)


@cache
def _shipped() -> Mapping[str, Any]:
    return tomllib.loads(importlib.resources.files("regard.perturbations").joinpath("terms.toml").read_text("utf-8"))


def _read(path: Path) -> Mapping[str, Any]:
    return read_toml(path, phrase("errors.perturbations.terms_path", path=path))


def swapped(example: Example, family: Family, rng: Stream) -> Swapped | None:
    """Swap every term of the family in an example, and make as many placebo swaps.

    None if it has no such term, or nothing for a placebo. Every occurrence of a term gets the same replacement.
    """
    script = Script.of(example)
    occurrences = _found(script, family)
    if not occurrences:
        return None
    step = 1 + rng.below(len(family.groups) - 1)
    turn = rng.below(64)
    swaps, placebos = dict[int, tuple[int, str]](), dict[int, tuple[int, str]]()
    for w, size, g, k in occurrences:
        other = family.groups[(g + step) % len(family.groups)]
        swaps[w] = size, _like(script.words[w], other[k if family.aligned else (k + turn) % len(other)])
        own = family.groups[g]
        if family.same and len(own) > 1:
            placebos[w] = size, _like(script.words[w], own[(k + 1 + turn % (len(own) - 1)) % len(own)])
    if not placebos:  # no second term of the same group: neutral words instead
        inside = {w + i for w, size, _, _ in occurrences for i in range(size)}
        neutral = [w for w, word in enumerate(script.words) if word.lower() in family.neutral and w not in inside]
        for i in rng.sample(len(neutral), len(occurrences)):
            word = script.words[neutral[i]]
            placebos[neutral[i]] = 1, like(word, family.neutral[word.lower()])
    if not placebos:
        return None
    swap, other_made = _exchanged(script, swaps), _exchanged(script, placebos)
    return Swapped(swap, other_made, tuple(sorted(swaps)), tuple(sorted(placebos)))


def _found(script: Script, family: Family) -> list[tuple[int, int, int, int]]:
    """Return (first word, number of words, group, position in it) of every term, the longest match first."""
    words = [word.lower() for word in script.words]
    places: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for g, group in enumerate(family.groups):
        for k, term in enumerate(group):
            places.setdefault(tuple(word_parts(term.lower())[1::2]), []).append((g, k))
    sizes = sorted({len(term) for term in places}, reverse=True)
    occurrences, at, ends = list[tuple[int, int, int, int]](), 0, [end for end in script.firsts if end]
    while at < len(words):
        room = next(end for end in ends if end > at) - at  # a term does not go on in the second text
        size = next((n for n in sizes if n <= room and tuple(words[at : at + n]) in places), 0)
        size = 0 if size and (_glued(script, at - 1) or _glued(script, at + size)) else size
        if size:
            occurrences.append((at, size, *_place(words, at + size, places[tuple(words[at : at + size])])))
        at += size or 1
    return occurrences


def _glued(script: Script, w: int) -> bool:
    """Return whether this word is the hyphen of a compound, which holds no age (old-fashioned, 14-year-old)."""
    if not 0 < w < len(script.words) - 1 or script.words[w] not in _HYPHENS:
        return False
    gaps = [gap for here in script.parts for gap in here[:-1:2]]  # before each word
    return not gaps[w] and not gaps[w + 1] and script.words[w - 1][-1].isalnum() and script.words[w + 1][0].isalnum()


def _exchanged(script: Script, changes: Mapping[int, tuple[int, str]]) -> Perturbed:
    """Replace terms (first word -> number of words, other term), together with the gaps between their words."""
    if all(size == 1 for size, _ in changes.values()):
        return script.with_words({w: term for w, (_, term) in changes.items()})
    texts = []
    for here in script.pieces():
        pieces, last = [], -1
        for text, w in here:
            if w in changes:
                pieces.append((changes[w][1], w))
                last = w + changes[w][0] - 1
            elif last < 0:
                pieces.append((text, w))
            if w == last:
                last = -1
        texts.append(pieces)
    return script.with_pieces(texts)


def _place(words: Sequence[str], after: int, places: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Find a term in the lists.

    A term that occurs twice (her: him, his) is the second one before a noun, which is any word other than a function
    word.
    """
    follows = words[after] if after < len(words) else ""
    return places[-1] if follows[:1].isalpha() and follows not in _LITTLE else places[0]


def _like(word: str, term: str) -> str:
    """Return the term in the case of the word; lower case if the data write names so."""
    return term.lower() if word.islower() else like(word, term)
