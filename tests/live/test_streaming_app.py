"""Results arrive method by method, old ones are dimmed and labelled, Cancel keeps what is finished; the header."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import Browser
from live_caller import table

from regard.errors import UnknownName
from regard.live import live_input
from regard.live.growing_pack import GrowingPack, cheap_first
from regard.live.jobs import Job, check
from regard.live.live_input import LiveInput
from regard.live.pack_cache import PackCache
from regard.live.server import Server, serve
from regard.live.session import Session
from regard.protocols import Model
from regard.records import Example, Spec
from regard.registry import names

TEXT = "not a good film and the cast dull"
NEXT = "the film\nnot long"


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Leave-one-out waits until this is set."""
    go = threading.Event()

    def waits(self: LiveInput, spec: Spec) -> None:
        while spec.name == "leave_one_out" and not go.wait(0.02):
            check()

    monkeypatch.setattr(live_input.LiveInput, "_refuse_endless", waits)
    return go


@pytest.fixture
def server(model: Model, tmp_path: Path) -> Iterator[Server]:
    session = Session(model, marks=tmp_path / "rationales.jsonl")
    session.show(Example("text", {"text": TEXT}))
    started = serve(session)
    yield started
    started.close()


def test_cheap_methods_run_first_and_each_one_publishes_a_pack(model: Model) -> None:
    job, packs = Job("j", lambda job: {}, threading.Condition()), PackCache()
    methods = cheap_first(["lime:samples=20", "leave_one_out", "attention"])
    assert methods == ["attention", "leave_one_out", "lime:samples=20"]
    known = LiveInput.of(model, Example("text", {"text": TEXT}))
    growing = GrowingPack(packs, job, known, methods)
    seen: list[tuple[list[str], Any]] = []

    def publish() -> None:
        growing.publish()
        assert job.partial is not None
        entry = packs.get(str(job.partial["pack"])).pack.manifest.examples[0]
        assert len(entry.sites) == 2, "attention is there from the first pack on"
        seen.append(([m.name for m in entry.methods], job.partial["waiting"]))

    known.explain(methods, job, publish)
    assert seen == [(methods[:n], methods[n:]) for n in range(4)]


def test_the_order_of_cost_knows_every_method() -> None:
    ordered = cheap_first(list(names("explainer")))
    assert ordered.index("rollout") < ordered.index("alti") < ordered.index("leave_one_out") < ordered.index("lime")
    assert ordered.index("uniform") < ordered.index("input_x_gradient") < ordered.index("integrated_gradients")


def test_a_text_of_the_command_line_streams_from_the_start(model: Model, gate: threading.Event) -> None:
    session = Session(model)
    session.begin(Example("text", {"text": TEXT}))
    began = session.call("hello", {})["began"]
    assert isinstance(began, dict)
    assert began["text"] == TEXT
    job = session.call("job", {"job": began["job"]})
    while "partial" not in job or job["partial"]["done"] != ["attention"]:  # type: ignore[index,call-overload]
        job = session.call("job", {"job": began["job"], "after": job["version"]})
    assert job["state"] == "running"
    gate.set()
    while job["state"] == "running":
        job = session.call("job", {"job": began["job"], "after": job["version"]})
    hello = session.call("hello", {})
    assert hello["began"] is None
    assert hello["pack"] == job["result"]["pack"]  # type: ignore[index,call-overload]
    session.close()


def test_results_stream_in_and_cancel_keeps_them(server: Server, chromium: Browser, gate: threading.Event) -> None:
    with chromium.page(server.url, only=server.address) as page:
        page.wait_for_selector("canvas")
        box = page.get_by_role("textbox", name=re.compile("^Text for"))
        assert box.input_value() == TEXT, "the box holds the text shown"
        page.get_by_role("tab", name="Token text").click()
        box.fill(NEXT)
        page.wait_for_selector(".old")  # at once, before anything is asked
        assert "earlier text" in page.locator(".old").inner_text()
        page.wait_for_function(
            "() => getComputedStyle(document.querySelector('[data-regard-app]').shadowRoot.querySelector('canvas'))"
            ".opacity < 0.5"
        )
        box.fill(TEXT)
        page.wait_for_selector(".old", state="detached")
        box.fill(NEXT)
        box.press("Control+Enter")
        page.get_by_text("Still to come: leave_one_out").wait_for()
        page.wait_for_selector(".old", state="detached")  # what is on the screen is about the new text now
        assert page.locator("progress").count() == 1
        first = table(page)
        assert "long" in first
        assert "attention" in first
        assert "leave_one_out" not in first
        page.get_by_role("button", name="Cancel", exact=True).click()
        page.wait_for_selector(".notice")
        assert "not computed: leave_one_out" in page.locator(".notice").inner_text()
        assert "long" in table(page)
        assert box.input_value() == NEXT
        gate.set()
        page.get_by_role("button", name="Look", exact=True).click()
        page.get_by_role("columnheader", name="leave_one_out").wait_for()
        assert page.locator(".notice").count() == 0


