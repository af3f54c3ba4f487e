"""The audit of citations on a hand-made copier: verdicts, resuming, budgets, redaction, bad input."""

from __future__ import annotations

import dataclasses
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from regard.audits.answers.changes import CHANGES, changed_prompt
from regard.audits.answers.evidence import PromptEvidence, open_case
from regard.audits.answers.result import LINES, AnswerAudit, read_answer_audit
from regard.audits.answers.summary import METRICS, conclude
from regard.audits.audit import audit
from regard.datasets.answer_prompts import answer_prompts, read_answer_prompts
from regard.errors import InputError, UnknownName
from regard.models.ask.chat_model import chat_model
from regard.models.open.load import load
from regard.records import Message
from regard.testing.architectures import find
from regard.testing.copier import copier

CITIES = ("Rome", "Oslo", "Lima", "Cairo", "Seoul", "Paris")
NAMES = ("Anna", "Bert", "Clara", "David", "Emma")


def prompts(n: int, seed: int = 0) -> list[dict[str, Any]]:
    """Prompts with three facts; the answer is one of the cities."""
    rng = np.random.default_rng(seed)
    records = []
    for i in range(n):
        cities, names = rng.permutation(CITIES)[:3], rng.permutation(NAMES)[:3]
        facts = [f"{name} lives in {city}." for name, city in zip(names, cities, strict=True)]
        source = int(rng.integers(3))
        content = "\n".join(facts) + f"\n\nWhere does {names[source]} live?"
        messages = [{"role": "user", "content": content}]
        answer = str(cities[source])
        records.append({"id": f"p{i}", "messages": messages, "sources": facts, "answer": answer, "source": source})
    return records


@cache
def model(strength: float = 6.0) -> Any:
    texts = [str(record["messages"][0]["content"]) for record in prompts(60)]
    module, tokenizer = copier(CITIES, texts, strength=strength)
    return load(module, processor=tokenizer, name="copier")


def answers(result: AnswerAudit) -> dict[str, str]:
    return {method.method: method.answer for method in result.trust.methods}


@cache
def standard(folder: Path) -> AnswerAudit:
    return audit(model(), prompts(40), task="answer", out=folder, budget="none")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> AnswerAudit:
    return standard(tmp_path_factory.mktemp("answers") / "run")


def test_right_methods_pass_and_baselines_fail(result: AnswerAudit) -> None:
    assert result.trust.use.answer == "yes"
    verdicts = answers(result)
    assert verdicts["row_knock_out"] == verdicts["gradient_contributions"] == "yes"
    assert verdicts["leave_source_out"] == "reference"
    assert verdicts["random"] != "yes"
    assert verdicts["last_source"] != "yes"
    assert result.trust.recommended == "row_knock_out"
    assert result.trust.headline.key == "answers.headline.cite_by"
    by_name = {method.method: method for method in result.trust.methods}
    truth = by_name["row_knock_out"].truth
    assert truth is not None
    assert truth.k == truth.n == result.n
    assert by_name["row_knock_out"].metrics["top_1_share"].mean == 1.0
    assert by_name["row_knock_out"].passes < by_name["leave_source_out"].passes


def test_settled_audit_stops_at_a_planned_look(tmp_path: Path) -> None:
    methods = ["row_knock_out", "random"]
    settled = audit(model(), prompts(40), task="answer", out=tmp_path, budget="none", explainers=methods)
    assert (settled.status, settled.n, settled.looks[0]) == ("settled", 16, 16)
    assert settled.looks[-1] == settled.available == 40


def test_a_model_that_ignores_its_sources_has_nothing_to_cite(tmp_path: Path) -> None:
    ignoring = audit(model(0.5), prompts(30), task="answer", out=tmp_path, profile="quick", budget="none")
    assert ignoring.trust.use.answer == "no"
    assert {answer for name, answer in answers(ignoring).items()} == {"nothing_to_cite"}
    assert ignoring.trust.headline.key == "answers.headline.unused"
    assert ignoring.n < 30


