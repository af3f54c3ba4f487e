"""What is drawn in a terminal says the same without colours."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from fake_run import MODALITIES, fake_run, text_example
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from regard.present.number_units import objective, scale
from regard.present.run_reader import Material
from regard.present.terminal.results import evidence_table
from regard.present.terminal.terminal import (
    bullets,
    drawing,
    heat_map,
    links,
    plain_table,
    sentence,
    strongest,
    strongest_bars,
)

pytestmark = pytest.mark.wording  # reads the words of pages, tables or notes

words = st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8), min_size=1, max_size=12)


def printed(what: object, *, colour: bool = False, width: int = 100) -> str:
    out = io.StringIO()
    Console(file=out, force_terminal=colour, color_system="truecolor" if colour else None, width=width).print(what)
    return out.getvalue()


@given(words)
def test_a_coloured_sentence_is_still_the_sentence(given_words: list[str]) -> None:
    text = " ".join(given_words)
    example = text_example(0, text)
    values = np.linspace(-1, 1, len(given_words) + 1)
    assert sentence(example, values, signed=True).plain == text


def test_text_is_never_read_as_markup() -> None:
    example = text_example(0, "[red]danger[/red] [link=x]y")
    assert "[red]danger[/red] [link=x]y" in printed(sentence(example, np.ones(4), signed=False))
    assert "[bold]" in printed(plain_table(("a",), [("[bold]",)]))


def test_colours_only_where_they_are_wanted() -> None:
    example = text_example(0, "good bad")
    shown = sentence(example, np.asarray([0.0, 1.0, -1.0]), signed=True)
    assert "\x1b[" not in printed(shown)
    assert printed(shown, colour=True).count("48;2;") == 2


def test_strongest_units_have_numbers_and_signs() -> None:
    example = text_example(0, "good bad dull")
    said = strongest(example, np.asarray([9.0, 1.0, -2.0, 0.5]), signed=True, count=2).plain
    assert said == "strongest: bad -2.000, good +1.000"  # the special unit is left out


def test_bars_are_as_long_as_the_numbers_say() -> None:
    example = text_example(0, "good bad dull")
    lines = printed(strongest_bars(example, np.asarray([9.0, 1.0, -2.0, 0.5]), signed=True)).splitlines()
    assert [line.split()[0] for line in lines] == ["bad", "good", "dull"]
    assert [line.count("█") for line in lines] == [20, 10, 5]
    assert [line.split()[-1] for line in lines] == ["-2.000", "+1.000", "+0.500"]


@pytest.mark.parametrize("modality", list(MODALITIES))
def test_every_modality_can_be_drawn(modality: str) -> None:
    example = MODALITIES[modality](0)
    shown = printed(drawing(example, np.linspace(-1, 1, len(example["units"]["names"])), signed=True))
    assert shown.strip()
    if modality == "image":
        assert len(shown.strip().splitlines()) == 4


@pytest.mark.parametrize(("n", "colour", "lines"), [(5, True, 6), (5, False, 6), (40, True, 21), (40, False, 41)])
def test_heat_map_has_a_line_per_query_or_two(n: int, colour: bool, lines: int) -> None:
    names = [f"w{i}" for i in range(n)]
    shown = printed(heat_map(np.eye(n), names, names, colour=colour, width=100), colour=colour)
    assert len(shown.rstrip("\n").splitlines()) == lines
    assert ("▀" in shown) == (n > 24 and colour)


def test_heat_map_says_what_does_not_fit() -> None:
    names = [f"w{i}" for i in range(60)]
    assert "columns do not fit" in printed(heat_map(np.eye(60), names, names, colour=True, width=40), width=40)


def test_links_are_the_largest_weights() -> None:
    weights = np.asarray([[0.1, 0.9], [0.7, 0.3]])
    shown = printed(links(weights, ["a", "b"], ["x", "y"], count=2))
    assert shown.index("0 a") < shown.index("1 b")
    assert "0.900" in shown
    assert "0.300" not in shown


def test_the_table_names_n_seed_and_baseline() -> None:
    shown = printed(evidence_table(Material(fake_run(n=12, seed=3)), width=140), width=140)
    assert "n = 12" in shown
    assert "seed 3" in shown
    assert "random (baseline)" in shown
    assert "ceiling" in shown


def test_bullets_hang() -> None:
    lines = printed(bullets(["word " * 20]), width=30).splitlines()
    assert lines[0].startswith("- word")
    assert all(line.startswith("  word") for line in lines[1:])


@pytest.mark.parametrize("width", [40, 60, 76, 80, 120, 200])
def test_an_interval_is_never_broken_in_two(width: int) -> None:
    material = Material(fake_run(n=12))
    shown = printed(evidence_table(material, width=width), width=width)
    for summary in material.summaries:
        if summary.where.get("operator") == "mask" and "class" not in summary.where:
            assert f"[{summary.low:.3f}, {summary.high:.3f}]" in shown
            assert column_head(summary.metric) in shown


def column_head(metric: str) -> str:
    return metric.replace("_", " ")


def test_what_does_not_fit_is_said_or_stacked() -> None:
    material = Material(fake_run(n=12))
    medium = printed(evidence_table(material, width=80), width=80)
    assert "second operator: see report.html" in " ".join(medium.split())
    assert "delete" not in medium
    narrow, wide = (printed(evidence_table(material, width=w), width=w) for w in (50, 120))
    assert "delete" in narrow
    assert "see report.html" not in narrow + wide
    assert all(len(line) <= 50 for line in narrow.splitlines())


def test_numbers_have_a_unit() -> None:
    from regard.registry import entry, names

    said = {
        name: scale(entry("explainer", name).facts, objective("classification", "x"), name)
        for name in names("explainer")
    }
    assert "log-odds of 'x'" in said["leave_one_out"]
    assert "log-odds of 'x'" in said["integrated_gradients"]
    assert "shares" in said["attention"]
    assert "shares" not in said["value_norms"], "lengths of vectors do not sum to 1"
    assert "random" in said["random"]


def test_a_whole_shelf_is_cut_to_what_can_be_read_and_few_examples_are_counted() -> None:
    run = fake_run(n=12, seed=3)
    few = [s for s in run._summaries if s.method == "rollout"]
    for k in range(20):  # as many methods as there are, asked about a part of the examples
        run._summaries += [replace(s, method=f"method_{k}", n=5) for s in few]
    run._summaries += [replace(s, metric=f"metric_{k}") for s in [*run._summaries] for k in range(10)]
    for width in (120, 60):
        shown = printed(evidence_table(Material(run), width=width), width=width)
        assert "comprehensiveness" in shown
        assert "metric_3" not in shown
        assert "regard metrics RUN" in " ".join(shown.split())
        assert "n = 5" in shown
        assert len(shown.splitlines()) < 250


def test_short_table_has_attention_and_a_baseline() -> None:
    material = Material(fake_run(n=12, seed=3))
    whole, short = (printed(evidence_table(material, width=140, most=m), width=140) for m in (None, 2))
    rows = [line.split()[0] for line in short.splitlines() if line.split() and line.split()[0] in material.methods]
    assert len(short.splitlines()) < len(whole.splitlines())
    assert "attention" in rows
    assert "(baseline)" in short
