"""The local app for many minutes: good and hostile requests in turn; its memory and its open files must stay flat."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import psutil

from benchmarks.fuzz.app import App
from benchmarks.fuzz.materials import Materials
from benchmarks.fuzz.pool import environment
from benchmarks.fuzz.targets.server_bodies import good_request, request

WARM_UP = 0.2
"""Share of the requests before anything is compared: caches fill, the shelf of packs reaches its size."""
SAMPLES = 200
GROWTH, MORE_FILES = 1.05, 4
"""Flat: at most 5 % more memory at the end than after the warm-up (medians of a fifth of the samples), and no more
open files than a few connections."""


def figures(originals: Path, folder: Path, seed: int, minutes: float, requests: int) -> dict[str, Any]:
    """Soak the app in its own process; return its memory and open files."""
    folder.mkdir(parents=True, exist_ok=True)
    process = _started(Materials(originals), folder)
    try:
        return _soaked(process, Random(f"{seed}/soak"), 60 * minutes, requests)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def told(found: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in found.items() if key not in ("samples", "problems"))


def _started(originals: Materials, folder: Path) -> subprocess.Popen[str]:
    words = ["view", str(originals.network), "--text", "a quiet film", "--no-browser", "--json"]
    return subprocess.Popen(
        [sys.executable, "-m", "regard", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=folder,
        env={**environment(), "PYTHONUNBUFFERED": "1"},
    )


def _soaked(process: subprocess.Popen[str], rng: Random, seconds: float, requests: int) -> dict[str, Any]:
    app = _reached(process)
    watched = psutil.Process(process.pid)
    samples: list[tuple[int, int, int]] = []
    problems: list[str] = []
    refused, began = 0, time.monotonic()
    for number in range(requests):
        one = good_request(rng, app) if rng.random() < 0.6 else request(rng, app)
        problem, clear = app.checked(one)
        refused += bool(clear)
        if problem:
            problems.append(problem)
        if number % max(1, requests // SAMPLES) == 0:
            samples.append((number, watched.memory_info().rss, watched.num_fds()))
        time.sleep(max(0.0, began + seconds * (number + 1) / requests - time.monotonic()))
    alive = app.send(app.post("hello", b"{}")).status == 200
    return _judged(samples, problems, requests, refused, time.monotonic() - began, alive=alive)


def _judged(
    samples: list[tuple[int, int, int]],
    problems: list[str],
    requests: int,
    refused: int,
    seconds: float,
    *,
    alive: bool,
) -> dict[str, Any]:
    first = int(len(samples) * WARM_UP)
    fifth = max(1, (len(samples) - first) // 5)
    warm, end = samples[first : first + fifth], samples[-fifth:]
    memory = [statistics.median(rss for _, rss, _ in part) / 2**20 for part in (warm, end)]
    files = [int(statistics.median(fds for _, _, fds in part)) for part in (warm, end)]
    flat = memory[1] <= memory[0] * GROWTH and files[1] <= files[0] + MORE_FILES
    return {
        "met": flat and alive and not problems,
        "minutes": round(seconds / 60, 1),
        "requests": requests,
        "refused": refused,
        "internal_errors": len(problems),
        "alive_at_the_end": alive,
        "rss_mb_after_warm_up": round(memory[0], 1),
        "rss_mb_at_the_end": round(memory[1], 1),
        "files_after_warm_up": files[0],
        "files_at_the_end": files[1],
        "flat": flat,
        "problems": problems[:10],
        "samples": [
            [number, round(rss / 2**20, 1), fds] for number, rss, fds in samples[:: max(1, len(samples) // 50)]
        ],
    }


def _reached(process: subprocess.Popen[str]) -> App:
    """Connect to the app at the address that it prints as JSON."""
    assert process.stdout is not None
    text = ""
    while "}" not in text:
        line = process.stdout.readline()
        if not line:
            raise RuntimeError("the app did not start")
        text += line
    about = json.loads(text)
    app = App(int(about["port"]), str(about["url"]).partition("#token=")[2])
    app.pack = str(app.call("hello")["pack"])
    return app
