"""HTML and SVG that are safe against injection: everything that is not already `Html` is escaped."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from typing import Literal, TypeAlias

from regard.present.messages.messages import language, say
from regard.records import Json


class Html(str):
    """Markup. Only `tag` and `join` build it, from escaped pieces."""

    __slots__ = ()


Child: TypeAlias = "str | Iterable[str] | None"
Attributes: TypeAlias = Mapping[str, "str | int | float | None"]
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f]")
_UNSEEN = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
Layout = Literal["screen", "pages", "appendix"]
_LAYOUT: ContextVar[Layout] = ContextVar("layout of tables", default="screen")
PAPER_COLUMNS = 9
"""Maximum numeric columns beside the row names on a page; a browser shrinks the page for a wider table."""
VOID = frozenset({"meta", "br", "hr", "input", "rect", "line", "polyline", "polygon", "circle", "use", "path"})


def text(value: str) -> Html:
    """Escape text.

    Control characters that HTML forbids become the replacement character; others, and direction overrides, a dot.
    """
    if isinstance(value, Html):  # looked at once is enough: whole sections pass here
        return value
    return Html(escape(_UNSEEN.sub("·", _FORBIDDEN.sub("\ufffd", value)), quote=True))


def join(*children: Child) -> Html:
    """Join the children; escape strings, keep `Html`, skip None."""
    parts: list[str] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, str):
            parts.append(text(child))
        else:
            parts.extend(text(c) for c in child)
    return Html("".join(parts))


def tag(name: str, attributes: Attributes | None = None, *children: Child) -> Html:
    """Build one element.

    >>> tag("p", {"class": "n"}, "a < b", tag("br"))
    '<p class="n">a &lt; b<br></p>'
    """
    attribute_text = "".join(
        f' {key}="{text(_number(value))}"' for key, value in (attributes or {}).items() if value is not None
    )
    if name in VOID and not children:
        return Html(
            f"<{name}{attribute_text}>" if name in {"meta", "br", "hr", "input"} else f"<{name}{attribute_text}/>"
        )
    return Html(f"<{name}{attribute_text}>{join(*children)}</{name}>")


def page(title: str, style: str, policy: str, *children: Child, viewport: str = "width=device-width") -> str:
    """Build a whole HTML page in the current language, with its title as the first heading."""
    head = tag(
        "head",
        None,
        tag("meta", {"charset": "utf-8"}),
        tag("meta", {"http-equiv": "Content-Security-Policy", "content": policy}),
        tag("meta", {"name": "viewport", "content": viewport}),
        tag("title", None, title),
        tag("style", None, Html(style)),
    )
    body = tag("body", None, tag("h1", None, title), *children)
    return f"<!doctype html>{tag('html', {'lang': language()}, head, body)}\n"


def command_line(line: str) -> Html:
    """Render a command in one block; an option is never broken after its hyphens.

    >>> command_line("regard explain m --text 'a'")
    '<pre tabindex="0"><code>regard explain m <span class="option">--text</span> &#x27;a&#x27;</code></pre>'
    """
    words = (
        tag("span", {"class": "option"}, part) if part.startswith("-") else part for part in re.split(r"(\s+)", line)
    )
    return tag("pre", {"tabindex": "0"}, tag("code", None, words))


def small(words: str) -> Html | None:
    """Small print below a number; None without words."""
    return tag("small", None, words) if words else None


def _number(value: str | int | float) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def data(value: Json) -> Html:
    """Encode JSON for a script element: no character in it can end the element."""
    plain = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return Html(plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def table(
    head: Iterable[Child],
    rows: Iterable[Iterable[Child]],
    *,
    caption: str = "",
    label: str = "",
    shaded: Container[int] = (),
    numeric: bool = False,
) -> Html:
    """A table whose first column names its rows; cells that are not yet `<td>` or `<th>` are wrapped.

    A caption is printed below the table; a label is for screen readers only, if a heading above says the same. A
    numeric table that is wider than a page shows its first columns in the layout "pages", and becomes several in an
    "appendix" (`laid_out`).
    """
    names, cells_by_row = [*head], [[*row] for row in rows]
    columns = max(map(len, (names, *cells_by_row))) - 1
    layout = _LAYOUT.get() if numeric else "screen"
    parts = _parts(columns, None if layout == "screen" else PAPER_COLUMNS)
    if layout == "pages" and len(parts) > 1:
        parts = [range(1, PAPER_COLUMNS + 1)]
        caption = f"{caption} {say('page.more_columns', n=columns - PAPER_COLUMNS)}".strip()
    inner = [_columns(names, cells_by_row, part, shaded, numeric=numeric) for part in parts]
    # a table wider than a phone scrolls by itself, and can be scrolled with the keyboard; its caption stays in view
    region = {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": label or caption or say("page.table")}
    return tag("figure", None, tag("div", region, inner), tag("figcaption", None, caption) if caption else None)


@contextmanager
def laid_out(layout: Layout) -> Iterator[None]:
    """Lay tables out for a screen, for few pages or for an appendix inside the block."""
    token = _LAYOUT.set(layout)
    try:
        yield
    finally:
        _LAYOUT.reset(token)


def _parts(columns: int, most: int | None) -> list[range]:
    """Divide columns, counted from 1, into groups of similar size.

    >>> _parts(10, 9), _parts(3, 9), _parts(20, None)
    ([range(1, 6), range(6, 11)], [range(1, 4)], [range(1, 21)])
    """
    groups = max(1, math.ceil(columns / most)) if most else 1
    size = max(1, math.ceil(columns / groups))
    return [range(first, min(first + size, columns + 1)) for first in range(1, max(columns, 1) + 1, size)]


def _columns(
    head: Sequence[Child], rows: Sequence[Sequence[Child]], part: range, shaded: Container[int], *, numeric: bool
) -> Html:
    """The first column and those of `part` as one table."""
    shown_columns = (0, *part)
    body = []
    for number, row in enumerate(rows):
        cells = [_cell(row[i], first=i == 0) for i in shown_columns if i < len(row)]
        body.append(tag("tr", {"class": "base" if number in shaded else None}, cells))
    names = [tag("th", {"scope": "col"}, head[i]) for i in shown_columns if i < len(head)]
    top = tag("thead", None, tag("tr", None, names))
    return tag("table", {"class": "num" if numeric else None}, top, tag("tbody", None, body))


def _cell(cell: Child, *, first: bool) -> Html:
    if isinstance(cell, Html) and cell.startswith(("<td", "<th")):
        return cell
    return tag("th", {"scope": "row"}, cell) if first else tag("td", None, cell)
