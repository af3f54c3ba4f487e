"""`regard status`: the state of a run from the ledger alone, in words and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from torch_toy import TorchToy, sentences

from regard.audits.audit import audit
from regard.cli.root import root
from regard.store.run_status import run_status
from regard.store.run_writer import RunWriter

TEXTS = [{"text": text} for text in sentences(12)]


def _status(run: Path, *more: str) -> str:
    result = CliRunner().invoke(root, ["status", str(run), *more])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("status") / "run"
    audit(TorchToy(), TEXTS, out=out, budget="none", explainers=["attention"], metrics=["entropy"])
    return out


def test_finished_run_lists_its_workers(run: Path) -> None:
    facts = json.loads(_status(run, "--json"))
    assert (facts["status"], facts["examples"], facts["problems"], facts["killers"]) == ("complete", 12, 0, [])
    assert (facts["activity"]["done"], facts["activity"]["total"]) == (12, 12)
    (worker,) = facts["activity"]["workers"].values()
    assert worker["examples"] == 12
    assert worker["rate"] > 0
    words = _status(run)
    assert "complete" in words
    assert "12 of 12 (100 %)" in words


@pytest.mark.wording
def test_status_speaks_chinese(run: Path) -> None:
    assert "已完成" in CliRunner().invoke(root, ["status", str(run), "--lang", "zh"]).output


def test_run_whose_writer_is_gone_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(BaseException):
        pass

    def leave(done: int, total: int, eta: float | None) -> None:
        if not done:
            return
        assert run_status(tmp_path / "run").status == "running"  # its writer holds the lock
        raise Gone

    monkeypatch.setattr(RunWriter, "close", lambda *given, **more: None)  # as SIGKILL would end it
    few: dict[str, Any] = {"budget": "none", "explainers": ["attention"], "metrics": []}
    with pytest.raises(Gone):
        audit(TorchToy(), TEXTS, out=tmp_path / "run", progress=leave, **few)
    status = run_status(tmp_path / "run")
    assert (status.status, status.shards) == ("stopped", 1)
    assert "stopped" in _status(tmp_path / "run")


def test_directory_without_a_run_is_one_line(tmp_path: Path) -> None:
    from regard.errors import InputError

    with pytest.raises(InputError, match="no ledger"):
        run_status(tmp_path)
