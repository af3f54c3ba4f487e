"""Data files that once ended in an internal error or a hang."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.fuzz.case import Case
from benchmarks.fuzz.corpus.entry import Entries
from benchmarks.fuzz.materials import AUDIT, Materials
from benchmarks.fuzz.mutations import DEEP, HUGE, dumps

ENTRIES = Entries()
REFUSED = frozenset({2})
BOMB = 256
"""Members of 16 MB each: 4 GB out of a file of 4 MB."""


def _read(path: Path, *options: str) -> Case:
    return Case([["perturb", str(path), "--limit", "3", *options]])


def _refused(path: Path) -> Case:
    return Case([["perturb", str(path), "--limit", "3"]], REFUSED)


def _text(name: str, content: str) -> None:
    """Write a file with this content."""

    def make(originals: Materials, folder: Path) -> Case:
        path = folder / name
        path.write_bytes(content.encode("utf-8", "surrogatepass"))
        return _read(path)

    ENTRIES.past(f"{name}: {content[:40]!r}")(make)


for _name, _content in (
    ("cr.csv", "text,label\ra good film,pos\ra bad film,neg\r"),
    ("cr.tsv", "text\tlabel\ra good film\tpos\r"),
    ("cr.jsonl", '{"text": "a good film"}\r{"text": "a bad film"}\r'),
    ("separator.jsonl", '{"text": "a good\u2028film", "label": "pos"}\n{"text": "a bad\x85film", "label": "neg"}\n'),
    ("deep.jsonl", dumps({"text": DEEP}) + "\n"),
    ("deep.json", dumps([{"text": DEEP}])),
    ("deep_alone.json", dumps(DEEP)),
    ("deep_object.jsonl", '{"a":' * 100_000 + "1" + "}" * 100_000),
    ("huge.jsonl", dumps({"text": "a film", "label": HUGE}) + "\n"),
    ("huge.json", dumps([{"text": "a film", "label": HUGE}])),
    ("huge.csv", "text,label\na film," + "9" * 5000 + "\n"),
    ("huge_float.jsonl", '{"text": "a film", "label": 1e999}\n{"text": "b", "label": NaN}\n'),
    ("escape.csv", "text,label\na \x1b[31mred\x1b]0;title\x07 film,p\x1bos\n"),
    ("override.csv", "text,label\na \u202egnp.exe film,pos\u2066\n"),
    ("header_escape.csv", "te\x1b[2Jxt,label\na film,pos\n"),
    ("nul.csv", "text,label\na \x00film,pos\n"),
    ("surrogate.jsonl", '{"text": "a \\ud800 film", "label": "pos"}\n'),
    ("quote.csv", 'text,label\n"a film,pos\n' + "x,y\n" * 1000),
):
    _text(_name, _content)


@ENTRIES.past("a Parquet file whose `datasets` metadata are other JSON")
def _parquet_metadata(originals: Materials, folder: Path) -> Case:
    return _parquet(folder, {"info": [1, 2]})


@ENTRIES.past("a Parquet file whose `datasets` features are other JSON")
def _parquet_features(originals: Materials, folder: Path) -> Case:
    return _parquet(folder, {"info": {"features": {"label": {"_type": "ClassLabel", "names": 5}}}})


@ENTRIES.past("a Parquet file whose `datasets` metadata are deep JSON")
def _parquet_deep(originals: Materials, folder: Path) -> Case:
    return _parquet(folder, DEEP)


def _parquet(folder: Path, about: Any) -> Case:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"text": ["a good film", "a bad film"], "label": [1, 0]})
    path = folder / "data.parquet"
    pq.write_table(table.replace_schema_metadata({b"huggingface": dumps(about).encode()}), path)
    return _read(path)


def _described(name: str, file: str, content: Any) -> None:
    def make(originals: Materials, folder: Path) -> Case:
        path = folder / "datasets"
        shutil.copytree(originals.root / "datasets", path)
        (path / file).write_text(dumps(content), "utf-8")
        return _read(path)

    ENTRIES.past(name)(make)


_described("state.json: files without names", "state.json", {"_data_files": [{}]})
_described("state.json: files that are no list", "state.json", {"_data_files": 7})
_described("state.json: a file of another directory", "state.json", {"_data_files": [{"filename": "../../good.csv"}]})
_described("state.json: deep", "state.json", DEEP)
_described(
    "dataset_info.json: names that are a number",
    "dataset_info.json",
    {"features": {"label": {"_type": "ClassLabel", "names": 5}}},
)
_described("dataset_info.json: a feature that is a list", "dataset_info.json", {"features": {"label": [1]}})
_described("dataset_dict.json: splits that are a number", "dataset_dict.json", {"splits": 5})
_described("dataset_dict.json: a split that is an object", "dataset_dict.json", {"splits": [{"a": 1}]})


def _wav(name: str, content: bytes) -> None:
    def make(originals: Materials, folder: Path) -> Case:
        path = folder / "sound.wav"
        path.write_bytes(content)
        return _read(path, "--noise", "gain")

    ENTRIES.past(name)(make)


_FORMAT = b"RIFF\x40\x00\x00\x00WAVEfmt \x10\x00\x00\x00"
_wav("a wav of 5 bytes", b"RIFF\x00")
_wav("a wav that is empty", b"")
_wav("a wav without channels", _FORMAT + b"\x01\x00\x00\x00\x40\x1f\x00\x00" + bytes(8) + b"data\x00\x00\x00\x00")
_wav(
    "a wav with half a sample",
    _FORMAT + b"\x01\x00\x02\x00\x40\x1f\x00\x00\x00\x7d\x00\x00\x04\x00\x10\x00data\x03\x00\x00\x00abc",
)
_wav(
    "a wav of five bytes a sample",
    _FORMAT + b"\x01\x00\x01\x00\x40\x1f\x00\x00\x00\x7d\x00\x00\x05\x00\x28\x00data\x05\x00\x00\x00abcde",
)


@ENTRIES.past("a FIFO in the place of a file")
def _fifo(originals: Materials, folder: Path) -> Case:
    os.mkfifo(folder / "pipe.csv")
    return _refused(folder / "pipe.csv")


@ENTRIES.past("a FIFO among sounds")
def _fifo_sound(originals: Materials, folder: Path) -> Case:
    (folder / "sounds").mkdir()
    os.mkfifo(folder / "sounds" / "pipe.wav")
    return _refused(folder / "sounds")


@ENTRIES.past("a device in the place of a file")
def _device(originals: Materials, folder: Path) -> Case:
    (folder / "zero.csv").symlink_to("/dev/zero")
    return _refused(folder / "zero.csv")


@ENTRIES.past("a device in the place of a jsonl file")
def _device_lines(originals: Materials, folder: Path) -> Case:
    (folder / "random.jsonl").symlink_to("/dev/urandom")
    return _refused(folder / "random.jsonl")


@ENTRIES.past("a socket in the place of a file")
def _socket(originals: Materials, folder: Path) -> Case:
    before = os.getcwd()
    os.chdir(folder)  # the name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as held:
            held.bind("socket.csv")
    finally:
        os.chdir(before)
    return _refused(folder / "socket.csv")


@ENTRIES.past("a directory that is called like a file")
def _directory(originals: Materials, folder: Path) -> Case:
    (folder / "data.csv").mkdir()
    return _refused(folder / "data.csv")


@ENTRIES.past("a symlink to itself")
def _loop(originals: Materials, folder: Path) -> Case:
    (folder / "loop.csv").symlink_to("loop.csv")
    return _refused(folder / "loop.csv")


@ENTRIES.past("a gzip bomb of one line", slow=True)
def _bomb(originals: Materials, folder: Path) -> Case:
    path = folder / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"text,label\n", mtime=0) + gzip.compress(b"a" * (16 << 20), mtime=0) * BOMB)
    return _refused(path)


@ENTRIES.past("a gzip bomb of many lines", slow=True)
def _bomb_of_lines(originals: Materials, folder: Path) -> Case:
    path = folder / "bomb.jsonl.gz"
    line = json.dumps({"text": "a good film " * 80}) + "\n"
    path.write_bytes(gzip.compress((line * ((16 << 20) // len(line))).encode(), mtime=0) * BOMB)
    return _refused(path)


@ENTRIES.past("a table of numbers in front of a text model")
def _numbers(originals: Materials, folder: Path) -> Case:
    words = ["audit", str(originals.network), "--data", str(originals.root / "numbers.csv")]
    return Case([[*words, *AUDIT, "--out", str(folder / "run")]], REFUSED)


@ENTRIES.past("an arrow file whose offsets lead out of it")
def _offsets(originals: Materials, folder: Path) -> Case:
    """pyarrow reads these files unless it validates them, and the process dies."""
    import pyarrow as pa

    table = pa.table({"text": ["a good film", "a bad film"], "label": ["pos", "neg"]})
    path = folder / "datasets" / "data.arrow"
    path.parent.mkdir()
    with pa.ipc.new_stream(str(path), table.schema) as stream:
        stream.write_table(table)
    right, wrong = struct.pack("<3i", 0, 11, 21), struct.pack("<3i", 0, 1 << 26, 21)
    content = path.read_bytes()
    assert right in content
    path.write_bytes(content.replace(right, wrong))
    (path.parent / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}), "utf-8")
    return _refused(path.parent)


@ENTRIES.past("an arrow file that was cut")
def _cut_arrow(originals: Materials, folder: Path) -> Case:
    shutil.copytree(originals.root / "datasets", folder / "datasets")
    (path,) = (folder / "datasets").glob("*.arrow")
    path.write_bytes(path.read_bytes()[:-600])
    return _read(folder / "datasets")


def _packed(name: str, change: Callable[[bytes], bytes]) -> None:
    @ENTRIES.past(f"a gzip file {name}")
    def make(originals: Materials, folder: Path) -> Case:
        path = folder / "good.csv.gz"
        path.write_bytes(change(gzip.compress(originals.csv.read_bytes(), mtime=0)))
        return _read(path)


_packed("that was cut", lambda content: content[: len(content) // 2])
_packed("with damage inside", lambda content: content[:40] + b"\xff" * 40 + content[80:])
_packed("with a wrong checksum", lambda content: content[:-8] + bytes(8))
_packed("that is none", lambda content: b"text,label\na film,pos\n")
