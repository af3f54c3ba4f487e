"""What the commands do when nothing is wrong."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from regard.cli import commands
from regard.cli.root import COMMANDS, root
from regard.cli.safe_console import SafeConsole
from regard.errors import EXIT_CODES
from regard.present.messages.messages import say
from regard.registry import ROOMS, names

BY_NAME = {name: root.get_command(click.Context(root), name) for name in COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples_that_parse(name: str, regard: Callable[..., Result]) -> None:
    shown = regard(name, "--help")
    assert shown.exit_code == 0
    assert say(f"term.help.{name}") in " ".join(shown.stdout.split())
    assert "--json" in shown.stdout
    command = BY_NAME[name]
    assert command is not None
    assert len(command.examples) >= 2
    for example in command.examples:
        assert example in shown.stdout
        words = shlex.split(re.split(r"\s{2,}", example)[0])
        assert words[:2] == ["regard", name]
        command.make_context(name, words[2:])  # parses, does not run


def test_root_help_lists_everything(regard: Callable[..., Result]) -> None:
    shown = regard("--help").stdout
    flat = " ".join(shown.split())
    for name in COMMANDS:
        assert f"{name} {say(f'term.help.{name}')}" in flat
    for code in EXIT_CODES:
        assert f"{code} {say(f'term.help.code_{code}')}" in flat
    files = {p.stem for p in Path(commands.__path__[0]).glob("[a-z]*.py")}
    assert files == set(COMMANDS)


@pytest.mark.parametrize("kind", ROOMS)
def test_list_json_is_the_phone_book(kind: str, regard: Callable[..., Result]) -> None:
    result = regard("list", kind, "--json")
    assert [entry["name"] for entry in json.loads(result.stdout)] == names(kind)
    table = regard("list", kind).stdout
    assert all(name in table for name in names(kind))


@pytest.mark.parametrize(("name", "language"), [("globenc", "en"), ("auprc", "zh"), ("worst_case", "en")])
def test_a_method_by_name_is_listed_with_its_facts(name: str, language: str, regard: Callable[..., Result]) -> None:
    """The caveats below results name this command."""
    (method,) = json.loads(regard("list", name, "--json", "--lang", language).stdout)
    text = regard("list", name, "--lang", language).stdout
    facts = method["facts"]
    assert [fact for fact in ("formula", "cost", "misleads", "differs", "cite") if facts[fact] not in text] == []


def test_list_finds_a_method_of_any_kind_by_its_name(regard: Callable[..., Result]) -> None:
    entries = json.loads(regard("list", "retrieval", "--json").stdout)
    assert [(entry["kind"], entry["name"]) for entry in entries] == [("head", "retrieval")]
    assert regard("list", "retrieval").stdout.startswith("head ")
    assert regard("list", "retrievals").exit_code == 2
    by_mention = json.loads(regard("list", "roar", "--json").stdout)
    assert [method["name"] for method in by_mention] == ["remove_and_retrain"]
    assert "f_fidelity" in regard("list", "finetuned_mask").stdout


def test_list_without_kind(regard: Callable[..., Result]) -> None:
    assert set(json.loads(regard("list", "--json").stdout)) == set(ROOMS)


def test_new_writes_a_method_and_its_test(regard: Callable[..., Result], tmp_path: Path) -> None:
    result = regard("new", "explainer", "my_method", "--out", str(tmp_path), "--json")
    assert [Path(p).name for p in json.loads(result.stdout)] == ["my_method.py", "test_my_method.py"]
    use = regard("new", "metric", "my_metric", "--out", str(tmp_path)).output.strip().splitlines()[-2:]
    assert [line.split()[:2] for line in use] == [["regard", "audit"], ["regard", "audit"]]
    assert all("my_metric.py:my_metric" in line for line in use)
    again = regard("new", "explainer", "my_method", "--out", str(tmp_path))
    assert again.exit_code == 2


@pytest.mark.wording
def test_doctor_proves_the_tap_with_numbers(regard: Callable[..., Result]) -> None:
    result = regard("doctor", "--device", "cpu", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert {t["mode"] for t in found["self_test"]} == {"qk", "weights"}
    assert all(t["error"] < 1e-5 and t["fine"] for t in found["self_test"])
    assert found["versions"]["torch"]
    assert "self-test" in regard("doctor", "--device", "cpu").stdout


def test_doctor_fails_when_the_capture_is_wrong(regard: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.cli.self_test import Outcome

    monkeypatch.setattr("regard.cli.self_test.self_test", lambda device: [Outcome("qk", 1, 0.3, 0.0, "first")])
    result = regard("doctor", "--device", "cpu")
    assert result.exit_code == 4
    assert "3.0e-01" in result.stderr


def test_explain_colours_a_sentence(regard: Callable[..., Result]) -> None:
    words = ("explain", "mine.py:make", "--text", "a quiet moving film", "--method", "attention,leave_one_out")
    result = regard(*words)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("a quiet moving film") == 2
    assert result.stdout.count("█" * 20) >= 2, "a bar for the strongest word of each method, where no colours are"
    assert "not why the model decided" in " ".join(result.stdout.split())
    found = json.loads(regard(*words, "--json").stdout)
    (example,) = found["examples"]
    assert example["units"]["names"] == ["a", "quiet", "moving", "film"]
    assert set(example["relevance"]) == {"attention", "leave_one_out"}
    assert sum(example["relevance"]["attention"]) == pytest.approx(1.0, abs=1e-5)
    assert example["answer"] in {"negative", "positive"}


def test_explain_says_how_much_relevance_does_not_reach_the_input(regard: Callable[..., Result]) -> None:
    words = ("explain", "mine.py:make", "--text", "a quiet moving film", "--method", "attention,lrp")
    (example,) = json.loads(regard(*words, "--json").stdout)["examples"]
    assert set(example["absorbed"]) == {"lrp"}
    shares = example["absorbed"]["lrp"]
    assert sum(shares.values()) == pytest.approx(1.0)
    assert say("words.absorbed", method="lrp", **shares) in " ".join(regard(*words).stdout.split())
    alone = json.loads(regard(*words[:-1], "lrp", "--json").stdout)
    assert "lrp" in alone["caveat"], "and the caveat is its own"
    assert say("caveat") not in alone["caveat"]


def test_explain_compares_methods(regard: Callable[..., Result]) -> None:
    words = ("explain", "mine.py:make", "--text", "a quiet moving film", "--method", "attention,leave_one_out,random")
    shown = regard(*words, "--compare")
    assert shown.exit_code == 0, shown.output
    rows = [line.split() for line in shown.stdout.splitlines()]
    words_shown = ["a", "quiet", "moving", "film"]
    assert [row[0] for row in rows if row and row[0] in words_shown] == words_shown
    assert "attention and leave_one_out" in shown.stdout
    assert "n = 4 units" in shown.stdout
    found = json.loads(regard(*words, "--json").stdout)
    pairs = found["examples"][0]["agreement"]
    assert len(pairs) == 3
    assert all(-1 <= pair["tau"] <= 1 and pair["units"] == 4 for pair in pairs)


def test_explain_a_whole_data_set(regard: Callable[..., Result], tmp_path: Path) -> None:
    out = tmp_path / "explained"
    words = (
        "explain",
        "mine.py:make",
        "--data",
        "good.csv",
        "--method",
        "attention,random",
        "--out",
        str(out),
        "--json",
    )
    first = json.loads(regard(*words).stdout)
    assert first["methods"] == ["attention", "random"]
    assert first["examples"] == len(Path("good.csv").read_text("utf-8").splitlines()) - 1
    assert Path(first["report"]).exists()
    assert json.loads(regard(*words).stdout) == first  # the run is there: nothing is computed again
    refused = regard("explain", "mine.py:make", "--text", "a film", "--out", str(tmp_path / "x"))
    assert refused.exit_code == 2
    assert "--data" in refused.stderr


def test_explain_a_row_of_a_data_set(regard: Callable[..., Result]) -> None:
    found = json.loads(regard("explain", "mine.py:make", "--data", "good.csv", "--row", "1", "--json").stdout)
    assert found["examples"][0]["text"] == "dull and far too long"


def test_explain_takes_the_columns_that_it_is_told(regard: Callable[..., Result], tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("first,second\na quiet film,a loud play\n", "utf-8")
    found = json.loads(
        regard("explain", "mine.py:make", "--data", str(path), "--text-column", "second", "--json").stdout
    )
    assert found["examples"][0]["text"] == "a loud play"
    assert regard("explain", "mine.py:make", "--text", "a", "--text-column", "second").exit_code == 2


def test_explain_shows_the_first_windows_and_json_all(regard: Callable[..., Result]) -> None:
    words = ("explain", "mine.py:make", "--method", "attention", "--text", " ".join(f"word{i}" for i in range(150)))
    shown = regard(*words).stdout
    everything = json.loads(regard(*words, "--json").stdout)["examples"]
    assert len(everything) > 3
    assert shown.count("numbers: ") == 3
    flat = " ".join(shown.split())
    assert f"{len(everything) - 3} more are in --json" in flat
    assert flat.index("more are in --json") < flat.index("numbers: ")
    assert flat.index("shares of attention weight") < flat.index("without an interval")


@pytest.fixture(scope="session")
def knows_little(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small network of our own whose vocabulary is three words."""
    from regard.networks.checkpoint import save_checkpoint
    from regard.networks.classifier import AttentionClassifier
    from regard.networks.vocabulary import Vocabulary

    vocabulary = Vocabulary.build(["a quiet film"], min_count=1)
    network = AttentionClassifier(words=len(vocabulary), classes=2, size=4, hidden=4)
    folder = tmp_path_factory.mktemp("little")
    about = {"vocabulary": vocabulary.to_json()}
    save_checkpoint(folder, network, labels=["no", "yes"], task="classification", modality="text", facts=about)
    return str(folder)