def test_stored_prompts_give_the_same_verdicts_again(result: AnswerAudit) -> None:
    lines = [json.loads(line) for line in (result.path / LINES).read_text("utf-8").splitlines()[1:]]
    stored = [PromptEvidence.from_json(line) for line in lines if line["kind"] == "prompt"]
    assert stored == list(result.prompts)
    again = conclude(stored, [m.method for m in result.trust.methods], result.looks, seed=0)
    assert json.dumps(again.headline.to_json()) == json.dumps(result.trust.headline.to_json())
    assert [m.answer for m in again.methods] == [m.answer for m in result.trust.methods]


def test_an_audit_read_again_is_the_same(result: AnswerAudit) -> None:
    again = read_answer_audit(result.path)
    assert again.prompts == result.prompts
    one, other = result.to_json(), again.to_json()
    assert {key: other[key] for key in one if key in other} == {key: one[key] for key in one if key in other}
    assert set(one) - set(other) == {"command", "versions", "started"}
    hidden = json.dumps(again.redacted().to_json()["examples"])
    assert not any(word in hidden for word in (*CITIES, *NAMES))


def test_stopped_audit_goes_on_to_the_same_result(tmp_path: Path) -> None:
    options: dict[str, Any] = {"task": "answer", "profile": "quick", "budget": "none"}
    whole = audit(model(), prompts(20), out=tmp_path / "whole", **options)

    def stop(done: int, total: int, left: float | None) -> None:
        if done == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit(model(), prompts(20), out=tmp_path / "cut", progress=stop, **options)
    partial = json.loads((tmp_path / "cut" / "audit.json").read_text("utf-8"))
    assert (partial["status"], partial["n"]) == ("interrupted", 7)
    file = tmp_path / "cut" / LINES
    file.write_bytes(file.read_bytes()[:-30])  # a line that the stop cut off
    resumed = audit(model(), prompts(20), out=tmp_path / "cut", **options)
    assert resumed.prompts == whole.prompts
    one, other = whole.to_json(), resumed.to_json()
    for facts in (one, other):
        del facts["run"], facts["started"], facts["command"]
    assert one == other
    with pytest.raises(InputError, match="another prompts, seed"):
        audit(model(), prompts(20), out=tmp_path / "cut", seed=1, **options)
    with pytest.raises(InputError, match="resume it"):
        audit(model(), prompts(20), out=tmp_path / "cut", resume=False, **options)


def test_budget_of_passes_bounds_the_prompts(tmp_path: Path) -> None:
    small = audit(model(), prompts(40), task="answer", out=tmp_path, profile="quick", budget="30-passes")
    assert small.status == "budget"
    assert small.n < 16
    assert abs(small.passes - 30) < max(prompt.cost for prompt in small.prompts)
    assert small.looks[-1] <= 16


def test_full_profile_has_every_method_and_metric(tmp_path: Path) -> None:
    full = audit(model(), prompts(5), task="answer", out=tmp_path, profile="full")
    by_name = {method.method: method for method in full.trust.methods}
    assert "context_cite" in by_name
    assert set(by_name["row_knock_out"].metrics) == set(METRICS)
    assert full.trust.counting_lds is not None
    assert full.status == "data"
    areas = {name: by_name[name].metrics["deletion_area"].mean for name in ("leave_source_out", "last_source")}
    assert areas["leave_source_out"] < areas["last_source"]


def test_citations_survive_changes_that_leave_the_source_alone(tmp_path: Path) -> None:
    methods = ["row_knock_out", "last_source"]
    changes = ["reordered", "paraphrased", "injected"]
    result = audit(model(), prompts(8), task="answer", out=tmp_path, explainers=methods, experiments=changes)
    same = {(row.method, row.change): row.same.k / row.same.n for row in result.trust.robustness}
    assert same["row_knock_out", "reordered"] == same["row_knock_out", "paraphrased"] == 1.0
    assert same["last_source", "reordered"] < 0.8
    assert same["last_source", "paraphrased"] == 1.0
    injected = {row.method: row.injected for row in result.trust.robustness if row.change == "injected"}
    assert injected["row_knock_out"] is not None
    rows = pq.read_table(tmp_path / "tables" / "changes.parquet").to_pylist()
    assert len(rows) == 8 * 2 * 3
    with pytest.raises(UnknownName, match="reordered"):
        audit(model(), prompts(2), task="answer", experiments=["reorderd"])


