"""A view as a picture without a browser: SVG by the viewer's own drawing code in a small JavaScript engine.

The engine (QuickJS) runs `present/pack/static/viewer_svg.js`, our own file and nothing else, so this draws exactly
what the page draws. PNG and PDF are made from that SVG.
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

from regard.errors import EnvironmentProblem, InputError, UnknownName
from regard.present.pack.records import Pack
from regard.records import Json
from regard.store.blobs import write_output

EXTRA = "pip install 'regard[figures]'"
MEMORY = 1 << 30
SANS = "'Segoe UI', 'Helvetica Neue', Arial, 'Liberation Sans', 'DejaVu Sans',"
FORMATS = ("svg", "png", "pdf", "html")


def svg(
    pack: Pack, view: str = "", *, width: int = 900, dark: bool = False, lang: str = "en",
    state: Mapping[str, Json] | None = None,
) -> str:  # fmt: skip
    """One view of a pack as SVG: texts and paths, no script, nothing from outside.

    view: its name (default: the first that the pack has data for). state: what a user would have clicked: example,
    site, head, pool, hideSpecial, threshold, locked, ...
    """
    there = views(pack, int(_number(state, "example")))
    if not there:
        raise InputError("figure", expected="a pack with something to draw", got="an empty one")
    chosen = view or next(iter(there))
    if chosen not in there:
        raise UnknownName("view of this data", chosen, there)
    options: dict[str, Json] = {"width": width, "dark": dark, "lang": lang, **(state or {})}
    drawn = _call("renderSvg", chosen, pack.manifest_json(), _Chunks(pack), options)
    return str(drawn)


def views(pack: Pack, example: int = 0) -> dict[str, str]:
    """name -> title of every view that this pack has data for, in their order."""
    found = _call("viewNames", pack.manifest_json(), example)
    return {str(name): str(title) for name, title in found}


def table(pack: Pack, view: str, *, lang: str = "en", state: Mapping[str, Json] | None = None) -> dict[str, Any] | None:
    """The text form of a view: {caption, columns, rows}; None where it has none."""
    found = _call("renderTable", view, pack.manifest_json(), _Chunks(pack), {"lang": lang, **(state or {})})
    return None if found is None else dict(found)


def write_figure(
    pack: Pack, path: Path, view: str = "", *, width: int = 900, dark: bool = False, lang: str = "en",
    state: Mapping[str, Json] | None = None,
) -> Path:  # fmt: skip
    """A view as .svg, .png, .pdf or .html, by the ending of `path`."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise UnknownName("format", ending or path.name, FORMATS)
    if ending == "html":
        from regard.present.pack.viewer_block import viewer_page

        data = viewer_page(pack, view=view, lang=lang, theme="dark" if dark else "auto", state=state).encode()
    else:
        drawn = svg(pack, view, width=width, dark=dark, lang=lang, state=state)
        data = drawn.encode() if ending == "svg" else png(drawn) if ending == "png" else pdf(drawn)
    write_output(path, data)
    return path


def png(drawn: str, *, scale: float = 2.0) -> bytes:
    """An SVG as pixels, `scale` for each of its own."""
    return bytes(_typeset(drawn, "png", scale))


def pdf(drawn: str) -> bytes:
    """An SVG as one page of its size; texts stay texts."""
    return bytes(_typeset(drawn, "pdf", 1.0))


def _typeset(drawn: str, form: Literal["png", "pdf"], scale: float) -> bytes:
    try:
        import typst
    except ImportError as error:
        raise EnvironmentProblem(f"a {form} file", expected="the package typst", got="none", remedy=EXTRA) from error
    import tempfile

    drawn = drawn.replace("system-ui,", SANS)  # a browser's word, which no font answers to
    page = '#set page(width: auto, height: auto, margin: 0pt)\n#image("drawn.svg")\n'
    with tempfile.TemporaryDirectory(prefix="regard-figure-") as folder:
        (Path(folder) / "drawn.svg").write_text(drawn, "utf-8")
        (Path(folder) / "page.typ").write_text(page, "utf-8")
        made: bytes = typst.compile(str(Path(folder) / "page.typ"), root=folder, format=form, ppi=96.0 * scale)
    return bytes(made)


class _Chunks:
    """The chunks of a pack for the engine, decompressed when they are asked for."""

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
        raise EnvironmentProblem("a figure", expected="the package quickjs-ng", got="none", remedy=EXTRA) from error
    context = quickjs.Context()
    context.set_memory_limit(MEMORY)
    context.set_max_stack_size(8 << 20)
    context.eval(_source())
    given: list[Any] = []
    for arg in args:
        if isinstance(arg, _Chunks):
            context.add_callable("chunkText", arg.get)
            given.append({"$chunks": True})
        else:
            given.append(arg)
    context.eval("globalThis.chunkText ??= () => null;" + _DOOR)
    try:
        said = context.get("callJson")(name, json.dumps(given))
    except quickjs.JSException as error:
        raise InputError("figure", expected="a view that can be drawn", got=str(error).splitlines()[0]) from error
    return json.loads(said)


def _number(state: Mapping[str, Json] | None, name: str) -> int:
    value = (state or {}).get(name, 0)
    return value if isinstance(value, int) else 0
