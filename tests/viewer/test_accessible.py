"""axe-core on every view, on the views in front of a live model, and on the report, light and dark: nothing serious."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sample_packs import SAMPLES

SERIOUS = {"serious", "critical"}
VIEWS = sorted({view for _, views in SAMPLES.values() for view in views})
SHOWN_BY = {view: next(name for name, (_, views) in SAMPLES.items() if view in views) for view in VIEWS}


def serious(page: Any) -> list[str]:
    """What axe-core calls serious or critical, with the element it is about."""
    package = pytest.importorskip("axe_playwright_python")
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(Path(package.__file__).with_name("axe.min.js").read_text("utf-8"))
    found = page.evaluate("async () => (await axe.run(document, { resultTypes: ['violations'] })).violations")
    return [f"{v['id']}: {v['nodes'][0]['html'][:120]}" for v in found if v["impact"] in SERIOUS]


@pytest.mark.parametrize("name", sorted(set(SHOWN_BY.values())))
def test_every_view(show: Callable[..., Any], name: str) -> None:
    shown = show(name)
    for view in (v for v, sample in SHOWN_BY.items() if sample == name):
        shown.open(view)
        shown.table()
        for scheme in ("light", "dark"):
            shown.page.emulate_media(color_scheme=scheme)
            shown.settle()
            assert not serious(shown.page), (view, scheme)


def test_every_view_is_among_them() -> None:
    """A new file of viewer/src/views must be looked at too: in front of a stored pack, or of a live model."""
    files = Path(__file__).resolve().parents[2] / "viewer" / "src" / "views"
    assert {p.stem for p in files.glob("*.tsx")} == {*VIEWS, *LIVE}


LIVE = ("counterfactual", "rationale")


def test_the_views_of_the_app(chromium: Any, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="NOT RUN: needs regard[live]")
    import regard
    from regard.live.server import serve
    from regard.live.session import Session

    session = Session(regard.load("bilstm"), marks=tmp_path / "rationales.jsonl")
    session.show(regard.Example("text", {"text": "a quiet , moving film"}))
    server = serve(session)
    context = chromium.new_context(bypass_csp=True)  # the policy of the app would refuse axe-core, as it should
    try:
        page = context.new_page()
        page.set_default_timeout(240_000)  # a safety net for busy machines
        page.goto(server.url)
        page.get_by_role("button", name="Help").click()
        assert not serious(page), "help"
        page.keyboard.press("Escape")
        box = page.get_by_role("textbox", name="Text for bilstm")
        box.fill("another text")
        page.locator(".old").wait_for()
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.wait_for_timeout(200)
            assert not serious(page), ("dimmed", scheme)
        box.fill("a quiet , moving film")
        for view in LIVE:
            page.locator(f"#tab-{view}").click()
            page.locator(f"[data-view={view}] canvas[data-drawn]").wait_for()
            if view == "counterfactual":
                page.get_by_role("button", name="Uniform row").click()
                page.locator("[data-change]").wait_for()
                page.get_by_role("button", name="Share as a Spec").click()
            if page.locator("details[open] > summary", has_text="As a table").count() == 0:
                page.locator("summary", has_text="As a table").click()
            page.locator("table").first.wait_for()
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                page.wait_for_timeout(60)
                assert not serious(page), (view, scheme)
    finally:
        context.close()
        server.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report(chromium: Any, tmp_path: Path, scheme: str) -> None:
    from fake_run import JUDGEMENT, fake_run

    from regard.present.report.report import write_report
    from regard.store.judgements import judgement_to_json

    run = fake_run("text", n=8, manifest={"judgements": [judgement_to_json(JUDGEMENT)]})
    path = write_report(run, tmp_path / "report.html")
    context = chromium.new_context(color_scheme=scheme, bypass_csp=True)
    try:
        page = context.new_page()
        page.set_default_timeout(240_000)  # a safety net for busy machines
        page.goto(path.as_uri())
        page.evaluate("() => { for (const d of document.querySelectorAll('details')) d.open = true; }")
        assert not serious(page)
    finally:
        context.close()


def test_axe_would_find_something(show: Callable[..., Any]) -> None:
    shown = show("bilstm")
    shown.page.evaluate(
        "() => { const b = document.createElement('button'); document.querySelector('main').append(b); }"
    )
    assert any(line.startswith("button-name") for line in serious(shown.page))


def test_on_paper_nothing_is_cut_and_nothing_is_dark(chromium: Any, tmp_path: Path) -> None:
    """Paper cannot be scrolled, and a reader in the dark prints on white all the same."""
    from fake_run import fake_run

    from regard.present.report.report import write_report

    path = write_report(fake_run(n=12), tmp_path / "report.html")
    page = chromium.new_page(viewport={"width": 720, "height": 1000}, color_scheme="dark")
    page.set_default_timeout(240_000)  # a safety net for busy machines
    page.emulate_media(media="print")
    page.goto(path.as_uri())
    cut = page.evaluate(
        "() => [...document.querySelectorAll('table, svg, pre')].filter((e) => e.getClientRects().length"
        " && e.getBoundingClientRect().right > innerWidth + 2).map((e) => e.textContent.slice(0, 60))"
    )
    ground = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--card')")
    page.close()
    assert cut == []
    assert ground.strip() == "#f4f5f7"
