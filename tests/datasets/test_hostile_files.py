"""Hostile and damaged data files: each is read right or refused in one line; none crashes, hangs or fills memory."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import socket
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from regard import files
from regard.datasets.formats.arrays import read_npz
from regard.datasets.formats.sounds import write_wav
from regard.datasets.read import read
from regard.errors import InputError

DEEP = b"[" * 100_000
LONG = b"9" * 5_000


def refused(path: Path, *words: str, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(path, **options)
    line = str(caught.value)
    assert "\n" not in line
    assert len(line) < 4_000
    for word in words:
        assert word in line
    return line


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz"])
@pytest.mark.parametrize("end", [b"\r", b"\n", b"\r\n"])
def test_every_line_end_gives_the_same_rows(name: str, end: bytes, tmp_path: Path) -> None:
    content = end.join([b"text,label", b'"a ""fine"" film",1', "a café, dull".join('""').encode() + b",0", b""])
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    rows = read(path)
    assert [(e.inputs["text"], e.label) for e in rows] == [('a "fine" film', 1), ("a café, dull", 0)]


def test_carriage_returns_separate_json_objects(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_bytes(b'{"text": "a b"}\r{"text": "c d"}\r{"text": 3}')
    refused(tmp_path / "d.jsonl", "line 3", "int")
    assert len(read(tmp_path / "d.jsonl", skip_bad=True)) == 2


def test_a_carriage_return_inside_a_cell_stays_there(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes(b'text,label\n"a\rb",1\n')
    assert read(tmp_path / "d.csv")[0].inputs["text"] == "a\rb"


HOSTILE: dict[str, tuple[str, bytes, list[str]]] = {
    # case: file name, content, words of the line
    "deep jsonl": ("d.jsonl", b'{"text": "a b", "label": 1}\n' + DEEP + b"\n", ["line 2", "nested too deeply"]),
    "deep cell": ("d.jsonl", b'{"text": ' + DEEP + b"\n", ["nested too deeply"]),
    "deep json": ("d.json", DEEP, ["nested too deeply"]),
    "deep image": ("d.csv", b"image\n" + DEEP[:50_000] + b"]" * 50_000 + b"\n", ["height, width"]),
    "deep label": ("d.jsonl", b'{"text": "a b", "label": ' + b"[" * 200 + b"]" * 200 + b"}\n", ["nested 8 deep"]),
    "deep csv label": ("d.csv", b"text,label\na b," + b"[" * 200 + b"]" * 200 + b"\n", ["nested 8 deep"]),
    "long integer": ("d.jsonl", b'{"text": "a b", "label": %s}\n' % LONG, ["line 1", "4,300 digits"]),
    "long integer in a list": ("d.json", b'[{"text": "a b", "label": %s}]' % LONG, ["4,300 digits"]),
    "integer beyond floats": ("d.jsonl", b'{"a": %s, "b": 1}\n' % LONG[:1000], ["a number", "99"]),
    "image beyond floats": ("d.jsonl", b'{"image": [[%s]]}\n' % LONG[:1000], ["height, width"]),
    "utf-16": ("d.csv", "text,label\na b,1\n".encode("utf-16"), ["line 1", "UTF-16", "iconv -f utf-16"]),
    "utf-16 without a mark": ("d.csv", "text,label\na b,1\n".encode("utf-16-le"), ["zero byte", "UTF-16"]),
    "zero bytes": ("d.jsonl", b'{"text": "a b"}\n' + bytes(100), ["line 2", "zero byte at column 1"]),
    "only zeros": ("d.csv", bytes(10_000), ["line 1", "zero byte"]),
    "latin-1 with a strange name": ("it's.csv", b"text\ncaf\xe9 a\n", ["line 2", "iconv", "'it'\"'\"'s.csv'"]),
    "a gzip that is none": ("d.jsonl.gz", b"text,label\n", ["gzip"]),
    "a cut gzip": ("d.csv.gz", gzip.compress(b"text,label\n" + os.urandom(5_000).hex().encode())[:-200], ["readable"]),
    "a damaged gzip": ("d.csv.gz", gzip.compress(b"text\na b\n" * 99)[:20] + b"\xff" * 40, ["readable"]),
    "very many columns": ("d.csv", b",".join(b"c%d" % i for i in range(100_001)) + b"\n", ["100,000 columns"]),
    "very many keys": ("d.jsonl", json.dumps({f"c{i}": 1 for i in range(100_001)}).encode(), ["100,000 columns"]),
    "many columns, none of use": ("d.csv", b",".join(b"c%d" % i for i in range(9_999)) + b"\n", ["9,959 more"]),
    "a name twice among many": ("d.csv", b"a," + b",".join(b"c%d" % i for i in range(50_000)) + b",a", ["'a' more"]),
    "mixed types": ("d.jsonl", b'{"text": "a b"}\n{"text": {"a": 1}}\n', ["line 2", "dict"]),
    "header too long": ("d.csv", b'"' + b"a" * 17_000_000 + b'"\n1\n', ["header", "field"]),
    "5 bytes of sound": ("d.wav", b"RIFF\x00", ["PCM", "ends too early"]),
    "no sound at all": ("d.wav", b"", ["PCM", "ends too early"]),
    "text as sound": ("d.wav", b"hello, this is a text and no sound", ["PCM"]),
    "broken parquet": ("d.parquet", b"PAR1" + bytes(64) + b"\xff\xff\xff\x7fPAR1", ["Parquet"]),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_refused_in_one_line(case: str, tmp_path: Path) -> None:
    name, content, words = HOSTILE[case]
    (tmp_path / name).write_bytes(content)
    refused(tmp_path / name, *words)


def test_a_label_of_a_million_digits_is_a_word_at_once(tmp_path: Path) -> None:
    # a pattern with two open ends would try every way to divide the digits
    (tmp_path / "d.csv").write_bytes(b"text,label\na b," + b"1" * 1_000_000 + b"x\nc d,1e999\n")
    labels = [e.label for e in read(tmp_path / "d.csv")]
    assert len(str(labels[0])) == 1_000_001
    assert labels[1] == "1e999"


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    refused(tmp_path / "pipe.csv", "regular file", "a pipe", "cat >")  # opening it would wait for a writer
    for device in ("/dev/zero", "/dev/null"):
        (tmp_path / "device.csv").symlink_to(device)
        refused(tmp_path / "device.csv", "regular file", "a device")
        refused(Path(device), "a device")
        (tmp_path / "device.csv").unlink()
    with socket.socket(socket.AF_UNIX) as listening:
        old = Path.cwd()
        os.chdir(tmp_path)  # the name of a socket may have 107 characters only
        try:
            listening.bind("s.csv")
        finally:
            os.chdir(old)
        refused(tmp_path / "s.csv", "a socket")


def test_links_and_names_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a.csv").symlink_to(tmp_path / "b.csv")
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    refused(tmp_path / "a.csv", "leads to itself")
    refused(tmp_path / ("x" * 300 + ".csv"), "too long")
    refused(Path("a\0b.csv"), "null")
    refused(Path("~nobody-of-this-name/d.csv"), "home directory")
    (tmp_path / "folder.csv").mkdir()
    refused(tmp_path / "folder.csv", "an empty directory")


def test_sizes_are_limited_by_option_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "d.csv"
    path.write_text("text\n" + "a b\n" * 100, "utf-8")
    refused(path, "at most 100 B", "405 B", "--max-bytes", max_bytes=100)
    assert len(read(path, max_bytes=405)) == 100
    monkeypatch.setenv(files.ENVIRONMENT, "0.2kB")
    refused(path, "at most 204 B")
    monkeypatch.setenv(files.ENVIRONMENT, "plenty")
    refused(path, "REGARD_MAX_BYTES", "'plenty'")


def test_a_gzip_may_not_unpack_to_more_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(b"text\n" + b"a b\n" * 200_000))
    refused(tmp_path / "d.csv.gz", "unpacks to more than", max_bytes=500_000)
    monkeypatch.setattr(files, "UNPACKED_FREELY", 1 << 16)
    refused(tmp_path / "d.csv.gz", "200 times its size", "gunzip")


def test_a_line_has_a_longest_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import regard.datasets.table as table

    (tmp_path / "d.jsonl").write_bytes(b'{"text": "a b"}\n{"text": "' + b"a " * 5_000 + b'"}\n')
    monkeypatch.setattr(table.lines, "__defaults__", (4_096,))
    refused(tmp_path / "d.jsonl", "line 2", "at most 4.0 kB")


@pytest.mark.parametrize(
    ("about", "word"),
    [
        ((1, 0, 8_000, 16), "PCM"), ((1, 1, 0, 16), "0 samples"), ((1, 1, 8_000, 40), "40 bits"),
        ((1, 1, 8_000, 0), "PCM"), ((7, 1, 8_000, 16), "PCM"), ((1, 65_535, 8_000, 32), "none"),
    ],
)  # fmt: skip
def test_sounds_with_lying_headers(about: tuple[int, int, int, int], word: str, tmp_path: Path) -> None:
    form, channels, rate, bits = about
    head = struct.pack("<HHIIHH", form, channels, rate, 0, 4, bits)
    body = b"WAVEfmt " + struct.pack("<I", len(head)) + head + b"data" + struct.pack("<I", 2**31) + bytes(7)
    (tmp_path / "d.wav").write_bytes(b"RIFF" + struct.pack("<I", 2**32 - 1) + body)
    refused(tmp_path / "d.wav", word)


def test_a_sound_cut_inside_a_sample_keeps_the_whole_ones(tmp_path: Path) -> None:
    write_wav(tmp_path / "d.wav", np.linspace(-0.5, 0.5, 100), 8_000)
    content = (tmp_path / "d.wav").read_bytes()
    (tmp_path / "d.wav").write_bytes(content[:-1])
    assert np.asarray(read(tmp_path / "d.wav")[0].inputs["audio"]).shape == (99,)


def _arrow(path: Path, table: pyarrow.Table) -> None:
    with pyarrow.OSFile(str(path), "wb") as out, pyarrow.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A directory as `Dataset.save_to_disk` writes it."""
    folder = tmp_path / "saved"
    folder.mkdir()
    _arrow(folder / "data.arrow", pyarrow.table({"text": ["a b", "c d"], "label": [0, 1]}))
    (folder / "state.json").write_text('{"_data_files": [{"filename": "data.arrow"}]}', "utf-8")
    names = {"label": {"names": ["neg", "pos"], "_type": "ClassLabel"}}
    (folder / "dataset_info.json").write_text(json.dumps({"features": names}), "utf-8")
    return folder


