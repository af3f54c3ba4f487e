"""The local app as a person uses it: a real server, a real browser, a live model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from chromium import Browser, inked
from live_caller import asked, table

from regard.live.server import Server, serve
from regard.live.session import Session
from regard.protocols import Model
from regard.records import Example
from regard.store.rationales import read_marks

TEXT = "not a good film and the cast dull"
FREE_CALLS = 3
"""Of the model, enough for the first sign of progress."""


@pytest.fixture
def server(model: Model, tmp_path: Path) -> Iterator[Server]:
    session = Session(model, marks=tmp_path / "rationales.jsonl")
    session.show(Example("text", {"text": TEXT}))
    started = serve(session)
    yield started
    started.close()


@pytest.fixture
def page(server: Server, chromium: Browser) -> Iterator[Any]:
    with chromium.page(server.url, only=server.address) as opened:
        opened.wait_for_selector("canvas")
        yield opened


def change(page: Any) -> str:
    """What the edits did to the answer, as the page says it."""
    page.wait_for_selector("[data-change]")
    return str(page.locator("[data-change]").inner_text())


def test_the_token_leaves_the_address_and_the_view_is_drawn(server: Server, page: Any) -> None:
    assert page.url == server.address, "the token is neither in the address nor in the history"
    assert page.evaluate("history.length") <= 2
    assert page.evaluate("document.cookie") == ""
    assert inked(page.main_frame) > 200
    page.reload()
    page.wait_for_selector("canvas")  # this tab knows it still


def test_without_the_token_nothing_is_shown(server: Server, chromium: Browser) -> None:
    with chromium.page(server.address, only=server.address) as page:
        page.wait_for_selector("[role=alert]")
        assert "token" in page.locator("[role=alert]").inner_text()
        assert page.locator("canvas").count() == 0


def test_a_typed_text_is_captured_and_explained(page: Any) -> None:
    asked(page, "the film not long")
    page.get_by_role("tab", name="Token text").click()
    assert "leave_one_out" in table(page)


def test_errors_are_seen_and_the_app_goes_on(page: Any) -> None:
    page.get_by_role("textbox", name=re.compile("^Text for")).fill("word " * 5000)
    page.get_by_role("button", name="Look", exact=True).click()
    page.wait_for_selector(".error")
    assert "a text of 1 to" in page.locator(".error").first.inner_text()
    asked(page, "the film not long")


def test_progress_is_seen_and_cancel_works(page: Any, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled = Event()
    forward, calls = type(model).forward, count()

    def held(self: Any, *arguments: Any, **options: Any) -> Any:
        if next(calls) > FREE_CALLS:
            cancelled.wait()  # else the work may be done before the button is pressed
        return forward(self, *arguments, **options)

    monkeypatch.setattr(type(model), "forward", held)
    try:
        page.get_by_text(re.compile(r"^Methods \(")).click()
        page.get_by_role("button", name="kernel_shap", exact=True).click()
        page.get_by_role("button", name="lime", exact=True).click()
        page.get_by_role("textbox", name=re.compile("^Text for")).fill("the good film not long and bad " * 40)
        page.get_by_role("button", name="Look", exact=True).click()
        page.wait_for_selector("progress")
        page.locator("[role=status]").filter(has_text=re.compile(r"\S")).first.wait_for()
        with page.expect_response(lambda response: response.url.endswith("cancel")):
            page.get_by_role("button", name="Cancel", exact=True).click()
    finally:
        cancelled.set()
    page.wait_for_selector(".error, .notice")
    assert "ancelled" in page.locator(".error, .notice").first.inner_text()
    page.wait_for_selector("progress", state="detached")
    page.get_by_role("button", name="kernel_shap", exact=True).click()
    page.get_by_role("button", name="lime", exact=True).click()
    asked(page, "the film not long")


def test_attention_is_edited_and_the_prediction_moves(page: Any) -> None:
    page.get_by_role("tab", name="What if").click()
    page.get_by_role("button", name="Uniform, all rows").click()
    first = change(page)
    assert re.search(r"moved by (?!0 )", first)
    page.get_by_role("button", name="Switch the head off").click()
    page.wait_for_selector("ol li:nth-child(2)")
    page.get_by_role("button", name="Undo", exact=True).click()
    page.wait_for_selector("ol li:nth-child(2)", state="detached")
    page.wait_for_selector("[role=status]", state="detached")
    assert change(page) == first, "the answer to a list that is no longer there came late"
    page.get_by_role("button", name="Undo", exact=True).click()
    page.wait_for_selector("ol li", state="detached")
    page.wait_for_selector("[role=status]", state="detached")
    assert "moved by 0 " in change(page)


def test_weight_is_dragged_from_one_bar_to_another(page: Any) -> None:
    page.get_by_role("tab", name="What if").click()
    canvas = page.locator("canvas").first
    canvas.wait_for()
    inked(page.main_frame)
    box = canvas.bounding_box()
    bars = 9
    at = [box["x"] + 44 + (i + 0.5) * (box["width"] - 52) / bars for i in range(bars)]
    page.mouse.move(at[1], box["y"] + 150)
    page.mouse.down()
    page.mouse.move(at[3], box["y"] + 150, steps=4)
    page.mouse.move(at[4], box["y"] + 150, steps=4)
    page.mouse.up()
    assert "moved by" in change(page)
    moved = page.locator("ol li").first.inner_text()
    assert re.match(r"move 100 % of “\w+” to “\w+”", moved), moved


def test_edits_are_shared_and_opened_by_somebody_else(page: Any, server: Server, chromium: Browser) -> None:
    page.get_by_role("tab", name="What if").click()
    page.get_by_role("button", name="Uniform, all rows").click()
    first = change(page)
    page.get_by_role("button", name="Share as a Spec").click()
    spec = page.locator("textarea[readonly]").input_value()
    with chromium.page(server.url, only=server.address) as other:
        other.wait_for_selector("canvas")
        other.get_by_role("tab", name="What if").click()
        other.get_by_text("Open a Spec").click()
        other.get_by_label("Spec that someone shared").fill(spec)
        other.get_by_role("button", name="Apply it here").click()
        assert change(other) == first


def test_a_rationale_is_marked_and_kept(page: Any, server: Server) -> None:
    page.get_by_role("tab", name="Mark").click()
    page.get_by_label("Your name").fill("Ada")
    canvas = page.locator("canvas").first
    box = canvas.bounding_box()
    page.mouse.click(box["x"] + 14, box["y"] + 18)
    page.get_by_role("button", name="Store the marks").click()
    page.wait_for_selector("[data-marks]")
    assert "Ada" in page.locator("[data-marks]").inner_text()
    file = server.session._marks
    assert file is not None
    (mark,) = read_marks(file)
    assert mark.author == "Ada"
    assert mark.rationale == ((0.0, 3.0),)
    assert mark.about["text"] == TEXT