def test_changed_prompts_hold_every_source_once() -> None:
    chat = chat_model(model())
    for layout in ("\n- ", "\n\n", " "):
        record = prompts(1)[0]
        facts = record["sources"]
        record["messages"] = [
            {"role": "user", "content": f"Read.{layout}" + layout.join(facts) + f"{layout}Where?"},
            {"role": "assistant", "content": record.pop("answer")},
        ]
        (prompt,) = answer_prompts([record])
        case, _ = open_case(chat, prompt, seed=0, new_tokens=1)
        for name in CHANGES:
            changed = changed_prompt(name, prompt, case, "Zoe lives in Rome.")
            again, _ = open_case(chat, changed.prompt, seed=0, new_tokens=1)
            texts = [source.text for source in again.reader.sources]
            old = [(text, facts[number]) for text, number in zip(texts, changed.origin, strict=True) if number >= 0]
            assert all(fact in text for text, fact in old)
            assert len(old) == len(facts)
            assert again.reply.text == case.reply.text
            content = str(changed.prompt.messages[0]["content"])  # type: ignore[index]
            assert (content.startswith("Read."), content.endswith("Where?")) == (True, True)
            assert [t for t, number in zip(texts, changed.origin, strict=True) if number < 0] == (
                ["Zoe lives in Rome."] if name == "injected" else []
            )
        numbers = list(changed_prompt("reordered", prompt, case, None).origin)
        assert numbers != sorted(numbers)


def test_numbered_sources_get_a_new_last_number() -> None:
    record = prompts(1)[0]
    content = "\n".join(f"[{i + 1}] {fact}" for i, fact in enumerate(record["sources"])) + "\nWhere?"
    (prompt,) = answer_prompts([{**record, "messages": [{"role": "user", "content": content}]}])
    case, _ = open_case(chat_model(model()), prompt, seed=0, new_tokens=1)
    changed = changed_prompt("injected", prompt, case, "Zoe.")
    assert "[4] Zoe.\nWhere?" in str(changed.prompt.messages[0]["content"])  # type: ignore[index]


def test_tables_hold_every_score_and_metric(result: AnswerAudit) -> None:
    scores = pq.read_table(result.path / "tables" / "scores.parquet").to_pylist()
    assert len(scores) == result.n * 3 * len(result.trust.methods)
    first = next(row for row in scores if row["method"] == "row_knock_out" and row["truth"])
    assert first["rank"] == 1
    assert first["exact"] > 1
    metrics = pq.read_table(result.path / "tables" / "metrics.parquet").to_pylist()
    drops = [row["value"] for row in metrics if row["metric"] == "top_1_drop" and row["method"] == "row_knock_out"]
    by_name = {method.method: method for method in result.trust.methods}
    assert np.mean(drops) == pytest.approx(by_name["row_knock_out"].metrics["top_1_drop"].mean)


def test_no_word_of_the_data_is_kept_without_text(tmp_path: Path) -> None:
    records = [
        *prompts(4),
        {"id": "long", "prompt": "Canary Anna? Canary.", "sources": ["Zebra canary"], "answer": "Rome"},
    ]
    private = audit(model(), records, task="answer", out=tmp_path / "run", profile="quick", text=False)
    private.save(tmp_path / "run" / "report.html")
    assert set(private.problems) == {"long"}
    for file in (tmp_path / "run").rglob("*"):
        if file.is_file():
            content = file.read_bytes().lower()
            for word in (*CITIES, *NAMES, "canary", "zebra", "lives"):
                assert word.casefold().encode() not in content, (file.name, word)
    open_run = audit(model(), records, task="answer", out=tmp_path / "open", profile="quick")
    assert open_run.prompts[0].texts is not None


