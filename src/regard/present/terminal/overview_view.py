"""First page of a result in a terminal: headline, gauge, six answers, next steps; at most 40 lines."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from regard.present.messages.messages import render, say
from regard.present.overview import Gauge, HeadlineAnswer, Overview, overview
from regard.present.report.gauge import gauge_line
from regard.present.run_reader import Material
from regard.present.verdict_words import (
    SIGNS,
    action_lines,
    answer,
    answer_style,
    headline,
    question,
    single_class_line,
)

NARROWEST, WIDEST = 20, 60
"""Width of a gauge, in characters."""
LINE, SPAN, DOT, THRESHOLD = "─", "━", "●", "┊"


def overview_view(material: Material, *, width: int) -> RenderableType | None:
    """Draw the first page in `width` columns; None if nothing was judged."""
    page = overview(material)
    if page is None:
        return None
    judgement = material.manifest["judgements"][0]
    parts: list[RenderableType] = [
        Text(f"{say('reading.verdict')}: {headline(judgement)}", style="bold"),
        Text(render(judgement["sentence"])),
        *(Text(render(note), style="yellow") for note in judgement["notes"]),
    ]
    if page.gauge is not None:
        parts += [Text(""), *gauge_lines(page.gauge, width=width)]
        single = single_class_line(judgement)
        parts += [Text(single, style="dim")] if single else []
    parts += [Text(""), _answers(page.answers), Text("")]
    parts += [Text(line) for line in action_lines(judgement)]
    parts += _steps(page)
    return Group(*parts)


def gauge_lines(gauge: Gauge, *, width: int) -> list[Text]:
    """A bar from 0 (random choice) to 100 (best method), and the same in numbers, so that nothing hangs on the drawing.

    >>> gauge = Gauge(0.5, 0.25, 0.75, 0.7, "lrp", 40, 0.95)
    >>> print(gauge_lines(gauge, width=32)[0].plain)
    0 ─────━━━━━●━━━━┊━───── 100 lrp
    """
    ends = "0 ", f" 100 {gauge.best}"
    cells = max(NARROWEST, min(WIDEST, width - sum(map(len, ends))))

    def place(share: float) -> int:
        return round(min(max(share, 0.0), 1.0) * (cells - 1))

    bar = [LINE] * cells
    if gauge.share is not None:
        low = 0.0 if gauge.low is None else gauge.low
        high = 1.0 if gauge.high is None else gauge.high
        bar[place(low) : place(high) + 1] = SPAN * (place(high) - place(low) + 1)
    bar[place(gauge.threshold)] = THRESHOLD
    if gauge.share is not None:
        bar[place(gauge.share)] = DOT
    return [
        Text(f"{ends[0]}{''.join(bar)}{ends[1]}", no_wrap=True, overflow="crop"),
        Text(gauge_line(gauge), style="dim"),
    ]


def _answers(rows: Sequence[HeadlineAnswer]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    for row in rows:
        word = Text(f"{SIGNS[row.tone]} {answer(row.verdict)}", style=answer_style(row.verdict))
        grid.add_row(word, Text(question(row.verdict)))
    return grid


def _steps(page: Overview) -> list[RenderableType]:
    lines: list[RenderableType] = [Text(""), Text(say("next.title"), style="bold")]
    for step in page.steps:
        lines += [Text(f"  {say(step.purpose, method=page.show)}"), Text(f"    {step.command}", no_wrap=True)]
    return lines
