"""Every method of the house passes the battery, and the battery catches what it should."""

from __future__ import annotations

import random as global_random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard import registry
from regard.errors import EnvironmentProblem, InputError, UnknownName, Unsupported
from regard.judge.claim import Draft
from regard.judge.evidence import Evidence
from regard.protocols import Case
from regard.records import Relevance, Score
from regard.registry import ROOMS, explainer, metric, question
from regard.testing import catalogue
from regard.testing.battery import check, check_explainer, check_metric, check_question
from regard.testing.skeleton import new_method

METHODS = {f"{kind}:{name}": (kind, function) for kind, name, function in catalogue.methods()}


@pytest.fixture(autouse=True)
def methods_of_a_test_end_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_IN_PROCESS", dict(registry._IN_PROCESS))


@pytest.mark.parametrize("name", METHODS)
def test_every_method_keeps_the_rules(name: str) -> None:
    kind, function = METHODS[name]
    try:
        check(function, kind)
    except EnvironmentProblem as missing:
        pytest.skip(str(missing))


def test_every_room_has_methods_and_the_catalogue_is_what_the_code_says() -> None:
    assert {kind for kind, _ in METHODS.values()} == set(ROOMS) - {"language"}, "a language is data"
    assert catalogue.PATH.read_text("utf-8") == catalogue.catalogue(), "run: make catalogue"
    assert catalogue.main(["--check"]) == 0


def zeros(case: Case) -> list[np.ndarray]:
    return [np.zeros(len(u)) for u in case.units]


def free(case: Case, value: float = 1.0) -> list[np.ndarray]:
    return [np.where(u.free, value, 0.0) for u in case.units]


def gives(method: str, rows: Callable[[Case], list[Any]], **facts: Any) -> Callable[..., Relevance]:
    def broken(case: Case) -> Relevance:
        """A method that breaks one rule."""
        return Relevance.of(method, case.ids, rows(case), signed=facts.get("signed", False))

    return explainer(**facts)(broken)


def spoils(case: Case) -> list[np.ndarray]:
    case.base().value[:] = 0
    return zeros(case)


def counts_company(case: Case) -> list[np.ndarray]:
    return free(case, len(case.ids))


def by_position(case: Case) -> list[np.ndarray]:
    return [i * row for i, row in enumerate(free(case))]


def uses_global_numbers(case: Case) -> list[np.ndarray]:
    return free(case, global_random.random())


def asks_in_secret(case: Case) -> list[np.ndarray]:
    case.attention(0)
    return zeros(case)


def ignores_the_seed(case: Case) -> list[np.ndarray]:
    for i in range(len(case.ids)):
        case.rng(i, "x").random()
    return zeros(case)


def fails(case: Case) -> list[np.ndarray]:
    raise KeyError("boom")


@explainer()
def rows_alone(case: Case) -> Relevance:
    """Rows, not a relevance."""
    return zeros(case)  # type: ignore[return-value]


def refuses(case: Case) -> list[np.ndarray]:
    raise Unsupported("this", expected="that", got="nothing")


BROKEN = {
    "too short": (gives("broken", lambda c: [row[1:] for row in zeros(c)]), "values where the examples have"),
    "special mass": (gives("broken", lambda c: [row + 1 for row in zeros(c)]), "special units must be exactly 0"),
    "NaN": (gives("broken", lambda c: free(c, np.nan)), "not finite"),
    "negative": (gives("broken", lambda c: free(c, -1.0)), "expected no negative values"),
    "name": (gives("other", zeros), "is called 'other'"),
    "spoils": (gives("broken", spoils), "changes what the case gave it"),
    "company": (gives("broken", counts_company), "alone gets other values"),
    "order": (gives("broken", by_position), "order of the examples"),
    "global": (gives("broken", uses_global_numbers), "global random numbers"),
    "secret": (gives("broken", asks_in_secret), "does not declare needs='attention'"),
    "seed": (gives("broken", ignores_the_seed), "another seed gives the same values"),
    "refuses": (gives("broken", refuses), "refuses every case"),
    "fails": (gives("broken", fails), "it fails with KeyError('boom')"),
    "rows alone": (rows_alone, "returns list, not a Relevance"),
    "other kind": (metric(better="higher")(zeros), "decorated as metric, not explainer"),
    "file name": (gives("broken", zeros), "file name = function name"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_battery_catches(name: str) -> None:
    function, said = BROKEN[name]
    with pytest.raises(AssertionError, match="breaks the rules") as caught:
        check_explainer(function)
    assert said in str(caught.value)


@metric(better="lower")
def contrary(case: Case, relevance: Relevance, *, other: object = object()) -> Score:
    """Calls the truth worst"""
    values = np.array([float(row.max(initial=0.0)) / (1 + len(case.ids)) for row in relevance])
    return Score("contrary", relevance.method, case.ids, values, "higher", {}, {"line": np.zeros((1, 2))})


@metric(better="none")
def endless(case: Case, relevance: Relevance) -> Score:
    """Divides by zero."""
    return Score("endless", relevance.method, case.ids, np.full(len(case.ids), np.inf), "none")


@explainer()
def loose(case: Case, extra: int, **more: object):  # type: ignore[no-untyped-def]
    """Too many doors."""


def test_the_battery_catches_metrics_and_signatures() -> None:
    with pytest.raises(AssertionError) as caught:
        check_metric(contrary)
    for said in ("says 'higher'", "curve 'line'", "alone", "one sentence", "must be JSON", "as good as the truth"):
        assert said in str(caught.value), said
    with pytest.raises(AssertionError) as caught:
        check(loose, "dataset")
    for said in ("decorated as explainer", "no **kwargs", "not annotated", "expected (*, own parameters)"):
        assert said in str(caught.value), said
    with pytest.raises(AssertionError, match="decorated with its kind"):
        check_explainer(fails)
    with pytest.raises(AssertionError, match="infinite values"):
        check_metric(endless)


@pytest.mark.parametrize("kind", ["explainer", "metric", "perturbation", "attack", "question"])
def test_a_new_method_passes_the_battery_as_written(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"my_new_{kind}"
    written = new_method(kind, name, tmp_path / "deep")
    assert [p.name for p in written] == [f"{name}.py", f"test_{name}.py"]
    monkeypatch.syspath_prepend(str(tmp_path / "deep"))
    scope: dict[str, Any] = {}
    exec(compile(written[1].read_text(), str(written[1]), "exec"), scope)
    scope[f"test_{name}_keeps_the_rules"]()
    del sys.modules[name]
    with pytest.raises(InputError, match="existing file"):
        new_method(kind, name, tmp_path / "deep")


def test_a_question_that_claims_without_a_test_is_refused() -> None:
    @question(rule="Always yes.")
    def always(evidence: Evidence) -> Draft:
        """Is it always so?"""
        return Draft("always", "holds", 0.0, "It is.", "always.yes")

    with pytest.raises(AssertionError) as refused:
        check_question(always)
    for problem in ("not_claimed", "names no margin", "rests on", "from one example", "from no data"):
        assert problem in str(refused.value)


@pytest.mark.parametrize("name", ["My", "2x", "a-b", "class", "_x", ""])
def test_names_that_are_none(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lower-case Python name"):
        new_method("explainer", name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="explainer"):
        new_method("explaner", "x", tmp_path)
