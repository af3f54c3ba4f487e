"""Answers are shown in words, rows of a decoder by what it wrote, and values are named by their scale."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import adapter_zoo as zoo
import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
import transformers
from click.testing import CliRunner, Result
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import regard
from regard.audits.audit import audit
from regard.cli.commands.capture import _axis_names
from regard.cli.root import root
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.gate.baseline import _same_prediction
from regard.live.live_input import LiveInput
from regard.live.show import captured_pack
from regard.models.ask.answers_in_words import name_of_answer
from regard.models.capture import capture
from regard.models.capture_generation import capture_generation
from regard.models.open.load import load
from regard.present.messages.messages import say, speaking
from regard.present.number_units import objective
from regard.present.objective_scale import about_task
from regard.present.pack.pack import pack_of_run
from regard.present.report.as_markdown import run_markdown
from regard.present.report.report import report
from regard.present.results_table import metric_title
from regard.records import Example
from regard.store.export import export
from regard.store.redaction import Redactor
from regard.store.run import Run

PROMPT, SOURCE, MASKED = " film was great", "the film was great", "the film was [MASK] fun"


@cache
def spaced_tokenizer() -> Any:
    """Byte-level, as GPT-2 has it: the space before a word belongs to its token."""
    vocab = {token: i for i, token in enumerate(["<end>", "_", *(f"Ġ{word}" for word in zoo.WORDS)])}
    inner = Tokenizer(models.WordLevel(vocab, unk_token="_"))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, eos_token="<end>", pad_token="<end>", model_max_length=64
    )


@cache
def translator() -> Any:
    """An encoder-decoder that writes different words."""
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=len(zoo.t5_tokenizer()), d_model=16, d_kv=8, d_ff=24, num_layers=1, num_heads=2, pad_token_id=0,
        eos_token_id=1, decoder_start_token_id=0, tie_word_embeddings=False,
    )  # fmt: skip
    module = transformers.T5ForConditionalGeneration(config).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(2.0 if parameter.dim() > 1 else 1.0)
        module.lm_head.weight[[0, 2]] = 0.0  # neither padding nor unknown
    return module


@cache
def writer(kind: str) -> Any:
    if kind == "causal":
        return load(zoo.gpt2(), processor=spaced_tokenizer(), device="cpu", name="writer")
    if kind == "masked":
        return load(zoo.bert("ForMaskedLM"), processor=zoo.bert_tokenizer(), device="cpu", name="writer")
    return load(translator(), processor=zoo.t5_tokenizer(), device="cpu", name="writer")


TEXTS = {"causal": PROMPT, "masked": MASKED, "translation": SOURCE}


def wanted(kind: str) -> str:
    """What the tokenizer itself makes of the target."""
    model = writer(kind)
    _, (target,) = model.predict([model.encode(Example("e", {"text": TEXTS[kind]}))])
    if kind == "causal":
        return str(spaced_tokenizer().decode([target]))
    if kind == "masked":
        return str(zoo.bert_tokenizer().decode([target[1]]))
    return str(zoo.t5_tokenizer().decode(target, skip_special_tokens=True))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The models as directories, for commands."""
    place = tmp_path_factory.mktemp("models")
    made = {
        "causal": (zoo.gpt2(), spaced_tokenizer()), "masked": (zoo.bert("ForMaskedLM"), zoo.bert_tokenizer()),
        "translation": (translator(), zoo.t5_tokenizer()),
    }  # fmt: skip
    for name, (module, tokenizer) in made.items():
        module.save_pretrained(place / name)
        tokenizer.save_pretrained(place / name)
    return {name: place / name for name in made}


@pytest.fixture
def run_command() -> Callable[..., Result]:
    return lambda *words: CliRunner().invoke(root, [str(w) for w in words])


