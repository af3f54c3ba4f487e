"""Every view, in light and dark, at three sizes, as pictures: `make gallery`, then look at them.

python scripts/viewer_gallery.py [--out site/gallery] [--only bert,digits] [--docs]

--docs writes the few small pictures that docs/gallery.md shows.
"""

from __future__ import annotations

import argparse
import html
import io
import os
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "viewer"))

from sample_packs import SAMPLES  # noqa: E402

from regard.present.viewer_block import viewer_page  # noqa: E402

SIZES = {"phone": 420, "column": 820, "desk": 1240}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
IN_DOCS = {
    ("bert", "head_view"), ("bert", "model_view"), ("bert", "heat_map"), ("bert", "flow"), ("bert", "token_text"),
    ("bert", "compare"), ("bert", "head_atlas"), ("digits", "image_overlay"), ("power", "series_overlay"),
}  # fmt: skip


def drawn(page: Page, view: str) -> None:
    """The view on the screen, with all of its data and something pointed at."""
    page.locator(f"#tab-{view}").click()
    page.wait_for_function(
        "() => { const v = document.querySelector('[data-regard-viewer]').shadowRoot;"
        " return v.querySelector('canvas')?.dataset.drawn; }"
    )
    page.wait_for_timeout(150)
    page.locator(".stage").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_timeout(60)


def shoot(
    browser: Browser, name: str, path: Path, out: Path, views: tuple[str, ...]
) -> list[tuple[str, str, str, str]]:
    made = []
    for theme in ("light", "dark"):
        for size, width in SIZES.items():
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
            page.goto(path.as_uri())
            for view in views:
                drawn(page, view)
                file = f"{name}-{view}-{theme}-{size}.png"
                page.locator("main").screenshot(path=str(out / file))
                made.append((name, view, f"{theme}, {size} ({width} px)", file))
            page.close()
    return made


def shoot_docs(browser: Browser, name: str, path: Path, out: Path, views: tuple[str, ...]) -> None:
    page = browser.new_page(viewport={"width": 760, "height": 900}, color_scheme="light")
    page.goto(path.as_uri())
    for view in views:
        if (name, view) in IN_DOCS:
            drawn(page, view)
            picture = page.locator("[role=tabpanel]").screenshot()
            # 64 colours are enough for the eye, and the repository stays small
            Image.open(io.BytesIO(picture)).quantize(64).save(out / f"{view}.png", optimize=True)
    page.close()


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
    made = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
        for name, (make, views) in SAMPLES.items():
            if given.only and name not in given.only.split(","):
                continue
            path = Path(folder) / f"{name}.html"
            path.write_text(viewer_page(make()), "utf-8")
            if given.docs:
                shoot_docs(browser, name, path, out, views)
            else:
                made += shoot(browser, name, path, out, views)
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
