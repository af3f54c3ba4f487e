"""Public objects have a short text, an escaped HTML form, and tables with the numbers that they hold."""

from __future__ import annotations

import inspect
import pydoc
from dataclasses import fields
from typing import Any, get_overloads

import numpy as np
import pytest
from fake_run import JUDGEMENT

from regard.audits.audit import LISTENERS, audit
from regard.audits.options import AuditOptions
from regard.cards import Card
from regard.datasets.examples import Examples
from regard.models.open.from_arrays import from_arrays
from regard.present.card_text import card_text
from regard.present.messages.messages import speaking
from regard.present.report.notebook_html import card_html
from regard.records import Example, Message, Score, Summary
from regard.store.result_tables import Scores, Summaries

EVIL = "<script>alert(1)</script>"


def summary(**changes: Any) -> Summary:
    facts: dict[str, Any] = {
        "estimate": 0.5,
        "low": 0.25,
        "high": 0.75,
        "n": 9,
        "clusters": 9,
        "undefined": 1,
        "seed": 3,
    }
    return Summary("comprehensiveness", "attention", **{**facts, **changes})


def test_a_card_leaves_empty_facts_out_and_counts_the_rows_it_hides() -> None:
    card = Card("Thing", "one", {"labels": [], "task": "", "seed": 0}, [{"head": f"L0H{i}"} for i in range(7)], 9)
    text = card_text(card)
    assert text.splitlines()[0] == "<Thing one; seed: 0>"
    assert "L0H4" in text
    assert "L0H5" not in text
    assert "4 more rows" in text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_html_of_a_card_is_escaped_in_every_language(language: str) -> None:
    card = Card(EVIL, EVIL, {"text": EVIL, "sites": Message("card.at_first_capture")}, [{EVIL: EVIL}])
    with speaking(language):
        page = card_html(card)
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 5


def test_tables_hold_the_numbers_of_the_records() -> None:
    table = Summaries([summary(where={"operator": "mask", "sizes": [1, 2]}), summary(estimate=float("nan"))])
    frame = table.to_pandas()
    assert frame["estimate"][0] == 0.5
    assert frame["sizes"][0] == "[1, 2]"
    assert (frame["seed"] == 3).all()
    assert table == [*table], "still a list"
    values = np.array([1.0, np.nan])
    scores = Scores([Score("agreement", "lime", ("a", "b"), values, "higher", {"experiment": "noise"})])
    rows = scores.to_polars().to_dicts()
    assert [(row["example"], row["value"], row["experiment"]) for row in rows] == [
        ("a", 1.0, "noise"),
        ("b", None, "noise"),
    ]


def test_verdicts_are_shown_in_words() -> None:
    text = repr(JUDGEMENT)
    assert text.startswith("VERDICT: ")
    assert not {"holds", "fails", "uninformative"} & set(text.replace(":", " ").split())


def test_a_capture_says_what_it_holds() -> None:
    capture = from_arrays([np.full((2, 3, 3), 1 / 3)], ["a", "good", EVIL])
    assert "a good" in repr(capture)
    assert "2 heads, 3 x 3" in repr(capture.sites[0])
    assert "<script" not in capture._repr_html_()


def test_examples_are_short_and_tabular() -> None:
    data = Examples("tiny", (Example("a", {"text": "x" * 500, "image": np.zeros((4, 4))}, 1),), ("no", "yes"))
    assert len(repr(data[0])) < 200
    assert "array(4, 4)" in repr(data[0])
    assert len(repr(data)) < 400
    assert data.to_pandas().to_dict("records") == [{"id": "a", "text": "x" * 500, "label": "yes"}]


def test_keywords_of_an_audit_are_its_options() -> None:
    *_, signature = map(inspect.signature, get_overloads(audit))
    keywords = {name: p.default for name, p in signature.parameters.items() if p.kind == p.KEYWORD_ONLY}
    others = {"out", "options", *LISTENERS}
    options = {item.name: item.default for item in fields(AuditOptions)}
    assert {name: default for name, default in keywords.items() if name not in others} == options


def test_help_of_an_audit_fits_a_screen_with_examples_first() -> None:
    _, _, signature, _, _, example, *lines = pydoc.plain(pydoc.render_doc(audit)).splitlines()
    assert len(signature) < 160
    assert "regard.audit(" in example
    assert len(lines) < 20


def test_a_notebook_completes_the_options_of_an_audit() -> None:
    jedi = pytest.importorskip("jedi")
    words = "import regard\nregard.audit('bilstm', budg"
    assert [completion.name for completion in jedi.Script(words).complete()] == ["budget="]
