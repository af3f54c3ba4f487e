"""The brief protocol: chosen from lengths, size and budget, stored, resumable, several times cheaper, not biased."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_content import stored_bytes
from torch_toy import Texts, TorchToy, sentences

from regard.audits import brief_protocol
from regard.audits.audit import audit
from regard.audits.brief_protocol import BINS, LEAVE_ONE_OUT, PERMUTATIONS, SIZES
from regard.audits.further import further_items, headline_of
from regard.audits.options import AuditOptions
from regard.audits.plan import Plan, make_plan
from regard.audits.resolve import resolve
from regard.errors import Unsupported
from regard.experiments.permutation import permutation
from regard.experiments.pointing import pointing
from regard.models.ask.gradients import slopes
from regard.models.ask.propagated_relevance import propagated_relevance
from regard.records import Score
from regard.store.run import Run
from regard.testing.toy import ToyCase

TEXTS, FEW = (Texts(sentences(n, longest=12)) for n in (40, 8))
WORDS = [f"w{i}" for i in range(100)]


@pytest.fixture
def all_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Call inputs long from two positions on: the toy reads no long ones."""
    monkeypatch.setattr(brief_protocol, "LONG", 1)


def planned(model: TorchToy | None = None, **changes: Any) -> tuple[Plan, AuditOptions]:
    options = AuditOptions(**({"budget": "5m"} | changes))
    return make_plan(resolve(model or TorchToy(), TEXTS, options)[0], options), options


def headline_explainers(model: TorchToy | None = None, **changes: Any) -> list[str]:
    plan, options = planned(model, **changes)
    return [spec.name for spec in headline_of(plan.settings, options).explainers]


def test_short_inputs_keep_every_method_and_their_identity() -> None:
    plan, _ = planned()
    assert plan.settings.headline == ()
    assert "headline" not in plan.identity
    params = {spec.name: spec.params for spec in plan.specs}
    assert "fractions" not in params["comprehensiveness"]
    assert "sizes" not in params["pointing"]


def test_long_inputs_have_a_shorter_headline_and_another_identity(all_long: None) -> None:
    plan, options = planned()
    params = {spec.name: spec.params for spec in plan.specs}
    assert headline_explainers() == ["attention", "lrp", "random"]
    assert params["pointing"]["sizes"] == [*SIZES]
    for name in ("pointing", "top_word"):  # they share their passes
        assert params[name]["most"] == LEAVE_ONE_OUT
        assert params[name]["references"] == ["lrp", "leave_one_out"]
        assert params[name]["removals"] == 1
    assert params["permutation"]["times"] == PERMUTATIONS
    assert params["permutation"]["most"] == params["uniform_weights"]["most"], "they share their passes"
    assert params["comprehensiveness"]["fractions"] == params["sufficiency"]["fractions"] == [*BINS]
    assert plan.identity["headline"] == [*plan.settings.headline]
    later = {item.name for item in further_items(plan.settings, options)}
    assert any(name.startswith("explainer integrated_gradients") for name in later)
    assert any(name.startswith("metrics") and "agreement" in name for name in later)


