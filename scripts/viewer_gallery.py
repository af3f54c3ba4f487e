"""Every view, in light and dark, at three sizes, as pictures: `make gallery`, then look at them.

python scripts/viewer_gallery.py [--out site/gallery] [--only bert,digits,app] [--docs]

"app" are the views in front of a live model. --docs writes the few small pictures that docs/gallery.md shows.
"""

from __future__ import annotations

import argparse
import html
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "viewer"))

from sample_packs import SAMPLES  # noqa: E402

import regard  # noqa: E402
from regard.live.server import serve  # noqa: E402
from regard.live.session import Session  # noqa: E402
from regard.present.pack.viewer_block import viewer_page  # noqa: E402

SIZES = {"phone": 420, "column": 820, "desk": 1240}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
IN_DOCS = {
    ("bert", "head_view"), ("bert", "model_view"), ("bert", "heat_map"), ("bert", "flow"), ("bert", "token_text"),
    ("bert", "compare"), ("bert", "head_atlas"), ("digits", "image_overlay"), ("power", "series_overlay"),
    ("app", "counterfactual"), ("app", "rationale"),
}  # fmt: skip
LIVE = ("counterfactual", "rationale")
TEXT = "a quiet , moving film that never begs for tears"


def sorted_heads(page: Page) -> None:
    page.get_by_label("Order", exact=True).select_option(label="by role")


def enlarged(page: Page) -> None:
    page.keyboard.press("Enter")


def zoomed(page: Page) -> None:
    for _ in range(3):
        page.keyboard.press("+")


def by_relevance(page: Page) -> None:
    page.get_by_label("Shown", exact=True).select_option(label="relevance")
    page.get_by_label("B", exact=True).select_option(label="the same example")
    page.get_by_label("Method B", exact=True).select_option(label="rollout")


VARIANTS = {
    ("bert", "model_view"): {"by role": sorted_heads, "enlarged": enlarged},
    ("bert", "heat_map"): {"zoomed": zoomed},
    ("bert", "compare"): {"by method": by_relevance},
}
"""What the same view shows after a user did something."""


def drawn(page: Page, view: str) -> None:
    """The view on the screen, with all of its data and something pointed at."""
    page.locator(f"#tab-{view}").click()
    page.wait_for_function(
        "() => { const v = document.querySelector('[data-regard-viewer], [data-regard-app]').shadowRoot;"
        " return v.querySelector('canvas')?.dataset.drawn; }"
    )
    page.wait_for_timeout(150)
    page.locator(".stage").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_timeout(60)


Made = list[tuple[str, str, str, str]]


def shoot(browser: Browser, name: str, url: str, out: Path, views: tuple[str, ...]) -> Made:
    made = []
    for theme in ("light", "dark"):
        for size, width in SIZES.items():
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
            page.goto(url)
            for view in views:
                drawn(page, view)
                acts: dict[str, Callable[[Page], None]] = {"": played.get(view, lambda page: None)}
                for how, act in {**acts, **VARIANTS.get((name, view), {})}.items():
                    act(page)
                    page.wait_for_timeout(150)
                    file = f"{name}-{view}{'-' + how.replace(' ', '_') if how else ''}-{theme}-{size}.png"
                    page.locator("main, [data-regard-app]").first.screenshot(path=str(out / file))
                    made.append((name, view, f"{how + ', ' if how else ''}{theme}, {size} ({width} px)", file))
            page.close()
    return made


def edited(page: Page) -> None:
    """Attention moved away from the strongest word, and what the model answers then."""
    page.get_by_role("button", name="Uniform row").click()
    page.locator("[data-change]").wait_for()


def marked(page: Page) -> None:
    for key in ("ArrowRight", "Enter", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)


played: dict[str, Callable[[Page], None]] = {"counterfactual": edited, "rationale": marked}


def shoot_docs(browser: Browser, name: str, url: str, out: Path, views: tuple[str, ...]) -> None:
    page = browser.new_page(viewport={"width": 860, "height": 900}, color_scheme="light")
    page.goto(url)
    for view in views:
        if (name, view) in IN_DOCS:
            drawn(page, view)
            played.get(view, lambda page: None)(page)
            page.locator(".stage").evaluate("e => e.blur()")
            picture = page.locator("[role=tabpanel]").screenshot()
            # a palette keeps the repository small; the octree keeps rare colours, which carry the meaning
            small = Image.open(io.BytesIO(picture)).convert("RGB").quantize(256, method=Image.Quantize.FASTOCTREE)
            small.save(out / f"{view}.png", optimize=True)
    page.close()


@contextmanager
def pages(folder: Path, only: list[str]) -> Iterator[Iterator[tuple[str, str, tuple[str, ...]]]]:
    """(name, address, views): packs as files, and the app with a small model behind it."""
    session = Session(regard.load("bilstm"), marks=folder / "rationales.jsonl")

    def each() -> Iterator[tuple[str, str, tuple[str, ...]]]:
        for name, (make, views) in SAMPLES.items():
            if not only or name in only:
                path = folder / f"{name}.html"
                path.write_text(viewer_page(make()), "utf-8")
                yield name, path.as_uri(), views
        if not only or "app" in only:
            session.show(regard.Example("text", {"text": TEXT}))
            yield "app", server.url, LIVE

    server = serve(session)
    try:
        yield each()
    finally:
        server.close()


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--out", type=Path, default=ROOT / "site" / "gallery")
    asked.add_argument("--only", default="")
    asked.add_argument("--docs", action="store_true")
    given = asked.parse_args()
    out: Path = ROOT / "docs" / "pictures" if given.docs else given.out
    out.mkdir(parents=True, exist_ok=True)
    chromium = os.environ.get("REGARD_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium:
        print("gallery: no browser found; install chromium, or set REGARD_BROWSER", file=sys.stderr)
        return 4
    made: Made = []
    only = [name for name in given.only.split(",") if name]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play, pages(Path(folder), only) as found:
        browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
        for name, url, views in found:
            if given.docs:
                shoot_docs(browser, name, url, out, views)
            else:
                made += shoot(browser, name, url, out, views)
            print(f"gallery: {name}: {', '.join(views)}", flush=True)
        browser.close()
    if not given.docs:
        rows = "".join(
            f"<figure><figcaption>{html.escape(f'{view} of {name}: {how}')}</figcaption>"
            f"<img src='{file}' alt=''></figure>"
            for name, view, how, file in made
        )
        page = f"<!doctype html><meta charset=utf-8><title>Gallery</title><h1>Every view</h1>{rows}"
        (out / "index.html").write_text(page, "utf-8")
        print(f"{len(made)} pictures in {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