def test_the_header_names_the_model_and_switches_theme_and_language(server: Server, chromium: Browser) -> None:
    with chromium.page(server.url, only=server.address, color_scheme="light", reduced_motion="reduce") as page:
        page.wait_for_selector("canvas")
        assert page.get_by_role("heading", level=1).inner_text() == server.session.model.name
        bars = page.get_by_role("list", name="Probability of each class").get_by_role("listitem")
        shares = [float(re.search(r"([\d.]+) %", text)[1]) for text in bars.all_inner_texts()]  # type: ignore[index]
        assert sum(shares) == pytest.approx(100, abs=0.2)
        assert shares == sorted(shares, reverse=True)
        assert bars.count() == 2
        page.get_by_role("button", name="Help").click()
        page.get_by_role("dialog", name="How to use this page").wait_for()
        page.keyboard.press("Escape")
        page.get_by_label("Theme", exact=True).select_option(label="dark")
        page.wait_for_selector(".viewer.dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 22, 26)"
        page.get_by_label("Language", exact=True).select_option(label="简体中文")
        page.get_by_role("tab", name="热图").wait_for()
        page.locator("aside", has_text="注意力显示的是").wait_for()
        assert page.evaluate("document.documentElement.lang") == "zh"
        assert page.get_by_role("textbox").first.input_value() == TEXT


MOVING = """() => { const slow = []; const walk = (n) => { for (const e of n.querySelectorAll('*')) {
  if (e.shadowRoot) walk(e.shadowRoot); const s = getComputedStyle(e);
  for (const d of `${s.transitionDuration},${s.animationDuration}`.split(',')) slow.push(parseFloat(d) || 0); } };
  walk(document); return Math.max(...slow); }"""


@pytest.mark.parametrize(("motion", "least", "most"), [("no-preference", 0.1, 0.2), ("reduce", 0, 0)])
def test_transitions_are_short_and_can_be_refused(
    server: Server, chromium: Browser, motion: str, least: float, most: float
) -> None:
    with chromium.page(server.url, only=server.address, reduced_motion=motion) as page:
        page.wait_for_selector("canvas")
        assert least <= page.evaluate(MOVING) <= most


COUNT_FORMER = """() => { window.former = 0; const stage = document.querySelector('[data-regard-app]').shadowRoot
  .querySelector('.stage'); new MutationObserver((changes) => { for (const c of changes) for (const n of c.addedNodes)
  if (n.dataset && 'former' in n.dataset) window.former++; }).observe(stage, {childList: true}); }"""


@pytest.mark.parametrize(("motion", "fades"), [("no-preference", True), ("reduce", False)])
def test_the_former_lines_of_a_head_fade(server: Server, chromium: Browser, motion: str, fades: bool) -> None:
    with chromium.page(server.url, only=server.address, reduced_motion=motion) as page:
        page.locator("[data-view=head_view] canvas[data-drawn]").wait_for()
        page.evaluate(COUNT_FORMER)
        page.get_by_label("Upright").click()
        page.wait_for_function("document.querySelector('[data-regard-app]').shadowRoot.querySelector('canvas')")
        page.get_by_label("Upright").click()
        assert (page.evaluate("window.former") > 0) is fades
        page.locator("[data-former]").wait_for(state="detached")


def test_the_app_fits_a_phone(server: Server, chromium: Browser) -> None:
    with chromium.page(server.url, only=server.address) as page:
        page.set_viewport_size({"width": 390, "height": 800})
        page.wait_for_selector("canvas")
        for view in ("head_view", "heat_map", "token_text", "flow"):
            page.locator(f"#tab-{view}").click()
            page.locator(f"[data-view={view}] canvas[data-drawn]").wait_for()
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, view


def test_another_language_is_refused_with_those_there_are(model: Model) -> None:
    session = Session(model)
    with pytest.raises(UnknownName, match=r"tlh.*en, zh"):
        session.call("language", {"lang": "tlh"})
    assert session.lang == "en"
    session.close()
