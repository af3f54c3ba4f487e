"""The tables and the running text of a page, as a reader sees them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

UNSEEN = ("script", "style", "title", "svg")
BLOCKS = ("p", "li", "small", "h2", "h3", "h4", "summary", "figcaption", "caption", "div", "span")
COUNT = re.compile(r"n = (\d+)(?: in (\d+) clusters)?")


@dataclass
class Table:
    """caption: with the n that holds where neither a cell nor the head of its column has its own."""

    section: str
    figure: int
    head: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    caption: str = ""

    def size(self, row: int, column: int) -> tuple[int, int] | None:
        """The n that a reader takes for a cell, and the clusters; None where nothing says it."""
        head = self.head[column] if self.head else ""
        for words in (self.rows[row][column], head, self.caption):
            match = COUNT.search(words)
            if match:
                return int(match[1]), int(match[2] or match[1])
        return None


class Page(HTMLParser):
    """tables, and words: what stands outside of tables and their captions, by section."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[Table] = []
        self.words: dict[str, str] = {}
        self._open: list[str] = []
        self._figures: list[int] = []
        self._count = 0
        self._section = ""
        self._cell: str | None = None
        self._row: list[str] = []
        self.feed(page)
        self.words = {name: " ".join(words.split()) for name, words in self.words.items()}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("meta", "br", "hr", "input"):
            return
        self._open.append(tag)
        if tag == "section":
            self._section = dict(attrs).get("id") or ""
        elif tag == "figure":
            self._count += 1
            self._figures.append(self._count)
        elif tag == "table":
            self.tables.append(Table(self._section, self._figures[-1] if self._figures else 0))
        elif tag == "tr":
            self._row = []
        elif tag in ("td", "th"):
            self._cell = ""
        elif tag in BLOCKS:
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()
        if tag in ("td", "th"):
            self._row.append(" ".join((self._cell or "").split()))
            self._cell = None
        elif tag == "tr" and "tbody" in self._open:
            self.tables[-1].rows.append(self._row)
        elif tag == "tr":
            self.tables[-1].head = self._row
        elif tag == "figure":
            self._figures.pop()
        elif tag in BLOCKS:
            self.handle_data(" ")

    def handle_data(self, data: str) -> None:
        own = self.tables[-1] if self.tables else None
        if any(tag in UNSEEN for tag in self._open):
            return
        if self._cell is not None:
            self._cell += data
        elif "figcaption" in self._open and own and self._figures and own.figure == self._figures[-1]:
            own.caption = f"{own.caption}{data}".strip()
        else:
            self.words[self._section] = self.words.get(self._section, "") + data
