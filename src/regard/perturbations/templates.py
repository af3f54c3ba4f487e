"""Behavioural tests from templates in a small file (after CheckList, Ribeiro et al. 2020).

[lists]
good = ["good", "fine", "wonderful"]
name = ["Anna", "Ben", "Chen"]

[[test]]
name = "negation"
kind = "minimum functionality"      # every filling must get this label
template = "The film was not {good}."
label = "negative"

[[test]]
name = "who says it"
kind = "invariance"                 # the answer must not depend on how this slot is filled
template = "{name} said the film was {good}."
vary = "name"

[[test]]
name = "praise"
kind = "directional"                # the probability of the label must not fall
template = "The film was {good}."
change = "The film was {good}. I loved it."
label = "positive"
direction = "up"
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from regard.errors import InputError, Text, UnknownName, phrase
from regard.files import read_toml
from regard.measures.keyed_random import keyed_stream
from regard.perturbations.terms import shipped_lists
from regard.records import Spec
from regard.registry import arguments
from regard.trust import refuse_code

Kind = Literal["minimum functionality", "invariance", "directional"]
Direction = Literal["up", "down"]
MOST = 200
"""Default number of fillings of one test, drawn at random from all of them."""
MOST_FILLINGS = 10**100
_FIELDS = {
    "name",
    "kind",
    "template",
    "label",
    "vary",
    "change",
    "noise",
    "severity",
    "direction",
    "tolerance",
    "most",
    "require",
}
_SLOT = re.compile(r"\{\s*(\w+)\s*\}")


@dataclass(frozen=True, slots=True)
class BehaviourTest:
    """Behavioural test. pairs: (text, changed text) to compare; without a second text, the first is tested alone.

    tolerance: maximum move of the probability in the wrong direction. require: share that must pass, None for none.
    noise: a perturbation that makes the changed text, with its severity.
    """

    name: str
    kind: Kind
    pairs: tuple[tuple[str, str | None], ...]
    possible: int
    label: str | None = None
    direction: Direction = "up"
    tolerance: float = 0.0
    require: float | None = None
    noise: str | None = None
    severity: int = 3


def read_tests(path: Path, seed: int = 0) -> list[BehaviourTest]:
    """Read the tests of a file; an error names the test."""
    content = read_toml(path, phrase("errors.common.tests_failed", failed=path))
    lists = {**shipped_lists(), **_lists(content.get("lists", {}), path)}
    tests = content.get("test", [])
    if not isinstance(tests, list) or not tests or not all(isinstance(entry, dict) for entry in tests):
        raise InputError(
            phrase("errors.common.tests_failed", failed=path),
            expected=phrase("errors.perturbations.at_least_one_test"),
            got=phrase("errors.common.none") if not tests else "test = ...",
        )
    names = [_named(entry, i) for i, entry in enumerate(tests)]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise InputError(
            phrase("errors.common.tests_failed", failed=path),
            expected=phrase("errors.perturbations.name_own_for_every_test"),
            got=phrase("errors.common.twice_twice", twice=repr(twice)),
        )
    return [_test(entry, name, lists, seed) for entry, name in zip(tests, names, strict=True)]


def _lists(lists: object, path: Path) -> dict[str, list[str]]:
    if not isinstance(lists, dict):
        raise InputError(
            phrase("errors.common.tests_failed", failed=path),
            expected=phrase("errors.perturbations.lists_with_name_words"),
            got=f"lists = {lists!r}",
        )
    for name, words in lists.items():
        # a single string would be filled in letter by letter
        if not isinstance(words, list) or not words or not all(isinstance(w, str | int | float) for w in words):
            raise InputError(
                phrase("errors.perturbations.list_in_path", name=repr(name), path=path),
                expected=phrase("errors.perturbations.list_words_good_fine"),
                got=repr(words),
            )
    return {name: [str(word) for word in words] for name, words in lists.items()}


def _named(entry: Mapping[str, Any], number: int) -> str:
    return str(entry.get("name", f"test {number + 1}"))


def _test(entry: Mapping[str, Any], name: str, lists: Mapping[str, Sequence[str]], seed: int) -> BehaviourTest:
    for field in entry:
        if field not in _FIELDS:
            raise UnknownName(phrase("errors.perturbations.field_test", name=repr(name)), field, _FIELDS)
    kind: Kind = entry.get("kind", "")
    if kind not in get_args(Kind):
        raise UnknownName(phrase("errors.perturbations.kind_test", name=repr(name)), str(kind), get_args(Kind))
    _refuse(name, "template", entry.get("template"), phrase("errors.common.text"))
    if kind != "invariance":
        _refuse(name, "label", entry.get("label"), phrase("errors.perturbations.label_that_expected"))
    if kind == "invariance" and not ("vary" in entry) ^ ("noise" in entry):
        raise InputError(
            phrase("errors.common.test_name", name=repr(name)),
            expected=phrase("errors.perturbations.vary_slot_or_noise_name"),
            got=phrase("errors.perturbations.both_or_neither"),
        )
    if kind == "directional":
        _refuse(name, "change", entry.get("change"), phrase("errors.perturbations.changed_text"))
    direction = entry.get("direction", "up")
    if direction not in get_args(Direction):
        raise UnknownName(
            phrase("errors.perturbations.direction_test", name=repr(name)), str(direction), get_args(Direction)
        )
    if "noise" in entry:
        _refuse(name, "noise", entry["noise"], phrase("errors.perturbations.name_noise"))
        noise = Spec.parse("perturbation", entry["noise"])
        arguments(noise)  # unknown names are said before a model is opened
        refuse_code(phrase("errors.common.test_name", name=repr(name)), [noise])
    fillings = _fillings(name, entry, lists)
    most = _number(name, entry, "most", MOST, range(1, 10**6))
    numbers = keyed_stream(seed, "template", name).sample(fillings.count, most)
    require = _share(name, entry, "require") if "require" in entry else None
    return BehaviourTest(
        name,
        kind,
        tuple(map(fillings.pair, numbers)),
        fillings.count,
        entry.get("label"),
        direction=direction,
        tolerance=_share(name, entry, "tolerance"),
        require=require,
        noise=entry.get("noise"),
        severity=_number(name, entry, "severity", 3, range(1, 6)),
    )


def _number(name: str, entry: Mapping[str, Any], field: str, default: int, allowed: range) -> int:
    value = entry.get(field, default)
    if isinstance(value, bool) or not isinstance(value, int) or value not in allowed:
        first, last = allowed[0], allowed[-1]
        bounded = last < 10**5
        expected = (
            phrase("errors.perturbations.whole_number_in_range", field=field, first=first, last=last)
            if bounded
            else phrase("errors.perturbations.whole_number_at_least", field=field, first=first)
        )
        raise InputError(phrase("errors.common.test_name", name=repr(name)), expected=expected, got=repr(value))
    return value


def _share(name: str, entry: Mapping[str, Any], field: str) -> float:
    value = entry.get(field, 0.0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(
            phrase("errors.common.test_name", name=repr(name)),
            expected=phrase("errors.perturbations.number_up_to_one", field=field),
            got=repr(value),
        )
    return float(value)


def _refuse(name: str, field: str, value: object, expected: Text) -> None:
    if not isinstance(value, str) or not value.strip():
        problem = phrase("errors.common.nothing") if value is None else str(value)
        raise InputError(
            phrase("errors.common.test_name", name=repr(name)),
            expected=phrase("errors.perturbations.field_value", field=field, words=expected),
            got=problem,
        )


@dataclass(frozen=True, slots=True)
class _Fillings:
    """All fillings of a template, numbered as nested loops with the last slot fastest; computed on demand."""

    template: str
    change: str | None
    vary: str | None
    words: Mapping[str, Sequence[str]]

    @property
    def count(self) -> int:
        fixed = math.prod(len(words) for slot, words in self.words.items() if slot != self.vary)
        return fixed if self.vary is None else fixed * (len(self.words[self.vary]) - 1)

    def pair(self, number: int) -> tuple[str, str | None]:
        """Return the texts to compare in filling `number`; the varied slot has its first word in the first text."""
        other = 0
        if self.vary is not None:
            number, other = divmod(number, len(self.words[self.vary]) - 1)
        filled: dict[str, str] = {}
        for slot in reversed([slot for slot in self.words if slot != self.vary]):
            number, at = divmod(number, len(self.words[slot]))
            filled[slot] = self.words[slot][at]
        if self.vary is not None:
            first, second = self.words[self.vary][0], self.words[self.vary][other + 1]
            return _filled(self.template, {**filled, self.vary: first}), _filled(
                self.template, {**filled, self.vary: second}
            )
        return _filled(self.template, filled), None if self.change is None else _filled(self.change, filled)


def _fillings(name: str, entry: Mapping[str, Any], lists: Mapping[str, Sequence[str]]) -> _Fillings:
    template, change, vary = str(entry["template"]), entry.get("change"), entry.get("vary")
    slots = list(dict.fromkeys(_SLOT.findall(template + str(change or ""))))
    for slot in slots:
        if slot not in lists:
            raise UnknownName(phrase("errors.perturbations.list_test", name=repr(name)), slot, lists)
    if vary is not None and vary not in slots:
        raise UnknownName(phrase("errors.perturbations.slot_test", name=repr(name)), str(vary), slots)
    if vary is not None and len(lists[vary]) < 2:
        raise InputError(
            phrase("errors.common.test_name", name=repr(name)),
            expected=phrase("errors.perturbations.two_words_or_more_in_list", vary=repr(vary)),
            got=str(lists[vary]),
        )
    words = {slot: lists[slot] for slot in slots}
    fillings = _Fillings(template, None if change is None else str(change), vary, words)
    if fillings.count > MOST_FILLINGS:
        raise InputError(
            phrase("errors.common.test_name", name=repr(name)),
            expected=phrase("errors.perturbations.at_most_e_fillings"),
            got=phrase("errors.perturbations.slots_with_more", n=len(slots)),
        )
    return fillings


def _filled(template: str, words: Mapping[str, str]) -> str:
    """Fill every {slot} with its word; other braces are text."""
    return _SLOT.sub(lambda slot: words[slot[1]], template)
