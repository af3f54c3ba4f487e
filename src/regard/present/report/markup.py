"""HTML and SVG that cannot be injected into: whatever is not already `Html` is escaped."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from regard.records import Json


class Html(str):
    """Text that is markup already. Made by `tag` and `join` only, from escaped pieces."""

    __slots__ = ()


Child: TypeAlias = "str | Iterable[str] | None"
Attributes: TypeAlias = Mapping[str, "str | int | float | None"]
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f]")
_UNSEEN = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
VOID = frozenset({"meta", "br", "hr", "input", "rect", "line", "polyline", "polygon", "circle", "use", "path"})


def text(value: str) -> Html:
    """Escaped text; control characters that HTML forbids become the replacement character, others and overrides
    of the direction of writing a dot."""
    if isinstance(value, Html):  # looked at once is enough: whole sections pass here
        return value
    return Html(escape(_UNSEEN.sub("·", _FORBIDDEN.sub("\ufffd", value)), quote=True))


def join(*children: Child) -> Html:
    """The children one after the other; strings are escaped, `Html` is kept, None is left out."""
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
    """One element.

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


def command_line(line: str) -> Html:
    """A command in one block; an option is never broken after its hyphens.

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
    """JSON that may stand inside a script element: no character in it can end the element."""
    plain = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return Html(plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


@dataclass(frozen=True, slots=True)
class PaperTables:
    """Tables of numbers on paper, which cannot be scrolled. columns: of one table beside its first.

    note: says how many columns are left out; None: a wider table is printed in parts.
    """

    columns: int
    note: Callable[[int], str] | None


_PAPER: ContextVar[PaperTables | None] = ContextVar("paper_tables", default=None)


@contextmanager
def on_paper(tables: PaperTables | None) -> Iterator[None]:
    """Build tables for a sheet; None: for a screen."""
    token = _PAPER.set(tables)
    try:
        yield
    finally:
        _PAPER.reset(token)


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

    A caption is printed below the table; a label is for screen readers only, where a heading above says the same.
    """
    paper, names, lines = _PAPER.get(), [*head], [[*row] for row in rows]
    if paper is None or not numeric or len(names) <= paper.columns + 1:
        return _one_table(names, lines, caption=caption, label=label, shaded=shaded, numeric=numeric)
    starts = range(1, len(names) if paper.note is None else 2, paper.columns)
    parts = []
    for start in starts:
        stop = start + paper.columns
        rest = "" if paper.note is None else paper.note(len(names) - stop)
        parts.append(
            _one_table(
                [names[0], *names[start:stop]],
                [[line[0], *line[start:stop]] for line in lines],
                caption=" ".join(filter(None, [caption, rest])),  # with every part: it holds the n of its numbers
                label=label,
                shaded=shaded,
                numeric=numeric,
            )
        )
    return join(*parts)


def _one_table(
    head: Iterable[Child],
    rows: Iterable[Iterable[Child]],
    *,
    caption: str,
    label: str,
    shaded: Container[int],
    numeric: bool,
) -> Html:
    body = []
    for number, row in enumerate(rows):
        cells = [_cell(cell, first=i == 0) for i, cell in enumerate(row)]
        body.append(tag("tr", {"class": "base" if number in shaded else None}, cells))
    top = tag("thead", None, tag("tr", None, [tag("th", {"scope": "col"}, h) for h in head]))
    inner = tag("table", {"class": "num" if numeric else None}, top, tag("tbody", None, body))
    # a table wider than a phone scrolls by itself, and can be scrolled with the keyboard; its caption stays in view
    region = {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": label or caption or "table"}
    return tag("figure", None, tag("div", region, inner), tag("figcaption", None, caption) if caption else None)


def _cell(cell: Child, *, first: bool) -> Html:
    if isinstance(cell, Html) and cell.startswith(("<td", "<th")):
        return cell
    return tag("th", {"scope": "row"}, cell) if first else tag("td", None, cell)