BROKEN_DIRECTORIES: dict[str, tuple[str, bytes, str]] = {
    # case: file, content, a word of the line ("" where it can be read all the same)
    "deep state": ("state.json", DEEP, "nested too deeply"),
    "state that is no JSON": ("state.json", b"\xff\xfe", "UTF-8"),
    "files as a number": ("state.json", b'{"_data_files": 3}', "_data_files"),
    "files as numbers": ("state.json", b'{"_data_files": [3]}', "_data_files"),
    "files without names": ("state.json", b'{"_data_files": [{}]}', "names of files"),
    "files above": ("state.json", b'{"_data_files": [{"filename": ".."}]}', "'..'"),
    "files elsewhere": ("state.json", b'{"_data_files": [{"filename": "/etc/passwd"}]}', "no such file"),
    "state as a list": ("state.json", b"[]", ""),
    "splits as a number": ("dataset_dict.json", b'{"splits": 3}', "list of names"),
    "splits above": ("dataset_dict.json", b'{"splits": [".."]}', "'..'"),
    "splits of numbers": ("dataset_dict.json", b'{"splits": [1]}', "names of files"),
    "names as a number": ("dataset_info.json", b'{"features": {"label": {"names": 3, "_type": "ClassLabel"}}}', ""),
    "features as a list": ("dataset_info.json", b'{"features": [1, 2]}', ""),
    "info of long integers": ("dataset_info.json", LONG, "4,300 digits"),
    "empty arrow": ("data.arrow", b"", "arrow"),
    "arrow of noise": ("data.arrow", bytes(range(256)) * 8, "arrow"),
    "arrow of ones": ("data.arrow", b"\xff" * 4_096, "arrow"),
}


