"""axe-core on every view, light and dark: nothing serious."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sample_packs import SAMPLES

SERIOUS = {"serious", "critical"}


@pytest.mark.parametrize("name", ["bert", "digits", "power", "cancer", "translator"])
def test_axe_finds_nothing_serious(show: Callable[..., Any], name: str) -> None:
    package = pytest.importorskip("axe_playwright_python")
    shown = show(name, dark=name in ("digits", "cancer"))
    shown.page.evaluate(Path(package.__file__).with_name("axe.min.js").read_text("utf-8"))
    for view in SAMPLES[name][1]:
        if view in ("flow", "walkthrough", "heat_map"):
            continue  # the same controls and the same table as others
        shown.open(view)
        shown.table()
        found = shown.page.evaluate("async () => (await axe.run(document, { resultTypes: ['violations'] })).violations")
        bad = [f"{v['id']}: {v['nodes'][0]['html'][:120]}" for v in found if v["impact"] in SERIOUS]
        assert not bad, (view, bad)


def test_axe_would_find_something(show: Callable[..., Any]) -> None:
    package = pytest.importorskip("axe_playwright_python")
    shown = show("bilstm")
    shown.page.evaluate(Path(package.__file__).with_name("axe.min.js").read_text("utf-8"))
    shown.page.evaluate(
        "() => { const b = document.createElement('button'); document.querySelector('main').append(b); }"
    )
    found = shown.page.evaluate("async () => (await axe.run(document)).violations")
    assert "button-name" in {v["id"] for v in found}
