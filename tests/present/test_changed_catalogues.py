"""Nobody reads prose: with every English message reversed all numbers stay, and every sentence is a message."""

from __future__ import annotations

import html
import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any, get_args

import pytest
import tiny_models
from click.testing import CliRunner
from fake_run import JUDGEMENT, fake_run

from regard.cli.root import COMMANDS, root
from regard.datasets.read import read
from regard.present.report.report import report
from regard.present.verdict_words import verdict_table
from regard.store.judgements import judgement_to_json
from regard.store.run import Run
from regard.verdict_records import Reading

sys.path.insert(0, str(Path(__file__).parents[1]))
from catalogues import backwards, bracketed, catalogue_changed, single_words

OLD = Path(__file__).parents[1] / "store" / "run_f476f33.zip"
"""An audit of the code before messages: `regard audit bilstm --data reviews --limit 4 --profile quick --keep 0`."""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    with zipfile.ZipFile(OLD) as archive:
        archive.extractall(tmp_path / "run")
    return tmp_path / "run"


def invoke(*arguments: object) -> str:
    result = CliRunner().invoke(root, [str(argument) for argument in arguments])
    assert result.exit_code in (0, 1, 3), result.output
    return str(result.output)


def numbers(value: Any) -> Any:
    """The value without its texts."""
    if isinstance(value, dict):
        return {name: numbers(inner) for name, inner in value.items()}
    return [numbers(inner) for inner in value] if isinstance(value, list) else None if isinstance(value, str) else value


def test_a_run_of_an_older_version_stays_readable(old: Path, tmp_path: Path) -> None:
    stored = Run(old).manifest["judgements"]
    assert isinstance(stored[0]["sentence"], str), "English, as it was stored then"
    verdict_table(stored, covered=True)
    judged = json.loads(invoke("verdicts", old, "--json"))
    answers = [v["answer"] for v in judged[0]["verdicts"] if v["question"] != "mixture"]
    assert answers == [v["answer"] for v in stored[0]["verdicts"]], "a question that was not asked then is new"
    assert "points" in [v["question"] for v in judged[0]["verdicts"]], "judged again, by ids"
    policy = tmp_path / "policy.toml"
    policy.write_text('[[gate]]\nmetric = "comprehensiveness"\nmethod = "attention"\nmin = -1.0\n')
    assert json.loads(invoke("gate", old, "--policy", policy, "--json"))["checks"]
    invoke("report", old, "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "by a hash of the text" in page, "a stored note is shown as it is"
    invoke("metrics", old)


def test_no_number_depends_on_the_words_of_the_catalogue(old: Path, tmp_path: Path) -> None:
    def read() -> list[Any]:
        invoke("report", old, "--format", "json", "--out", tmp_path / "report.json")
        report_ = json.loads((tmp_path / "report.json").read_text("utf-8"))
        return [numbers(report_), numbers(json.loads(invoke("verdicts", old, "--json")))]

    plain = read()
    with catalogue_changed(backwards):
        assert read() == plain


ON_A_RUN = ("verdicts", "metrics", "experiments", "gate", "status", "export", "report")


def test_every_sentence_of_a_report_is_a_message() -> None:
    run = fake_run(n=12, manifest={"judgements": [judgement_to_json(JUDGEMENT)]})
    with catalogue_changed(bracketed):
        page = report(run)
    texts = " ".join(str(e["inputs"].get("text")) for e in run.examples())
    for part in page_texts(page):
        words = plain_words(part)
        assert words in texts or any(words in text for text in DATA), part


@pytest.mark.parametrize("arguments", [[name] for name in ON_A_RUN], ids=" ".join)
def test_every_sentence_on_the_terminal_is_a_message(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "3000")  # no line of a table folds a message
    policy = tmp_path / "policy.toml"
    policy.write_text('[[gate]]\nmetric = "comprehensiveness"\nmethod = "attention"\nmin = -1.0\n')
    archive = tmp_path / "evidence.zip"
    options = {
        "gate": ["--policy", policy],
        "export": ["--out", tmp_path / "tables"],
        "report": ["--format", "evidence", "--out", archive],
    }
    more = options.get(arguments[0], [])
    with catalogue_changed(bracketed):
        output = invoke(*arguments, old, *more)
        output += invoke("verify", archive) if archive.exists() else ""
    assert "⟦" in output
    for line in output.splitlines():
        assert not (words := plain_words(line)) or words in IDENTIFIERS, line


def test_every_sentence_of_an_audit_is_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "3000")
    few = ("--explainers", "attention,random", "--metrics", "comprehensiveness", "--keep", 0, "--limit", 4)
    with catalogue_changed(bracketed):
        output = invoke("audit", "bilstm", "--data", "reviews", *few, "--out", tmp_path / "run")
    assert "⟦" in output
    assert [line for line in output.splitlines() if plain_words(line)] == []


