"""Build the documentation: Markdown in docs/ plus a reference page per kind and per method -> static pages.

python docs/build.py site             pages, search, notebooks
python docs/build.py site --execute   the notebooks with outputs (a few minutes)
"""

from __future__ import annotations

import html
import inspect
import re
import shutil
import sys
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt

from regard import registry

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from site_gauge import gauge_picture  # noqa: E402 - beside this file
from site_notebooks import TUTORIALS, write_notebooks  # noqa: E402
from site_search import search_box, search_script  # noqa: E402

PAGES = [
    ("index.md", "Overview"),
    ("which-command.md", "Which command do I need?"),
    ("tutorial.md", "Ten minutes"),
    ("python.md", "Python and notebooks"),
    ("clinical.md", "Clinical notes"),
    ("images.md", "Pictures"),
    ("from-bertviz.md", "Coming from BertViz"),
    ("from-captum.md", "Coming from Captum"),
    ("from-inseq.md", "Coming from inseq"),
    ("from-lit.md", "Coming from LIT"),
    ("zh-quickstart.md", "快速开始（中文）"),
    ("zh-tutorial.md", "十分钟教程（中文）"),
    ("zh-glossary.md", "术语表（中文）"),
    ("verdicts.md", "How to read each verdict"),
    ("report.md", "The report"),
    ("faq.md", "Questions people ask"),
    ("walkthrough.md", "Attention by hand"),
    ("viewing.md", "Looking at attention"),
    ("gallery.md", "Every view"),
    ("capture.md", "Capture and edit"),
    ("preconditions.md", "Before you look"),
    ("data.md", "Data and models"),
    ("series.md", "Series and tables"),
    ("onnx.md", "Exported models (ONNX)"),
    ("cookbook.md", "Cookbook: your own model"),
    ("training.md", "Training"),
    ("metrics.md", "Metrics"),
    ("explainer-comparison.md", "LRP compared with other explainers"),
    ("experiments.md", "Experiments that train"),
    ("robustness.md", "Noise"),
    ("attacks.md", "Attacks"),
    ("answers-tutorial.md", "An answer and its sources"),
    ("answers.md", "Where did this answer come from?"),
    ("trust-citations.md", "Can you trust these citations?"),
    ("long-context.md", "Long prompts"),
    ("scaling.md", "Large data, large models"),
    ("translation.md", "A translation, word by word"),
    ("heads.md", "Heads"),
    ("explanation-robustness.md", "Do explanations hold?"),
    ("improving.md", "Improving"),
    ("gates.md", "Gates"),
    ("serving.md", "A service"),
    ("api-models.md", "Models behind an API"),
    ("evidence.md", "Evidence for auditors"),
    ("pipelines.md", "Into your pipelines"),
    ("reading.md", "Reading the numbers"),
    ("truth.md", "Testing the judge"),
    ("replication.md", "The published tables"),
    ("exit-codes.md", "Command line"),
    ("peers.md", "Beside other libraries"),
    ("support.md", "Supported architectures"),
    ("glossary.md", "Glossary"),
]
"""In the order of the menu; pages that are not named here follow under their own headings."""
METHODS = [kind for kind in registry.ROOMS if kind != "language"]
"""Kinds that are code; a language is a file of sentences."""
REFERENCE = "Reference: "
CHINESE = {"zh-quickstart.md", "zh-tutorial.md", "zh-glossary.md"}
LOOKS = {"index.md": "wide landing", "which-command.md": "wide tree"}
"""Page -> the classes of its content."""
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
nav a[aria-current]{font-weight:600;color:var(--ink)}nav span{display:block;margin-top:1rem;font-size:.85em;opacity:.75}
img{max-width:100%;height:auto}.to-menu{display:none}
.search input{width:100%;box-sizing:border-box;font:inherit;padding:.3rem .5rem;border:1px solid var(--line);
border-radius:4px;background:var(--paper);color:var(--ink)}.search span{margin-top:.6rem}
#hits{list-style:none;margin:0 0 .6rem;padding:0;background:var(--soft)}#hits a{padding:.25rem .5rem}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);margin:0}
.side{display:grid;grid-template-columns:1fr 1fr;gap:.8rem}.side>div{min-width:0}.side b{font-size:.85em;opacity:.75}
.side pre{margin-top:.2rem;white-space:pre-wrap}main.wide{max-width:64rem}
@media(max-width:60rem){.side{grid-template-columns:1fr;gap:0}}
.tree ul ul{border-left:2px solid var(--line);padding-left:1.3rem}.tree li{margin:.25rem 0}
.landing td{width:33%}
@media(max-width:45rem){.landing table,.landing tbody,.landing tr,.landing td{display:block;width:auto;border:0}
.landing thead{display:none}}
@media(max-width:45rem){body{flex-direction:column;gap:0}main{order:1;padding:.5rem 1rem}nav{order:2;flex:none;
min-height:0;border:0;border-top:1px solid var(--line)}.to-menu{display:block;order:0;padding:.8rem 1rem 0}}
@media print{nav,.to-menu{display:none}}
"""


def plural(kind: str) -> str:
    return "planted models" if kind == "planted" else f"{kind}s"


ASKED = {
    "formula": "formula", "better": "better", "misleads": "when it misleads", "needs": "needs", "cost": "cost",
    "differs": "what differs from released code",
    "baseline": "baseline", "ceiling": "ceiling", "cite": "reference", "family": "family", "question": "question",
}  # fmt: skip
"""Facts in the order in which a reader asks for them; the others follow under their own names."""


def page_of(kind: str, name: str) -> str:
    """Return the file name of one method's page."""
    return f"{kind}-{name.replace('_', '-')}.md"


