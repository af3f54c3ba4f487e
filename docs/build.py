"""Builds the documentation: Markdown in docs/ plus one reference page per kind of method -> static pages.

python docs/build.py site
"""

from __future__ import annotations

import html
import sys
from pathlib import Path

from markdown_it import MarkdownIt

from regard import registry

HERE = Path(__file__).parent
PAGES = [
    ("index.md", "Overview"),
    ("tutorial.md", "Ten minutes"),
    ("walkthrough.md", "Attention by hand"),
    ("capture.md", "Capture and edit"),
    ("preconditions.md", "Before you look"),
    ("data.md", "Data and models"),
    ("reading.md", "Reading the numbers"),
    ("exit-codes.md", "Command line"),
    ("support.md", "Supported architectures"),
    ("glossary.md", "Glossary"),
]
STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--soft:#f3f4f6;--line:#d7dbe0;--link:#0b5cad}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--paper:#14171a;--soft:#1f2429;--line:#343b43;--link:#7db7f0}}
body{font:16px/1.6 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:0;display:flex;gap:2rem}
nav{flex:0 0 13rem;padding:1.5rem;border-right:1px solid var(--line);min-height:100vh}
nav a{display:block;padding:.2rem 0;text-decoration:none}a{color:var(--link)}
main{max-width:48rem;padding:1.5rem 1.5rem 4rem 0;overflow-x:auto}
pre{background:var(--soft);padding:.8rem;overflow-x:auto;border-radius:4px}code{font-size:.9em}
table{border-collapse:collapse;font-size:.92em}
td,th{border:1px solid var(--line);padding:.3rem .6rem;text-align:left;vertical-align:top}
@media(max-width:45rem){body{display:block}nav{min-height:0;border:0}main{padding:1rem}}
"""


def plural(kind: str) -> str:
    return "planted models" if kind == "planted" else f"{kind}s"


def reference(kind: str) -> str:
    """The Markdown of one kind's reference page, from the catalogue (signatures and docstrings)."""
    out = [f"# {plural(kind).capitalize()}\n"]
    for name in registry.names(kind):
        entry = registry.entry(kind, name)
        out.append(f"## `{name}`\n\n{entry.summary}\n")
        facts = {k: v for k, v in entry.facts.items() if v not in ("", [], None)}
        if facts:
            out.append("| | |\n|---|---|")
            for key, value in facts.items():
                shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
                shown = shown.replace("|", "\\|")  # a bar would end the table cell
                out.append(f"| {key} | {shown} |")
            out.append("")
        if entry.parameters:
            out.append("| parameter | type | default |\n|---|---|---|")
            out += [f"| `{p.name}` | {p.type} | `{p.default!r}` |" for p in entry.parameters]
            out.append("")
    return "\n".join(out)


def build(target: Path) -> list[Path]:
    """Writes every page; returns their paths."""
    target.mkdir(parents=True, exist_ok=True)
    render = MarkdownIt("commonmark", {"html": False}).enable("table")
    sources = [(name, title, (HERE / name).read_text("utf-8")) for name, title in PAGES]
    sources += [(f"{kind}s.md", f"Reference: {plural(kind)}", reference(kind)) for kind in registry.ROOMS]
    links = [(name.removesuffix(".md") + ".html", title) for name, title, _ in sources]
    written = []
    for (name, title, text), (file, _) in zip(sources, links, strict=True):
        current = ' aria-current="page"'
        nav = "".join(f'<a href="{href}"{current if href == file else ""}>{html.escape(t)}</a>' for href, t in links)
        body = render.render(text).replace('.md"', '.html"')
        page = (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{html.escape(title)} - regard</title><style>{STYLE}</style>"
            f"<nav aria-label='Pages'><strong>regard</strong>{nav}</nav><main>{body}</main></html>"
        )
        path = target / file
        path.write_text(page, "utf-8")
        written.append(path)
        assert name
    return written


if __name__ == "__main__":
    pages = build(Path(sys.argv[1] if len(sys.argv) > 1 else "site"))
    print(f"wrote {len(pages)} pages to {pages[0].parent}/ (start at {pages[0]})")
