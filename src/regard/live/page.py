"""The page of the local app: an empty shell that requests its content with the token."""

from __future__ import annotations

from functools import cache

from regard.present.messages.messages import say, speaking
from regard.present.pack.viewer_block import digest, viewer_script
from regard.present.report.markup import Html, join, tag

STYLE = (
    ":root{color-scheme:light dark}body{margin:0;background:light-dark(#fff,#14161a);color:light-dark(#1b1b1b,#e8e8e8);"
    "font:15px/1.5 system-ui,sans-serif}main{max-width:1280px;margin:0 auto;padding:12px 16px}"
)


def app_page(lang: str) -> tuple[bytes, tuple[str, ...]]:
    """Return the page and the hashes of its inline styles."""
    head = tag(
        "head",
        None,
        tag("meta", {"charset": "utf-8"}),
        tag("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        tag("meta", {"name": "color-scheme", "content": "light dark"}),
        tag("title", None, "regard"),
        Html('<link rel="icon" href="data:,">'),  # so that no browser asks for one
        tag("style", None, Html(STYLE)),
    )
    with speaking(lang):
        no_script = say("pack.no_script", title="regard")
        refused = say("viewer.app_refused", status="{status}")
    body = tag(
        "body",
        None,
        tag("main", {"data-regard-app": "", "data-refused": refused}, tag("p", None, no_script)),
        tag("script", {"type": "module", "src": "/static/viewer.js"}),
    )
    whole = "<!doctype html>\n" + join(tag("html", {"lang": lang}, head, body)) + "\n"
    return whole.encode(), (digest(STYLE),)


@cache
def scripts() -> dict[str, bytes]:
    """Return the only files that the app serves, by name."""
    return {"viewer.js": viewer_script().encode()}
