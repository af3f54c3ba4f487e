"""Options that every command shares, defaults from a file, the short help, completion."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import Result

from regard.cli.defaults import ALLOWED, stored_defaults
from regard.cli.root import COMMANDS, root
from regard.cli.shared_options import SHARED, WITHOUT
from regard.errors import InputError
from regard.models.tasks import TASKS
from regard.networks.checkpoint import save_checkpoint
from regard.networks.encoders import ENCODERS
from regard.networks.series import SeriesTransformer

BY_NAME = {name: root.get_command(click.Context(root), name) for name in COMMANDS}


def flags(name: str) -> dict[str, click.Parameter]:
    command = BY_NAME[name]
    assert command is not None
    return {flag: parameter for parameter in command.params for flag in parameter.opts}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_the_shared_options(name: str) -> None:
    options, exceptions = flags(name), WITHOUT.get(name, {})
    missing = {flag for flag in SHARED if flag not in options}
    assert missing == set(exceptions), "state the reason in WITHOUT, or add the option"
    if "--device" in options:
        assert options["--device"].type.convert("cuda:1", None, None) == "cuda:1"
        with pytest.raises(InputError):
            options["--device"].type.convert("tpu", None, None)


def test_an_option_without_a_meaning_is_refused_with_the_reason(regard: Callable[..., Result]) -> None:
    result = regard("status", "run", "--labels", "a=0")
    assert result.exit_code == 2
    assert "regard status has no --labels: it reads a stored run" in " ".join(result.stderr.split())


def test_labels_name_the_class_of_a_row(regard: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("text,label\nquiet film,bad\nloud film,good\n")
    row = ("--data", str(tmp_path / "two.csv"), "--row", "1", "--json")
    for command in ("explain", "capture"):
        for labels, label in (("bad=0,good=1", 1), ("bad=1,good=0", 0)):
            result = regard(command, "mine.py:make", *row, "--labels", labels)
            assert result.exit_code == 0, result.output
            assert json.loads(result.stdout)["label"] == ("negative", "positive")[label]
    assert regard("capture", "mine.py:make", "--text", "quiet", "--labels", "bad=0").exit_code == 2


def test_closed_sets_are_choices() -> None:
    task, encoder = flags("explain")["--task"].type, flags("train")["--encoder"].type
    assert isinstance(task, click.Choice)
    assert isinstance(encoder, click.Choice)
    assert list(task.choices) == [*TASKS]
    assert set(encoder.choices) == {*ENCODERS, "recurrent"}


def test_out_writes_what_a_command_prints(regard: Callable[..., Result], tmp_path: Path) -> None:
    words = ("capture", "mine.py:make", "--text", "quiet film")
    for arguments, file in (((), "capture.txt"), (("--json",), "capture"), ((), "capture.json")):
        result = regard(*words, *arguments, "-o", str(tmp_path / file))
        assert (result.exit_code, result.stdout) == (0, ""), result.output
    assert (tmp_path / "capture.txt").read_text() == regard(*words).stdout
    assert (
        (tmp_path / "capture.json").read_text() == (tmp_path / "capture").read_text() == regard(*words, "--json").stdout
    )


def test_a_failed_command_leaves_its_out_file(regard: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("old")
    result = regard("capture", "mine.py:make", "--text", "quiet", "--site", "none", "-o", str(tmp_path / "old.txt"))
    assert result.exit_code == 2
    assert (tmp_path / "old.txt").read_text() == "old"


def test_a_split_and_a_column_reach_the_row(regard: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("first,second,label\nquiet film,loud noise,0\n")
    for column in ("first", "second"):
        words = ["--data", str(tmp_path / "two.csv"), "--row", "0", "--text-column", column]
        result = regard("capture", "mine.py:make", *words, "--json")
        assert result.exit_code == 0, result.output
        assert {"first": "quiet", "second": "loud"}[column] in result.stdout
    unsplit = regard("capture", "mine.py:make", "--data", str(tmp_path / "two.csv"), "--row", "0", "--split", "test")
    assert unsplit.exit_code == 2


def test_quiet_silences_remarks_and_not_results(regard: Callable[..., Result]) -> None:
    words = ("explain", "mine.py:make", "--text", "quiet film", "--method", "attention")
    assert regard(*words, "-q").stdout == regard(*words).stdout
    assert regard(*words, "-q").stderr == ""


def test_plain_regard_prints_a_short_help(regard: Callable[..., Result]) -> None:
    result = regard()
    assert (result.exit_code, result.stderr) == (0, "")
    assert len(result.stdout.splitlines()) <= 14
    assert all(line in result.stdout for line in ("regard audit", "regard explain", "regard --help"))


@pytest.mark.parametrize(("shell", "start"), [("bash", ".bashrc"), ("zsh", ".zshrc"), ("fish", "")])
def test_completion_installs_once(
    shell: str, start: str, regard: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    if start:
        (tmp_path / start).write_text("alias ll='ls -l'")
    for _ in range(2):
        assert regard("completion", "--install").exit_code == 0
    (script,) = [p for p in tmp_path.rglob("*") if p.is_file() and p.name != start]
    assert "_REGARD_COMPLETE" in script.read_text()
    assert script.read_text().strip() == regard("completion", shell).stdout.strip()
    if start:
        lines = (tmp_path / start).read_text().splitlines()
        assert lines[0] == "alias ll='ls -l'"
        assert len(lines) == 2
        assert str(script) in lines[1]


def test_unknown_shell_is_a_usage_error(regard: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert regard("completion").exit_code == 2


def test_defaults_are_shared_and_a_command_has_its_own(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.regard]\nseed = 3\ntext-column = "body"\n[tool.regard.audit]\nseed = 5\n'
    )
    defaults = stored_defaults(COMMANDS, tmp_path)
    assert defaults["explain"] == {"seed": 3, "text_column": "body"}
    assert defaults["audit"] == {"seed": 5, "text_column": "body"}
    (tmp_path / "regard.toml").write_text("json = true\n")
    assert stored_defaults(COMMANDS, tmp_path)["audit"] == {"as_json": True}, "its own file wins"


@pytest.mark.parametrize(
    "text",
    [
        "allow-code = true",
        "allow_code = true",
        "download = true",
        'model = "evil.py:make"',
        'data = "x.csv"',
        'out = "/etc"',
        '[audit]\nexplainers = "given:function=evil.py:f"',
        '[audit]\nexperiments = ["x"]',
        'max-bytes = "9GB"',
        "[no_such_command]\nseed = 1",
        "seed = [1]",
        "seed = ",
    ],
)
def test_defaults_cannot_name_code_or_allow_anything(text: str, tmp_path: Path) -> None:
    (tmp_path / "regard.toml").write_text(text)
    with pytest.raises(InputError):
        stored_defaults(COMMANDS, tmp_path)


def test_no_allowed_default_runs_or_fetches_anything() -> None:
    forbidden = {"allow_code", "download", "model", "data", "out", "explainers", "metrics", "experiments", "engine"}
    assert forbidden.isdisjoint(ALLOWED.values())


def test_a_file_sets_defaults_that_the_line_overrides(
    regard: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plain = regard("list", "engine").stdout
    (tmp_path / "regard.toml").write_text('lang = "zh"\n[list]\njson = true\n')
    assert regard("list", "engine").stdout.startswith("[")
    (tmp_path / "regard.toml").write_text('lang = "zh"\n')
    assert regard("list", "engine").stdout != plain
    assert regard("list", "engine", "--lang", "en").stdout == plain
    (tmp_path / "regard.toml").write_text("seed = ")
    assert regard("list", "engine").exit_code == 2
    assert regard("--help").exit_code == 0, "help is always there"


def test_output_fits_the_columns(regard: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    table = regard("list", "explainer").stdout
    assert max(map(len, table.splitlines())) <= 60
    assert "value_norms_residual" in table, "names stay whole"


def test_a_recording_is_explained_by_its_windows(regard: Callable[..., Result], tmp_path: Path) -> None:
    save_checkpoint(
        tmp_path / "net",
        SeriesTransformer(channels=1, classes=2, size=8, heads=2, layers=1),
        labels=("normal", "anomaly"),
        task="classification",
        modality="series",
        facts={},
    )
    rows = [f"{t},{t % 8 / 8},{int(t == 20)}" for t in range(40)]
    (tmp_path / "pump.csv").write_text("\n".join(["t,pressure,anomaly", *rows]), "utf-8")
    words = ["--data", str(tmp_path / "pump.csv"), "--window", "8", "--method", "leave_one_out", "--json"]
    done = regard("explain", str(tmp_path / "net"), *words)
    assert done.exit_code == 0, done.output
    assert '"t7"' in done.stdout
    assert '"t8"' not in done.stdout
