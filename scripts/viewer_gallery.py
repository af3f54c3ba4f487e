"""Pictures of every view, in light and dark, at three sizes: run `make gallery`, then look at them.

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
from playwright.sync_api import Browser, FloatRect, Page, sync_playwright

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
    """Show the view with all of its data and one element pointed at."""
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
    """Make a row uniform, and wait for the new prediction."""
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
            small(page.locator("[role=tabpanel]").screenshot(), out / f"{view}.png")
    page.close()


LONG = (
    "The film opens slowly , with a long shot of an empty street , and for the first half hour almost nothing happens ."
    " Yet the camera keeps its patience , and little by little the people who live behind those windows become"
    " familiar . When the old teacher finally speaks about her brother , the whole theatre was silent . The acting is"
    " superb , the music is used sparingly , and the script never begs for tears . There are weak moments : the subplot"
    " with the insurance agent is dull , two of the jokes fall flat , and the last scene explains what we had already"
    " understood . Still , this is a moving story , told with care and without vanity , and I left the cinema happier"
    " than I came in , which is more than I can say of most films this year ."
)
MINILM = "minilm:epochs=1,layers=1,n=1200"


def typed(page: Page) -> None:
    """Put another text into the box without running it."""
    page.get_by_role("textbox").first.fill("a dull , endless film that begs for tears")


def pointed(page: Page) -> None:
    box = page.locator(".stage canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.55, box["y"] + 260)


SCENES: dict[str, tuple[str, str, int, str, int, Callable[[Page], None]]] = {
    "first_screen": ("bilstm", TEXT, 0, "head_view", 1100, lambda page: None),
    "new_text": ("bilstm", TEXT, 0, "token_text", 1100, typed),
    "long_heads": (MINILM, LONG, 0, "head_view", 1100, lambda page: None),
    "long_map": (MINILM, LONG, 0, "heat_map", 1100, pointed),
    "long_flow": (MINILM, LONG, 0, "flow", 1100, lambda page: None),
    "generation": ("smollm2", "The capital of France is", 8, "written", 1100, lambda page: None),
    "phone": ("bilstm", TEXT, 0, "head_view", 390, lambda page: None),
}
"""name -> model, text, tokens to write, view, width, what a user does: the app before and after a change of it."""


def shoot_app(browser: Browser, out: Path, prefix: str) -> None:
    """Take the scenes of the app; a view that this version lacks is replaced by the one it opens with."""
    sessions: dict[tuple[str, str], Session] = {}
    for name, (model, text, tokens, view, width, act) in SCENES.items():
        if (model, text) not in sessions:
            session = sessions[model, text] = Session(regard.load(model), methods=("attention",))
            if tokens:
                session.show_generation(text, tokens)
            else:
                session.show(regard.Example("text", {"text": text}))
        server = serve(sessions[model, text])
        page = browser.new_page(viewport={"width": width, "height": 760}, color_scheme="light")
        page.goto(server.url)
        page.locator("canvas[data-drawn]").wait_for()
        if page.locator(f"#tab-{view}").count():
            page.locator(f"#tab-{view}").click()
            page.wait_for_timeout(500)
        if view == "heat_map":
            page.locator(".stage").scroll_into_view_if_needed()
        act(page)
        page.wait_for_timeout(500)
        page.locator("[data-regard-app]").scroll_into_view_if_needed()
        small(page.screenshot(full_page=True, clip=shown_part(page, width)), out / f"{prefix}_{name}.png")
        server.close()
        page.close()
        print(f"gallery: {prefix} {name}", flush=True)


def shown_part(page: Page, width: int) -> FloatRect:
    """Take the app down to its end, at most 900 pixels."""
    tall = page.evaluate("document.querySelector('[data-regard-app]').getBoundingClientRect().bottom + scrollY")
    return {"x": 0, "y": 0, "width": width, "height": min(900, tall + 8)}


def small(picture: bytes, path: Path, colours: int = 256) -> None:
    """Write a picture with a palette: the repository stays small, and the octree keeps rare colours."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(colours, method=Image.Quantize.FASTOCTREE).save(path, optimize=True)


@contextmanager
def pages(folder: Path, only: list[str]) -> Iterator[Iterator[tuple[str, str, tuple[str, ...]]]]:
    """Return (name, address, views): packs as files, and the app with a small model."""
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
    asked.add_argument("--scenes", metavar="PREFIX", help="only the scenes of the app, as docs/pictures/PREFIX_*.png")
    given = asked.parse_args()
    given.docs = given.docs or bool(given.scenes)
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
        if given.scenes:
            shoot_app(browser, out, given.scenes)
            return 0
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