@pytest.mark.parametrize("kind", list(TEXTS))
def test_terminal_shows_decoded_answers(
    kind: str, folders: dict[str, Path], run_command: Callable[..., Result]
) -> None:
    result = run_command("explain", folders[kind], "--text", TEXTS[kind], "--method", "leave_one_out")
    assert result.exit_code == 0, result.output
    quoted = json.dumps(wanted(kind), ensure_ascii=False)
    shown = " ".join(result.stdout.split())
    assert f"says {quoted} (probability" in shown
    scale = "log-probability" if kind == "translation" else "log-odds"
    assert f"fall of the {scale} of {quoted} when" in shown
    assert kind != "translation" or len(set(wanted(kind).split())) > 2
    assert kind != "causal" or quoted.startswith('" ')


@pytest.mark.parametrize("kind", list(TEXTS))
def test_json_has_answer_and_target(kind: str, folders: dict[str, Path], run_command: Callable[..., Result]) -> None:
    result = run_command("explain", folders[kind], "--text", TEXTS[kind], "--method", "leave_one_out", "--json")
    (example,) = json.loads(result.stdout)["examples"]
    assert example["answer"] == wanted(kind)
    assert not isinstance(example["target"], str)


def test_other_answers_that_are_places_have_names() -> None:
    reader = load(zoo.bert("ForQuestionAnswering"), processor=zoo.bert_tokenizer(), device="cpu")
    item = reader.encode(Example("e", {"text": "who wrote it", "text_pair": "the boring plot"}))
    assert name_of_answer(reader, [5, 6], item) == "the boring"
    tagger = load(zoo.bert("ForTokenClassification", num_labels=4), processor=zoo.bert_tokenizer(), device="cpu")
    item = tagger.encode(Example("e", {"text": "the film"}))
    assert name_of_answer(tagger, [2, 3], item) == f"film: {tagger.labels[3]}"


def test_a_special_token_is_shown_by_its_name() -> None:
    assert name_of_answer(writer("causal"), 0) == "<end>"
    assert name_of_answer(writer("causal"), 3) == " film"


TASKS = {"translation": "sequence_to_sequence"}
"""Without it, a model that writes is audited step by step."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Audits of a language model and a translator."""
    place = tmp_path_factory.mktemp("runs")
    made = {}
    for kind in ("causal", "translation"):
        texts = [Example(str(i), {"text": t}) for i, t in enumerate((TEXTS[kind], TEXTS[kind] + " fun"))]
        made[kind] = audit(
            writer(kind), texts, out=place / kind, explainers=["attention", "random"], metrics=["log_odds"],
            experiments=[], keep=2, device="cpu", task=TASKS.get(kind),
        )  # fmt: skip
    return made


@pytest.mark.parametrize("kind", ["causal", "translation"])
def test_run_report_and_tables_show_decoded_answers(kind: str, runs: dict[str, Run], tmp_path: Path) -> None:
    run, text = runs[kind], wanted(kind)
    assert run.examples()[0]["predicted"] == text
    assert run.examples()[0]["target"] != text
    shown = json.dumps(text, ensure_ascii=False)
    assert say("worked_examples.predicted", label=shown) in html.unescape(report(run))
    row = pq.read_table(export(run, tmp_path)["examples"]).to_pylist()[0]
    assert row["predicted"] == text
    assert json.loads(row["target"]) == run.examples()[0]["target"]


def test_viewer_shows_decoded_answers_and_written_rows(runs: dict[str, Run]) -> None:
    for kind in ("causal", "translation"):
        stored = pack_of_run(runs[kind]).manifest.examples[0]
        asked = LiveInput.of(writer(kind), Example("0", {"text": TEXTS[kind]}))
        live = asked.pack(1 << 20).manifest.examples[0]
        seen = captured_pack(capture(writer(kind), TEXTS[kind])).manifest.examples[0]
        for example in (stored, live, seen):
            assert example.predicted == json.dumps(wanted(kind), ensure_ascii=False)
            for site in example.sites:
                if site.kind == "cross":
                    assert example.axes[site.queries].names == list(written_tokens())
        assert asked.said(0)["label"] == json.dumps(wanted(kind), ensure_ascii=False)


