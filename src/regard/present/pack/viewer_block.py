"""A pack as HTML: a block for any page, or a whole page. Only the viewer itself is executable.

The manifest and the chunks stand in data blocks (script elements of a type that no browser runs), the viewer puts text
on the page through text nodes and canvases only, and styles itself by constructed sheets: a page needs the hash of
`viewer_script()` in its script-src and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from regard.present.messages.messages import catalogue, say
from regard.present.pack.records import Pack
from regard.present.report.markup import Html, data, join, tag
from regard.records import Json


@cache
def viewer_script() -> str:
    """The built viewer, one ES module for every host; goes into `<script type="module">` as it is."""
    text = files("regard.present.pack").joinpath("static", "viewer.js").read_text("utf-8")
    if "</script" in text.lower() or "<!--" in text:
        raise AssertionError("viewer.js would end its own element")
    return text


def viewer_words(lang: str) -> dict[str, str]:
    """Return the viewer's words in a language by key."""
    return {key.removeprefix("viewer."): text for key, text in catalogue(lang).items() if key.startswith("viewer.")}


def foreign_words(lang: str) -> dict[str, Json]:
    """Return the words that a host hands to the viewer; none for English, which the bundle holds."""
    return {} if lang == "en" else {**viewer_words(lang)}


def viewer_block(
    pack: Pack,
    *,
    name: str = "viewer",
    view: str = "",
    views: Sequence[str] = (),
    example: int = 0,
    theme: str = "auto",
    lang: str = "en",
    height: int | None = None,
    state: Mapping[str, Json] | None = None,
) -> Html:
    """Build the element that hosts the viewer, and its data. Any number of blocks may share one script.

    name: unique in the page. view: the initial view; views: the only ones offered (default: all that have data). state:
    initial selections (see viewer/src/state.ts). The page must hold `tag("script", {"type": "module"},
    Html(viewer_script()))` once, after the blocks.
    """
    settings: dict[str, Any] = {
        "view": view,
        "views": list(views),
        "example": example,
        "theme": theme,
        "dictionary": foreign_words(lang),
        "state": dict(state or {}),
    }
    chunks = [
        tag("script", {"type": "application/gzip", "data-chunk": key}, Html(base64.b64encode(chunk).decode("ascii")))
        for key, chunk in pack.chunks.items()
    ]
    return tag(
        "div",
        {"class": "regard-viewer", "id": name, "data-regard-viewer": "", "data-height": height},
        tag("p", {"data-placeholder": ""}, say("pack.no_script", title=pack.manifest.title)),
        tag("script", {"type": "application/json", "data-manifest": ""}, data(pack.manifest_json())),
        tag("script", {"type": "application/json", "data-settings": ""}, data(settings)),
        chunks,
    )


def digest(text: str) -> str:
    """Digest of a script in the form of a Content-Security-Policy."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii") + "'"


_PAGE_STYLE = (
    ":root{color-scheme:light dark}body{margin:0;background:light-dark(#fff,#14161a);color:light-dark(#1b1b1b,#e8e8e8);"
    "font:15px/1.5 system-ui,sans-serif}main{max-width:1280px;margin:0 auto;padding:12px 16px}h1{font-size:1.15rem;"
    "margin:.2rem 0 .6rem}.regard-viewer{min-height:640px}"
)


def viewer_page(
    pack: Pack,
    *,
    view: str = "",
    views: Sequence[str] = (),
    theme: str = "auto",
    lang: str = "en",
    state: Mapping[str, Json] | None = None,
) -> str:
    """Build one self-contained page that works from a disk without network."""
    script = viewer_script()
    policy = (
        f"default-src 'none'; script-src {digest(script)}; style-src {digest(_PAGE_STYLE)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        None,
        tag("meta", {"charset": "utf-8"}),
        tag("meta", {"http-equiv": "Content-Security-Policy", "content": policy}),
        tag("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        tag("meta", {"name": "color-scheme", "content": "light dark"}),
        tag("meta", {"name": "referrer", "content": "no-referrer"}),
        tag("title", None, f"{pack.manifest.title} – regard"),
        tag("style", None, Html(_PAGE_STYLE)),
    )
    body = tag(
        "body",
        None,
        tag(
            "main",
            None,
            tag("h1", None, pack.manifest.title),
            viewer_block(pack, view=view, views=views, theme=theme, lang=lang, state=state),
        ),
        tag("script", {"type": "module"}, Html(script)),
    )
    return "<!doctype html>\n" + join(tag("html", {"lang": lang}, head, body)) + "\n"