@pytest.mark.parametrize("case", BROKEN_DIRECTORIES)
def test_broken_directories_of_datasets(case: str, saved: Path) -> None:
    name, content, word = BROKEN_DIRECTORIES[case]
    (saved / name).write_bytes(content)
    if word:
        refused(saved, word)
    else:
        assert len(read(saved)) == 2


def test_a_pipe_inside_a_directory_of_datasets(saved: Path) -> None:
    (saved / "state.json").unlink()
    os.mkfifo(saved / "state.json")
    refused(saved, "a pipe")


def test_columns_that_repeat_in_arrow_and_parquet(saved: Path, tmp_path: Path) -> None:
    twice = pyarrow.Table.from_arrays([pyarrow.array(["a b"])] * 2, names=["text", "text"])
    _arrow(saved / "data.arrow", twice)
    refused(saved, "'text' more than once")
    pyarrow.parquet.write_table(twice, tmp_path / "d.parquet")
    refused(tmp_path / "d.parquet", "'text' more than once")


def test_a_second_file_without_the_column(saved: Path) -> None:
    _arrow(saved / "other.arrow", pyarrow.table({"note": ["a b"]}))
    listed = [{"filename": "data.arrow"}, {"filename": "other.arrow"}]
    (saved / "state.json").write_text(json.dumps({"_data_files": listed}), "utf-8")
    refused(saved, "other.arrow", "after row 2")


