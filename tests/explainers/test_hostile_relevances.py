"""Files of given relevances that somebody else wrote: refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.errors import InputError
from regard.explainers.given import given
from regard.testing.toy import ToyCase

FILES = {
    # file name: content, a word of the line
    "short.csv": (b"id,unit,relevance\n0,0\n", "2 cells"),
    "words.csv": (b"id,unit,relevance\n0,x,1\n", "a number"),
    "no-unit.jsonl": (b'{"id": "0", "unit": 0, "relevance": 1}\n{"id": "0", "relevance": 1}\n', "a number"),
    "no-value.jsonl": (b'{"id": "0", "unit": 0, "relevance": 1}\n{"id": "0", "unit": 1}\n', "a number"),
    "long.jsonl": (b'{"id": "0", "unit": 0, "relevance": %s}\n' % (b"9" * 1_000), "a number"),
    "deep.csv": (b"id,relevance\n0," + b"[" * 100_000 + b"\n", "a number"),
    "broken.jsonl": (b'{"id": "0", "relevance": [1]}\n{"id": \n', "no JSON"),
    "noise.npz": (b"PK\x03\x04" + bytes(range(256)), "plain arrays"),
    "noise.parquet": (b"PAR1" + bytes(range(256)), "Parquet"),
}


@pytest.mark.parametrize("name", FILES)
def test_hostile_relevances_are_refused(name: str, tmp_path: Path) -> None:
    content, word = FILES[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        given(ToyCase(("wonderful film",)), file=str(tmp_path / name))
    assert word in str(caught.value)
    assert "\n" not in str(caught.value)
