"""Without a download nothing asks the network: not one name is looked up, whatever the environment says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from regard.errors import InputError
from regard.models.open.hub import hub
from regard.models.open.load import load

SCRIPT = """
import socket

asked = []

def never(*anything, **named):
    asked.append(anything)
    raise OSError("no network in this test")

socket.getaddrinfo = never
socket.socket.connect = never

import regard
from regard.errors import RegardError

model = regard.load("somebody/tiny")
assert model.labels
for source in ("nobody/nothing", "nothing-here"):
    try:
        regard.load(source)
    except RegardError:
        pass
    else:
        raise AssertionError(f"{source} was opened")
assert asked == [], asked

import os
import huggingface_hub.constants as constants
assert not constants.HF_HUB_OFFLINE, "the user's own calls are as before"
assert "HF_HUB_OFFLINE" not in os.environ
print("fine")
"""


def test_an_id_without_download_asks_nobody(harmless: tuple[Path, Path], tmp_path: Path) -> None:
    """In a process of its own: the libraries read the environment when they are imported."""
    cached = tmp_path / "hub" / "models--somebody--tiny"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text("0" * 40, "utf-8")
    shutil.copytree(harmless[0], cached / "snapshots" / ("0" * 40))
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "TRANSFORMERS_", "HUGGINGFACE_"))}
    there = {**clean, "HF_HOME": str(tmp_path), "HF_HUB_CACHE": str(tmp_path / "hub")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=there,
        capture_output=True,
        text=True,
        timeout=600,
        cwd=tmp_path,
        check=False,
    )
    assert done.stdout.strip() == "fine", done.stderr


def test_the_switch_is_restored_even_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)

    def fail_inside() -> None:
        with hub():
            with hub():
                assert constants.HF_HUB_OFFLINE
            assert constants.HF_HUB_OFFLINE, "the outer block still holds"
            assert os.environ["HF_HUB_OFFLINE"] == "1"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_inside()
    assert not constants.HF_HUB_OFFLINE
    assert "HF_HUB_OFFLINE" not in os.environ


def test_a_download_lifts_the_switch_for_its_call_only(
    monkeypatch: pytest.MonkeyPatch, regard: Callable[..., Result]
) -> None:
    import transformers
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    seen = []

    def config(source: str, *, local_files_only: bool, **named: object) -> None:
        seen.append((constants.HF_HUB_OFFLINE, local_files_only))
        raise OSError("nothing here")

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", config)
    for download in (False, True, False):
        with pytest.raises(InputError):
            load("nobody/nothing", download=download)
    assert seen == [(True, True), (False, False), (True, True)]
    words = ("explain", "nobody/nothing", "--text", "a film", "--method", "random")
    assert [regard(*words, *more).exit_code for more in ((), ("--download",))] == [2, 2]
    assert seen[3:] == [(True, True), (False, False)]
