"""Lines of JSON end with a newline and with nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.errors import InputError
from regard.perturbations.sources import _dictionary
from regard.store.rationales import FILE, Mark, keep_mark, read_marks
from regard.store.shapes import line_of

ENDS = ("\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\r", "\r\n", "\n", "\ud800")


@pytest.mark.parametrize("end", ENDS, ids=ascii)
def test_a_mark_of_a_text_with_any_line_end_is_read_again(end: str, tmp_path: Path) -> None:
    file, text = tmp_path / FILE, f"a{end}b"
    keep_mark(file, Mark("0", ((0.0, 1.0),), "ann", about={"text": text}))
    keep_mark(file, Mark("1", ((0.0, 1.0),), "ann", about={"text": text}))
    assert [(m.id, m.about["text"]) for m in read_marks(file)] == [("0", text), ("1", text)]
    assert line_of({"text": text}).count(b"\n") == 1
    assert len(line_of({"text": text}).decode().splitlines()) == 1, "nor do other readers see two lines"


@pytest.mark.parametrize("end", ["\u2028", "\x85", "\x0b", "\x0c", "\x1c"], ids=ascii)
def test_marks_of_an_older_version_are_read(end: str, tmp_path: Path) -> None:
    row = {"id": "0", "text": f"a{end}b", "rationale": [[0, 1]], "author": "ann", "date": ""}
    (tmp_path / FILE).write_bytes((json.dumps(row, ensure_ascii=False) + "\n").encode())
    assert read_marks(tmp_path / FILE)[0].about["text"] == f"a{end}b"


GOOD = b'{"id": "0", "rationale": [[0, 1]], "author": "ann", "date": ""}\n'
BAD = {
    "cut off": b'{"id": "1", "rat',
    "no UTF-8": b'{"id": "\xff"}\n',
    "a list": b"[1]\n",
    "no author": b'{"id": "1", "rationale": [], "date": ""}\n',
    "places of text": b'{"id": "1", "rationale": "0 1", "author": "ann", "date": ""}\n',
    "NaN": b'{"id": "1", "rationale": [[NaN, 1]], "author": "ann", "date": ""}\n',
    "deep": b"[" * 5000 + b"\n",
}


@pytest.mark.parametrize("what", BAD)
def test_a_damaged_mark_is_named_by_its_line(what: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(GOOD + BAD[what])
    with pytest.raises(InputError, match=rf"{FILE}, line 2"):
        read_marks(tmp_path / FILE)


def test_synonyms_with_strange_characters_stay_on_their_line(tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("good\tfine\x0cer\tnice\nbad\tpoor\n", "utf-8")
    source = _dictionary(tmp_path / "words.tsv")
    assert source("good") == ("fine\x0cer", "nice")
    assert source("bad") == ("poor",)