def test_every_sentence_of_help_is_a_message() -> None:
    """Options have no words of their own in the code either, but for the placeholders of values."""
    pages = {name: ["--help"] if name == "regard" else [name, "--help"] for name in ("regard", *COMMANDS)}
    with catalogue_changed(bracketed):
        for name, arguments in pages.items():
            page = invoke(*arguments)
            assert page.count("⟦") > 8, name
            examples = [line for line in page.splitlines() if line.startswith("  regard ")]
            rest = re.sub(r"⟦[^⟦⟧]*⟧", "", " ".join(line for line in page.splitlines() if line not in examples))
            assert plain_words(rest) == "", name


@pytest.mark.parametrize(
    "kind", ["explainer", "metric", "experiment", "attack", "citer", "source", "question", "recipe", "planted"]
)
def test_every_sentence_of_a_list_is_a_message(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "3000")
    with catalogue_changed(bracketed):
        lines = invoke("list", kind).splitlines()
        methods = json.loads(invoke("list", kind, "--json"))
    assert len(lines) > 3
    assert [line for line in lines if plain_words(line)] == []
    names = {"cite", "code", "licence"}  # of papers, parameters and licences
    facts = [fact for method in methods for name, fact in method["facts"].items() if name not in names]
    assert [fact for fact in facts if plain_words(str(fact))] == []


def test_every_sentence_of_an_attack_is_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "3000")
    few = ("--attack", "random_words,universal_trigger:rounds=1", "--n", 6, "--budget", 20)
    with catalogue_changed(bracketed):
        output = invoke("attack", "bilstm", "--data", "reviews", *few)
    texts = " ".join(str(example.inputs["text"]) for example in read("reviews", split="test"))
    untranslated = [line for line in output.splitlines() if (words := plain_words(line)) and words not in texts]
    assert untranslated == []


@pytest.mark.parametrize("name", ["digits", "power", "cancer"])
def test_every_sentence_about_pictures_series_and_tables_is_a_message(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "3000")
    few = ("--explainers", "attention,random", "--metrics", "comprehensiveness", "--keep", 1, "--limit", 4)
    with catalogue_changed(bracketed):
        output = invoke("audit", name, *few, "--budget", "none", "--out", tmp_path / "run")
    assert [line for line in output.splitlines() if plain_words(line)] == []
    columns = read(name, split="test", limit=4).columns
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    data = " ".join([*columns, *(column[:20] for column in columns), *map(str, read(name, split="test").labels)])
    for part in [*page_texts(page), *attribute_texts(page)]:
        own = [column for column in columns if column[:20] in part]  # a long name is cut
        assert own or part.startswith("regard audit") or single_words(part, data) == set(), part


def test_every_sentence_of_a_written_report_is_a_message(tmp_path: Path) -> None:
    """Audited and reported in the language of brackets: no text of an older version is stored in it."""
    few = ("--explainers", "attention,random", "--metrics", "comprehensiveness", "--keep", 0, "--limit", 4)
    pages = {}
    with catalogue_changed(bracketed):
        invoke("audit", "cancer", *few, "--budget", "none", "--out", tmp_path / "run")
        for kind in ("html", "md", "json"):
            invoke("report", tmp_path / "run", "--format", kind, "--out", tmp_path / f"page.{kind}")
            pages[kind] = (tmp_path / f"page.{kind}").read_text("utf-8")
    parts = [*page_texts(pages["html"]), pages["md"], *strings_of(json.loads(pages["json"]))]
    columns = read("cancer", split="test", limit=4).columns
    for part in parts:
        for column in columns:
            part = part.replace(column, "").replace(column[:20], "")
        words = plain_words(part.replace("regard audit", ""))
        assert part.startswith("regard audit") or words == "" or part in IDS, part


IDS = {"not told apart", *get_args(Reading)}
"""Ids in JSON, the same in every language."""


def strings_of(value: Any) -> list[str]:
    if isinstance(value, dict | list):
        return [text for inner in (value.values() if isinstance(value, dict) else value) for text in strings_of(inner)]
    return [value] if isinstance(value, str) else []


