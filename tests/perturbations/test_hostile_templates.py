"""Files of templates, terms, synonyms and policies that others wrote: sampled lazily, refused in one line."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from regard.attacks._substitutes import _dictionary
from regard.errors import InputError
from regard.gate.policy import read_policy
from regard.measures.keyed_random import keyed_stream
from regard.perturbations.sources import source
from regard.perturbations.templates import read_tests
from regard.perturbations.terms import families_of
from regard.training.word_vectors import word_vectors

READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "tests": ("t.toml", read_tests),
    "terms": ("t.toml", families_of),
    "policy": ("t.toml", read_policy),
    "synonyms": ("t.json", lambda path: source(str(path))),
    "substitutes": ("t.json", lambda path: _dictionary(str(path), 3)),
    "word vectors": ("t.txt", lambda path: word_vectors(path, ["good"], 3)),
}
CONTENT = {
    "deep JSON or TOML": b"a = " + b"[" * 100_000,
    "deep JSON": b"[" * 100_000,
    "long integer": b"a = " + b"9" * 5_000,
    "long JSON integer": b"9" * 5_000,
    "UTF-16": "[swap]".encode("utf-16"),
    "zeros": bytes(1_000),
    "noise": bytes(range(256)) * 4,
    "empty": b"",
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("content", CONTENT)
def test_hostile_content_is_refused_in_one_line(reader: str, content: str, tmp_path: Path) -> None:
    name, opened = READERS[reader]
    (tmp_path / name).write_bytes(CONTENT[content])
    with pytest.raises(InputError) as caught:
        opened(tmp_path / name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("reader", READERS)
def test_pipes_and_directories_are_refused(reader: str, tmp_path: Path) -> None:
    name, opened = READERS[reader]
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / name).mkdir()
    with pytest.raises(InputError):
        opened(tmp_path / "folder" / name)
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError) as caught:
        opened(tmp_path / name)  # opening it would wait for a writer
    assert "pipe" in str(caught.value) or "no such file" in str(caught.value)


def _tests(path: Path, slots: int, words: int, most: int, **fields: str) -> Path:
    names = [f"s{i}" for i in range(slots)]
    lists = "".join(f"{name} = {[f'{name}w{k}' for k in range(words)]}\n" for name in names)
    template = " ".join(f"{{{name}}}" for name in names)
    lines = "".join(f"{key} = {value}\n" for key, value in fields.items())
    path.write_text(f"[lists]\n{lists}[[test]]\nname = 'all'\ntemplate = '{template}'\nmost = {most}\n{lines}", "utf-8")
    return path


def test_a_template_with_billions_of_fillings_is_sampled_without_making_them(tmp_path: Path) -> None:
    path = _tests(tmp_path / "t.toml", 7, 60, 500, kind="'minimum functionality'", label="'positive'")
    (test,) = read_tests(path, seed=3)
    assert test.possible == 60**7
    assert len(set(test.pairs)) == 500
    assert {pair[1] for pair in test.pairs} == {None}
    first = {text.split()[0] for text, _ in test.pairs}
    last = {text.split()[-1] for text, _ in test.pairs}
    assert min(len(first), len(last)) > 50  # of 60: every slot is drawn from its whole list
    assert read_tests(path, seed=3) == [test]
    assert read_tests(path, seed=4) != [test]


def test_an_invariance_test_with_billions_of_fillings(tmp_path: Path) -> None:
    path = _tests(tmp_path / "t.toml", 7, 60, 200, kind="'invariance'", vary="'s3'")
    (test,) = read_tests(path)
    assert test.possible == 60**6 * 59
    for text, changed in test.pairs:
        different = [i for i, (a, b) in enumerate(zip(text.split(), str(changed).split(), strict=True)) if a != b]
        assert different == [3]


@pytest.mark.parametrize(("slots", "words", "most"), [(1, 5, 3), (3, 4, 200), (3, 4, 10)])
@pytest.mark.parametrize("vary", [False, True])
def test_the_sample_is_that_of_the_whole_product(slots: int, words: int, most: int, vary: bool, tmp_path: Path) -> None:
    """The oracle makes every filling in the order of nested loops and draws among them."""
    extra = {"kind": "'invariance'", "vary": "'s0'"} if vary else {"kind": "'minimum functionality'", "label": "'a'"}
    (test,) = read_tests(_tests(tmp_path / "t.toml", slots, words, most, **extra), seed=5)
    lists = [[f"s{i}w{k}" for k in range(words)] for i in range(slots)]
    every: list[tuple[str, str | None]] = [(" ".join(chosen), None) for chosen in product(*lists)]
    if vary:
        rest = [" ".join(["", *chosen]) for chosen in product(*lists[1:])]
        every = [(lists[0][0] + end, other + end) for end in rest for other in lists[0][1:]]
    drawn = keyed_stream(5, "template", "all").sample(len(every), most)
    assert test.possible == len(every) == math.prod([words] * slots) // words * (words - vary)
    assert list(test.pairs) == [every[i] for i in drawn]


def test_more_fillings_than_numbers_can_say_are_refused(tmp_path: Path) -> None:
    path = _tests(tmp_path / "t.toml", 400, 2, 5, kind="'minimum functionality'", label="'a'")
    with pytest.raises(InputError, match="400 slots"):
        read_tests(path)