def reference(kind: str) -> str:
    """Return the Markdown of one kind's list: every method with its summary, and a link to its page."""
    rows = [f"# {plural(kind).capitalize()}\n", "| name | what comes out |", "|---|---|"]
    for name in registry.names(kind):
        rows.append(f"| [`{name}`]({page_of(kind, name)}) | {_cell(registry.entry(kind, name).summary)} |")
    return "\n".join(rows)


def method_page(kind: str, name: str) -> str:
    """Return the Markdown of one method's page, from its signature, its docstring and the facts of its decorator."""
    entry, function = registry.entry(kind, name), registry.find(kind, name)
    summary, _, rest = (inspect.getdoc(function) or "").partition("\n")
    out = [f"# `{name}`\n\n*{kind}*: {summary}\n"]
    facts = {k: v for k, v in entry.facts.items() if v not in ("", [], None)}
    if facts:
        out.append("| | |\n|---|---|")
        for key in sorted(facts, key=lambda k: list(ASKED).index(k) if k in ASKED else len(ASKED)):
            value = facts[key]
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            out.append(f"| {ASKED.get(key, key)} | {_cell(shown)} |")
        out.append("")
    text, example = _split(rest)
    out.append(text)
    if entry.parameters:
        out.append("\n## Parameters\n\n| parameter | type | default |\n|---|---|---|")
        out += [f"| `{p.name}` | {_cell(p.type)} | `{p.default!r}` |" for p in entry.parameters]
    if example:
        out.append(f"\n## Example\n\n```\n{example}\n```")
    out.append(f"\n## Use\n\n```\nfrom {entry.module} import {name}\n```")
    if kind in ("explainer", "metric"):
        verb = (
            f"regard explain MODEL --text '...' --method {name}"
            if kind == "explainer"
            else (f"regard metrics RUN --metric {name}")
        )
        out.append(f"\n```\n{verb}\n```")
    return "\n".join(out)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")  # a bar would end the table cell


def _split(text: str) -> tuple[str, str]:
    """Return (the words, the doctests) of a docstring."""
    lines = text.strip("\n").splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith(">>>")), len(lines))
    return "\n".join(lines[:first]), "\n".join(lines[first:])


def _others() -> list[tuple[str, str]]:
    """Return the pages that are missing in the menu, by their first heading."""
    named = {name for name, _ in PAGES}
    found = [path for path in sorted(HERE.glob("*.md")) if path.name not in named]
    return [(path.name, path.read_text("utf-8").partition("\n")[0].lstrip("# ").strip()) for path in found]