COMMANDS_TO_TRY = (
    "explain bilstm --text film --method attention,leave_one_out",
    "capture bilstm --text film",
    "walkthrough film --model bilstm",
    "view bilstm --text film -o view.html",
    "heads bilstm --data reviews.csv --limit 4 --ablate 2",
    "perturb film --noise keyboard",
    "perturb bilstm --data reviews.csv --noise keyboard --limit 6",
    "plan bilstm --data reviews.csv --limit 4 --out plan.json",
    "support mine.py:make --text film",
    "doctor",
    "prune digits --fraction 0.5 --limit 4 --out pruned",
    "align bart --text good -o links.html",
    "atlas copier.py:make --messages chat.json -o atlas.html",
    "audit copier.py:make --task answer --data prompts.jsonl --out answers",
    "train classifier --data reviews.csv --out base --set size=8 --set hidden=4 --encoder average --epochs 1",
    "improve base --data reviews.csv --out better --examples 6 --budget 5 --with noise --seeds 1 --set epochs=1",
    "cite copier.py:make --messages chat.json --answer Rome. -o cited.html",
)


def test_every_sentence_of_further_commands_is_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "3000")
    monkeypatch.chdir(tmp_path)
    words = ("good", "fine"), ("bad", "poor")
    rows = [f"it was {words[i // 4 % 2][i // 8 % 2]} {i},{i // 4 % 2},{SPLITS[i % 4]}" for i in range(64)]
    Path("reviews.csv").write_text("\n".join(["text,label,split", *rows]) + "\n", "utf-8")
    question = "Anna lives in Rome.\nClara lives in Lima.\nWhere does Anna live?"
    Path("chat.json").write_text(json.dumps([{"role": "user", "content": question}]), "utf-8")
    prompt = {"messages": [{"role": "user", "content": question}], "answer": "Rome."}
    Path("prompts.jsonl").write_text("".join(json.dumps({**prompt, "id": i}) + "\n" for i in "abc"), "utf-8")
    Path("copier.py").write_text(COPIER, "utf-8")
    Path("mine.py").write_text(MINE, "utf-8")
    tiny_models.bart(tmp_path / "bart")
    with catalogue_changed(bracketed):
        outputs = {line: invoke(*line.split()) for line in COMMANDS_TO_TRY}
    pages = [(file, text) for file in PAGES for text in page_texts(Path(file).read_text("utf-8"))]
    for name, output in [*outputs.items(), *pages]:
        for sentence in question.splitlines():
            output = output.replace(sentence, "")
        assert plain_words(output) == "", name


def test_every_command_is_tried_in_brackets() -> None:
    """`serve` runs until it is stopped; a completion is a program; `new` and `list` print commands to type."""
    tried = {line.split()[0] for line in COMMANDS_TO_TRY} | {*ON_A_RUN, "verify", "list", "attack"}
    assert set(COMMANDS) - tried == {"serve", "completion", "new"}


PAGES = ("cited.html", "atlas.html", "view.html", "links.html")
SPLITS = ("train", "train", "dev", "test")
MINE = """
import torch
import regard


class Tiny(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(8, 4)
        self.out = torch.nn.Linear(4, 2)

    def forward(self, ids):
        x = self.embed(ids)
        weights = torch.softmax(x @ x.transpose(1, 2), -1)
        return self.out((weights @ x).mean(1))


def make():
    torch.manual_seed(0)
    return regard.wrap(Tiny(), lambda text: [len(word) % 8 for word in text.split()], labels=["no", "yes"])
"""
COPIER = """
from regard.testing.copier import copier


def make():
    return copier(["Rome", "Lima"], ["Anna lives in .", "Clara Where does live ?"], strength=4.0)
"""


def page_texts(page: str) -> list[str]:
    """The texts of a page between its elements, without scripts and styles."""
    page = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return [html.unescape(part) for part in re.split(r"<[^>]+>", page)]


def attribute_texts(page: str) -> list[str]:
    """The texts of a page that a screen reader or a pointer shows."""
    return [html.unescape(text) for text in re.findall(r'(?:aria-label|title|alt|placeholder)="([^"]*)"', page)]


def plain_words(text: str) -> str:
    """Three English words in a row that come from no catalogue, or ""."""
    while "⟦" in text and text != (text := re.sub(r"⟦[^⟦⟧]*⟧", " ", text)):
        pass
    words = re.search(r"[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}", text)
    return words[0] if words else ""


IDENTIFIERS = ("access black box", "access white box", "comprehensiveness of attention")
"""Settings of a finding and names of checks, the same in every language."""


DATA = (
    "You may use this map.",
    "Its answer would change.",
    "200 of 8530 examples were drawn, stratified by label",
    "regard explain bilstm --text '...' --method attention",
)
"""Plain texts that the made run holds, and a command to type."""
