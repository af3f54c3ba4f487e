"""`show()` where people read notebooks: executed and exported without network, live in JupyterLab, live in marimo.

Every test draws real pixels in a real browser; no request may leave the machine.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from chromium import Browser, inked
from live_caller import asked

CODE = """
import sys
sys.path.insert(0, {here!r})
import numpy as np
import regard
from regard.models.open.from_arrays import from_arrays
rows = np.random.default_rng(0).dirichlet(np.ones(6), (2, 4, 6)).astype("float32")
capture = from_arrays(list(rows), ["the", "film", "was", "not", "bad", "</script><script>window.pwned=1"])
"""
LIVE = """
from live_caller import small_model
view = regard.show(small_model(), "not a good film and the cast dull")
"""


def notebook(path: Path, *cells: str) -> Path:
    nbformat = pytest.importorskip("nbformat", reason="NOT RUN: no nbformat")
    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(book, path)
    return path


def code() -> str:
    return CODE.format(here=str(Path(__file__).parent))


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


@contextmanager
def running(words: list[str], url: str, folder: Path) -> Iterator[None]:
    """A server of somebody else, until the block is over."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JPY_", "VSCODE_"))}
    environment = {**kept, "JUPYTER_CONFIG_DIR": str(folder), "JUPYTER_DATA_DIR": str(folder / "data"),
                   "IPYTHONDIR": str(folder), "JUPYTER_PLATFORM_DIRS": "1", "XDG_CONFIG_HOME": str(folder),
                   "MARIMO_SKIP_UPDATE_CHECK": "1"}  # fmt: skip
    with open(folder / "server.log", "wb") as log:
        process = subprocess.Popen(words, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            while True:  # pytest's own limit ends a server that never answers
                try:
                    urllib.request.urlopen(url, timeout=60).close()
                    break
                except OSError:
                    said = (folder / "server.log").read_text("utf-8", "replace")[-2000:]
                    assert process.poll() is None, said
                    time.sleep(0.2)
            yield
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A notebook that was executed and exported to HTML by nbconvert, with what it holds."""
    pytest.importorskip("nbconvert", reason="NOT RUN: no nbconvert")
    folder = tmp_path_factory.mktemp("executed")
    views = "from regard.live.bertviz import model_view\nmodel_view([r[None] for r in rows], list('abcdef'))"
    path = notebook(folder / "book.ipynb", code(), "capture.show()", views)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JPY_", "VSCODE_"))}
    for words in (["--execute", "--to", "notebook", "--inplace"], ["--to", "html"]):
        subprocess.run([sys.executable, "-m", "nbconvert", *words, str(path)], check=True, capture_output=True,
                       cwd=folder, env={**kept, "IPYTHONDIR": str(folder)})  # fmt: skip
    return folder / "book.html", json.loads(path.read_text("utf-8"))


def test_an_executed_notebook_holds_the_page_and_no_widget(executed: tuple[Path, dict[str, Any]]) -> None:
    _, book = executed
    (output,) = book["cells"][1]["outputs"]
    assert set(output["data"]) == {"text/html", "text/plain"}
    html = "".join(output["data"]["text/html"])
    assert re.match(r'<iframe sandbox="allow-scripts" ', html)
    assert "<script" not in html, "everything of ours stands inside the frame"
    assert not book["metadata"].get("widgets")


def test_an_exported_notebook_is_drawn_without_network(
    executed: tuple[Path, dict[str, Any]], chromium: Browser
) -> None:
    page, _ = executed
    with chromium.page(page.as_uri(), offline=True) as opened:
        opened.wait_for_selector("iframe")
        frames = [f for f in opened.frames if f.url == "about:srcdoc"]
        assert len(frames) == 2
        for frame in frames:
            frame.wait_for_selector("canvas")
            assert inked(frame) > 200
            assert frame.evaluate("window.pwned") is None
        assert opened.evaluate("window.pwned") is None


@pytest.mark.slow
def test_jupyterlab_live(chromium: Browser, tmp_path: Path) -> None:
    """A live kernel: the widget is drawn, a text is asked, an answer comes back; nothing leaves the machine."""
    pytest.importorskip("jupyterlab", reason="NOT RUN: no JupyterLab")
    pytest.importorskip("anywidget", reason="NOT RUN: no anywidget")
    notebook(tmp_path / "book.ipynb", code() + LIVE + "view")
    port, token = free_port(), secrets.token_hex(8)
    words = [sys.executable, "-m", "jupyterlab", "--no-browser", f"--port={port}", f"--ServerApp.token={token}",
             "--ServerApp.port_retries=0", "--allow-root", f"--ServerApp.root_dir={tmp_path}",
             "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate",
             "--LabApp.news_url=None"]  # fmt: skip
    with running(words, f"http://127.0.0.1:{port}/api?token={token}", tmp_path):
        address = f"http://127.0.0.1:{port}/lab/workspaces/{secrets.token_hex(4)}/tree/book.ipynb?token={token}"
        with chromium.page(address, only=f"http://127.0.0.1:{port}/") as page:
            page.wait_for_selector(".jp-NotebookPanel", timeout=120_000)
            page.get_by_text("| Idle").wait_for(timeout=150_000)  # what is run before the kernel is there is lost
            page.get_by_role("menuitem", name="Run", exact=True).click(timeout=120_000)
            page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
            page.wait_for_selector(".jp-OutputArea-output canvas", timeout=150_000)
            assert inked(page.main_frame) > 200
            page.get_by_label("Theme", exact=True).wait_for()
            asked(page, "the film not long")


@pytest.mark.slow
def test_marimo_live(chromium: Browser, tmp_path: Path) -> None:
    pytest.importorskip("marimo", reason="NOT RUN: no marimo")
    pytest.importorskip("anywidget", reason="NOT RUN: no anywidget")
    body = "\n".join(f"    {line}" for line in (code() + LIVE).strip().splitlines())
    file = tmp_path / "book.py"
    file.write_text(
        "import marimo\napp = marimo.App()\n\n@app.cell\ndef _():\n" + body + "\n    view\n    return\n\n"
        'if __name__ == "__main__":\n    app.run()\n', "utf-8",
    )  # fmt: skip
    port = free_port()
    words = [sys.executable, "-m", "marimo", "run", str(file), "--headless", "--no-token", "--port", str(port),
             "--host", "127.0.0.1"]  # fmt: skip
    with (
        running(words, f"http://127.0.0.1:{port}/health", tmp_path),
        chromium.page(f"http://127.0.0.1:{port}/", only=f"http://127.0.0.1:{port}/") as page,
    ):
        page.wait_for_selector("canvas", timeout=150_000)
        assert inked(page.main_frame) > 200
        page.get_by_label("Theme", exact=True).wait_for()
        asked(page, "the film not long")