@pytest.mark.parametrize("verb", ["explain", "capture"])
def test_unknown_words_are_said(verb: str, knows_little: str, regard: Callable[..., Result]) -> None:
    said = "2 of 4 units (50.0%) are unknown to this model's vocabulary"
    assert said in " ".join(regard(verb, knows_little, "--text", "a quiet xyzzy plugh").stdout.split())
    assert said in json.loads(regard(verb, knows_little, "--text", "a quiet xyzzy plugh", "--json").stdout)["notes"][-1]
    assert json.loads(regard(verb, knows_little, "--text", "a quiet film", "--json").stdout)["notes"] == []


def test_an_audit_notes_unknown_words_over_all_examples(
    knows_little: str, regard: Callable[..., Result], tmp_path: Path
) -> None:
    (tmp_path / "d.jsonl").write_text('{"text": "a quiet xyzzy"}\n{"text": "a film"}\n', "utf-8")
    words = f"audit {knows_little} --data {tmp_path}/d.jsonl --explainers random --metrics comprehensiveness --json"
    result = regard(*words.split(), "--out", str(tmp_path / "run"))
    assert result.exit_code == 0, result.stderr
    notes = json.loads(result.stdout)["manifest"]["data"]["notes"]
    assert any("1 of 5 units (20.0%) are unknown" in note for note in notes)


