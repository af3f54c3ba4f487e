"""`regard cite` from files: messages, sources, answers; tables, JSON, a page; both languages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from regard.cli.chat_options import characters
from regard.cli.root import root
from regard.present.citation_words import citation_errors
from regard.surveys.citation_reliability import MEASURED

FACTORY = """
from regard.testing.copier import copier


def make():
    return copier(["Rome", "Oslo", "Lima"], ["Anna lives in .", "Bert Clara Where does live ? Be brief"], strength=4.0)
"""
SENTENCE = re.compile(r"(?:\b[A-Za-z]{2,} ){4,}[A-Za-z]{2,}")
"""Five words of English in a row."""
FACTS = ["Anna lives in Rome.", "Bert lives in Oslo.", "Clara lives in Lima."]
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "\n".join(FACTS) + "\nWhere does Anna live?"},
]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    contents: dict[str, Any] = {
        "chat.json": MESSAGES,
        "log.json": {"messages": MESSAGES, "answer": "Oslo"},
        "answered.json": [*MESSAGES, {"role": "assistant", "content": "Lima. Rome."}],
        "sources.json": FACTS,
        "odd.json": {"prompt": "x"},
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(json.dumps(content), "utf-8")
    (tmp_path / "copier.py").write_text(FACTORY, "utf-8")
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(root, list(words), prog_name="regard")


def cited(*words: str) -> dict[str, Any]:
    result = run("cite", "copier.py:make", *words, "--json")
    assert result.exit_code == 0, result.output
    facts: dict[str, Any] = json.loads(result.stdout)
    return facts


@pytest.mark.parametrize(
    ("words", "citations"),
    [
        (("--messages", "chat.json", "--answer", "Rome", "--sources", "sources.json"), [[0]]),
        (("--messages", "log.json", "--sources", "sources.json"), [[1]]),
        (("--messages", "answered.json", "--sources", "sources.json"), [[2], [0]]),
        (("--messages", "chat.json", "--answer", "Rome"), [[1]]),
        (("--messages", "chat.json", "--answer", "Rome", "--sources", "sentences"), [[1]]),
        (("--prompt", "Rome.#Oslo.#Where?", "--separator", "#", "--answer", "Oslo"), [[1]]),
    ],
)
def test_citations_of_every_kind_of_input(files: Path, words: tuple[str, ...], citations: list[list[int]]) -> None:
    assert [c["sources"] for c in cited(*words)["citations"]] == citations


@pytest.mark.parametrize("span", ["Oslo", "5:9"])
def test_a_span_and_a_contrast(files: Path, span: str) -> None:
    words = ("--messages", "chat.json", "--answer", "Rome Oslo", "--sources", "sources.json", "--span", span)
    facts = cited(*words)
    assert [(c["start"], c["stop"], c["sources"]) for c in facts["citations"]] == [(5, 9, [1])]
    facts = cited(*words, "--contrast", "Lima")
    assert (facts["contrast"], facts["citations"][0]["sources"]) == ("Lima", [1])
    assert facts["sentences"][0]["effects"][2] < -1  # hiding Lima speaks for Oslo


def test_a_span_that_stands_in_the_answer_is_a_text() -> None:
    assert characters("7:40", "The ferry leaves at 7:40.") == "7:40"
    assert characters("7:40", "The ferry leaves in the morning, long after the sun.") == (7, 40)
    assert characters("Rome", None) == "Rome"
    assert characters(None, "Rome") is None


def test_the_view_of_a_contrast_names_both_texts(files: Path) -> None:
    words = ("cite", "copier.py:make", "--messages", "chat.json", "--answer", "Rome", "--sources", "sources.json")
    for language in ("en", "zh"):
        with_contrast = run(*words, "--contrast", "Lima", "--html", "page.html", "--lang", language)
        for text in (" ".join(with_contrast.output.split()), (files / "page.html").read_text("utf-8")):
            assert "“Rome”" in text
            assert "“Lima”" in text
    assert "rather than" not in run(*words).output


def test_an_answer_of_the_model_itself_is_named_as_such(files: Path) -> None:
    words = ("cite", "copier.py:make", "--messages", "chat.json", "--sources", "sources.json", "--new-tokens", "1")
    assert "wrote this one itself" in " ".join(run(*words, "--html", "page.html").output.split())
    assert "wrote this one itself" in (files / "page.html").read_text("utf-8")
    assert "wrote this one itself" not in " ".join(run(*words, "--answer", "Rome").output.split())


def test_rates_of_another_model_are_named_as_such(files: Path) -> None:
    words = ("cite", "copier.py:make", "--messages", "chat.json", "--answer", "Rome", "--sources", "sources.json")
    assert "not with" in " ".join(run(*words).output.split())
    facts = cited(*words[2:])
    assert not any("not with" in line for line in citation_errors({**facts, "model": "smollm2"}))


def test_a_log_of_completions_is_cited_line_by_line(files: Path) -> None:
    records = [
        {"messages": MESSAGES, "choices": [{"message": {"role": "assistant", "content": city}}]}
        for city in ("Lima", "Rome")
    ]
    (files / "log.jsonl").write_text("\n".join(map(json.dumps, records)), "utf-8")
    words = ("cite", "copier.py:make", "--messages", "log.jsonl", "--sources", "sources.json")
    facts = json.loads(run(*words, "--json").stdout)
    assert [fact["citations"][0]["sources"] for fact in facts] == [[2], [0]]
    assert [fact["record"] for fact in facts] == ["log.jsonl, line 1", "log.jsonl, line 2"]
    assert "log.jsonl, line 2" in run(*words).output
    assert run(*words, "--html", "page.html").exit_code == 2
    assert run(*words, "--answer", "Oslo").exit_code == 2


def test_other_tokens_of_the_writer_are_reported(files: Path) -> None:
    def record(*tokens: str) -> str:
        steps = {"content": [{"token": token, "logprob": -0.1} for token in tokens]}
        choice = {"message": {"role": "assistant", "content": "Rome Oslo"}, "logprobs": steps}
        return json.dumps({"messages": MESSAGES, "choices": [choice]})

    lines = [record("Rome", " Oslo", "<end>"), record("Ro", "me", " Oslo"), record("Rome Oslo")]
    (files / "log.jsonl").write_text("\n".join(lines), "utf-8")
    words = ("cite", "copier.py:make", "--messages", "log.jsonl", "--sources", "sources.json", "--json")
    notes = [fact["notes"] for fact in json.loads(run(*words).stdout)]
    assert [len(own) for own in notes] == [0, 1, 1]


def test_redaction_of_logs_spans_and_contrasts_leaves_no_canary(files: Path) -> None:
    canaries = ("Zanzibar", "Quokka", "Xylophon")
    turns = [{"role": "user", "content": "Quokka lives in Rome.\nBert lives in Oslo.\nWhere?"}]
    steps = {"content": [{"token": "Zanzibar Rome"}]}
    choice = {"message": {"role": "assistant", "content": "Zanzibar Rome"}, "logprobs": steps}
    (files / "log.jsonl").write_text(json.dumps({"messages": turns, "choices": [choice]}), "utf-8")
    words = ("cite", "copier.py:make", "--messages", "log.jsonl", "--sources", "lines", "--span", "Zanzibar")
    open_words = run(*words, "--contrast", "Xylophon", "--json").output
    assert all(canary in open_words for canary in canaries)
    outputs = [run(*words, "--contrast", "Xylophon", "--redact", *more).output for more in ((), ("--json",))]
    assert not [canary for canary in canaries for output in outputs if canary in output]


def test_tables_and_page(files: Path) -> None:
    words = ("cite", "copier.py:make", "--messages", "answered.json", "--sources", "sources.json")
    for language in ("en", "zh"):
        result = run(*words, "--html", "page.html", "--lang", language)
        assert result.exit_code == 0, result.output
        assert "Lima" in result.output
        assert bool(SENTENCE.search(result.output.replace("Anna lives in Rome", ""))) == (language == "en")
        page = (files / "page.html").read_text("utf-8")
        assert f'lang="{language}"' in page
        assert page.count('href="#s') == 2
        wrong = MEASURED["en"].wrong  # by the language of the answer, not of the reader
        assert f"{wrong.low:.1%} {'to' if language == 'en' else '至'}" in page
        assert f"{wrong.low:.1%}" in result.output
        (files / "page.html").unlink()


def test_redaction_reaches_every_output(files: Path) -> None:
    words = ("cite", "copier.py:make", "--messages", "answered.json", "--sources", "sources.json", "--redact")
    outputs = [run(*words, "--html", "page.html").output, (files / "page.html").read_text("utf-8")]
    outputs.append(run(*words, "--json").output)
    assert not [word for word in ("Rome", "Lima", "Anna") for output in outputs if word in output]


@pytest.mark.parametrize(
    "words",
    [
        ("--answer", "Rome"),
        ("--messages", "chat.json", "--prompt", "x"),
        ("--messages", "odd.json"),
        ("--messages", "nowhere.json"),
        ("--messages", "log.json", "--answer", "Rome"),
        ("--messages", "chat.json", "--answer", " "),
        ("--messages", "chat.json", "--answer", "Rome", "--sources", "nothing"),
        ("--messages", "chat.json", "--answer", "Rome", "--html", "page.txt"),
        ("--messages", "chat.json", "--answer", "Rome", "--delta", "0"),
        ("--messages", "chat.json", "--answer", "Rome", "--span", "Oslo"),
        ("--messages", "chat.json", "--answer", "Rome", "--span", "3:9"),
        ("--messages", "chat.json", "--answer", "Rome", "--contrast", "Rome"),
    ],
)
def test_bad_input_ends_with_one_line(files: Path, words: tuple[str, ...]) -> None:
    result = run("cite", "copier.py:make", *words)
    assert result.exit_code == 2
    assert len(result.output.strip().splitlines()) == 1


def test_page_escapes_what_it_shows(files: Path) -> None:
    turns = [{"role": "user", "content": "<script>Rome</script>\n<b>Oslo</b>\nWhere?"}]
    (files / "evil.json").write_text(json.dumps(turns), "utf-8")
    result = run("cite", "copier.py:make", "--messages", "evil.json", "--answer", "<i>Rome", "--html", "page.html")
    assert result.exit_code == 0, result.output
    page = (files / "page.html").read_text("utf-8")
    assert not [tag for tag in ("<script", "<b>", "<i>") if tag in page]
    assert "&lt;script&gt;" in page


def test_explain_takes_the_same_chats(files: Path) -> None:
    words = ["explain", "copier.py:make", "--allow-code", "--messages", "chat.json", "--answer", "Oslo"]
    words += ["--sources", "sources.json", "--units", "source", "--method", "leave_one_out,attention"]
    result = run(*words, "--metric", "aopc,decision_flip", "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    (example,) = facts["examples"]
    assert example["answer"] == "Oslo"
    assert example["units"]["names"] == FACTS
    best = max(range(3), key=example["relevance"]["leave_one_out"].__getitem__)
    assert best == 1
    assert facts["summed"] == ["attention"]
    assert set(example["scores"]["attention"]) == {"aopc"}
    assert "decision_flip" in facts["skipped"]
    shown = run(*words, "--metric", "aopc")
    assert "given answer" in shown.output
    assert "aopc" in shown.output
    assert "summed" in shown.output
    why = run(*words, "--contrast", "Rome")
    assert "Oslo / Rome" in why.output
    assert "sign" in why.output


@pytest.mark.parametrize(
    "words",
    [
        ("--span", "Oslo", "--text", "Anna"),
        ("--messages", "chat.json", "--text", "Anna"),
        ("--messages", "chat.json", "--prompt", "Anna"),
        ("--text", "Anna", "--units", "source"),
        ("--messages", "log.json", "--answer", "Rome"),
    ],
)
def test_explain_refuses_half_a_chat_with_one_line(files: Path, words: tuple[str, ...]) -> None:
    result = run("explain", "copier.py:make", "--allow-code", *words)
    assert result.exit_code != 0
    assert "expected" in result.output