@pytest.mark.parametrize(
    ("budget", "brief"), [("5m", True), ("5h", False), ("5000-passes", True), ("20000-passes", False)]
)
def test_slow_passes_are_asked_briefly_where_the_budget_pays_for_few(
    budget: str, brief: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(brief_protocol, "_operations_per_position", lambda _: 4e8)
    plan, _ = planned(budget=budget)
    assert bool(plan.settings.headline) == brief


def test_path_of_the_rival_is_that_of_the_reference(all_long: None) -> None:
    plan, _ = planned(references=["integrated_gradients", "leave_one_out"])
    params = {spec.name: spec.params for spec in plan.specs}
    assert params["integrated_gradients"]["steps"] == 8
    assert params["pointing"]["references"] == ["integrated_gradients", "leave_one_out"]


@pytest.mark.parametrize("changes", [{"budget": "none"}, {"explainers": ["leave_one_out"]}])
def test_without_a_budget_or_with_named_methods_nothing_is_cut(changes: dict[str, Any], all_long: None) -> None:
    plan, _ = planned(**changes)
    assert plan.settings.headline == ()
    assert all("fractions" not in spec.params for spec in plan.specs)


def test_rival_is_the_first_method_that_the_model_supports(all_long: None, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(TorchToy):
        """The rules of lrp fail on this one."""

    class Opaque(TorchToy):
        """A model without gradients."""

    def refuse(*_: object) -> Any:
        raise Unsupported("the toy", expected="rules", got="none")

    propagated_relevance.register(Refusing, refuse)
    propagated_relevance.register(Opaque, refuse)
    slopes.register(Opaque, refuse)
    assert headline_explainers(Refusing(live=True)) == ["attention", "integrated_gradients", "random"]
    assert headline_explainers(Opaque(live=True)) == ["attention", "leave_one_out", "random"]
    chosen = headline_explainers(references=["integrated_gradients", "leave_one_out"])
    assert chosen == ["attention", "integrated_gradients", "random"]


def test_resumed_audit_of_long_inputs_equals_the_undisturbed_one(all_long: None, tmp_path: Path) -> None:
    def run(folder: Path, **more: Any) -> Run:
        return audit(TorchToy(), FEW, out=folder, budget="900-passes", profile="quick", keep=0, **more)

    class Stopped(BaseException):
        """Stands for the end of a process."""

    reports: list[int] = []

    def stop(done: int, total: int, eta: float | None) -> None:
        reports.append(done)
        if len(reports) > 3:
            raise Stopped

    whole = run(tmp_path / "whole")
    with pytest.raises(Stopped):
        run(tmp_path / "stopped", progress=stop)
    assert stored_bytes(run(tmp_path / "stopped")) == stored_bytes(whole)
    assert whole.manifest["settings"]["headline"][:3] == ["attention", "lrp", "random"]
    assert whole.manifest["judgements"]


# ---------------------------------------------------------------------- no bias


def case() -> ToyCase:
    weights = {word: float(np.random.default_rng(i).normal(0, 0.1)) for i, word in enumerate(WORDS)}
    return ToyCase((" ".join(WORDS), " ".join(WORDS[:40])), weights=weights)


def by_name(scores: list[Score]) -> dict[tuple[str, str, str], Score]:
    return {(s.metric, s.method, str(s.where.get("operator"))): s for s in scores}


def test_fewer_permutations_are_the_first_ones_of_more() -> None:
    few, many = (by_name(list(permutation(case(), times=n))) for n in (PERMUTATIONS, 20))
    key = ("permuted", "attention", "None")
    assert np.array_equal(few[key].curves["distance"], many[key].curves["distance"][:, :PERMUTATIONS])


def test_fewer_sizes_are_columns_of_more() -> None:
    few, many = (by_name(list(pointing(case(), sizes=sizes, most=LEAVE_ONE_OUT))) for sizes in (SIZES, (1, 2, 3)))
    assert few.keys() == many.keys()
    columns = [k - 1 for k in SIZES]
    for key, score in few.items():
        for name, curve in score.curves.items():
            assert np.allclose(curve, many[key].curves[name][:, columns], equal_nan=True)


def test_fewer_rankings_are_some_of_more() -> None:
    few = by_name(list(pointing(case(), most=LEAVE_ONE_OUT, removals=1)))
    many = by_name(list(pointing(case(), most=LEAVE_ONE_OUT)))
    dropped = {method for _, method, _ in many.keys() - few.keys()}
    assert dropped == {"leave_one_out:mask", "random:1"} or dropped == {"leave_one_out:delete", "random:1"}
    for key, score in few.items():
        for name, curve in score.curves.items():
            assert np.allclose(curve, many[key].curves[name], equal_nan=True)