def test_parquet_that_claims_more_than_it_can_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import regard.datasets.formats.parquet as parquet

    path = tmp_path / "d.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": [f"a b {i}" for i in range(20_000)]}), path)
    refused(path, "when unpacked", max_bytes=path.stat().st_size)
    monkeypatch.setattr(parquet, "FREE_ROWS", 1_000)
    assert len(read(path, limit=200)) == 200
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a b"] * 20_000}), path)
    refused(path, "20,000 rows in")


@pytest.mark.parametrize("kind", ["parquet", "arrow", "wav", "npz"])
def test_flipped_bytes_never_escape(kind: str, tmp_path: Path) -> None:
    """Any damage ends in an InputError or in rows."""
    path = tmp_path / f"d.{kind}"
    opened: Callable[[Path], Any] = read
    if kind == "wav":
        write_wav(path, np.linspace(-0.5, 0.5, 50), 8_000)
    elif kind == "npz":
        np.savez_compressed(path, a=np.arange(50.0), b=np.array(["x", "y"]))
        opened = read_npz
    elif kind == "parquet":
        pyarrow.parquet.write_table(
            pyarrow.table({"text": [f"a b {i}" for i in range(50)], "label": [0, 1] * 25}), path
        )
    else:
        (tmp_path / "set").mkdir()
        path = tmp_path / "set" / "d.arrow"
        _arrow(path, pyarrow.table({"text": [f"a b {i}" for i in range(50)], "label": [0, 1] * 25}))
        opened = lambda file: read(file.parent)  # noqa: E731
    content, lot = path.read_bytes(), random.Random(kind)
    readable = 0
    for _ in range(150):
        damaged = bytearray(content)
        for _ in range(lot.randint(1, 4)):
            damaged[lot.randrange(len(damaged))] = lot.randrange(256)
        path.write_bytes(bytes(damaged[: lot.randint(1, len(damaged))] if lot.random() < 0.2 else damaged))
        try:
            opened(path)
        except InputError:
            continue
        readable += 1
    assert readable < 150


def _npz(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_npz_is_never_unpickled_and_never_unpacked_beyond_reason(tmp_path: Path) -> None:
    path = tmp_path / "d.npz"

    def refusal(word: str) -> None:
        with pytest.raises(InputError) as caught:
            read_npz(path)
        assert word in str(caught.value)

    np.savez(path, a=np.array([{"a": 1}], dtype=object))
    refusal("allow_pickle")
    path.write_bytes(b"PK\x03\x04 no zip at all")
    refusal("plain arrays")
    _npz(path, {"a.npy": bytes(80 << 20)})
    refusal("when unpacked")
    _npz(path, {"notes.txt": b"hello"})
    refusal("no array")
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (10**13,)})
    _npz(path, {"a.npy": head.getvalue()})
    refusal("plain arrays")