def test_a_model_without_rows_skips_the_methods_that_need_them(tmp_path: Path) -> None:
    row = find("BLOOM")
    tokenizer = model().traits.tokenizer
    settings = {**row.settings, "vocab_size": model().module.config.vocab_size}
    bloom = load(dataclasses.replace(row, settings=settings).build(), processor=tokenizer, name="bloom")
    result = audit(bloom, prompts(5), task="answer", out=tmp_path, explainers=["row_knock_out", "leave_source_out"])
    by_name = {method.method: method for method in result.trust.methods}
    assert by_name["row_knock_out"].answer == "skipped"
    assert by_name["row_knock_out"].reason
    assert by_name["leave_source_out"].share is not None


def test_damaged_lines_are_named(tmp_path: Path) -> None:
    audit(model(), prompts(2), task="answer", out=tmp_path, profile="quick")
    file = tmp_path / LINES
    lines = file.read_text("utf-8").splitlines()
    lines[1] = lines[1].replace('"count": 3', '"count": "three"')
    file.write_text("\n".join(lines) + "\n", "utf-8")
    with pytest.raises(InputError, match="line 2, field count"):
        audit(model(), prompts(2), task="answer", out=tmp_path, profile="quick")
    lines[0] = lines[0].replace('"seed": 0', '"seed": "zero"')
    file.write_text(lines[0] + "\n", "utf-8")
    with pytest.raises(InputError, match="line 1, field seed"):
        read_answer_audit(tmp_path)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[]", "an object"),
        ("{}", "messages"),
        ('{"prompt": 3}', "text as prompt"),
        ('{"prompt": "a", "source": "b"}', "numbers of sources"),
        ('{"prompt": "a", "separator": 1}', "a text"),
        ("{", "JSON"),
        ("", "at least one prompt"),
        ('{"id": 1, "prompt": "a"}\n{"id": 1, "prompt": "b"}', "different id"),
    ],
)
def test_bad_rows_are_refused(tmp_path: Path, line: str, reason: str) -> None:
    file = tmp_path / "rag.jsonl"
    file.write_text(line, "utf-8")
    with pytest.raises(InputError, match=reason):
        read_answer_prompts(file)


def test_rows_are_chats_prompts_or_chat_completions() -> None:
    rows: list[dict[str, Any]] = [
        {"messages": [{"role": "user", "content": "a"}], "answer": "b", "documents": [{"text": "c"}], "source": [0, 2]},
        {"prompt": "a", "separator": ";", "prefix": "x"},
        {
            "request": {"messages": [{"role": "user", "content": "a"}]},
            "response": {"choices": [{"message": {"content": "z"}}]},
        },
    ]
    first, second, third = answer_prompts(rows)
    assert (first.answer, first.documents, first.truth) == ("b", [{"text": "c"}], (0, 2))
    assert (second.messages, second.separator, second.prefix, second.truth) == ("a", ";", "x", None)
    assert third.answer == "z"
    assert [p.id for p in (first, second, third)] == ["1", "2", "3"]


def test_unknown_methods_and_data_are_refused() -> None:
    with pytest.raises(InputError, match="jsonl"):
        audit(model(), "reviews.csv", task="answer")
    with pytest.raises(Exception, match="row_knock_out"):
        audit(model(), prompts(2), task="answer", explainers=["row_knock"])


def test_options_of_other_tasks_are_refused() -> None:
    for option in ({"metrics": ["comprehensiveness"]}, {"shift": "tweets"}, {"layers": "all"}, {"workers": 2}):
        with pytest.raises(InputError, match=next(iter(option))):
            audit(model(), prompts(2), task="answer", **option)


def test_headline_without_settled_method_is_open(tmp_path: Path) -> None:
    few = audit(model(), prompts(3), task="answer", out=tmp_path, profile="quick")
    assert few.trust.headline.key == "answers.headline.open"
    assert isinstance(few.trust.headline, Message)
    assert few.trust.recommended is None
