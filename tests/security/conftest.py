"""The canary in a place of its own, a run about its harmless model, and the command line."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from canary import EVIL, TEXTS, Canary, save_model
from click.testing import CliRunner, Result

from regard.audits.audit import audit
from regard.cli.root import root


@pytest.fixture(scope="session")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(model directory, run about it)."""
    folder = tmp_path_factory.mktemp("harmless")
    save_model(folder / "model")
    methods = {"explainers": ["attention", "random"], "metrics": ["comprehensiveness"], "experiments": []}
    audit(str(folder / "model"), TEXTS, out=folder / "run", keep=1, **methods)  # type: ignore[arg-type]
    return folder / "model", folder / "run"


@pytest.fixture
def canary(harmless: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Canary]:
    """The canary, with `evil` importable from the current directory, as for `python -m regard`."""
    place = Canary(tmp_path)
    shutil.copytree(harmless[0], place.model)
    place.file.write_text(EVIL.format(mark=str(place.mark), model=str(place.model)), "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield place
    sys.modules.pop("evil", None)


@pytest.fixture
def run(harmless: tuple[Path, Path]) -> Path:
    return harmless[1]


@pytest.fixture
def regard() -> Callable[..., Result]:
    """Runs a command line in this process."""

    def call(*words: object) -> Result:
        return CliRunner().invoke(root, [str(word) for word in words], prog_name="regard")

    return call
