"""`regard audit --task answer`: JSON, terminal, page, both languages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from regard.present.messages.messages import say, speaking

FACTS = ["Anna lives in Rome.", "Bert lives in Oslo."]
FACTORY = """
from regard.models.open.load import load
from regard.testing.copier import copier

def model():
    module, tokenizer = copier(["Rome", "Oslo"], {texts!r}, strength=6.0)
    return load(module, processor=tokenizer, name="copier")
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    rows = [
        {"prompt": f"{FACTS[0]} {FACTS[1]} Where does {name} live?", "sources": FACTS, "answer": f" {city}"}
        for name, city in (("Anna", "Rome"), ("Bert", "Oslo"))
    ]
    data = tmp_path / "rag.jsonl"
    data.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    code = tmp_path / "made.py"
    code.write_text(FACTORY.format(texts=[row["prompt"] for row in rows]), "utf-8")
    return f"{code}:model", str(data)


def test_json_terminal_and_page_agree(files: tuple[str, str], regard: Callable[..., Result], tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = ["audit", files[0], "--data", files[1], "--task", "answer", "--profile", "quick", "--out", str(out)]
    result = regard(*command, "--allow-code", "--json")
    assert result.exit_code == 0, result.stderr
    facts = json.loads(result.stdout)
    assert facts["schema"] == "regard.answers/1"
    assert [m["method"] for m in facts["methods"]] == ["row_knock_out", "attention", "random"]
    assert facts["methods"][0]["share"]["k"] == facts["n"] == 2
    page = Path(facts["report"]).read_text("utf-8")
    assert say("answers.page.title") in page
    table = regard(*command, "--allow-code")
    assert say("answers.method.row_knock_out") in table.stdout
    again = regard("report", str(out), "--out", str(tmp_path / "again.html"), "--redact")
    assert again.exit_code == 0, again.stderr
    page = (tmp_path / "again.html").read_text("utf-8")
    assert "Anna" not in page
    headings = set(re.findall(r"<h[12]>([^<]+)", page))
    captions = re.findall(r"<figcaption>([^<]+)", page)
    assert len(headings) > 1
    assert captions
    assert not headings & set(captions)  # no heading twice
    assert regard("report", str(out), "--format", "md").exit_code == 2
    chinese = regard(*command, "--allow-code", "--lang", "zh")
    with speaking("zh"):
        assert say("answers.page.title") in Path(facts["report"]).read_text("utf-8")
        assert say("answers.method.row_knock_out") in chinese.stdout


def test_missing_data_and_unknown_method_are_refused(files: tuple[str, str], regard: Callable[..., Result]) -> None:
    assert regard("audit", files[0], "--task", "answer", "--allow-code").exit_code == 2
    wrong = regard(
        "audit", files[0], "--data", files[1], "--task", "answer", "--explainers", "attentoin", "--allow-code"
    )
    assert wrong.exit_code == 2
    assert "attention" in wrong.stderr
