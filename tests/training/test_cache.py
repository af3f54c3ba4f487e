"""Built once: a lock, one rename, a place of one's choice, and weights that are the ones we know."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from regard.errors import EnvironmentProblem
from regard.records import Json
from regard.training.cache import built_once, cache_directory
from regard.training.packaged import packaged_file


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))


class Builder:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, out: Path, state: Path) -> dict[str, Json]:
        self.calls += 1
        (out / "model").write_text("weights")
        return {"accuracy": 0.5}


def test_built_once_and_found_again() -> None:
    build = Builder()
    first = built_once("toy", {"seed": 0}, ("numpy",), build)
    assert built_once("toy", {"seed": 0}, ("numpy",), build) == first
    assert build.calls == 1
    assert built_once("toy", {"seed": 1}, ("numpy",), build) != first
    assert built_once("toy", {"seed": 0}, ("torch",), build) != first
    about = json.loads((first / "source.json").read_text())
    assert (about["name"], about["recipe"], about["facts"]) == ("toy", {"seed": 0}, {"accuracy": 0.5})
    assert about["versions"].keys() == {"regard", "numpy"}


def test_a_failed_build_leaves_nothing_that_looks_finished() -> None:
    def fails(out: Path, state: Path) -> dict[str, Json]:
        (out / "half").write_text("")
        state.mkdir(exist_ok=True)
        (state / "step").write_text("3")
        raise RuntimeError("stopped")

    def resumes(out: Path, state: Path) -> dict[str, Json]:
        assert (state / "step").read_text() == "3"
        assert not list(out.iterdir())
        return {}

    with pytest.raises(RuntimeError):
        built_once("toy", {}, (), fails)
    home = built_once("toy", {}, (), resumes)
    assert [p.name for p in home.iterdir()] == ["source.json"]
    assert not list(home.parent.glob("*.state"))


def test_two_processes_build_it_once(tmp_path: Path) -> None:
    script = f"""
import time
from pathlib import Path
from regard.training.cache import built_once
def build(out, state):
    Path({str(tmp_path)!r}, "log").open("a").write("built ")
    time.sleep(1.0)
    return {{}}
print(built_once("toy", {{}}, (), build))
"""
    children = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = {child.communicate()[0] for child in children}
    assert len(said) == 1
    assert (tmp_path / "log").read_text() == "built "


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_directory() == tmp_path / "cache"
    monkeypatch.delenv("REGARD_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache_directory() == tmp_path / "x" / "regard"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_directory() == Path.home() / ".cache" / "regard"


def test_a_cache_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", "/proc/no")
    with pytest.raises(EnvironmentProblem, match="REGARD_CACHE"):
        built_once("toy", {}, (), Builder())


def test_a_cache_below_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(EnvironmentProblem, match="REGARD_CACHE"):
        built_once("toy", {}, (), Builder())


def test_packaged_files_are_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "weights_of_somebody"
    package.mkdir()
    # importing it would be an error: a package is only looked into
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "model.bin").write_bytes(b"numbers")
    monkeypatch.syspath_prepend(tmp_path)
    known = hashlib.sha256(b"numbers").hexdigest()
    name = "weights_of_somebody"
    assert packaged_file(name, "model.bin", sha256=known, remedy="") == package / "model.bin"
    for arguments, says in (
        ((name, "model.bin", "0" * 64), "sha256 000000000000"),
        ((name, "other.bin", known), "other.bin"),
        (("weights_of_nobody", "model.bin", known), "not installed|an installed package"),
    ):
        with pytest.raises(EnvironmentProblem, match=says) as caught:
            packaged_file(arguments[0], arguments[1], sha256=arguments[2], remedy="pip install it")
        assert "pip install it" in str(caught.value)