def _anchored(render: MarkdownIt, text: str) -> str:
    """Return HTML with linkable headings: `#is-it-exclusive`."""
    tokens = render.parse(text)
    for token, inside in pairwise(tokens):
        if token.type == "heading_open":
            token.attrSet("id", re.sub(r"[^\w]+", "-", inside.content.lower()).strip("-"))
    return str(render.renderer.render(tokens, render.options, {}))


def _side_by_side(body: str, theirs: str) -> str:
    """Place a `py` block of another library beside the `python` block of ours that follows it."""
    block = r'(<pre><code class="language-{}">.*?</code></pre>)'
    pair = re.compile(block.format("py") + r"\s*" + block.format("python"), re.S)
    columns = rf'<div class="side"><div><b>{html.escape(theirs)}</b>\1</div><div><b>regard</b>\2</div></div>'
    return pair.sub(columns, body)


def _content(render: MarkdownIt, name: str, title: str, text: str) -> str:
    """Return the HTML of a page, with a link to its notebook if it is a tutorial."""
    body = re.sub(r'href="([^":]+)\.md(#[^"]*)?"', r'href="\1.html\2"', _anchored(render, text))
    body = _side_by_side(body, title.removeprefix("Coming from "))
    if name in TUTORIALS:
        words = "下载本页的笔记本" if name in CHINESE else "This page as a notebook"
        body += f'<p><a href="{name.removesuffix(".md")}.ipynb" download>{words}</a></p>'
    return body


def build(target: Path, *, execute: bool = False) -> list[Path]:
    """Write every page, the search index and the notebooks; return the paths of the pages."""
    target.mkdir(parents=True, exist_ok=True)
    render = MarkdownIt("commonmark", {"html": False}).enable("table")
    sources = [(name, title, (HERE / name).read_text("utf-8")) for name, title in [*PAGES, *_others()]]
    sources += [(f"{kind}s.md", f"{REFERENCE}{plural(kind)}", reference(kind)) for kind in METHODS]
    links = [(name.removesuffix(".md") + ".html", title) for name, title, _ in sources]
    sources += [
        (page_of(kind, name), name, method_page(kind, name)) for kind in METHODS for name in registry.names(kind)
    ]
    contents = {name: _content(render, name, title, text) for name, title, text in sources}
    entries = [(name.removesuffix(".md") + ".html", title, contents[name]) for name, title, _ in sources]
    (target / "search.js").write_text(search_script(entries), "utf-8")
    write_notebooks(HERE, target, run=execute)
    written = []
    for name, title, _ in sources:
        file = name.removesuffix(".md") + ".html"
        current = ' aria-current="page"'
        first = next((href for href, t in links if t.startswith(REFERENCE)), "")
        nav = "".join(
            ("<span>Reference</span>" if href == first else "")
            + f'<a href="{href}"{current if href == file else ""}>{html.escape(t.removeprefix(REFERENCE))}</a>'
            for href, t in links
        )
        look = "wide" if name.startswith("from-") else LOOKS.get(name, "")
        body, wide = contents[name], f' class="{look}"' if look else ""
        lang = "zh-Hans" if name in CHINESE else "en"
        page = (
            f'<!doctype html><html lang="{lang}"><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width">'
            f"<title>{html.escape(title)} - regard</title><style>{STYLE}</style>"
            f'<a class="to-menu" href="#pages">{"目录" if name in CHINESE else "All pages"}</a>'
            f"<nav id='pages' aria-label='Pages'><strong>regard</strong>"
            f"{search_box(name in CHINESE)}{nav}</nav><main{wide}>{body}</main>"
            '<script src="search.js" defer></script></html>'
        )
        path = target / file
        path.write_text(page, "utf-8")
        written.append(path)
    shutil.copytree(HERE / "pictures", target / "pictures", dirs_exist_ok=True)
    (target / "pictures" / "gauge.svg").write_text(gauge_picture(), "utf-8")
    return written


if __name__ == "__main__":
    folders = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    pages = build(Path(folders[0] if folders else "site"), execute="--execute" in sys.argv)
    print(f"wrote {len(pages)} pages to {pages[0].parent}/ (start at {pages[0]})")
