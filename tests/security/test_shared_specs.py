"""Specs, requests, templates and records of a training that somebody shared name no code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from canary import Canary
from click.testing import Result

from regard.errors import InputError
from regard.live.session import Session
from regard.models.open.load import load
from regard.records import Spec
from regard.registry import ROOMS, arguments, build, entry, method, names, names_code
from regard.trust import code_in, refuse_code, stored_methods

Call = Callable[..., Result]
TEXT = "the film was fun"


def shared_spec(canary: Canary, *methods: str) -> Path:
    params = {"text": TEXT, "methods": list(methods), "edits": []}
    path = canary.place / "spec.json"
    path.write_text(json.dumps({"kind": "edits", "name": "attention", "params": params}), "utf-8")
    return path


@pytest.mark.parametrize("written", ["{}", " {}", "given :{}", "random,{}"])
def test_a_shared_spec_runs_no_code(written: str, canary: Canary, regard: Call) -> None:
    method = canary.method.removeprefix("given:") if written.startswith("given") else canary.method
    spec = shared_spec(canary, *written.format(method).split(",", 1))
    result = regard("view", canary.model, "--spec", spec, "--html", "view.html")
    assert result.exit_code == 2, result.output
    assert "--allow-code" in result.stderr
    assert not canary.ran


def test_a_shared_spec_runs_code_that_the_user_typed_or_allowed(canary: Canary, regard: Call) -> None:
    words = ("view", canary.model, "--spec", shared_spec(canary, canary.method), "--html", "view.html")
    for permission in (("--allow-code",), ("--method", canary.method)):
        assert regard(*words, *permission).exit_code == 0
        assert canary.ran
        canary.mark.unlink()


def test_typed_code_runs(canary: Canary, regard: Call) -> None:
    result = regard("explain", canary.model, "--text", TEXT, "--method", canary.method)
    assert result.exit_code == 0, result.output
    assert canary.ran
    canary.mark.unlink()
    assert regard("explain", canary.factory, "--text", TEXT, "--method", "random").exit_code == 0
    assert canary.ran


def test_a_page_cannot_ask_for_code(canary: Canary) -> None:
    session = Session(load(str(canary.model)))
    try:
        with pytest.raises(InputError, match="--allow-code"):
            session.call("ask", {"text": TEXT, "methods": [canary.method]})
    finally:
        session.close()
    assert not canary.ran


@pytest.mark.parametrize(
    ("kind", "name", "params"),
    [
        ("metric", "agreement", {"other": "METHOD"}),
        ("experiment", "explanation_drift", {"explainers": ["random", "METHOD"]}),
        ("attack", "explanation_words", {"explainer": "METHOD"}),
        ("metric", "agreement", {"other": 'agreement:other="METHOD"'}),
        ("experiment", "explanation_drift", {"explainers": [["METHOD"]]}),
        ("explainer", "captum", {"params": {"inner": "METHOD"}}),
    ],
)
def test_code_is_found_inside_other_methods(kind: str, name: str, params: dict[str, object], canary: Canary) -> None:
    filled = json.loads(json.dumps(params).replace("METHOD", canary.method))
    spec = Spec(kind, name, filled)
    assert code_in(spec) == [f"{canary.file}:relevance"]
    with pytest.raises(InputError, match="--allow-code"):
        refuse_code("a Spec", [spec])
    refuse_code("a Spec", [spec], typed=[Spec.parse("explainer", canary.method)])
    refuse_code("a Spec", [spec], allow_code=True)


def test_a_stored_method_is_refused_when_it_is_called_too(canary: Canary) -> None:
    call = build(Spec.parse("explainer", canary.method))
    with stored_methods("a run"), pytest.raises(InputError, match=r"a run: .*--allow-code"):
        call(None)
    assert not canary.ran


def test_every_parameter_that_names_code_is_declared() -> None:
    """A parameter called function, module, code, script, class or factory must say whether it names code."""
    suspicious = {"function", "module", "code", "script", "factory", "callable", "plugin"}
    for kind in ROOMS:
        for name in names(kind):
            listed = entry(kind, name)
            declared = listed.facts.get("code") or []
            assert {p.name for p in listed.parameters} & suspicious <= set(declared), f"{kind} {name}"  # type: ignore[arg-type]


def test_a_method_cannot_declare_a_parameter_that_it_does_not_have() -> None:
    from regard.registry import describe

    @names_code("fonction")
    @method("explainer")
    def mine(case: object, *, function: str = "") -> None:
        """Nothing."""

    with pytest.raises(InputError, match="fonction"):
        describe(mine)


def test_the_record_of_a_training_names_a_learner_only(canary: Canary) -> None:
    from regard.improve.origin import _learner
    from regard.training.directory import FILE

    folder = canary.place / "shared"
    folder.mkdir()
    learner = Spec("explainer", "given", {"function": f"{canary.file}:relevance"}).to_json()
    (folder / FILE).write_text(json.dumps({"recipe": {"learner": learner}}), "utf-8")
    with pytest.raises(InputError, match="expected a learner"):
        _learner(folder, "attention_classifier", {})
    assert not canary.ran


def test_a_policy_and_a_template_cannot_name_code(canary: Canary, run: Path, regard: Call) -> None:
    policy = canary.place / "policy.toml"
    policy.write_text(f'[[gate]]\nmetric = "comprehensiveness"\nmethod = "{canary.method}"\nmin = 0\n', "utf-8")
    assert regard("gate", run, "--policy", policy).exit_code in (1, 2, 3)
    tests = canary.place / "tests.toml"
    tests.write_text(
        f'[[test]]\nname = "t"\nkind = "invariance"\ntemplate = "the film"\nnoise = "{canary.method}"\n', "utf-8"
    )
    result = regard("perturb", canary.model, "--tests", tests)
    assert result.exit_code == 2, result.output
    assert not canary.ran


def test_names_with_dots_and_colons_are_parameters_not_code() -> None:
    assert arguments(Spec.parse("attack", "greedy_word:source=words.py:x")) == {"source": "words.py:x"}
    assert code_in(Spec.parse("attack", "greedy_word:source=words.py:x")) == []
