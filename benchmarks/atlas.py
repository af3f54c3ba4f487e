"""Blocks of one long attention layer: CPU seconds against the bars of an atlas, with random queries and keys."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.lines import Line, peak_memory_mb
from benchmarks.viewer import FLAGS
from regard.records import Site
from regard.surveys.attention_atlas import AnswerSentence, Atlas, AtlasLayer, Passage
from regard.tap.whole_attention import WholeAttention

HEADS, KEY_HEADS, FEATURES = 9, 3, 64
"""As in SmolLM2."""


def layer(positions: int) -> WholeAttention:
    stream = torch.Generator().manual_seed(0)
    query, key = (torch.randn(heads, positions, FEATURES, generator=stream) for heads in (HEADS, KEY_HEADS))
    return WholeAttention(Site("layer", 0, "causal", 0, HEADS), query, key, scale=FEATURES**-0.5)


def seconds(one: WholeAttention, block: int, every: int) -> float:
    began = time.process_time()
    one.blocks(block, every=every)
    return time.process_time() - began


def run() -> list[Line]:
    """Measure 8,192 positions exactly, and 32,768 exactly and sampled; the ratio is CPU time / bar."""
    torch.set_num_threads(1)
    lines = []
    for positions, block, every, bar in ((8192, 64, 1, 3.0), (32768, 256, 8, 60.0), (32768, 256, 1, 60.0)):
        one = layer(positions)
        before = peak_memory_mb()
        spent = seconds(one, block, every)
        detail: dict[str, float | str] = {"CPU s": round(spent, 2), "extra MB": round(peak_memory_mb() - before, 1)}
        what = f"blocks of {positions} positions, {HEADS} heads, one row of {every} / bar of {bar:.0f} s"
        lines.append(Line(what, spent / bar, 1.0, "<=", detail))
    return [*lines, *page_lines(32768)]


def page_lines(positions: int) -> list[Line]:
    """Measure the page of a long layer: its size, and the time from a mouse move to the frame with the values."""
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("REGARD_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
    whole = layer(positions)
    chart = Atlas(
        model="random",
        tokens=tuple(f" word{i}" for i in range(positions)),
        answer="word",
        answer_start=positions - 1,
        passages=tuple(Passage(f"passage {i}", ((i * 1000, i * 1000 + 900),)) for i in range(20)),
        sentences=(AnswerSentence("word", positions - 2, positions - 1),),
        matrix=np.full((1, 21), 1 / 21),
        strongest=np.full((1, 20), 0.1),
        strongest_heads=(("L0H0",) * 20,),
        layers=(AtlasLayer(0, "layer", whole.blocks(256, every=8), whole),),
    )
    with tempfile.TemporaryDirectory() as folder:
        path = chart.save(Path(folder) / "atlas.html")
        megabytes = path.stat().st_size / 1e6
        what = f"atlas page of {positions} positions, {HEADS} heads"
        lines = [Line(f"{what}: file / bar of 50 MB", megabytes / 50, 1.0, "<=", {"MB": round(megabytes, 2)})]
        if not chromium:
            print("  atlas: no browser, hover not measured")
            return lines
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
            try:
                took = _hovers(browser.new_page(viewport={"width": 1100, "height": 2000}), path)
            finally:
                browser.close()
    return [*lines, Line(f"{what}: hover / bar of 50 ms", took / 50, 1.0, "<=", {"ms": round(took, 1)})]


def _hovers(page: Any, path: Path) -> float:
    """Return the median over 20 places of the milliseconds from a mouse move to the frame with the values."""
    page.goto(path.as_uri())
    page.wait_for_function("() => globalThis.regardAtlas && document.getElementById('map').width > 300")
    page.evaluate(
        "() => { window.took = []; let from = 0;"
        " document.getElementById('map').addEventListener('pointermove', (e) => { from = e.timeStamp; }, true);"
        " new MutationObserver(() => { if (!from) return; const began = from; from = 0;"
        " requestAnimationFrame(() => window.took.push(performance.now() - began)); })"
        ".observe(document.getElementById('readout'), { childList: true, characterData: true, subtree: true }); }"
    )
    box = page.locator("#map").bounding_box()
    for i in range(20):
        page.mouse.move(box["x"] + box["width"] * 0.02 * (i + 1), box["y"] + box["height"] * (0.5 + 0.02 * i))
        page.wait_for_timeout(150)
    took = page.evaluate("() => window.took")
    if len(took) < 10:
        raise AssertionError(f"{len(took)} of 20 hovers were read out")
    return float(statistics.median(took))


if __name__ == "__main__":
    for line in run():
        print(line.shown())
