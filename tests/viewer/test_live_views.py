"""Views that need a model: what if, mark, ask; in front of the real local app."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import regard
from regard.records import Edit

pytest.importorskip("uvicorn", reason="NOT RUN: needs regard[live]")

TEXT = "a quiet , moving film that never begs"


@pytest.fixture(scope="module")
def page(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from regard.live.server import serve
    from regard.live.session import Session

    server = serve(Session(regard.load("bilstm"), marks=tmp_path_factory.mktemp("marks") / "rationales.jsonl"))
    context = chromium.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    page.set_default_timeout(240_000)  # a safety net for busy machines
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(server.url)
    page.get_by_placeholder("Type a text").fill(TEXT)
    page.get_by_role("button", name="Look").click()
    page.locator("canvas[data-drawn]").wait_for()
    yield page
    context.close()
    server.close()
    assert not problems, problems


def outcome(page: Any, edits: int) -> tuple[float, float, float]:
    """Probability before and after, and how far the answer moved, once so many edits are applied."""
    page.wait_for_function(
        "n => { const v = document.querySelector('[data-regard-app]').shadowRoot;"
        " const idle = v.querySelector('[data-change]') && !v.querySelector('[role=status]');"
        " return idle && v.querySelectorAll('ol li').length === n }",
        arg=edits,
    )
    said = page.locator("[data-change]").inner_text()
    found = re.search(r"\(([\d.]+)\) → \S+ \(([\d.]+)\); moved by ([\d.e-]+)", said)
    assert found is not None, said
    return float(found[1]), float(found[2]), float(found[3])


def test_the_token_leaves_the_address(page: Any) -> None:
    assert "token" not in page.url


def test_uniform_attention_gives_what_the_model_gives(page: Any) -> None:
    page.locator("#tab-counterfactual").click()
    page.get_by_role("button", name="Uniform row").click()
    before, after, _ = outcome(page, 1)
    model = regard.load("bilstm")
    item = model.encode(regard.Example("x", {"text": TEXT}))
    answers, targets = model.predict([item])
    assert before == pytest.approx(float(answers.probability[0]), abs=6e-4)
    wanted = model.forward([item], targets, [Edit("uniform")])
    assert after == pytest.approx(float(wanted.probability[0]), abs=6e-4)


def test_edits_are_undone_redone_dragged_and_shared(page: Any) -> None:
    page.locator("#tab-counterfactual").click()
    page.get_by_role("button", name="Reset").click()
    box = page.locator(".stage canvas").bounding_box()
    wide = (box["width"] - 52) / 8
    start, end = (box["x"] + 44 + (k + 0.5) * wide for k in (1, 3))
    page.mouse.move(start, box["y"] + 150)
    page.mouse.down()
    page.mouse.move(end, box["y"] + 140, steps=6)
    page.mouse.up()
    before, after, moved = outcome(page, 1)
    assert "move 100 % of “quiet” to “moving”" in page.locator("ol li").first.inner_text()
    assert moved == pytest.approx(abs(after - before), abs=1.1e-3)
    page.get_by_role("button", name="Undo").click()
    assert outcome(page, 0)[2] == 0
    page.get_by_role("button", name="Redo").click()
    assert outcome(page, 1) == (before, after, moved)
    page.get_by_role("button", name="Share as a Spec").click()
    assert '"what":"move"' in page.get_by_label("Spec (open it in any regard)").input_value()


def test_an_edge_is_knocked_out_by_keyboard(page: Any) -> None:
    page.locator("#tab-counterfactual").click()
    page.get_by_role("button", name="Reset").click()
    page.locator(".stage").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Knock out the edge").click()
    outcome(page, 1)
    page.locator("summary", has_text="As a table").click()
    row = ["", "0", "1"]
    for _ in range(2400):  # the table is drawn a moment after the answer
        row = page.locator("tbody tr", has_text="quiet").first.inner_text().split("\t")
        if float(row[2]) == 0:
            break
        page.wait_for_timeout(100)
    assert float(row[1]) > 0
    assert float(row[2]) == 0


def test_the_alternative_of_the_search_keeps_the_answer(page: Any) -> None:
    page.locator("#tab-counterfactual").click()
    page.get_by_role("button", name="Reset").click()
    page.get_by_role("button", name="Load an alternative").click()
    page.locator("[data-change], .error").first.wait_for()
    if page.locator("[data-change]").count():
        _, _, moved = outcome(page, page.locator("ol li").count())
        assert moved < 0.1


def test_a_rationale_is_marked_by_hand_and_stored(page: Any) -> None:
    page.locator("#tab-rationale").click()
    page.locator(".stage").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.get_by_label("Your name").fill("Ann")
    page.get_by_role("button", name="Store the marks").click()
    page.locator("[data-marks]").wait_for()
    assert "Ann (20" in page.locator("[data-marks]").inner_text()


def test_an_error_of_the_model_is_said(page: Any) -> None:
    page.get_by_placeholder("Type a text").fill("x" * 21_000)
    page.get_by_role("button", name="Look").click()
    page.locator("[role=alert]").wait_for()
    assert "20000 characters" in page.locator("[role=alert]").inner_text()
