"""A run that somebody shared: whatever its ledger says, opening it runs no code and builds no other model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from canary import TEXTS, Canary
from click.testing import Result

from regard.audits.audit import audit
from regard.audits.more_metrics import judge_again, model_of
from regard.errors import InputError
from regard.live.session import Session
from regard.store.run import Run

Call = Callable[..., Result]
POLICY = '[[gate]]\nmetric = "comprehensiveness"\nmethod = "attention"\nmin = -9\n'

CODE: dict[str, Callable[[Canary], dict[str, Any]]] = {
    "a factory": lambda c: {"kind": "model", "name": c.factory, "params": {}},
    "a factory beside the user": lambda c: {"kind": "model", "name": "evil.py:make", "params": {"device": "cpu"}},
    "a function": lambda c: {"kind": "function", "name": "evil:make", "params": {}},
    "code of a model directory": lambda c: {
        "kind": "model", "name": str(c.model), "params": {"trust_remote_code": True}
    },
}  # fmt: skip
"""What a ledger may name as its model."""
REOPENING: dict[str, tuple[object, ...]] = {
    "metrics": ("metrics", "RUN", "--metric", "sufficiency"),
    "view of a text": ("view", "RUN", "--text", "the film was fun", "--html", "view.html"),
    "view of a Spec": ("view", "RUN", "--spec", "spec.json", "--html", "view.html"),
}
READING: dict[str, tuple[object, ...]] = {
    "view": ("view", "RUN", "--html", "view.html"),
    "metrics": ("metrics", "RUN"),
    "report": ("report", "RUN"),
    "verdicts": ("verdicts", "RUN"),
    "export": ("export", "RUN"),
    "gate": ("gate", "RUN", "--policy", "policy.toml"),
}


def hostile(canary: Canary, run: Path, carrier: str, **further: object) -> Path:
    (canary.place / "policy.toml").write_text(POLICY, "utf-8")
    (canary.place / "spec.json").write_text(
        '{"kind": "edits", "name": "attention", "params": {"text": "the film was fun", "methods": [], "edits": []}}'
    )
    return canary.run_copy("run", run, spec=CODE[carrier](canary), **further)


@pytest.mark.parametrize("carrier", CODE)
def test_no_command_runs_the_code_that_a_run_names(carrier: str, canary: Canary, run: Path, regard: Call) -> None:
    folder = hostile(canary, run, carrier)
    for name, words in REOPENING.items():
        result = regard(*(folder if word == "RUN" else word for word in words))
        assert result.exit_code == 2, (name, result.output)
        assert "--allow-code" in result.stderr, name
    for name, words in READING.items():
        result = regard(*(folder if word == "RUN" else word for word in words))
        assert result.exit_code in (0, 3), (name, result.output)
    for open_it in (model_of, lambda run: judge_again(run, ["sufficiency"]), lambda run: Session(run=run).model):
        with pytest.raises(InputError, match="allow_code=True"):
            open_it(Run(folder))
    assert not canary.ran


@pytest.mark.parametrize("carrier", ["a factory", "a function"])
def test_code_of_a_run_runs_when_the_user_allows_it(carrier: str, canary: Canary, run: Path, regard: Call) -> None:
    folder = hostile(canary, run, carrier, files=None)
    result = regard("metrics", folder, "--metric", "sufficiency", "--allow-code")
    assert result.exit_code == 0, result.output
    assert canary.ran


def test_a_run_cannot_name_a_method_with_code(canary: Canary, regard: Call) -> None:
    folder = canary.place / "mine"
    audit(
        str(canary.model), TEXTS, out=folder, keep=0, explainers=["random", canary.method], metrics=["sufficiency"],
        experiments=[],
    )  # fmt: skip
    assert canary.ran, "the user typed this method: it must run"
    canary.mark.unlink()
    assert regard("metrics", folder, "--metric", "comprehensiveness").exit_code == 0, "needs the stored relevance only"
    asks_again = ("metrics", folder, "--metric", "max_sensitivity")
    result = regard(*asks_again)
    assert result.exit_code == 2, result.output
    assert "--allow-code" in result.stderr
    assert not canary.ran
    assert regard(*asks_again, "--allow-code").exit_code == 0
    assert canary.ran


def test_a_download_in_a_ledger_is_not_repeated(
    canary: Canary, run: Path, regard: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    import transformers

    local_only = []

    def config(source: str, *, local_files_only: bool, **named: object) -> None:
        local_only.append(local_files_only)
        raise OSError("nothing here")

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", config)
    spec = {"kind": "model", "name": "nobody/nothing", "params": {"download": True}}
    folder = canary.run_copy("run", run, spec=spec, files=None)
    for permission in ((), ("--allow-code",)):
        assert regard("metrics", folder, "--metric", "sufficiency", *permission).exit_code == 2
    assert local_only == [True, True]


def test_other_files_are_refused_before_anything_is_built(
    canary: Canary, run: Path, regard: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = {"kind": "model", "name": str(canary.model), "params": {}}
    folder = canary.run_copy("run", run, spec=spec)
    assert regard("metrics", folder, "--metric", "sufficiency").exit_code == 0
    config = canary.model / "config.json"
    config.write_text(config.read_text("utf-8").replace('"num_hidden_layers": 1', '"num_hidden_layers": 2'), "utf-8")

    def never(*anything: object, **named: object) -> None:
        raise AssertionError("a model was built from other files")

    monkeypatch.setattr("regard.models.open.load.load", never)
    result = regard("metrics", folder, "--metric", "sufficiency")
    assert result.exit_code == 2, result.output
    assert "the files that the run was about" in result.stderr


def test_a_run_without_a_digest_of_its_files_still_opens(canary: Canary, run: Path) -> None:
    spec = {"kind": "model", "name": str(canary.model), "params": {"device": "cpu"}}
    older = Run(canary.run_copy("run", run, spec=spec, files=None))
    assert model_of(older).fingerprint == older.manifest["model"]["fingerprint"]


def test_the_digest_of_the_files_is_no_part_of_the_identity(run: Path) -> None:
    opened = Run(run)
    assert len(opened.manifest["model"]["files"]) == 64
    assert opened.manifest["model"]["files"] not in str(opened._facts["identity"])


def test_a_parameter_that_load_does_not_store_is_refused(canary: Canary, run: Path) -> None:
    spec = {"kind": "model", "name": str(canary.model), "params": {"processor": "evil.py:make"}}
    with pytest.raises(InputError, match="processor"):
        model_of(Run(canary.run_copy("run", run, spec=spec)))
    assert not canary.ran


def test_workers_run_the_code_that_the_user_typed(canary: Canary) -> None:
    """The Spec of the model travels to another process; it still is what the user typed."""
    done = audit(
        canary.factory, TEXTS, out=canary.place / "mine", keep=0, explainers=["random", canary.method],
        metrics=["sufficiency"], experiments=[], workers=2,
    )  # fmt: skip
    assert done.methods() == ["random", "given"]
    assert done.problems() == []
    assert canary.ran
