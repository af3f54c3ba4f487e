"""Search of the documentation without a network: an index and a small script, written as one file beside the pages."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence

TEXT = 4000
"""Characters of a page that are searched, after its title and headings."""

SCRIPT = """
(() => {
  const box = document.getElementById("search"), list = document.getElementById("hits");
  if (!box) return;
  const score = (page, words) => {
    let sum = 0;
    for (const word of words) {
      const hit = (page.t.includes(word) ? 20 : 0) + (page.t === word ? 40 : 0) + (page.h.includes(word) ? 5 : 0)
        + (page.b.includes(word) ? 1 : 0);
      if (!hit) return 0;
      sum += hit;
    }
    return sum;
  };
  const show = () => {
    const words = box.value.toLowerCase().split(/[\\s_-]+/).filter(Boolean);
    const found = words.length ? PAGES.map((page) => [score(page, words), page]).filter((hit) => hit[0]) : [];
    found.sort((a, b) => b[0] - a[0] || a[1].t.length - b[1].t.length);
    list.replaceChildren(...found.slice(0, 12).map(([, page]) => {
      const link = document.createElement("a");
      link.href = page.u;
      link.textContent = page.n;
      const row = document.createElement("li");
      row.append(link);
      return row;
    }));
    box.setAttribute("aria-expanded", String(found.length > 0));
    document.getElementById("hit-count").textContent = words.length ? String(found.length) : "";
  };
  box.addEventListener("input", show);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { box.value = ""; show(); }
    if (event.key === "Enter" && list.firstChild) list.querySelector("a").click();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/INPUT|TEXTAREA/.test(document.activeElement.tagName)) {
      event.preventDefault();
      box.focus();
    }
  });
})();
"""


def search_script(pages: Sequence[tuple[str, str, str]]) -> str:
    """Return the script with its index; pages: (address, title, HTML of the content)."""
    entries = []
    for address, title, body in pages:
        headings = " ".join(re.findall(r"<h[1-6][^>]*>(.*?)</h[1-6]>", body, re.S))
        entries.append({"u": address, "n": title, "t": _plain(title), "h": _plain(headings), "b": _plain(body)[:TEXT]})
    index = json.dumps(entries, ensure_ascii=False).replace("</", "<\\/")
    return f"const PAGES = {index};\n{SCRIPT}"


def search_box(chinese: bool) -> str:
    """Return the field, its result list, and the line that tells a screen reader how many pages match."""
    label = "搜索" if chinese else "Search"
    return (
        f'<label class="search"><span>{label}</span> <input id="search" type="search" autocomplete="off" '
        'role="combobox" aria-expanded="false" aria-controls="hits" placeholder="/"></label>'
        '<ul id="hits"></ul><p id="hit-count" role="status" class="unseen"></p>'
    )


def _plain(markup: str) -> str:
    """Return lower-case words without markup; names with underscores become words.

    >>> _plain("<h1>Leave_one_out &amp; more</h1>")
    'leave one out & more'
    """
    words = html.unescape(re.sub(r"<[^>]+>", " ", markup)).lower()
    return " ".join(re.sub(r"[_-]", " ", words).split())
