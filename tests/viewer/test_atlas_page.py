"""The page of an atlas in a browser: what it reads out is what was computed, with the network off."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.present.messages.messages import say
from regard.records import Site
from regard.surveys.attention_atlas import AnswerSentence, Atlas, AtlasLayer, Passage
from regard.tap.whole_attention import Blocks, WholeAttention

WORDS = [f" word{i}" for i in range(600)]


def chart() -> Atlas:
    import torch

    stream = torch.Generator().manual_seed(0)
    query, key = (torch.randn(2, 600, 8, generator=stream) for _ in range(2))
    whole = WholeAttention(Site("layers.3.attention", 0, "causal", 3, 2), query, key, scale=1.0)
    blocks: Blocks = whole.blocks(8)
    return Atlas(
        model="model",
        tokens=tuple(WORDS),
        answer="word590",
        answer_start=590,
        passages=(Passage("first", ((0, 200),)), Passage("second", ((300, 400),))),
        sentences=(AnswerSentence("word590", 589, 599),),
        matrix=np.array([[0.3, 0.2, 0.5]]),
        strongest=np.array([[0.6, 0.4]]),
        strongest_heads=(("L3H0", "L3H1"),),
        layers=(AtlasLayer(3, "layers.3.attention", blocks, whole),),
    )


@pytest.mark.parametrize("width", [1100, 390])
def test_reading_searching_and_zooming(chromium: Any, tmp_path: Path, width: int) -> None:
    result = chart()
    path = result.save(tmp_path / "atlas.html")
    context = chromium.new_context(offline=True, viewport={"width": width, "height": 900})
    context.set_default_timeout(240_000)
    problems: list[str] = []
    try:
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
        page.goto(path.as_uri())
        page.wait_for_function("() => globalThis.regardAtlas && document.getElementById('map').width > 300")
        page.evaluate("() => regardAtlas.draw()")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for head, kind in ((0, "sum"), (1, "max")):
            page.select_option("#head", str(head))
            page.select_option("#kind", kind)
            page.evaluate("() => regardAtlas.draw()")
            _read(page, result, head)
        page.fill("#search", "word59")
        assert re.findall(r"\d+", page.locator("#hits").inner_text())[0] == "11"  # word59 and word590 to word599
        page.get_by_role("button", name=say("atlas.closer")).click()
        page.evaluate("() => regardAtlas.draw()")
        page.locator("[data-passage='1']").click()
        page.evaluate("() => regardAtlas.draw()")
        assert page.locator("#map").is_visible()
    finally:
        context.close()
    assert not problems


def _read(page: Any, result: Atlas, head: int) -> None:
    """Point at the map and compare with the block that lies there."""
    box = page.locator("#map").bounding_box()
    page.locator("#map").hover(position={"x": box["width"] * 0.3, "y": box["height"] * 0.8})
    text = page.locator("#readout").inner_text()
    template = say("atlas.js.readout", rows="ROWS", columns="COLUMNS", mass="MASS", max="MAX")
    pattern = re.escape(template.strip()).replace("ROWS", r"(\d+)–.*").replace("COLUMNS", r"(\d+)–.*")
    numbers = re.match(pattern.replace("MASS", r"([\d.]+)").replace("MAX", r"([\d.]+)"), text)
    assert numbers is not None, text
    row, column = int(numbers[1]) // 8, int(numbers[2]) // 8
    blocks = result.layers[0].blocks
    assert abs(row * 8 - 0.8 * 600) < 24
    assert float(numbers[3]) == pytest.approx(blocks.sums[head, row, column] / 8, abs=2e-4)
    assert float(numbers[4]) == pytest.approx(blocks.maxima[head, row, column], abs=2e-4)
