"""Data in memory: every form gives the same examples, and a wrong one names the right ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import regard
from regard.datasets.formats.in_memory import EXPECTED, memory_table
from regard.errors import InputError
from regard.records import Example

ROWS = [("a quiet, moving film", "positive"), ("a loud and empty one", "negative"), ("quite moving", "positive")]
DICTS = [{"text": text, "label": label} for text, label in ROWS]


def pandas_frame() -> Any:
    return pytest.importorskip("pandas").DataFrame(DICTS)


def polars_frame() -> Any:
    return pytest.importorskip("polars").DataFrame(DICTS)


def hugging_face() -> Any:
    return pytest.importorskip("datasets").Dataset.from_list(DICTS)


def generator() -> Iterator[dict[str, str]]:
    yield from DICTS


FORMS: dict[str, Callable[[], Any]] = {
    "pairs": lambda: ROWS,
    "lists of two": lambda: [[text, label] for text, label in ROWS],
    "dicts": lambda: DICTS,
    "columns": lambda: {"text": [t for t, _ in ROWS], "label": [y for _, y in ROWS]},
    "generator": generator,
    "pandas": pandas_frame,
    "polars": polars_frame,
    "datasets": hugging_face,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_examples(form: str) -> None:
    examples = regard.read(FORMS[form]())
    assert [(e.inputs["text"], e.label) for e in examples] == ROWS
    assert [e.id for e in examples] == [e.id for e in regard.read(DICTS)]


def test_texts_alone_have_no_label() -> None:
    assert [(e.inputs["text"], e.label) for e in regard.read(["one text", "another"])] == [
        ("one text", None),
        ("another", None),
    ]


def test_examples_stay_as_they_are() -> None:
    own = [Example("x", {"text": "one"}), Example("y", {"text": "two"})]
    assert list(regard.read(own)) == own
    assert list(regard.read(iter(own))) == own


def test_columns_are_chosen_by_name() -> None:
    rows = [{"review": "good", "note": "n1", "stars": 5}, {"review": "bad", "note": "n2", "stars": 1}]
    examples = regard.read(rows, text_column="review", label_column="stars")
    assert [(e.inputs["text"], e.label) for e in examples] == [("good", 5), ("bad", 1)]


def test_missing_cells_of_a_frame_are_missing() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["one", "two", "three"], "label": [1.0, None, 0.0]})
    rows = [row.values for row in memory_table(frame).walk(None)]
    assert [row["label"] for row in rows] == [1.0, None, 0.0]


@pytest.mark.parametrize("data", [[1, 2], [("a", 1, 2)], [object()], {"text": "one string"}, {"a": [1], "b": [1, 2]}])
def test_other_forms_are_refused_by_name(data: Any) -> None:
    with pytest.raises(InputError):
        regard.read(data)


@pytest.mark.parametrize("data", [3, 2.5])
def test_error_names_the_expected_forms(data: Any) -> None:
    with pytest.raises(InputError) as refused:
        regard.read(data)
    assert refused.value.expected == EXPECTED


def test_nothing_is_an_error() -> None:
    with pytest.raises(InputError):
        regard.read(iter(()))


def test_read_takes_everything_by_default() -> None:
    assert len(regard.read("planted:n=300")) == 300
    assert len(regard.read([f"text {i}" for i in range(500)])) == 500
    assert len(regard.read([f"text {i}" for i in range(500)], limit=20)) == 20
