"""Files inside source archives: found, verified, refused with the command that fetches them."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from regard.datasets.archives import archive_bytes, archives_folder
from regard.datasets.builtin.tweets import ARCHIVE, parsed, tweets
from regard.errors import EnvironmentProblem


def packed(**files: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as made:
        for name, content in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            made.addfile(about, io.BytesIO(content))
    return out.getvalue()


def test_an_archive_inside_an_archive(tmp_path: Path) -> None:
    whole = packed(inner=packed(words=b"hello"))
    (tmp_path / "a.tar.gz").write_bytes(whole)
    digest = hashlib.sha256(whole).hexdigest()
    assert archive_bytes("a.tar.gz", "inner", "words", sha256=digest, needs="a==1", folder=tmp_path) == b"hello"
    with pytest.raises(EnvironmentProblem, match="sha256"):
        archive_bytes("a.tar.gz", "inner", sha256="0" * 64, needs="a==1", folder=tmp_path)


def test_a_missing_archive_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match=r"pip download --no-deps --no-binary :all: --dest .* a==1"):
        archive_bytes("a.tar.gz", "x", sha256="", needs="a==1", folder=tmp_path)


def test_tweets_are_read_once_each_and_without_the_undecided() -> None:
    lines = ["1\t2.0\tGreat day!", "2\t-1.5\tawful &lt;3", "3\t0.49\tit is a day", "4\t-3\tgreat DAY"]
    found, repeated, neutral = parsed("\r\n".join(lines))
    assert [(e.inputs["text"], e.label) for e, _ in found] == [("Great day!", 1), ("awful <3", 0)]
    assert (repeated, neutral) == (1, 1)


@pytest.mark.skipif(not (archives_folder() / ARCHIVE).is_file(), reason="the archive was not downloaded")
def test_the_tweets_themselves() -> None:
    parts = [tweets(split=s) for s in ("train", "dev", "test")]
    assert sum(map(len, parts)) == len(tweets()) == 3278
    assert {e.label for e in parts[2]} == {0, 1}
    assert any("MIT" in str(note) for note in parts[0].notes)
