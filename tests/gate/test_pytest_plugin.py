"""The same rules as test items."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest
from made_run import made_run, share

pytest_plugins = ("pytester",)
PLUGIN = "regard.cli.pytest_plugin"
INSTALLED = any(e.name == "regard" for e in importlib.metadata.entry_points(group="pytest11"))


@pytest.fixture
def run(pytester: pytest.Pytester, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_run(tmp_path_factory.mktemp("runs") / "run", share(100, 90)).path


def asked(pytester: pytest.Pytester, *words: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess(*([] if INSTALLED else ["-p", PLUGIN]), "-p", "no:cacheprovider", *words)


@pytest.mark.wording
def test_every_check_is_an_item(pytester: pytest.Pytester, run: Path) -> None:
    pytester.path.joinpath("release.gate.toml").write_text(
        f'run = "{run}"\n[[gate]]\nmetric = "accuracy"\nmin = 0.8\n[[gate]]\nmetric = "accuracy"\nmin = 0.99\n'
        '[[gate]]\nmetric = "accuracy"\nmin = 0.9\n[[gate]]\nmetric = "accuracy"\nmin = 0.99\nlevel = "warn"\n',
        "utf-8",
    )
    result = asked(pytester)
    result.assert_outcomes(passed=1, failed=2, xfailed=1)
    result.stdout.fnmatch_lines(["*fail: accuracy of model: 0.900*", "*inconclusive: accuracy of model*"])


def test_by_option(pytester: pytest.Pytester, run: Path) -> None:
    pytester.makepyfile("def test_nothing(): pass")
    policy = pytester.path / "rules.toml"
    policy.write_text('inconclusive = "warn"\n[[gate]]\nmetric = "accuracy"\nmin = 0.9\n', "utf-8")
    asked(pytester).assert_outcomes(passed=1)
    result = asked(pytester, "--regard-policy", str(policy), "--regard-run", str(run))
    result.assert_outcomes(passed=1, xfailed=1)
    drifting = '[[drift]]\nmin = 0.9\nmeasure = "predictions"\n'
    policy.write_text(drifting, "utf-8")
    words = ("--regard-policy", str(policy), "--regard-run", str(run), "--regard-baseline", str(run))
    asked(pytester, *words).assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[gate]]\nmetric = "acuracy"\nmin = 0.5', "Try: accuracy"),
        ("[[gate]]\nmin = 0.5", "metric = NAME"),
    ],
)
def test_a_bad_policy_is_a_collection_error(pytester: pytest.Pytester, run: Path, text: str, said: str) -> None:
    pytester.path.joinpath("bad.gate.toml").write_text(text, "utf-8")
    result = asked(pytester, "--regard-run", str(run))
    assert result.ret == pytest.ExitCode.INTERRUPTED, "exit code 2, as on the command line"
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*{said}*"])


def test_without_a_run(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("bad.gate.toml").write_text('[[gate]]\nmetric = "accuracy"\nmin = 0.5', "utf-8")
    result = asked(pytester)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*--regard-run RUN*"])
