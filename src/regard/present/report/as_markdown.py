"""A run as Markdown: the same order as the page, for a pull request, a model card or a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from regard.audits.conclusions.run_facts import RunReader
from regard.present import counts
from regard.present.judge_error_rate import covers, in_a_sentence, track_record
from regard.present.messages.messages import render, say
from regard.present.model_warning import model_warning
from regard.present.objective_scale import about_task
from regard.present.report.exhibits.instead import instead
from regard.present.report.exhibits.mixture import mixture
from regard.present.report.sections.exhibits import (
    code_lines,
    function_words_line,
    instead_lines,
    no_suspects,
    other_lines,
    suspect_line,
)
from regard.present.report.sections.facts import fact_words
from regard.present.report.sections.limits import ALWAYS, untested
from regard.present.report.sections.plan_followed import plan_lines
from regard.present.results_table import evidence, main_settings, shown
from regard.present.run_reader import Material
from regard.present.summary import reading
from regard.present.trust_words import trust_line
from regard.present.verdict_words import about, answer, graded_lines, headline, question, said, weakest
from regard.records import Summary
from regard.visible import visible

BOLD = 0.2
"""Minimum share of the largest weight of a bold unit."""


def run_markdown(run: RunReader) -> str:
    """Render the whole report as text, in the current language."""
    material = Material(run)
    with about_task(material.task):
        return _document(material)


def _document(material: Material) -> str:
    m = material.manifest
    parts = [
        f"# {plain_markdown(say('page.title', model=m['model']['name'], data=m['data']['name']))}",
        plain_markdown(fact_words(material)),
        *([f"**{plain_markdown(warning)}**"] if (warning := model_warning(material)) else []),
        *_broken(material),
        *_reading(material),
        *_exhibits(material),
        *_verdicts(material),
        *_plan(material),
        f"## {say('results.title')}",
        *_results(material),
        _list(map(plain_markdown, reading(material))),
        f"## {say('limits.title')}",
        _list([*(say(f"limits.{name}") for name in ALWAYS), *map(plain_markdown, untested(material))]),
        plain_markdown(say("caveat")),
    ]
    return "\n\n".join(parts) + "\n"


def plain_markdown(text: str) -> str:
    """Escape text so that Markdown shows it literally."""
    text = visible(text)
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, f"\\{mark}" if mark not in "<>" else {"<": "&lt;", ">": "&gt;"}[mark])
    return " ".join(text.split())


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _plan(material: Material) -> list[str]:
    lines = plan_lines(material)
    if lines is None:
        return []
    head = [say(f"plan_followed.{name}") for name in ("part", "planned", "actual")]
    rows = [[plain_markdown(cell) for cell in row] for row in lines[1]]
    return [f"## {say('plan_followed.title')}", plain_markdown(lines[0]), *([_table(head, rows)] if rows else [])]


def _broken(material: Material) -> list[str]:
    return [f"**{plain_markdown(render(material.broken))}**"] if material.broken else []


def _exhibits(material: Material) -> list[str]:
    return (
        [] if material.broken else [*_mixture(material), *_other(material), *_reliance(material), *_instead(material)]
    )


def _reading(material: Material) -> list[str]:
    judgements = material.manifest.get("judgements") or []
    if not judgements:
        return [f"## {say('reading.none')}", say("reading.none_said")]
    first = judgements[0]
    return [
        f"## {say('reading.verdict')}: {plain_markdown(headline(first))}",
        plain_markdown(render(first["sentence"])),
        *map(plain_markdown, graded_lines(first)),
        plain_markdown(about(first)),
        *(plain_markdown(render(note)) for note in first["notes"]),
    ]


def _mixture(material: Material) -> list[str]:
    kinds = mixture(material)
    if kinds is None:
        return []
    lines = []
    for row in (kinds.right, kinds.wrong):
        values = material.relevance_of("attention", row.example) if "attention" in material.methods else None
        words = (
            plain_markdown(row.example)
            if values is None
            else _drawn(material.by_id[row.example], [*map(float, values)])
        )
        lines.append(f"{plain_markdown(trust_line(row, material.by_id[row.example]))} {words}")
    return [f"### {say('trust.title')}", plain_markdown(said(kinds.verdict)), _list(lines)]


def _other(material: Material) -> list[str]:
    other = material.conclusions.other_attention
    head = f"### {say('other.title')}"
    if other is None:
        return [head, say("other.not_searched")]
    example = material.by_id.get(other.example or "")
    if example is None:
        return [head, say("other.none_exact" if other.exact else "other.none_searched")]
    lines = [
        f"{say(f'other.{who}')}: {_drawn(example, values)}"
        for who, values in (("own", other.own or ()), ("other", other.other or ()))
    ]
    return [head, _list(lines), *map(plain_markdown, other_lines(other, material))]


def _drawn(example: Mapping[str, Any], values: Sequence[float]) -> str:
    """Render the units, those with much weight in bold and with their number."""
    units, top = example["units"], max(values, default=0.0) or 1.0
    shown_units = []
    for name, value, special in zip(units["names"], values, units["special"], strict=True):
        if not special:
            strong = value >= BOLD * top and value > 0
            shown_units.append(
                f"**{plain_markdown(str(name))}** ({value:.2f})" if strong else plain_markdown(str(name))
            )
    return " ".join(shown_units)


def _reliance(material: Material) -> list[str]:
    reliance = material.conclusions.reliance
    head = f"### {say('reliance.title')}"
    if reliance is None:
        return [head, say("reliance.none")]
    lines = []
    for c in reliance.classes:
        units = ", ".join(
            f"{plain_markdown(u.name)} {u.share.estimate:.1%} [{u.share.low:.1%}, {u.share.high:.1%}]" for u in c.units
        )
        lines.append(
            f"{plain_markdown(say('reliance.of_class', name=c.name))} ({say('reliance.of_n', n=c.n)}): {units}"
        )
        lines += [plain_markdown(line)] if (line := function_words_line(c)) else []
    suspects = [plain_markdown(suspect_line(s)) for s in reliance.suspects] or [no_suspects(reliance)]
    return [
        head,
        plain_markdown(say("reliance.lead", method=reliance.method)),
        _list(lines),
        f"**{say('reliance.suspects')}**",
        _list(suspects),
    ]


def _instead(material: Material) -> list[str]:
    better = instead(material)
    head = f"### {say('instead.title')}"
    if better is None:
        return [head, say("instead.nothing")]
    title, lines = instead_lines(better)
    spans = any(e["units"]["place_kind"] == "span" for e in material.examples[:1])
    code = code_lines(material.manifest, better.method, spans=spans) if better.method else ()
    return [head, f"**{plain_markdown(title)}**", *map(plain_markdown, lines), *(f"    {line}" for line in code)]


def _verdicts(material: Material) -> list[str]:
    judgements = material.manifest.get("judgements") or []
    parts = []
    for judgement in judgements:
        head = [say(f"reading.{name}") for name in ("question", "answer", "in_words")]
        rows = [
            [
                plain_markdown(question(v)),
                f"**{answer(v)}**",
                plain_markdown(said(v)) + (f" ({plain_markdown(behind)})" if (behind := weakest(v)) else ""),
            ]
            for v in judgement["verdicts"]
        ]
        parts += [f"## {say('verdicts.title')}", _table(head, rows)]
    covered = covers(material.task, material.examples)
    return [*parts, plain_markdown(in_a_sentence(track_record(), covered=covered))] if judgements else []


def _results(material: Material) -> list[str]:
    results = evidence(material.summaries, material.methods, material.own_operators)
    if not results.cells:
        return [say("results.none")]
    columns = main_settings(results.columns)
    head = [say("results.method"), *(plain_markdown(", ".join(filter(None, (c.title, c.detail)))) for c in columns)]
    sizes = [counts.size(s) for (_, c), s in results.cells.items() if c in columns]
    rows = []
    for method in results.methods:
        name = say("results.baseline_name", method=method) if results.role(method) == "baseline" else method
        cells = [_cell(results.cells.get((method, c)), counts.largest(sizes)) for c in columns]
        rows.append([plain_markdown(name), *(plain_markdown(cell) for cell in cells)])
    first = next((s for s in results.cells.values() if s.n), None)
    n = say("results.n_is", n=counts.in_caption(sizes))
    note = "" if first is None else f"{n}, {say('facts.seed')} {first.seed}"
    return [_table(head, rows), note]


def _cell(summary: Summary | None, common: counts.Size) -> str:
    own = "" if summary is None else counts.own(counts.size(summary), common)
    return ", ".join(filter(None, (" ".join(shown(summary)), own)))
