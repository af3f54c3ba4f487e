"""Every Python example in README and docs is run; every page is built; every link leads somewhere."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from regard import registry

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "README.zh-CN.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])


def python_blocks(page: Path) -> str:
    return "\n".join(re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.S | re.M))


@pytest.mark.parametrize("page", [p for p in PAGES if python_blocks(p)], ids=lambda p: p.name)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(python_blocks(page), str(page), "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)\)", page.read_text("utf-8")):
        if not target.startswith(("http", "mailto")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_site_builds(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("docs_build", ROOT / "docs" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pages = module.build(tmp_path / "site")
    text = "".join(p.read_text("utf-8") for p in pages)
    assert "integrated_gradients" in text
    for kind in ("explainer", "metric"):
        for name in registry.names(kind):
            page = (tmp_path / "site" / module.page_of(kind, name)).with_suffix(".html").read_text("utf-8")
            wanted = ["cost", "formula", "better", "baseline"] if kind == "metric" else ["cost"]
            if registry.entry(kind, name).facts.get("role") != "baseline" and name != "given":
                wanted += ["when it misleads", "reference"]
            assert not [fact for fact in wanted if f"<td>{fact}</td>" not in page], f"{kind} {name}"
    for page in pages:
        for href in re.findall(r'href="([^":#]+)"', page.read_text("utf-8")):
            assert (page.parent / href).exists() or href.startswith(".."), f"{page.name} -> {href}"
        for href, place in re.findall(r'href="([^":#]*)#([^"]+)"', page.read_text("utf-8")):
            there = (page.parent / href if href else page).read_text("utf-8")
            assert re.search(rf"""id=["']{re.escape(place)}["']""", there), f"{page.name} -> {href}#{place}"


def test_every_verdict_has_its_paragraph() -> None:
    from regard.present.messages.messages import catalogue

    text = (ROOT / "docs" / "verdicts.md").read_text("utf-8").lower()
    for key, question in catalogue("en").items():
        if key.startswith("judge.") and key.endswith(".question"):
            words = question.lower().rstrip("?").removeprefix("the overall ")
            assert words in text, f"docs/verdicts.md says nothing about: {question}"
