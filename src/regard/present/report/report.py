"""Report as one self-contained page: no network, no trackers, and only the script lines whose hash the page names."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from regard.audits.conclusions.run_facts import RunReader
from regard.present.messages.messages import language, say, speaking
from regard.present.objective_scale import about_task
from regard.present.pack.viewer_block import digest, viewer_script
from regard.present.palette import LEVELS, SERIES_COLOURS
from regard.present.report.markup import Html, Layout, join, laid_out, tag
from regard.present.report.sections.facts import broken, fact_line, unfinished
from regard.present.report.sections.first_screen import first_screen
from regard.present.run_reader import Material
from regard.store.blobs import write_output

SECTIONS = (
    "verdicts",
    "plan_followed",
    "exhibits",
    "shift",
    "preconditions",
    "errs",
    "in_words",
    "results",
    "removal_in_distribution",
    "removal_curves",
    "agreement_matrix",
    "by_class",
    "by_slice",
    "worked_examples",
    "attention_view",
    "heads",
    "robustness",
    "improvement",
    "meaning",
    "settings",
    "facts",
    "troubles",
    "limits",
)
"""Files of `present/sections/`, in the order of the page; the catalogue has their titles."""
PRINTED = ("verdicts", "plan_followed", "exhibits", "limits", "preconditions", "errs", "shift", "facts", "results")
"""Sections on paper without an appendix; if the pages do not suffice, the last ones are dropped first."""
MOST_BYTES = 50 << 20
"""Maximum bytes of a page; omitted parts are named."""
SPARE = {"worked_examples", "attention_view", "removal_curves", "agreement_matrix", "by_class", "by_slice", "results"}
"""Sections that may be dropped: the run directory has all of their content."""


@dataclass(frozen=True, slots=True)
class Paper:
    """A page to print. size: sheet size, in CSS. sections: those to print; appendix: everything, unfolded."""

    size: str = "A4"
    sections: tuple[str, ...] = PRINTED
    appendix: bool = False


def write_report(run: RunReader, out: Path | str, *, lang: str = "", paper: Paper | None = None) -> Path:
    """Write the report of a run; `out` is a file name, or a directory for `report.html`.

    The write is atomic. lang: "en", "zh"; default: the current language. paper: for a printer, without the interactive
    views.
    """
    path = Path(out)
    if path.is_dir() or path.suffix == "":
        path = path / "report.html"
    with speaking(lang or language()):
        page = report(run, paper=paper)
    write_output(path, page.encode())
    return path


def report(run: RunReader, *, paper: Paper | None = None) -> str:
    """Render the whole page as text, in the current language."""
    material = Material(run)
    layout: Layout = "screen" if paper is None else "appendix" if paper.appendix else "pages"
    with about_task(material.task), laid_out(layout):
        return _page(material, paper)


def _page(material: Material, paper: Paper | None) -> str:
    sections, titles = _sections(material, paper)
    style = page_style(paper)
    script = viewer_script() if "attention_view" in sections else ""
    cut = _within(sections, titles, len(style) + len(script))
    script = script if "attention_view" in sections else ""
    model, data = material.manifest["model"]["name"], material.manifest["data"]["name"]
    version = (material.manifest.get("versions") or {}).get("regard", "")
    head = tag(
        "head",
        None,
        tag("meta", {"charset": "utf-8"}),
        tag("meta", {"http-equiv": "Content-Security-Policy", "content": page_policy(style, script)}),
        tag("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        tag("meta", {"name": "color-scheme", "content": "light dark"}),
        tag("meta", {"name": "referrer", "content": "no-referrer"}),
        tag("title", None, f"{say('page.title', model=model, data=data)} – regard"),
        tag("style", None, Html(style)),
    )
    first = tag(
        "div",
        {"id": "summary", "class": "first"},
        tag(
            "header",
            None,
            tag("h1", None, say("page.title", model=model, data=data)),
            fact_line(material),
            broken(material),
            unfinished(material),
            veiled(material),
        ),
        first_screen(material),
        tag("p", {"class": "note"}, say("caveat")),
    )
    body = tag(
        "body",
        {"class": "appendix" if paper and paper.appendix else None},
        tag("a", {"class": "skip", "href": "#main"}, say("page.skip")),
        _navigation(titles, sections),
        tag("main", {"id": "main"}, first, sections.values(), cut, _not_printed(titles, paper)),
        tag("footer", None, tag("p", None, say("page.footer", version=version))),
        tag("script", {"type": "module"}, Html(script)) if script else None,
    )
    return "<!doctype html>\n" + join(tag("html", {"lang": say("language.html")}, head, body)) + "\n"


def _sections(material: Material, paper: Paper | None) -> tuple[dict[str, Html], dict[str, str]]:
    """Folded sections of the second layer, and their titles; paper has no interactive one."""
    sections: dict[str, Html] = {}
    titles: dict[str, str] = {}
    printed = PRINTED if paper is None else paper.sections
    for name in SECTIONS:
        if paper is not None and name == "attention_view":
            continue
        module = importlib.import_module(f"regard.present.report.sections.{name}")
        inner = getattr(module, name)(material)
        if inner is None:
            continue
        anchor, titles[name] = name.replace("_", "-"), say(f"{name}.title")
        # a link to something inside a fold opens it, in a browser, without a script
        body = tag("div", {"id": f"{anchor}-open", "class": "inside"}, inner)
        fold = {"class": "whole printed" if name in printed else "whole"}
        sections[name] = tag(
            "section", {"id": anchor}, tag("details", fold, tag("summary", None, tag("h2", None, titles[name])), body)
        )
    return sections, titles


def _navigation(titles: Mapping[str, str], sections: Mapping[str, Html]) -> Html:
    links = [("#summary", say("page.summary")), *((f"#{n.replace('_', '-')}-open", titles[n]) for n in sections)]
    entries = [tag("li", None, tag("a", {"href": target}, title)) for target, title in links]
    return tag("nav", {"aria-label": say("page.contents")}, tag("ul", None, entries))


def _not_printed(titles: Mapping[str, str], paper: Paper | None) -> Html | None:
    """Name the sections that a printed page without an appendix omits, and the way to get them."""
    left_out = [title for name, title in titles.items() if paper and not paper.appendix and name not in paper.sections]
    if not left_out:
        return None
    return tag("p", {"class": "soft on-paper"}, say("page.not_printed", what=say("listed").join(left_out)))


def _within(sections: dict[str, Html], titles: Mapping[str, str], frame: int) -> Html:
    """Drop sections, the largest first, until the page is within its budget; report which.

    frame: bytes of style and script.
    """
    left_out = []
    while (size := frame + sum(len(s.encode()) for s in sections.values())) > MOST_BYTES:
        largest = max((n for n in sections if n in SPARE), key=lambda n: len(sections[n]), default=None)
        if largest is None:
            break
        del sections[largest]
        left_out.append(titles[largest])
    if left_out:
        words = say("limits.left_out", budget=MOST_BYTES >> 20, what=say("listed").join(left_out))
        return tag("p", {"class": "warn"}, words)
    megabytes = f"{size / (1 << 20):.1f}"
    return tag("p", {"class": "soft"}, say("limits.left_out_nothing", budget=MOST_BYTES >> 20, size=megabytes))


def veiled(material: Material) -> Html | None:
    """State that words are placeholders, if the run is redacted."""
    why = material.manifest.get("veil")
    return tag("p", {"class": "note"}, say("page.no_text" if why == "no text" else "page.redacted")) if why else None


def page_style(paper: Paper | None) -> str:
    """Style sheet with one colour class per level, so that no style attributes are needed."""
    rules = [_static("report.css")]
    if paper is not None:
        rules.append(f"@page {{ size: {paper.size}; margin: 14mm 15mm; }}")
    for side, name in (("p", "plus"), ("m", "minus"), ("a", "amount")):
        rules.append(f".f{side} {{ fill: rgb(var(--{name})); }}")
        rules += [f".{side}{i} {{ background: rgba(var(--{name}), {0.075 * i:.3f}); }}" for i in range(1, LEVELS + 1)]
    for i in range(1, SERIES_COLOURS + 1):
        rules.append(f".s{i} {{ stroke: var(--s{i}); }} .c{i} {{ fill: var(--s{i}); }}")
    return "\n".join(rules)


def _static(name: str) -> str:
    text = files("regard.present.pack").joinpath("static", name).read_text("utf-8")
    if re.search(r"</(script|style)", text, re.IGNORECASE):
        raise AssertionError(f"{name} would end its own element")
    return text


def page_policy(style: str, script: str) -> str:
    """Content security policy of a page with this style and script alone."""
    run = f"script-src {digest(script)}" if script else "script-src 'none'"
    only = f"style-src {digest(style)}; {run}; img-src data:"
    return f"default-src 'none'; {only}; base-uri 'none'; form-action 'none'"