def written_tokens() -> tuple[str, ...]:
    model = writer("translation")
    _, (target,) = model.predict([model.encode(Example("e", {"text": SOURCE}))])
    return tuple(str(zoo.t5_tokenizer().convert_ids_to_tokens(i)) for i in target)


@pytest.mark.parametrize("generate", [(), ("--generate", "3")])
def test_rows_of_cross_attention_are_written_tokens(
    generate: tuple[str, ...], folders: dict[str, Path], run_command: Callable[..., Result]
) -> None:
    model = load(str(folders["translation"]), device="cpu")
    source = list(capture(model, SOURCE).units[0].names)
    name = next(s.site.key for s in capture(model, SOURCE).sites if s.site.kind == "cross")
    result = run_command("capture", folders["translation"], "--text", SOURCE, "--site", name, "--json", *generate)
    found = json.loads(result.stdout)
    made = found["made"] if generate else list(written_tokens())
    assert found["drawn"]["rows"] == made
    assert found["drawn"]["columns"] == source
    assert np.shape(found["drawn"]["weights"]) == (len(made), len(source))
    shown = run_command("capture", folders["translation"], "--text", SOURCE, "--site", name, *generate).stdout
    assert all(token in shown for token in made)


def test_as_many_written_tokens_as_source_tokens_are_not_confused() -> None:
    source = list(capture(writer("translation"), SOURCE).units[0].names)
    written = capture_generation(writer("translation"), SOURCE, new_tokens=len(source))
    made = list(written.made)
    assert len(made) == len(source)
    read = ["<start>", *made[:-1]]
    for site in written.sites:
        rows, columns = _axis_names(written, site)
        assert rows == {"cross": made, "causal": read, "self": source}[site.site.kind], site
        assert columns == (read if site.site.kind == "causal" else source), site


def test_scales_are_named_by_task() -> None:
    assert objective("classification", "positive") == "the log-odds of 'positive'"
    assert objective("masked_token", "fun") == 'the log-odds of "fun"'
    assert objective("sequence_to_sequence", "ein Haus") == 'the log-probability of "ein Haus"'
    assert objective("regression", "0") == objective("forecasting", "3") == "the model's number"
    for task, name in (("classification", "log odds"), ("sequence_to_sequence", "log probability")):
        with about_task(task):
            assert metric_title("log_odds") == name
    with about_task("sequence_to_sequence"), speaking("zh"):
        assert metric_title("log_odds") == "对数概率"


def test_report_of_a_translator_does_not_speak_of_log_odds(runs: dict[str, Run]) -> None:
    page = report(runs["translation"])
    assert "log odds" not in page.lower()
    assert "log probability" in page.lower()
    assert "log odds" in report(runs["causal"]).lower()
    assert "log probability" in run_markdown(runs["translation"])


def test_redacted_runs_do_not_hold_what_was_written(tmp_path: Path) -> None:
    texts = [Example("a", {"text": SOURCE})]
    run = audit(writer("translation"), texts, out=tmp_path / "veiled", explainers=["attention"], metrics=[],
                experiments=[], text=False, device="cpu")  # fmt: skip
    row = run.examples()[0]
    for word in wanted("translation").split():
        assert word not in row["predicted"].split()
        assert word not in row["written"]
    known = Redactor(["unrelated"]).example({"predicted": " Paris", "written": ["Paris"], "target": 7})
    assert known["predicted"] == " w?"
    assert known["written"] == ["w?"]


def test_a_baseline_from_before_still_compares() -> None:
    old, new = {"predicted": 7, "target": 7}, {"predicted": " Paris", "target": 7}
    assert _same_prediction(new, old)
    assert not _same_prediction(new, {"predicted": 8, "target": 8})
    assert not _same_prediction({"predicted": "a", "target": 0}, {"predicted": "b", "target": 0})


def test_python_api_names_answers() -> None:
    explained = regard.explain(writer("causal"), PROMPT, ["leave_one_out"])
    assert explained.said(0) == wanted("causal")
    desk = Desk(writer("causal"))
    DeskCase(desk, [Example("e", {"text": PROMPT})]).base()
    assert desk.answer("e") == wanted("causal")
