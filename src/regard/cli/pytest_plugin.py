"""A policy as test items: `pytest release.gate.toml --regard-run RUN`, or with `run = ...` in the policy itself.

Collects files whose name ends in `.gate.toml`, and those that `--regard-policy` names. Every check is an item. A
blocking check that failed or is open fails; a check that only warns is an expected failure. A bad policy is a
collection error.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from regard.errors import phrase

if TYPE_CHECKING:
    from regard.gate.check import Check
    from regard.gate.gate import Outcome

SUFFIX = ".gate.toml"


def _own_language() -> AbstractContextManager[None]:
    """Use the language of REGARD_LANG, as the command line does."""
    from regard.present.messages.messages import is_language, speaking

    lang = os.environ.get("REGARD_LANG", "")
    return speaking(lang if is_language(lang) else "en")


def pytest_addoption(parser: pytest.Parser) -> None:
    from regard.present.messages.messages import say

    with _own_language():
        group = parser.getgroup("regard", say("pytest_option.group"))
        group.addoption("--regard-policy", metavar="FILE", help=say("pytest_option.policy"))
        group.addoption("--regard-run", metavar="RUN", help=say("pytest_option.run"))
        group.addoption("--regard-baseline", metavar="RUN", help=say("pytest_option.baseline"))


def pytest_configure(config: pytest.Config) -> None:
    policy = config.getoption("--regard-policy")
    if policy and policy not in config.args:
        config.args.append(policy)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> GateFile | None:
    policy = parent.config.getoption("--regard-policy")
    if file_path.name.endswith(SUFFIX) or (policy and Path(policy).resolve() == file_path):
        return GateFile.from_parent(parent, path=file_path)
    return None


class GateFile(pytest.File):
    """A policy file."""

    def collect(self) -> Iterator[GateItem]:
        from regard.errors import InputError, RegardError
        from regard.gate.gate import gate
        from regard.gate.policy import read_policy

        try:
            policy = read_policy(self.path)
            run = self.config.getoption("--regard-run") or policy.run
            if run is None:
                remedy = phrase("errors.cli.regard_run_run_or_run")
                raise InputError(
                    phrase("errors.common.policy_name", name=self.path),
                    expected=phrase("errors.cli.run_check"),
                    got=phrase("errors.common.none"),
                    remedy=remedy,
                )
            outcome = gate(run, policy, baseline=self.config.getoption("--regard-baseline"))
        except RegardError as error:
            raise self.CollectError(str(error)) from None
        for check in outcome.checks:
            yield GateItem.from_parent(self, name=check.name, check=check, outcome=outcome)


class GateItem(pytest.Item):
    """Check of a gate as a pytest item."""

    def __init__(self, *, check: Check, outcome: Outcome, **settings: Any) -> None:
        super().__init__(**settings)
        self.check, self.outcome = check, outcome

    def runtest(self) -> None:
        from regard.errors import GateFailed
        from regard.present.messages.messages import render, say

        soft = self.check.level == "warn"
        if self.check.result == "inconclusive":
            soft = soft or self.outcome.open_ones == "warn"
        if self.check.result == "pass":
            return
        with _own_language():
            result = say(f"term.gate.{self.check.result}")
            result = say("term.gate.warning", result=result) if soft else result
            line = say("term.gate.failure", result=result, sentence=render(self.check.sentence))
        if soft:
            pytest.xfail(line)
        raise GateFailed(line)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from regard.errors import GateFailed

        return str(excinfo.value) if isinstance(excinfo.value, GateFailed) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"gate: {self.name}"