@pytest.mark.parametrize("mode", ["qk", "weights"])
def test_capture_shows_sites_map_and_proof(mode: str, regard: Callable[..., Result]) -> None:
    words = ("capture", "mine.py:make", "--text", "a quiet moving film", "--mode", mode, "--check", "always")
    result = regard(*words)
    assert result.exit_code == 0, result.stderr
    assert "1 attention site of" in result.stdout
    assert "proof: always" in result.stdout
    found = json.loads(regard(*words, "--json").stdout)
    assert [site["shape"] for site in found["sites"]] == [[1, 1, 4, 4]]
    rows = [sum(row) for row in found["drawn"]["weights"]]
    assert rows == pytest.approx([1.0] * 4, abs=1e-5)


def test_support_tells_what_works_and_why_not(regard: Callable[..., Result]) -> None:
    found = json.loads(regard("support", "mine.py:make", "--json").stdout)
    assert {(m["kind"], m["name"]) for m in found["methods"]} == {
        (kind, name) for kind in ("explainer", "metric") for name in names(kind)
    }
    refused = {m["name"]: m["why"] for m in found["methods"] if not m["works"]}
    assert all(refused.values())  # each with its reason
    assert not {"attention", "rollout", "flow", "leave_one_out", "integrated_gradients", "lime", "sufficiency"} & {
        *refused
    }
    bare = regard("support", "mine.py:without_attention", "--text", "a b", "--json")
    assert bare.exit_code == 0, bare.stderr
    methods = {m["name"]: m for m in json.loads(bare.stdout)["methods"]}
    assert not methods["attention"]["works"]
    assert "attention" in methods["attention"]["why"]
    assert methods["leave_one_out"]["works"]


