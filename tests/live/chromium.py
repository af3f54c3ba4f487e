"""A headless Chromium that counts what it was asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE = 240_000
"""Milliseconds that a page may take: a safety net for busy machines, never a measurement."""


@dataclass
class Browser:
    """One browser for a whole module; every page has a context of its own."""

    native: Any

    @contextmanager
    def page(self, url: str, *, offline: bool = False, only: str = "", **how: Any) -> Iterator[Any]:
        """A page. only: requests may go nowhere else (offline: those of frames, ours, go nowhere at all); errors on the
        page fail the test."""
        context = self.native.new_context(offline=offline, viewport={"width": 1200, "height": 900}, **how)
        context.set_default_timeout(PATIENCE)
        problems: list[str] = []
        try:
            page = context.new_page()
            page.on("pageerror", lambda error: problems.append(str(error)))

            def heard(request: Any) -> None:
                theirs = offline and request.frame == page.main_frame
                if not theirs and _leaves(request.url, only):
                    problems.append(f"asked {request.url}")

            page.on("request", heard)
            page.goto(url)
            try:
                yield page
            except BaseException:
                if folder := os.environ.get("REGARD_SHOTS"):  # what was on the screen when it went wrong
                    page.screenshot(path=Path(folder) / "failed.png")
                raise
            assert not problems, problems
        finally:
            context.close()


def _leaves(url: str, only: str) -> bool:
    inside = ("data:", "blob:", "about:", "file:", *((only, only.replace("http", "ws")) if only else ()))
    return not url.startswith(inside)


INK = """() => {
  const found = [];
  const walk = (n) => { for (const c of n.querySelectorAll('*')) {
    if (c.shadowRoot) walk(c.shadowRoot);
    if (c.tagName === 'CANVAS') found.push(c); } };
  walk(document);
  let most = 0;
  for (const canvas of found) {
    if (!canvas.width || !canvas.height) continue;
    const d = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    let count = 0;
    for (let i = 0; i < d.length; i += 4)
      if (d[i + 3] > 0 && (d[i] !== d[0] || d[i + 1] !== d[1] || d[i + 2] !== d[2])) count++;
    most = Math.max(most, count);
  }
  return most;
}"""


def tries(frame: Any, pause: int = 50) -> Iterator[None]:
    """One turn of a loop every `pause` milliseconds, for as long as a page may take."""
    for _ in range(PATIENCE // pause):
        yield
        frame.wait_for_timeout(pause)


def inked(frame: Any, least: int = 200) -> int:
    """Pixels of the fullest canvas that differ from its corner; waits until there are some.

    Chromium draws nothing in a sandboxed frame that is out of sight, so the frame is scrolled into view first.
    """
    if frame.parent_frame:
        frame.frame_element().scroll_into_view_if_needed()
    count = 0
    for _ in tries(frame):
        count = int(frame.evaluate(INK))
        if count > least:
            break
    return count
