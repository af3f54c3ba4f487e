"""Every Python example in README and docs is run; every page is built; every link leads somewhere."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import nbformat
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


def docs_module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_notebooks_hold_the_page_and_its_code() -> None:
    module = docs_module("site_notebooks")
    for name in module.TUTORIALS:
        text = (ROOT / "docs" / name).read_text("utf-8")
        notebook = module.notebook_of(text)
        nbformat.validate(notebook)
        code = [cell.source.strip() for cell in notebook.cells if cell.cell_type == "code"]
        assert "\n".join(code).split() == python_blocks(ROOT / "docs" / name).split()
        words = " ".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown").split()
        outside = re.sub(r"^```python\n.*?^```", "", text, flags=re.S | re.M).split()
        assert words == outside


def test_a_notebook_keeps_the_outputs_of_its_cells() -> None:
    module = docs_module("site_notebooks")
    notebook = module.notebook_of("# One\n\n```python\nx = 6 * 7\n```\n\n```python\nprint(x)\n```\n")
    module.execute(notebook)
    assert notebook.cells[-1].outputs[0].text == "42\n"


def test_search_finds_pages_by_title_heading_and_words(tmp_path: Path) -> None:
    quickjs = pytest.importorskip("quickjs")
    pages = [
        ("a.html", "Leave_one_out", "<h1>x</h1>"),
        ("b.html", "Two", "<h2>leave one</h2>"),
        ("c.html", "注意力", ""),
    ]
    script = docs_module("site_search").search_script([*pages, ("d.html", "D", "</script><b>drift</b>")])
    assert "</script" not in script
    page = """
    let typed = null, rows = [];
    const element = () => ({append(x) { this.a = x; }, setAttribute() {}, value: "",
      addEventListener(name, f) { if (name == "input") typed = f; },
      replaceChildren(...r) { rows = r; }});
    const parts = {}; const document = {getElementById: (id) => (parts[id] ??= element()), createElement: element,
      addEventListener() {}};
    """
    context = quickjs.Context()
    context.eval(page + script)

    def hits(words: str) -> list[str]:
        context.eval(f"parts.search.value = {json.dumps(words)}; typed()")
        return list(json.loads(context.eval("JSON.stringify(rows.map((row) => row.a.href))")))

    assert hits("leave_one") == ["a.html", "b.html"]
    assert hits("力") == ["c.html"]
    assert hits("drift") == ["d.html"]
    assert hits("nothing here") == hits("") == []


def test_the_gauge_of_the_landing_page_is_the_stored_result() -> None:
    module = docs_module("site_gauge")
    assert module.PICTURE.read_text("utf-8") == module.gauge_picture(), "run: python docs/site_gauge.py RUN"
    gauge = module.stored_gauge()
    share, low, high = (f"{100 * x:.0f}" for x in (gauge.share, gauge.low, gauge.high))
    for page in ("docs/index.md", "README.md"):
        text = (module.HERE.parent / page).read_text("utf-8")
        assert f"{share} % [{low}, {high}]" in text, page
        assert str(gauge.n) in text, page


def test_the_site_builds(tmp_path: Path) -> None:
    module = docs_module("build")
    pages = module.build(tmp_path / "site")
    front = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert "gauge.svg" in front
    assert (tmp_path / "site" / "pictures" / "gauge.svg").read_text("utf-8").startswith("<svg xmlns")
    assert front.count("<img") >= 4
    assert 'class="side"' in (tmp_path / "site" / "from-captum.html").read_text("utf-8")
    assert len([*(tmp_path / "site").glob("*.ipynb")]) == len(module.TUTORIALS)
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


def test_the_decision_tree_names_real_commands_and_options() -> None:
    """Every command that it prints exists, with every option that it shows."""
    from importlib import import_module

    text = (ROOT / "docs" / "which-command.md").read_text("utf-8")
    lines = re.findall(r"`regard (\w+)([^`]*)`", text)
    assert len(lines) > 20
    for name, rest in lines:
        command = import_module(f"regard.cli.commands.{name}").command
        options = {option for parameter in command.params for option in parameter.opts}
        assert set(re.findall(r"(?<=\s)--[\w-]+", rest)) <= options, f"regard {name}{rest}"