def test_audit_prints_a_table_and_writes_a_report(audited: tuple[Path, Result]) -> None:
    out, result = audited
    assert result.exit_code == 0, result.stderr
    for name in ("attention", "rollout", "leave_one_out", "random (baseline)", "comprehensiveness", "sufficiency"):
        assert name in result.stdout
    assert "n = 6" in result.stdout
    assert "VERDICT: not settled yet" in result.stdout.replace("Not", "not")  # six examples
    assert " passes" in result.stderr
    assert "in the model" in result.stderr  # the label table
    page = (out / "report.html").read_text("utf-8")
    assert "Audit of " in page
    assert "data-regard-viewer" in page


def test_audit_again_goes_on_and_gives_the_same_numbers(
    audited: tuple[Path, Result], regard: Callable[..., Result]
) -> None:
    out, _ = audited
    words = f"audit {out.parent}/mine.py:make --data {out.parent}/good.csv --out {out} --profile quick --keep 2 --json"
    first, second = (json.loads(regard(*words.split()).stdout) for _ in range(2))
    assert first["summaries"] == second["summaries"]
    assert first["manifest"]["status"] == "complete"
    assert first["manifest"]["command"][:2] == ["regard", "audit"]
    other = regard(*words.split(), "--seed", "5")
    assert other.exit_code == 2
    assert "seed was 0 and is now 5" in other.stderr
    refused = regard(*words.split(), "--no-resume")
    assert refused.exit_code == 2


def test_report_and_export_of_a_run(
    audited: tuple[Path, Result], regard: Callable[..., Result], tmp_path: Path
) -> None:
    out, _ = audited
    told = json.loads(regard("report", str(out), "--out", str(tmp_path / "again.html"), "--json").stdout)
    assert Path(told["report"]).read_text("utf-8") == (out / "report.html").read_text("utf-8")
    regard("report", str(out), "--format", "json", "--out", str(tmp_path / "run.json"))
    assert json.loads((tmp_path / "run.json").read_text("utf-8"))["summaries"]
    tables = json.loads(regard("export", str(out), "--out", str(tmp_path / "tables"), "--json").stdout)
    assert all(Path(path).is_file() for path in tables.values())
    assert "scores" in tables


def test_unlabelled_data_are_about_the_predicted_class(regard: Callable[..., Result], tmp_path: Path) -> None:
    words = "audit mine.py:make --data unlabelled.jsonl --profile quick --explainers attention,random"
    result = regard(*words.split(), "--metrics", "comprehensiveness", "--out", str(tmp_path / "run"))
    assert result.exit_code == 0, result.stderr
    assert "predicted class" in result.stdout
    assert result.stderr.count("no labels") == 1


def test_what_making_a_model_costs_is_said_only_when_it_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    from regard.cli.console import remarks
    from regard.cli.model_options import ModelChoice
    from regard.cli.progress import bar
    from regard.training.progress import Report, tell

    choice = ModelChoice("bilstm", "auto", None, "windows")
    with bar(remarks(), making=choice.making):
        pass
    assert capsys.readouterr().err == ""
    with bar(remarks(), making=choice.making):
        for step in (1, 2):
            tell(Report("bilstm", epoch=2, epochs=6, step=step, steps=9, loss=0.5, dev_metric=0.74))
    said = capsys.readouterr().err
    assert said.count("made here once, about 30 s") == 1
    assert "training bilstm" in said
    assert "epoch 2/6, loss 0.500, dev accuracy 0.74" in said
    assert ModelChoice("mine.py:make", "auto", None, "windows").making == ""


@pytest.mark.parametrize("variables", [{}, {"NO_COLOR": "1", "FORCE_COLOR": ""}])
def test_no_colours_where_nobody_sees_them(variables: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "regard", "list", "explainer"], capture_output=True, text=True, check=True,
        env={**os.environ, **variables},
    )  # fmt: skip
    assert "\x1b[" not in done.stdout


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    line = f"set -o pipefail; {shlex.quote(sys.executable)} -m regard list explainer --json | head -c 5"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode in (0, 141)


def test_a_pipe_that_is_closed_already_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "regard", "--version"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.stderr, done.returncode) == ("", 0)


def test_a_console_reports_a_closed_pipe_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(text: str) -> None:
        raise BrokenPipeError

    console = SafeConsole()
    monkeypatch.setattr(sys.stdout, "write", closed)
    with pytest.raises(BrokenPipeError):  # rich itself would call sys.exit(1)
        console.print("a line")


def test_version(regard: Callable[..., Result]) -> None:
    import regard as package

    assert CliRunner().invoke(root, ["--version"]).stdout == f"regard {package.__version__}\n"
