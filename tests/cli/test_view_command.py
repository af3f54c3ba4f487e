"""`regard view`: files without a browser, and the local app started and stopped by a command line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from click.testing import Result

from regard.datasets.formats.sounds import write_wav

Run = Callable[..., Result]
TEXT = "a quiet moving film"


@pytest.fixture(autouse=True)
def engine() -> None:
    pytest.importorskip("quickjs", reason="NOT RUN: no quickjs-ng")


def test_a_text_becomes_files_of_every_format(regard: Run, tmp_path: Path) -> None:
    pytest.importorskip("typst", reason="NOT RUN: no typst")
    files = [tmp_path / f"view.{ending}" for ending in ("html", "svg", "png", "pdf")]
    words = [w for f in files for w in (f"--{f.suffix[1:]}", str(f))]
    done = regard("view", "mine.py:make", "--text", TEXT, "--view", "heat_map", *words, "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["files"] == [str(f) for f in files]
    assert said["bytes"] == [f.stat().st_size for f in files]
    for word in TEXT.split():
        assert word in files[1].read_text("utf-8")
    page = files[0].read_text("utf-8")
    assert "Content-Security-Policy" in page
    assert "leave_one_out" in page
    assert not re.search(r'(?:src|href)="https?://', page)


def test_a_run_becomes_a_file(regard: Run, audited: tuple[Path, Result], tmp_path: Path) -> None:
    out, _ = audited
    file = tmp_path / "run.svg"
    done = regard("view", str(out), "--view", "token_text", "--svg", str(file))
    assert done.exit_code == 0, done.output
    assert "<svg" in file.read_text("utf-8")
    assert "run.svg" in done.stdout


def test_a_sound_is_drawn_as_a_sound(regard: Run, tmp_path: Path) -> None:
    write_wav(tmp_path / "tone.wav", 0.4 * np.sin(np.arange(8_000) / 8), 16_000)
    model = tiny_models.whisper(tmp_path / "model")
    done = regard("view", model, "--audio", str(tmp_path / "tone.wav"), "--method", "attention", "--svg", "-")
    assert done.exit_code == 0, done.output
    assert "8000 Hz" in done.stdout  # the axis of its spectrogram


def test_a_transcript_in_a_loop_is_reported(regard: Run, tmp_path: Path) -> None:
    write_wav(tmp_path / "noise.wav", 0.1 * np.random.default_rng(0).normal(size=16_000), 16_000)
    model = tiny_models.whisper(tmp_path / "model")
    arguments = ("explain", model, "--audio", str(tmp_path / "noise.wav"), "--method", "attention", "--json")
    done = regard(*arguments)
    assert done.exit_code == 0, done.output
    payload = json.loads(done.stdout)
    answer = payload["examples"][0]["answer"]
    assert answer.endswith(3 * answer[-1]), "the random model repeats one letter"
    assert "repeats itself up to its end" in str(payload["notes"])


def test_the_picture_goes_to_standard_output_too(regard: Run) -> None:
    done = regard("view", "mine.py:make", "--text", TEXT, "--svg", "-")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("<svg")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["mine.py:make", "--svg", "x.svg"], "--text TEXT"),
        (["mine.py:make", "--text", TEXT, "--view", "heatmap", "--svg", "x.svg"], "heat_map"),
        (["mine.py:make", "--text", TEXT, "--method", "atention", "--svg", "x.svg"], "attention"),
        (["mine.py:make", "--text", TEXT, "--site", "nowhere", "--svg", "x.svg"], "site 'nowhere'"),
        (["mine.py:make", "--text", TEXT, "--head", "7", "--svg", "x.svg"], "a head below 1"),
        (["mine.py:make", "--text", TEXT, "--example", "3", "--svg", "x.svg"], "a run"),
        (["mine.py:make", "--text", TEXT, "--svg", "a_file/x.svg"], "a place to write"),
        (["mine.py:make", "--text", TEXT, "--generate", "3", "--svg", "x.svg"], "a model that writes"),
        (["no_such_thing", "--text", TEXT, "--svg", "x.svg"], "no_such_thing"),
        (["mine.py:make", "--text", " ", "--svg", "x.svg"], "at least one word"),
    ],
)
def test_mistakes_are_one_line(regard: Run, words: list[str], said: str) -> None:
    done = regard("view", *words)
    assert done.exit_code in (2, 4), done.output
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_example_of_a_run(regard: Run, audited: tuple[Path, Result]) -> None:
    done = regard("view", str(audited[0]), "--example", "none", "--svg", "x.svg")
    assert done.exit_code == 2
    assert "example of this run 'none'" in done.stderr
    from regard.store.run import Run as Stored

    row = Stored(audited[0]).examples()[-1]
    done = regard("view", str(audited[0]), "--example", row["id"], "--view", "token_text", "--svg", "-")
    assert done.exit_code == 0, done.output
    assert row["inputs"]["text"].split()[0] in done.stdout


def test_the_app_is_started_and_ends_with_ctrl_c(place: Path) -> None:
    words = [sys.executable, "-m", "regard", "view", "mine.py:make", "--text", TEXT, "--no-browser", "--json"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(words, cwd=place, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = ""
        while not said.rstrip().endswith("}"):
            line = process.stdout.readline()
            assert line, "it ended"
            said += line
        found = json.loads(said)
        token = found["url"].partition("#token=")[2]
        hello = post(f"{found['address']}api/hello", token)
        assert hello["labels"] == ["negative", "positive"]
        with pytest.raises(urllib.error.HTTPError, match="401"):
            post(f"{found['address']}api/hello", "wrong")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def post(url: str, token: str) -> Any:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, b"{}", headers), timeout=240) as answer:
        return json.load(answer)


def test_edits_that_somebody_shared_are_drawn_before_and_after(regard: Run, place: Path, tmp_path: Path) -> None:
    params = {"text": TEXT, "methods": ["attention"], "edits": [{"what": "uniform", "site": "*"}]}
    spec = {"kind": "edits", "name": "attention", "params": params}
    (tmp_path / "spec.json").write_text(json.dumps(spec), "utf-8")
    words = ["--spec", str(tmp_path / "spec.json"), "--view", "compare", "--svg", "-"]
    done = regard("view", "mine.py:make", *words)
    assert done.exit_code == 0, done.output
    assert "edited" in done.stdout
    (tmp_path / "spec.json").write_text("{", "utf-8")
    done = regard("view", "mine.py:make", *words)
    assert done.exit_code == 2
    assert "a Spec as JSON" in done.stderr
