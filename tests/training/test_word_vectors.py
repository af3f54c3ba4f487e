"""Word vectors from a file: found, skipped, refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from toy_examples import splits, text

from regard.errors import InputError
from regard.records import Spec
from regard.registry import build
from regard.training.word_vectors import word_vectors

WORDS = ("<pad>", "good", "bad", "film")


def test_words_of_the_file_are_found_with_and_without_a_first_line(tmp_path: Path) -> None:
    file = tmp_path / "some.vec"
    for head in ("", "3 2\n"):
        file.write_text(f"{head}good 1 2.5\nunheard -1 0\nfilm .5 0\ngood 9 9\n", "utf-8")
        found = word_vectors(file, WORDS, 2)
        assert sorted(found) == [1, 3]
        assert torch.equal(found[1], torch.tensor([1.0, 2.5]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("film 1 2\ngood 1\n", "line 2.*2 finite numbers"),
        ("film 1 2\ngood 1 nan\n", "line 2.*not finite"),
        ("good 1 x\n", "numbers"),
        ("unheard 1 2\n", "none of them"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "some.vec"
    file.write_text(text, "utf-8")
    with pytest.raises(InputError, match=f"(?s){said}"):
        word_vectors(file, WORDS, 2)
    with pytest.raises(InputError, match="no such file"):
        word_vectors(tmp_path / "none", WORDS, 2)


def test_a_classifier_starts_from_them(tmp_path: Path) -> None:
    train = splits(text).train
    learner = build(Spec("learner", "classifier", {"size": 3, "hidden": 2, "min_count": 1}))(train)
    torch.manual_seed(0)
    before = learner.network().embedding.weight
    word = str(train[0].inputs["text"]).split()[0].lower()
    (tmp_path / "some.vec").write_text(f"{word} 7 8 9\n", "utf-8")
    options = {"size": 3, "hidden": 2, "min_count": 1, "vectors": str(tmp_path / "some.vec")}
    torch.manual_seed(0)
    after = build(Spec("learner", "classifier", options))(train).network().embedding.weight
    moved = (before != after).any(1)
    assert moved.sum() == 1
    assert after[moved].tolist() == [[7, 8, 9]]
