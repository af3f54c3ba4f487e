"""Figures without a browser: the viewer's own drawing code renders SVG in a small JavaScript engine.

The engine (QuickJS) runs `present/pack/static/viewer_svg.js`, our own file and nothing else, so the
figures equal those of the page. PNG and PDF are made from that SVG.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from regard.errors import EnvironmentProblem, InputError, UnknownName, phrase
from regard.present.pack.records import Pack
from regard.present.pack.viewer_block import foreign_words, viewer_page
from regard.records import Json
from regard.store.blobs import write_output

EXTRA = "pip install 'regard[figures]'"
MEMORY = 1 << 30
SANS = "'Segoe UI', 'Helvetica Neue', Arial, 'Liberation Sans', 'DejaVu Sans',"
FORMATS = ("svg", "png", "pdf", "html")


def svg(
    pack: Pack,
    view: str = "",
    *,
    width: int = 900,
    dark: bool = False,
    lang: str = "en",
    state: Mapping[str, Json] | None = None,
) -> str:
    """Draw one view of a pack as self-contained SVG without scripts.

    view: its name (default: the first that the pack has data for). state: initial viewer state: example,
    site, head, pool, hideSpecial, threshold, locked, ...
    """
    available = views(pack, int(_number(state, "example")))
    if not available:
        raise InputError(
            phrase("errors.live.figure"),
            expected=phrase("errors.live.pack_with_something_draw"),
            got=phrase("errors.common.empty_one"),
        )
    name = view or next(iter(available))
    if name not in available:
        raise UnknownName(phrase("errors.live.view_this_data"), name, available)
    options: dict[str, Json] = {"width": width, "dark": dark, "dictionary": foreign_words(lang), **(state or {})}
    text = _call("renderSvg", name, pack.manifest_json(), _Chunks(pack), options)
    return str(text)


def views(pack: Pack, example: int = 0) -> dict[str, str]:
    """Return {name: title} of every view that this pack has data for, in order."""
    titles = _call("viewNames", pack.manifest_json(), example)
    return {str(name): str(title) for name, title in titles}


def table(pack: Pack, view: str, *, lang: str = "en", state: Mapping[str, Json] | None = None) -> dict[str, Any] | None:
    """Return the table of a view as {caption, columns, rows}, or None."""
    options: dict[str, Json] = {"dictionary": foreign_words(lang), **(state or {})}
    fields = _call("renderTable", view, pack.manifest_json(), _Chunks(pack), options)
    return None if fields is None else dict(fields)


def write_figure(
    pack: Pack,
    path: Path,
    view: str = "",
    *,
    width: int = 900,
    dark: bool = False,
    lang: str = "en",
    state: Mapping[str, Json] | None = None,
) -> Path:
    """Write a view as .svg, .png, .pdf or .html, by the suffix of `path`."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise UnknownName("format", ending or path.name, FORMATS)
    if ending == "html":
        data = viewer_page(pack, view=view, lang=lang, theme="dark" if dark else "auto", state=state).encode()
    else:
        image = svg(pack, view, width=width, dark=dark, lang=lang, state=state)
        data = image.encode() if ending == "svg" else png(image) if ending == "png" else pdf(image)
    write_output(path, data)
    return path


def png(drawn: str, *, scale: float = 2.0) -> bytes:
    """Render an SVG as PNG, `scale` pixels per unit."""
    return bytes(_typeset(drawn, "png", scale))


def pdf(drawn: str) -> bytes:
    """Render an SVG as a one-page PDF with selectable text."""
    return bytes(_typeset(drawn, "pdf", 1.0))


def _typeset(svg_text: str, form: Literal["png", "pdf"], scale: float) -> bytes:
    try:
        import typst
    except ImportError as error:
        raise EnvironmentProblem(
            phrase("errors.live.file_form", form=form),
            expected=phrase("errors.live.package_typst"),
            got=phrase("errors.common.none"),
            remedy=EXTRA,
        ) from error
    import tempfile

    svg_text = svg_text.replace("system-ui,", SANS)  # a browser's word, which no font answers to
    page = '#set page(width: auto, height: auto, margin: 0pt)\n#image("drawn.svg")\n'
    with tempfile.TemporaryDirectory(prefix="regard-figure-") as folder:
        (Path(folder) / "drawn.svg").write_text(svg_text, "utf-8")
        (Path(folder) / "page.typ").write_text(page, "utf-8")
        document: bytes = typst.compile(str(Path(folder) / "page.typ"), root=folder, format=form, ppi=96.0 * scale)
    return bytes(document)


class _Chunks:
    """Chunks of a pack, decompressed on access."""

    def __init__(self, pack: Pack) -> None:
        self._pack = pack

    def get(self, name: str) -> str | None:
        if name not in self._pack.chunks:
            return None
        return base64.b64encode(gzip.decompress(self._pack.chunks[name])).decode()


@cache
def _source() -> str:
    return files("regard.present.pack").joinpath("static", "viewer_svg.js").read_text("utf-8")


_DOOR = """
globalThis.callJson = (name, given) => {
  const args = JSON.parse(given);
  const chunks = new Proxy({}, { get: (_, id) => { const t = chunkText(id); return t === null ? undefined : t; } });
  const filled = args.map((a) => (a && a.$chunks ? chunks : a));
  const out = globalThis[name](...filled);
  return JSON.stringify(out === undefined ? null : out);
};
"""


def _call(name: str, *args: Any) -> Any:
    try:
        import quickjs
    except ImportError as error:
        raise EnvironmentProblem(
            phrase("errors.live.a_figure"),
            expected=phrase("errors.live.package_quickjs_ng"),
            got=phrase("errors.common.none"),
            remedy=EXTRA,
        ) from error
    context = quickjs.Context()
    context.set_memory_limit(MEMORY)
    context.set_max_stack_size(8 << 20)
    context.eval(_source())
    arguments: list[Any] = []
    for arg in args:
        if isinstance(arg, _Chunks):
            context.add_callable("chunkText", arg.get)
            arguments.append({"$chunks": True})
        else:
            arguments.append(arg)
    context.eval("globalThis.chunkText ??= () => null;" + _DOOR)
    try:
        result = context.get("callJson")(name, json.dumps(arguments))
    except quickjs.JSException as error:
        raise InputError(
            phrase("errors.live.figure"),
            expected=phrase("errors.live.view_that_can_drawn"),
            got=str(error).splitlines()[0],
        ) from error
    return json.loads(result)


def _number(state: Mapping[str, Json] | None, name: str) -> int:
    value = (state or {}).get(name, 0)
    return value if isinstance(value, int) else 0
