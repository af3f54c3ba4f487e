"""Errors hold no English of their own: every part is a key of the catalogues, and every key has its values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from string import Formatter

import pytest

import regard
from regard.audits.answers.evidence import PromptEvidence, line_shape
from regard.errors import RegardError, error_message, in_words, phrase
from regard.files import reason
from regard.foreign_code import described
from regard.gate.gate import refused
from regard.live.guard import Guard
from regard.message import Message
from regard.present.messages.messages import catalogue, render, speaking
from regard.serve.access import ServiceGuard
from regard.store.ledger import Ledger, Problem
from regard.store.redaction import Redactor
from regard.store.shard_result import ShardResult

SOURCE = Path(regard.__file__).parent
PARTS = ("subject", "expected", "got", "remedy")
CODE = re.compile(
    r"""^(?:
        (?:--[a-z]|pip\ |apt|regard\ |python\ |regard\.wrap|from\ |np\.|rows[=(]|groups\ =|\w+\ =\ ).* # to type
        | [\w.\[\]-]+ [=:]\S.* | [a-z]+_[a-z]+\ .* | .*\ [a-z]+_[a-z]+ # name=value, a spec, a setting and its value
        | (?:[\[("]|\{["a-z]|[A-Z]\w*\() .* # a class, a shape, a literal
    )$""",
    re.VERBOSE,
)
"""A command, an option or an expression, the same in every language."""
HELPERS = {"RowError", "Mismatch", "contained", "damaged"}
"""They carry parts of errors."""
FOREIGN = {"ValueError", "TypeError", "KeyError", "RuntimeError", "OSError", "FileNotFoundError"}
"""Python's own, whose words may become part of an error of ours (`errors.words_of`)."""
NOT_SHOWN = {Path("random_keys.py"), Path("testing/toy.py"), Path("testing/toy_text.py")}
"""Files whose TypeErrors stop a programmer, not a user."""


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


@cache
def errors() -> frozenset[str]:
    """The names of our exception classes, and of the helpers that carry their parts."""
    names = {"RegardError"}
    classes = [node for tree in trees().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    while True:
        more = {c.name for c in classes if names & {getattr(b, "id", getattr(b, "attr", "")) for b in c.bases}} - names
        if not more:
            return frozenset(names | HELPERS | FOREIGN)
        names |= more


def called(node: ast.Call) -> str:
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def literals(node: ast.AST) -> Iterator[str]:
    """The texts of an argument; those inside other calls are values, not words."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    elif isinstance(node, ast.IfExp):
        yield from (text for part in (node.body, node.orelse) for text in literals(part))
    elif isinstance(node, ast.BoolOp):
        yield from (text for part in node.values for text in literals(part))
    elif isinstance(node, ast.BinOp):
        yield from (text for part in (node.left, node.right) for text in literals(part))


def is_english(text: str) -> bool:
    """
    >>> is_english("a file"), is_english("--data FILE"), is_english("file {}"), is_english("label")
    (True, False, True, False)
    """
    words = re.search(r"[A-Za-z]{2,},? [a-z]{2,}|\ba [a-z]{2,}|[a-z]{3,}:? \{\}|\{\} [a-z]{2,}", text)
    return bool(words) and not CODE.match(text)


def test_no_error_holds_english() -> None:
    """New sentences belong into present/messages/languages/*.toml: `expected=phrase("errors.PACKAGE.NAME", n=n)`."""
    offenders = []
    for path, tree in trees().items():
        if path.relative_to(SOURCE) in NOT_SHOWN:
            continue
        for node in ast.walk(tree):
            values: list[ast.AST] = []
            if isinstance(node, ast.Call) and called(node) in errors():
                values = [*node.args, *(k.value for k in node.keywords)]
            elif isinstance(node, ast.Call):
                values = [k.value for k in node.keywords if k.arg in ("remedy", "expected", "got")]
            elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in PARTS:
                values = [node.value]
            texts = [text for value in values for text in literals(value) if is_english(text)]
            offenders += [f"{path.relative_to(SOURCE.parent)}:{node.lineno}: {text!r}" for text in texts]
    assert offenders == [], "\n" + "\n".join(offenders)


def test_one_word_subjects_are_translated_or_names_in_the_code() -> None:
    """`InputError("data", ...)` is translated by errors.subject; a parameter, command or method keeps its name."""
    names = {arg.arg for tree in trees().values() for node in ast.walk(tree) for arg in arguments_of(node)}
    names |= {path.stem for path in trees()} | {path.stem for path in SOURCE.rglob("commands/*.py")}
    words = {
        text
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and called(node) in errors() and node.args
        for text in literals(node.args[0])
        if re.fullmatch(r"[a-z]+", text)
    }
    unknown = {word for word in words if f"errors.subject.{word}" not in catalogue("en")} - names
    assert "data" in words
    assert sorted(unknown) == []
    unused = {key.rpartition(".")[2] for key in catalogue("en") if key.startswith("errors.subject.")} - words
    assert sorted(unused) == []


def arguments_of(node: ast.AST) -> list[ast.arg]:
    return [*node.args.args, *node.args.kwonlyargs] if isinstance(node, ast.FunctionDef) else []


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def phrases() -> Iterator[tuple[str, str, set[str] | None]]:
    """Every `phrase("key", name=...)` of the code: where it stands, its key and the names of its values."""
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and called(node) == "phrase" and isinstance(node.args[0], ast.Constant):
                names = {k.arg for k in node.keywords if k.arg is not None}
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", node.args[0].value, names


def test_every_phrase_is_in_the_catalogue_with_the_same_values() -> None:
    english = catalogue("en")
    wrong = [
        f"{where}: {key} takes {sorted(places(english[key]))}, not {sorted(names or ())}"
        if key in english
        else f"{where}: no {key} in en.toml"
        for where, key, names in phrases()
        if key not in english or places(english[key]) != names
    ]
    assert wrong == [], "\n" + "\n".join(wrong)
    used = {key for _, key, _ in phrases()}
    looked_up = ("errors.noun.", "errors.subject.")
    unused = {key for key in english if key.startswith("errors.") and not key.startswith(looked_up)} - used
    assert sorted(unused) == []


@pytest.mark.wording
def test_every_error_renders_in_both_languages() -> None:
    keys = [key for key in catalogue("en") if key.startswith(("errors.", "error."))]
    for key in keys:
        specs = {name: spec for _, name, spec, _ in Formatter().parse(catalogue("en")[key]) if name}
        values = {name: 3 if spec else f"«{name}»" for name, spec in specs.items()}
        for language in ("en", "zh"):
            with speaking(language):
                text = render(phrase(key, **values))
            assert all(str(v) in text for v in values.values() if isinstance(v, str)), (key, language, text)


@pytest.mark.wording
def test_chinese_errors_have_no_english_words() -> None:
    """Three English words in a row are a sentence that nobody translated; options, commands and code are names."""
    chinese = {key: text for key, text in catalogue("zh").items() if key.startswith(("errors.", "error."))}
    command = re.compile(r"(pip|apt|apt-get|iconv|regard|cat|python|sha256) [\x00-\x7f]+|'[^']*'|\"[^\"]*\"|\([^)]*\)")
    plain = {key: command.sub(" ", text) for key, text in chinese.items()}
    assert [key for key, text in plain.items() if re.search(r"\b[a-z]{2,} [a-z]{2,} [a-z]{2,}", text)] == []


def test_an_error_inside_another_stays_a_message() -> None:
    inner = RegardError(phrase("errors.common.file_place", place=Path("a.csv")), got=phrase("errors.common.none"))
    outer = RegardError("b", got=phrase("errors.common.no_error", error=inner))
    assert "a.csv" in str(outer)
    with speaking("zh"):
        assert str(outer) == "b：实际为 没有 文件 a.csv：实际为 无"


@pytest.mark.wording
@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "explain bilstm --method rolout --text hi",
            "解释方法 'rolout'：应为 已知的名称；实际为 没有这样的解释方法。建议：rollout",
        ),
        ("report /nonexistent", "运行 /nonexistent：应为 由 `regard audit` 写出的目录；实际为 没有这个目录"),
        (
            "audit bilstm --data nosuch.csv",
            "数据 'nosuch.csv'：应为 csv、jsonl 或 parquet 文件，或目录；实际为 没有这个文件",
        ),
        ("audit bilstm --lmit 3", "选项 '--lmit'：应为 此命令的选项；实际为 没有这个选项。建议：'--limit' 或"),
        ("audit bilstm --limit three", "选项 '--limit'：应为 不小于 1 的整数；实际为 'three'"),
        ("audit bilstm --json=3", "选项 '--json'：应为 不带值"),
        ("audit bilstm --profile fast", "选项 '--profile'：应为 以下之一：quick, standard, full；实际为 'fast'"),
        ("audit bilstm other", "参数：应为 不再有其他参数；实际为 other"),
        ("report", "参数 RUN：应为 一个值；实际为 无"),
    ],
)
def test_a_command_line_error_is_chinese(line: str, words: str) -> None:
    from click.testing import CliRunner

    from regard.cli.root import root

    result = CliRunner().invoke(root, [*line.split(), "--lang", "zh"])
    assert result.exit_code == 2
    assert words in result.output


def test_problems_and_reasons_are_stored_as_messages(tmp_path: Path) -> None:
    """A run that was audited in one language is read in another; plain texts of older runs stay as they are."""
    error = RegardError("data", got=phrase("errors.common.no_such_file"))
    foreign = ValueError("odd film")
    problems = [Problem("a", "forward", error_message(error)), Problem("b", "forward", error_message(foreign))]
    with closing(Ledger.write(tmp_path)) as ledger:
        ledger.enter("task", "done", None, problems=problems)
        read = ledger.problems()
    assert read == problems
    page = ShardResult(skipped={"attention": error.message, "lrp": "as it was"})
    skipped = ShardResult.from_bytes(page.to_bytes()).skipped
    with speaking("zh"):
        assert [in_words(p.message) for p in read] == ["数据：实际为 没有这个文件", "ValueError: odd film"]
        assert in_words(skipped["attention"]) == "数据：实际为 没有这个文件"
    assert skipped["lrp"] == "as it was"


def test_the_message_of_a_plain_exception_stays_a_message() -> None:
    """`ValueError(phrase(...))` of a function without a subject is translated wherever it is told."""
    error = ValueError(phrase("errors.files.nested_too_deeply"))
    outer = RegardError("a.json", expected="JSON", got=reason(error))
    with speaking("zh"):
        texts = [
            str(outer),
            in_words(error_message(error)),
            in_words(described(error)),
            str(phrase("x", e=error).params),
        ]
    assert texts[:3] == ["a.json：应为 JSON；实际为 嵌套过深", "嵌套过深", "嵌套过深"]
    assert "errors.files.nested_too_deeply" in texts[3]


def test_reasons_of_an_answer_audit_are_messages() -> None:
    """Older audits stored the words themselves."""
    row = {"id": "p", "count": 2, "tokens": 9, "answer_tokens": 1, "generated": False, "depth": None, "cost": 1.0}
    tables = {name: {} for name in ("scores", "passes", "soft", "changes")}
    reasons = {"new": phrase("errors.common.none").to_json(), "old": "as it was"}
    line = {
        **row,
        **tables,
        "kind": "prompt",
        "exact": [],
        "subsets": [],
        "truth": None,
        "texts": None,
        "skipped": reasons,
    }
    line_shape(line, "")
    evidence = PromptEvidence.from_json(line)
    assert evidence.skipped == {"new": phrase("errors.common.none"), "old": "as it was"}
    assert evidence.to_json()["skipped"] == reasons


def test_words_of_the_data_leave_a_message_with_redaction() -> None:
    hidden = Redactor(["a dull film"]).message(phrase("errors.common.text_what", what="dull film"))
    assert isinstance(hidden, Message)
    assert dict(hidden.params) == {"what": "w2 w3"}


@pytest.mark.wording
def test_refusals_of_servers_are_messages() -> None:
    app = Guard(lambda *_: None, token="t", hosts=["127.0.0.1:1"])  # type: ignore[arg-type, return-value]
    status, expected = app._refused({"headers": [], "path": "/", "method": "GET"}) or (0, "")
    service = ServiceGuard(lambda *_: None, keys=["k"], body_bytes=9)  # type: ignore[arg-type, return-value]
    code, refusal = service._refused({"headers": [], "path": "/v2/x", "method": "POST"}) or (0, "")
    with speaking("zh"):
        assert (status, in_words(expected)) == (421, "启动此应用时所用的地址")
        assert (code, str(refusal)[:7]) == (401, "API 密钥：")


@pytest.mark.wording
def test_the_verdict_of_a_gate_has_an_id_and_words() -> None:
    outcome = refused(RegardError("data", got=phrase("errors.common.no_such_file")), "run", "policy.toml")
    with speaking("zh"):
        assert str(outcome.verdict) == "策略或输入有误（退出码 2）：数据：实际为 没有这个文件"
        assert outcome.to_json()["verdict"] == "bad policy or input"
