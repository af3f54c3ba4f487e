"""The first page in a terminal: short, within its width, plain where colours are not wanted."""

from __future__ import annotations

import io
import time

import pytest
from judged_run import GRADED, judged

from regard.cli.progress import SILENCE, Bar, Pace, bar
from regard.cli.safe_console import SafeConsole
from regard.present.messages.messages import speaking
from regard.present.overview import Gauge
from regard.present.run_reader import Material
from regard.present.terminal.overview_view import DOT, SPAN, THRESHOLD, gauge_lines, overview_view
from regard.present.verdict_words import single_class_line


@pytest.mark.parametrize("width", [60, 80, 120])
def test_first_page_fits_its_lines_and_columns(width: int) -> None:
    console = SafeConsole(width=width)
    with console.capture() as capture:
        console.print(overview_view(Material(judged(decides_between=[60, 90])), width=width))
    lines = capture.get().splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= width
    assert sum(THRESHOLD in line for line in lines) == 1


@pytest.mark.parametrize(("share", "low", "high"), [(0.5, 0.25, 0.75), (0.9, None, None), (-0.2, -0.5, 0.1)])
def test_gauge_marks_lie_where_the_numbers_are(share: float, low: float | None, high: float | None) -> None:
    bar = gauge_lines(Gauge(share, low, high, 0.7, "lrp", 40, 0.95), width=200)[0].plain[2:].split(" ")[0]
    last = len(bar) - 1
    assert bar.index(DOT) == round(min(max(share, 0), 1) * last)
    assert bar.index(THRESHOLD) == round(0.7 * last)
    marked = [i for i, sign in enumerate(bar) if sign in (SPAN, DOT)]
    assert marked[0] == round(max(0.0 if low is None else low, 0.0) * last)
    assert marked[-1] in (round((1.0 if high is None else high) * last), bar.index(DOT))


def test_gauge_without_a_share_has_no_dot() -> None:
    page = overview_view(Material(judged(graded={**GRADED, "share": None, "low": None, "high": None})), width=80)
    console = SafeConsole(width=80)
    with console.capture() as capture:
        console.print(page)
    assert DOT not in capture.get()


def test_no_color_means_no_escape_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    console = SafeConsole(width=80)
    console.file = io.StringIO()
    console.print("bold and dim", style="bold dim red")
    assert console.file.getvalue() == "bold and dim\n"


def test_pace_settles_on_a_new_speed_and_forgets_an_old_stage() -> None:
    pace = Pace()
    for second in range(60):
        pace.update(done=10.0 * second, now=float(second))
    assert pace.rate == pytest.approx(10.0)
    for second in range(60, 120):
        pace.update(done=590.0 + 2.0 * (second - 59), now=float(second))
    assert pace.rate == pytest.approx(2.0, rel=0.01)
    pace.update(done=0.0, now=121.0)
    assert pace.seconds(left=5) is None


@pytest.mark.wording
def test_without_a_terminal_there_is_a_line_every_ten_seconds() -> None:
    now = [0.0]
    console = SafeConsole(width=100)
    console.file = io.StringIO()
    with Bar(console, clock=lambda: now[0]) as bar:
        for second in range(61):
            now[0] = float(second)
            bar.passes(second, 120, None)
    lines = console.file.getvalue().splitlines()
    assert SILENCE == 10.0
    assert len(lines) == 7
    assert "60/120" in lines[-1]
    assert "1/s" in lines[-1]


def test_long_step_without_a_terminal_still_prints_a_line() -> None:
    now = [0.0]
    console = SafeConsole(width=100)
    console.file = io.StringIO()
    with Bar(console, clock=lambda: now[0]) as bar:
        for second in range(1, 60):
            now[0] = float(second)
            if second == 20:
                bar.passes(0, 120, None)
            if second == 21:
                bar.announced("budget.plan")
                bar.passes(6, 120, None)
            if second == 40:
                bar.announced("budget.stopped_data")
            bar.beat()
    lines = console.file.getvalue().splitlines()
    assert lines[0] == "still working: opening, 9 s in this step"
    assert any(line.startswith("explaining, passes: 5% 6/120") for line in lines)
    assert lines[-1].startswith("still working: judging")
    assert len(lines) == 6


def test_the_line_of_a_long_step_speaks_the_language_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.cli.progress.BEAT", 0.01)
    monkeypatch.setattr("regard.cli.progress.SILENCE", 0.01)
    console = SafeConsole(width=100)
    console.file = io.StringIO()
    with speaking("zh"), bar(console):
        while not console.file.getvalue():
            time.sleep(0.01)
    assert console.file.getvalue().startswith("仍在运行")


def test_first_page_names_the_class_that_partly_rests_on() -> None:
    """Attention may stand above the threshold over all classes, and below it for one."""
    numbers = {"estimate": -0.1, "low": -0.2, "high": -0.01, "margin": 0.0, "n": 20, "p": 0.03, "corrected": 0.04}
    sides = (("below", "positive"), ("above", "negative"))
    rests = [{**numbers, "name": "x", "claim": claim, "where": {"class": name}} for claim, name in sides]
    judgement = judged().manifest["judgements"][0]
    points = next(v for v in judgement["verdicts"] if v["question"] == "points")
    rows = [{"class": "negative"}, {"class": "positive"}]
    points |= {"contrasts": rests, "rests_on": len(rests), "rows": rows}
    sentence = "This share is over all predicted classes; the answer “partly” rests on positive."
    assert single_class_line(judgement) == sentence
    points["rows"] = rows[1:]
    assert single_class_line(judgement) == ""
