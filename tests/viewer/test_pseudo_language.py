"""In a generated language whose every word stands in brackets, the viewer shows nothing outside of them but data."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sample_packs import SAMPLES

import regard
from regard.live import session as live_session
from regard.present.pack import viewer_block

sys.path.insert(0, str(Path(__file__).parents[1]))
from catalogues import single_words

OPENING, CLOSING = "⟦", "⟧"
SAME_EVERYWHERE = {"exp", "max", "score", "English"}
"""Words of formulas, and the name of a language in itself."""
RECORD_DRAWN_TEXT = """
window.drawnTexts = [];
for (const name of ["fillText", "strokeText"]) {
  const original = CanvasRenderingContext2D.prototype[name];
  CanvasRenderingContext2D.prototype[name] = function (text, ...rest) {
    window.drawnTexts.push(text);
    return original.call(this, text, ...rest);
  };
}
null;
"""
VISIBLE_TEXTS = """() => {
  const root = document.querySelector('[data-regard-viewer], [data-regard-app]').shadowRoot;
  const texts = window.drawnTexts.splice(0);
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.nodeType === Node.TEXT_NODE) texts.push(node.data);
    else for (const name of ['aria-label', 'aria-roledescription', 'title', 'placeholder'])
      if (node.hasAttribute(name)) texts.push(node.getAttribute(name));
  }
  return texts;
}"""


def pseudo_words(lang: str) -> dict[str, Any]:
    return {key: f"{OPENING}{text}{CLOSING}" for key, text in viewer_block.viewer_words("en").items()}


def strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings_in(inner)


def untranslated(texts: list[str], data: set[str]) -> list[str]:
    """Return the words outside of brackets, user data and names. A cut text ends with an ellipsis."""
    depth, outside = 0, ""
    cut = {head for text in texts for head in text.split("…")[:-1] if any(known.startswith(head) for known in data)}
    for letter in " | ".join(texts):
        if letter == OPENING:
            depth += 1
        elif letter in (CLOSING, "…"):
            depth = max(0, depth - 1)
        elif depth == 0:
            outside += letter
    for known in sorted(data | cut - {""}, key=len, reverse=True):
        outside = outside.replace(known, "#")
    return sorted(single_words(outside) - SAME_EVERYWHERE)


def test_untranslated_finds_words_outside_brackets_only() -> None:
    texts = ["⟦two words⟧", "cut ⟦off here…", "one", "free text", "a given text"]
    assert untranslated(texts, {"given text"}) == ["cut", "free", "one", "text"]


@pytest.mark.parametrize("name", ["bert", "cancer", "clip", "digits", "power", "translator"])
def test_every_view_speaks_the_language_of_its_page(
    show: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(viewer_block, "foreign_words", pseudo_words)
    shown = show(name)
    data = {text for text in strings_in(shown.pack.manifest_json()) if len(text) > 1}
    shown.page.evaluate(RECORD_DRAWN_TEXT)
    tabs = [tab.get_attribute("id").removeprefix("tab-") for tab in shown.page.locator("[role=tab]").all()]
    assert set(SAMPLES[name][1]) <= set(tabs)
    for view in tabs:
        shown.open(view)
        shown.page.locator("details").last.locator("summary").click()
        shown.press("ArrowDown", "ArrowRight")
        texts = shown.page.evaluate(VISIBLE_TEXTS)
        assert sum(OPENING in text for text in texts) > 10, view
        assert untranslated(texts, data) == [], view


def test_the_app_speaks_its_language(chromium: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("uvicorn", reason="NOT RUN: needs regard[live]")
    from regard.live.server import serve

    monkeypatch.setattr(live_session, "foreign_words", pseudo_words)
    session = live_session.Session(regard.load("bilstm"), marks=tmp_path / "rationales.jsonl")
    session.show(regard.Example("text", {"text": "a quiet , moving film that never begs"}))
    data = {text for text in strings_in(session.pack().manifest_json()) if len(text) > 1}
    server = serve(session)
    context = chromium.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    page.set_default_timeout(240_000)  # a safety net for busy machines
    page.add_init_script(RECORD_DRAWN_TEXT)
    page.goto(server.url)
    page.locator("canvas[data-drawn]").wait_for()
    for view in ("counterfactual", "rationale"):
        page.locator(f"#tab-{view}").click()
        page.locator(f"[data-view={view}] canvas[data-drawn]").wait_for()
        assert untranslated(page.evaluate(VISIBLE_TEXTS), data) == []
    page.locator("#tab-counterfactual").click()
    page.locator("[data-view=counterfactual] .bar button").first.click()
    page.locator("[data-change]").wait_for()
    assert untranslated(page.evaluate(VISIBLE_TEXTS), data) == []
    context.close()
    server.close()
