"""A headless Chromium that opens packs from the disk, with the network off."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sample_packs import SAMPLES

from regard.present.pack.records import Pack
from regard.present.pack.viewer_block import viewer_page

# runs that exist only in memory are those of the report's tests
sys.path.append(str(Path(__file__).resolve().parents[1] / "present"))


@dataclass
class Shown:
    """A viewer on the screen."""

    page: Any
    pack: Pack
    problems: list[str] = field(default_factory=list)

    def open(self, view: str) -> None:
        self.page.locator(f"#tab-{view}").click()
        self.page.wait_for_function(f"() => {ROOT}.querySelector('[data-view={view}] canvas')?.dataset.drawn")
        self.settle()

    def settle(self) -> None:
        """Two frames without a new drawing."""
        self.page.evaluate(
            "async () => { const next = (f) => new Promise((r) => f(r)); let last = -1; for (let i = 0; i < 60; i++) {"
            " for (let k = 0; k < 2; k++) await next(requestAnimationFrame); await next((r) => setTimeout(r, 12));"
            f" const now = {ROOT}.querySelector('canvas')?.dataset.drawn; if (now === last) return; last = now; }} }}"
        )

    def ink(self) -> int:
        """Pixels of the canvas that are not paper."""
        return int(
            self.page.evaluate(
                f"() => {{ const c = {ROOT}.querySelector('canvas');"
                " const d = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer);"
                " const paper = d[d.length - 1]; let n = 0; for (const v of d) if (v !== paper) n++; return n; }"
            )
        )

    @property
    def declared(self) -> str:
        return str(self.page.locator("[data-declared]").inner_text())

    @property
    def readout(self) -> str:
        self.settle()
        return str(self.page.locator("[data-readout]").inner_text())

    def table(self) -> tuple[list[str], list[list[str]]]:
        """The text form of the view."""
        details = self.page.locator("details", has_text="As a table").last
        if details.get_attribute("open") is None:
            details.locator("summary").click()
        table = details.locator("table")
        table.wait_for()
        self.settle()
        read = "t => [...t.querySelectorAll('tr')].map(r => [...r.querySelectorAll('th,td')].map(c => c.textContent))"
        head, *rows = table.evaluate(read)
        return head, rows

    def pick(self, label: str, option: str) -> None:
        self.page.get_by_label(label, exact=True).select_option(label=option)
        self.settle()

    def press(self, *keys: str) -> None:
        self.page.locator(".stage").focus()
        for key in keys:
            self.page.keyboard.press(key)
        self.settle()

    def point(self, x: float, y: float, *, click: bool = False) -> None:
        """Pixels from the corner of the picture."""
        where = {"x": x, "y": y}
        stage = self.page.locator(".stage canvas")
        stage.scroll_into_view_if_needed()
        stage.click(position=where) if click else stage.hover(position=where)
        self.settle()


ROOT = "document.querySelector('[data-regard-viewer], [data-regard-app]').shadowRoot"


@pytest.fixture(scope="session")
def chromium(running_browser: Any) -> Any:
    return running_browser


@pytest.fixture
def show(chromium: Any, tmp_path: Any) -> Iterator[Callable[..., Shown]]:
    """A pack (or the name of a sample) as a file, opened with the network off. Any error on the page fails the test."""
    contexts: list[Any] = []
    opened: list[Shown] = []

    def start(given: str | Pack, *, width: int = 1100, dark: bool = False, **how: Any) -> Shown:
        pack = SAMPLES[given][0]() if isinstance(given, str) else given
        path = tmp_path / f"page{len(contexts)}.html"
        path.write_text(viewer_page(pack, **how), "utf-8")
        context = chromium.new_context(
            offline=True, viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        context.set_default_timeout(240_000)  # a safety net for busy machines
        contexts.append(context)
        page = context.new_page()
        found = Shown(page, pack)
        page.on("pageerror", lambda error: found.problems.append(str(error)))
        page.on("console", lambda said: found.problems.append(said.text) if said.type == "error" else None)
        page.on("request", lambda r: None if r.url.startswith(("file:", "data:", "blob:")) else
                found.problems.append(f"asked for {r.url}"))  # fmt: skip
        page.goto(path.as_uri())
        page.wait_for_function(f"() => {ROOT}?.querySelector('canvas')?.dataset.drawn")
        found.settle()
        opened.append(found)
        return found

    yield start
    for context in contexts:
        context.close()
    for one in opened:
        assert not one.problems, one.problems
