"""The bars of an atlas: time, memory, size of the page, hover, and a planted needle at the coarsest level.

`make bench` measures random queries and keys in the shape of a layer of SmolLM2. `python -m benchmarks.atlas` also
reads a long prompt with SmolLM2 itself, where one of many facts is asked for, and writes results/atlas.json.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.__main__ import commit
from benchmarks.lines import Line, peak_memory_mb
from benchmarks.viewer import FLAGS
from regard.datasets.planted_answers import planted_answers
from regard.records import Site
from regard.surveys.atlas import atlas
from regard.surveys.attention_atlas import AnswerSentence, Atlas, AtlasLayer, Passage
from regard.tap.whole_attention import WholeAttention

HEADS, KEY_HEADS, FEATURES = 9, 3, 64
"""As in SmolLM2."""
NEEDLE = 1.75
"""The key at the needle is this multiple of the query that looks for it: a weight above .9 among 32,768."""
COARSEST = 16
"""Most blocks on a side of the coarsest level that the page draws."""
RETRIEVAL_LAYERS = (22, 23)
"""Layers of SmolLM2 that hold its retrieval heads (`regard heads`)."""
RESULTS = Path(__file__).parent / "results" / "atlas.json"


class LargestTensor(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Remember the number of elements of the largest tensor that an operation returns."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.elements = 0

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = operation(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(tensor, torch.Tensor):
                self.elements = max(self.elements, tensor.numel())
        return result


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
    return [*lines, tensor_line(8192), needle_line(32768), tile_line(32768), *page_lines(32768)]


def tensor_line(positions: int) -> Line:
    """Compare the largest tensor of an exact overview with one table of positions x positions."""
    with LargestTensor() as largest:
        layer(positions).blocks(64)
    what = f"largest tensor of {positions} positions, {HEADS} heads / one n x n table"
    return Line(what, largest.elements / positions**2, 1.0, "<=", {"MB": round(largest.elements * 4 / 1e6, 1)})


def needle_line(positions: int) -> Line:
    """Plant one strong weight in random attention, and look for it at the coarsest level of the page."""
    whole = layer(positions)
    row, column = positions * 3 // 4 + 5, positions // 3
    whole.key[0, column] = NEEDLE * whole.query[0, row]
    chart = AtlasLayer(0, "layer", whole.blocks(256), whole)
    weight = float(chart.exact.tile(0, slice(row, row + 1), slice(column, column + 1))[0, 0]) if chart.exact else 0.0
    return contrast_line(
        chart, 0, (row, column), f"planted needle, {positions} positions", {"weight": round(weight, 3)}
    )


def contrast_line(
    chart: AtlasLayer, head: int, place: tuple[int, int], title: str, detail: dict[str, float | str]
) -> Line:
    """Compare the needle's block with the strongest other block of its row, the first one (the sink) left out."""
    times, size = 0, chart.blocks.block
    while size * COARSEST < chart.blocks.positions:
        times, size = times + 1, size * 2
    row, column = (at // size for at in place)
    maxima, sums = (chart.level(kind, times)[head, row, : row + 1] for kind in ("max", "sum"))
    others = np.delete(maxima, [0, column])
    detail |= {"largest weight": round(float(maxima[column]), 3), "other blocks": round(float(others.max()), 4)}
    detail |= {"rank by sums": 1 + int((sums > sums[column]).sum()), "blocks of the row": row + 1}
    what = f"{title}: its block / strongest other block at the coarsest level, by largest weights"
    return Line(what, float(maxima[column] / others.max()), 1.0, ">=", detail)


def tile_line(positions: int) -> Line:
    """Time an exact tile of 640 x 640 weights, as many as the map has pixels."""
    whole = layer(positions)
    began = time.process_time()
    whole.tile(0, slice(positions - 640, positions), slice(positions // 2, positions // 2 + 640))
    spent = 1000 * (time.process_time() - began)
    what = f"exact tile of 640 x 640 weights, {positions} positions / bar of 300 ms"
    return Line(what, spent / 300, 1.0, "<=", {"CPU ms": round(spent, 1)})


def model_line(tokens: int) -> Line:
    """Ask SmolLM2 for one of many facts of a long prompt; the needle is the strongest weight on its first digit."""
    fact, question, answer = "The code of the blue door is 7391.", "What is the code of the blue door?", "7391"
    prompts = planted_answers("single", n=80, seed=7)
    passages = [passage for prompt in prompts for passage in prompt.passages][: tokens // 15]
    passages.insert(len(passages) // 3, fact)
    messages = [{"role": "user", "content": "\n".join(passages) + "\n\n" + question}]
    began = time.process_time()
    chart = atlas("smollm2", messages, f"{fact[:-5]}{answer}.", sources=passages, layers=RETRIEVAL_LAYERS)
    spent = time.process_time() - began
    (start, stop), *_ = next(passage for passage in chart.passages if passage.text == fact).runs
    digit = next(i for i in range(start, stop) if chart.tokens[i] == answer[0])
    row = next(i for i in range(chart.answer_start, len(chart.tokens)) if chart.tokens[i] == answer[0]) - 1
    place = slice(row, row + 1), slice(digit, digit + 1)
    weights = {
        (one, head): float(chart.tile(one.layer, head, *place)[0, 0]) for one in chart.layers for head in range(HEADS)
    }
    layer_of_head, head = max(weights, key=lambda key: weights[key])
    detail: dict[str, float | str] = {"tokens": len(chart.tokens), "weight": round(weights[layer_of_head, head], 3)}
    detail["CPU s of the atlas"] = round(spent, 1)
    title = f"fact that SmolLM2 copies, head {layer_of_head.layer}.{head}"
    return contrast_line(layer_of_head, head, (row, digit), title, detail)


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


def main() -> int:
    lines = run()
    for line in lines:
        print(line.shown(), flush=True)
    lines.append(model_line(8192))
    print(lines[-1].shown())
    record = {
        "command": "python -m benchmarks.atlas",
        "commit": commit(),
        "machine": f"{platform.machine()}, Python {platform.python_version()}, 1 thread, CPU time",
        "lines": [line.to_json() for line in lines],
    }
    RESULTS.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    return 0 if all(line.met for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
