from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import EnvironmentProblem, InputError
from regard.store.blobs import Blobs, new_file, pack, unpack, write_atomically


def test_a_blob_is_named_by_its_content_and_written_once(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    name = blobs.put(b"one")
    before = blobs.path(name).stat().st_mtime_ns
    assert blobs.put(b"one") == name
    assert blobs.path(name).stat().st_mtime_ns == before
    assert blobs.get(name) == b"one"
    assert blobs.put(b"two") != name


def test_other_bytes_under_a_name_are_an_error(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "blobs")
    name = blobs.put(b"one")
    blobs.path(name).write_bytes(b"0ne")
    with pytest.raises(InputError, match="as it was written"):
        blobs.get(name)
    blobs.path(name).unlink()
    with pytest.raises(InputError, match="No such file"):
        blobs.get(name)


def test_sweeping_removes_only_what_nothing_refers_to(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    keep, drop = blobs.put(b"keep"), blobs.put(b"drop")
    (blobs.path(keep).parent / "left.part").write_bytes(b"half")
    assert blobs.sweep([keep]) == 2
    assert blobs.get(keep) == b"keep"
    assert not blobs.path(drop).exists()


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    (tmp_path / "a.json.part").write_bytes(b"half")
    write_atomically(tmp_path / "a.json", b"whole")
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").read_bytes() == b"whole"


def test_two_writers_of_one_file_do_not_meet(tmp_path: Path) -> None:
    with new_file(tmp_path / "a.json") as slow:
        slow.write_bytes(b"slow")
        write_atomically(tmp_path / "a.json", b"fast")
        assert slow.read_bytes() == b"slow"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").read_bytes() == b"slow"


def test_a_link_in_place_of_the_temporary_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"other")
    (tmp_path / "a.json.part").symlink_to(tmp_path / "other")
    write_atomically(tmp_path / "a.json", b"whole")
    assert (tmp_path / "other").read_bytes() == b"other"
    assert (tmp_path / "a.json").read_bytes() == b"whole"


def test_a_full_disk_says_so_and_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blobs = Blobs(tmp_path / "blobs")
    kept = blobs.put(b"before")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EnvironmentProblem, match="free disk space"):
        blobs.put(b"after")
    monkeypatch.undo()
    files = [p for p in (tmp_path / "blobs").rglob("*") if p.is_file()]
    assert [p.name for p in files] == [kept]


def test_an_old_file_survives_a_failed_replacement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "manifest.json"
    write_atomically(path, b"old")

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="broken"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@given(
    st.dictionaries(st.text("abc.", min_size=1, max_size=4), st.lists(st.floats(width=32), max_size=5), max_size=4),
    st.dictionaries(st.text(max_size=5), st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=9))),
)
def test_packing_is_exact_and_has_one_form(arrays: dict[str, list[float]], facts: dict[str, object]) -> None:
    given_arrays = {name: np.array(values, np.float64) for name, values in arrays.items()}
    data = pack(given_arrays, facts)
    back, again = unpack(data)
    assert again == facts
    assert set(back) == set(given_arrays)
    for name, values in given_arrays.items():
        np.testing.assert_array_equal(back[name], values)
    assert pack(dict(reversed(given_arrays.items())), dict(reversed(facts.items()))) == data


@pytest.mark.parametrize("data", [b"", b"nonsense", b"\x02\0\0\0\0\0\0\0{}", b"\xff" * 64])
def test_bytes_that_are_no_pack_are_an_input_error(data: bytes) -> None:
    with pytest.raises(InputError, match="safetensors"):
        unpack(data)
