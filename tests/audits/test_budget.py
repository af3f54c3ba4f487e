"""Audits with a budget in passes: staged, reproducible, resumable, and never beyond what the budget pays for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from run_content import stored_bytes
from torch_toy import Texts, TorchToy, sentences

from regard.audits import audit as audit_module
from regard.audits.accounts import accounts
from regard.audits.audit import audit
from regard.audits.budget import Budget
from regard.audits.conclude import ConcludedRun
from regard.audits.further import CHUNKS, Item, best_item
from regard.audits.options import AuditOptions
from regard.audits.rounds import PILOT, planned_looks, round_order
from regard.audits.schedule import Schedule, affordable_examples, allowance, pilot_size, predictions_within
from regard.audits.shard import Settings
from regard.errors import InputError
from regard.judge.verdicts import further_awaited, headline_settled
from regard.measures.intervals import wilson
from regard.present.model_warning import model_warning
from regard.present.prediction_facts import prediction_lines
from regard.present.run_reader import Material
from regard.records import Answer, Contrast, Judgement, Verdict
from regard.store.run import Run

TEXTS = Texts(sentences(60, longest=12))
QUICK: dict[str, Any] = {"profile": "quick", "keep": 3}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """An audit whose budget ends in the further stage."""
    return audit(TorchToy(), TEXTS, out=tmp_path_factory.mktemp("whole") / "run", budget="15000-passes", **QUICK)


# ---------------------------------------------------------------------- the budget itself


@pytest.mark.parametrize(
    ("text", "seconds", "passes"),
    [("90s", 90, None), ("10m", 600, None), ("1.5h", 5400, None), ("5000-passes", None, 5000), ("none", None, None)],
)
def test_budget_is_a_time_or_a_number_of_passes(text: str, seconds: float | None, passes: int | None) -> None:
    budget = Budget.parse(text)
    assert (budget.seconds, budget.passes) == (seconds, passes)
    assert budget.unlimited == (text == "none")


@pytest.mark.parametrize("text", ["", "soon", "10", "0s", "-5m", "10 miles"])
def test_other_budgets_are_refused_before_a_model_is_opened(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="budget"):
        audit("no such model", out=tmp_path / "run", budget=text or " ")


def test_named_budget_wins_over_that_of_the_profile() -> None:
    limits = {
        (profile, budget): AuditOptions(profile=profile, budget=budget).limits.text
        for profile in (None, "quick", "standard", "full")
        for budget in (None, "7s")
    }
    assert [limits[profile, None] for profile in (None, "quick", "standard", "full")] == ["5m", "2m", "15m", "none"]
    assert {limits[profile, "7s"] for profile in (None, "quick", "standard", "full")} == {"7s"}


# ---------------------------------------------------------------------- rounds


def test_every_beginning_of_the_rounds_is_balanced_by_prediction_and_spread_in_length() -> None:
    rng = np.random.default_rng(0)
    rows = [{"id": str(i), "target": int(rng.random() < 0.2), "length": int(rng.integers(5, 200))} for i in range(400)]
    order = round_order(rows, 3)
    assert sorted(order) == sorted(row["id"] for row in rows)
    by_id = {row["id"]: row for row in rows}
    mean = float(np.mean([row["length"] for row in rows]))
    for n in (16, 32, 64, 128):
        counts = Counter(by_id[name]["target"] for name in order[:n])
        assert abs(counts[0] - counts[1]) <= 1
        assert abs(float(np.mean([by_id[name]["length"] for name in order[:n]])) - mean) < 25
    assert round_order(rows[::-1], 3) == order, "the order of the data does not matter"
    assert round_order(rows, 4) != order


@pytest.mark.parametrize("most", [2, 16, 17, 30, 64, 65, 200, 811, 5000])
def test_looks_rise_from_the_pilot_to_the_most(most: int) -> None:
    looks = planned_looks(min(PILOT, most), most)
    assert looks == sorted(set(looks))
    assert looks[0] == min(PILOT, most)
    assert looks[-1] == most


def test_schedule_follows_from_counted_passes() -> None:
    assert allowance(Budget("", passes=700), 100, 1e9, 1e9, 1e9) == 700, "the clock plays no part"
    assert allowance(Budget("", seconds=100.0), 50, 45.0, 0.1, end=15.0) == 50 + 400
    assert predictions_within(Budget("", seconds=100.0), 10_000, 0.01) == 1000
    assert predictions_within(Budget("", seconds=10.0), 10_000, 0.1) == 64
    assert pilot_size(1000, 0, 10, 100) == PILOT
    assert pilot_size(1000, 0, 200, 100) == 3
    assert pilot_size(10, 0, 200, 100) == 2
    lengths = {str(i): 10 for i in range(50)}
    assert affordable_examples([*lengths], lengths, pilot=4, cost=40, passes=100, further=0.0) == 14
    assert affordable_examples([*lengths], lengths, pilot=4, cost=40, passes=100, further=0.2) == 12
    assert affordable_examples([*lengths], lengths, pilot=4, cost=40, passes=-5, further=0.2) == 4


def test_further_methods_run_by_weight_over_measured_cost() -> None:
    cheap, dear = (Item(name, Settings(()), 1.0) for name in ("cheap", "dear"))
    cheap.examples, cheap.passes = dear.examples, dear.passes = 1, 5
    dear.passes = 500
    assert best_item([dear, cheap], 40, 1000, 5.0) == (cheap, CHUNKS[1] - 1)
    cheap.examples = 40
    assert best_item([dear, cheap], 40, 1000, 5.0) == (dear, 3), "as many examples as the passes pay for"
    assert best_item([dear, cheap], 40, 100, 5.0) is None


# ---------------------------------------------------------------------- whole audits


def test_run_within_a_budget_is_complete_and_accounts_for_every_pass(whole: Run) -> None:
    schedule = whole.manifest["schedule"]
    passes = sum(c["forwards"] + 2 * c["backwards"] for c in whole.costs())
    assert whole.manifest["status"] == "complete"
    assert schedule["actual"]["passes"] == passes
    assert schedule["passes"] == 15000
    assert passes < 15000 * 1.1
    assert schedule["available"] == 60
    assert len(whole.predictions()) == 60
    explained = [e for e in whole.examples() if e["units"]]
    assert len(explained) == schedule["taken"][-1] == schedule["actual"]["examples"]
    assert whole.progress == (len(explained), len(explained))
    assert set(schedule["taken"]) <= set(schedule["looks"])
    assert any("experiment noise" in name for name in schedule["actual"]["further"])
    assert {f.where["experiment"] for f in whole.findings()} >= {"map_shape", "pointing", "explanation_drift", "noise"}
    assert whole.manifest["judgements"]
    assert len(accounts(whole)) >= 2


def test_resumed_audit_equals_undisturbed_one_whatever_stage_it_was_stopped_in(whole: Run, tmp_path: Path) -> None:
    for reports in (1, 3, 5, 9, 14):
        with pytest.raises(Stopped):
            audit(TorchToy(), TEXTS, out=tmp_path, budget="15000-passes", progress=_stop_after(reports), **QUICK)
    resumed = audit(TorchToy(), TEXTS, out=tmp_path, budget="15000-passes", **QUICK)
    assert stored_bytes(resumed) == stored_bytes(whole)
    toy = TorchToy()
    again = audit(toy, TEXTS, out=tmp_path, budget="15000-passes", **QUICK)
    assert stored_bytes(again) == stored_bytes(whole)
    assert toy.calls["predict"] == 1, "the look at the model"


def test_more_time_names_the_open_questions_that_it_would_settle() -> None:
    ranges: dict[str, tuple[int | None, tuple[int, int | None] | None]] = {
        "map": (10, (10, 40)),
        "matter": (None, (700, None)),
        "points": (900, (900, None)),
        "agree": (10, (10, 20)),
    }
    verdicts = [
        {"question": name, "answer": "uninformative", "decides_at": likely, "decides_between": between}
        for name, (likely, between) in ranges.items()
    ]
    actual = {"passes": 3000, "seconds": 5.0, "examples": 8}
    schedule = Schedule("3000-passes", 811, looks=(8,), seconds_per_pass=1e-3, passes_per_example=300.0, actual=actual)
    manifest: dict[str, Any] = {"schedule": schedule.to_json(), "judgements": [{"verdicts": verdicts}]}
    *_, minute, everything = accounts(cast("Run", SimpleNamespace(manifest=manifest)))
    first, second = {"message": "judge.map.question"}, {"message": "judge.matter.question"}
    assert minute.params["questions"] == [first]
    assert everything.params["questions"] == [first, second]
    manifest["judgements"] = [{"verdicts": verdicts[2:3]}]
    *_, minute, everything = accounts(cast("Run", SimpleNamespace(manifest=manifest)))
    assert (minute.key, everything.key) == ("budget.minute_settles_nothing", "budget.all_may_settle_nothing")


@pytest.mark.slow
def test_two_workers_give_the_bytes_of_one_within_a_budget(whole: Run, tmp_path: Path) -> None:
    shared = audit(TorchToy(), TEXTS, out=tmp_path, budget="15000-passes", workers=2, **QUICK)
    assert stored_bytes(shared) == stored_bytes(whole)


def test_pages_do_not_depend_on_the_order_of_completion(whole: Run) -> None:
    backwards = Run(whole.path)
    backwards._tasks = [*reversed(backwards._tasks)]
    assert stored_bytes(backwards) == stored_bytes(whole)
    pages = [page for page in whole._results if page.predictions and not page.rows]
    assert len(pages) > 1  # those of the first stage, which hold nothing but predictions


def test_batch_size_changes_no_decision(whole: Run, tmp_path: Path) -> None:
    run = audit(TorchToy(), TEXTS, out=tmp_path, budget="15000-passes", batch=7, **QUICK)
    other = {k: v for k, v in run.manifest["schedule"].items() if k not in ("seconds_per_pass", "actual")}
    assert other == {k: v for k, v in whole.manifest["schedule"].items() if k not in ("seconds_per_pass", "actual")}
    assert run.manifest["schedule"]["actual"]["further"] == whole.manifest["schedule"]["actual"]["further"]


def test_numbers_of_an_example_do_not_depend_on_its_round(whole: Run, tmp_path: Path) -> None:
    """The companions, on which experiments that borrow words depend, are drawn from the same examples."""
    everything = audit(TorchToy(), TEXTS, out=tmp_path, budget="none", **QUICK)
    plain = {(s.metric, s.method, str(sorted(s.where.items()))): s for s in everything.scores()}
    compared = 0
    for score in whole.scores():
        other = plain[score.metric, score.method, str(sorted(score.where.items()))]
        values = dict(zip(other.ids, other.values, strict=True))
        np.testing.assert_allclose(score.values, [values[name] for name in score.ids], atol=1e-6)
        compared += len(score.ids)
    assert compared > 500
    for method in everything.methods():
        one, other_relevance = whole.relevance(method), everything.relevance(method)
        rows = dict(zip(other_relevance.ids, other_relevance, strict=True))
        for name, row in zip(one.ids, one, strict=True):
            np.testing.assert_allclose(row, rows[name], atol=1e-6)


def test_named_methods_run_in_one_stage_on_every_example(tmp_path: Path) -> None:
    run = audit(
        TorchToy(), TEXTS, out=tmp_path, budget="100000-passes", explainers=["leave_one_out"], metrics=["entropy"]
    )
    assert run.manifest["schedule"]["looks"] == [60]
    assert run.manifest["schedule"]["further"] == []
    assert run.methods() == ["leave_one_out"]
    assert len(run.relevance("leave_one_out").ids) == 60


def test_pilot_shrinks_when_one_example_costs_much_of_the_budget(tmp_path: Path) -> None:
    messages: list[str] = []
    run = audit(TorchToy(), TEXTS, out=tmp_path, budget="600-passes", announce=messages.append, **QUICK)
    schedule = run.manifest["schedule"]
    assert 2 <= schedule["pilot"] < PILOT
    assert schedule["looks"][-1] < PILOT
    assert schedule["stopped"] == "passes"
    assert run.manifest["status"] == "complete"
    assert any("instead of 16" in message for message in messages)


class Stopped(BaseException):
    """Stands for the end of a process."""


def _stop_after(reports: int, error: type[BaseException] = Stopped) -> Callable[[int, int, float | None], None]:
    calls: list[int] = []

    def progress(done: int, total: int, eta: float | None) -> None:
        assert 0 <= done <= total
        calls.append(done)
        if len(calls) > reports:
            raise error

    return progress


def test_control_c_in_the_rounds_leaves_a_judged_run(tmp_path: Path) -> None:
    progress = _stop_after(7, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        audit(TorchToy(), TEXTS, out=tmp_path, budget="15000-passes", progress=progress, **QUICK)
    run = Run(tmp_path)
    done, planned = run.progress
    assert run.manifest["status"] == "interrupted"
    assert 0 < done < planned
    assert run.manifest["judgements"]
    assert run.summaries()
    assert (tmp_path / "tables" / "scores.parquet").exists()


def test_bad_examples_are_reported_once_and_enter_no_round(tmp_path: Path) -> None:
    texts = Texts((*sentences(20), "", "a poisonous film"))
    run = audit(TorchToy(raises_on="poisonous"), texts, out=tmp_path, budget="20000-passes", **QUICK)
    assert sorted((p["id"], p["stage"]) for p in run.problems()) == [("t20", "encode"), ("t21", "forward")]
    assert run.manifest["schedule"]["taken"][-1] <= 20
    nothing = audit(TorchToy(), Texts(("", " ")), out=tmp_path / "nothing", budget="500-passes", **QUICK)
    assert nothing.summaries() == []
    assert len(nothing.problems()) == 2


def test_settled_questions_end_the_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def settled(judgements: Sequence[Judgement]) -> bool:
        sizes.append(judgements[0].n)
        return sizes[-1] >= 32

    monkeypatch.setattr(audit_module, "headline_settled", settled)
    run = audit(TorchToy(), TEXTS, out=tmp_path, budget="15000-passes", **QUICK)
    schedule = run.manifest["schedule"]
    assert sizes == schedule["taken"] == [16, 32]
    assert schedule["stopped"] == "settled"
    assert schedule["actual"]["examples"] == 32 < schedule["looks"][-1]
    audit(TorchToy(), TEXTS, out=tmp_path, budget="15000-passes", **QUICK)
    assert sizes == [16, 32], "a finished run asks the judge no more"


def test_what_is_left_explains_more_examples_for_an_open_further_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"budget": "90000-passes", "profile": "quick", "keep": 0}
    monkeypatch.setattr(audit_module, "headline_settled", lambda _: True)
    monkeypatch.setattr(audit_module, "further_awaited", lambda judgements, available: judgements[0].n < 32 < available)
    run = audit(TorchToy(), TEXTS, out=tmp_path / "whole", **options)
    schedule = run.manifest["schedule"]
    assert (schedule["taken"], schedule["extended"], schedule["stopped"]) == ([16], [32], "settled")
    assert schedule["actual"]["examples"] == 32
    assert set(schedule["actual"]["further"].values()) == {32}, "every further method on the new examples too"
    for reports in (2, 8, 20):
        with pytest.raises(Stopped):
            audit(TorchToy(), TEXTS, out=tmp_path / "stopped", progress=_stop_after(reports), **options)
    resumed = audit(TorchToy(), TEXTS, out=tmp_path / "stopped", **options)
    assert stored_bytes(resumed) == stored_bytes(run)


def test_only_open_further_questions_that_the_data_may_settle_are_waited_for() -> None:
    waiting = replace(_verdict("exclusive", "uninformative"), decides_between=(80, 120))
    judgement = Judgement("debugging only", "", "", "", 40, (_verdict("map", "holds"), waiting))
    assert further_awaited([judgement], 80)
    assert not further_awaited([judgement], 79)
    for other in (replace(waiting, answer="holds"), replace(waiting, question="seeds"), replace(waiting, contrasts=())):
        assert not further_awaited([replace(judgement, verdicts=(other,))], 80)
    assert not further_awaited([], 80)


def _verdict(question: str, answer: Answer, *, measured: bool = True) -> Verdict:
    numbers: dict[str, Any] = {"estimate": 0.3, "low": 0.2, "high": 0.4, "p": 0.01, "corrected": 0.02, "level": 0.95}
    contrast = Contrast(name="x", claim="above", margin=0.1, n=40, clusters=40, **numbers)
    contrasts = (contrast,) if measured else ()
    return Verdict(
        question=question,
        answer=answer,
        sentence="",
        rule="",
        rule_in_words="",
        not_claimed="",
        contrasts=contrasts,
    )


def test_headline_is_settled_when_every_measured_question_has_an_answer() -> None:
    first = [_verdict("map", "holds"), _verdict("matter", "fails"), _verdict("points", "mixed")]
    judgement = Judgement("debugging only", "", "", "", 40, tuple(first))
    assert not headline_settled([])
    assert headline_settled([judgement])
    assert headline_settled([replace(judgement, verdicts=(*first, _verdict("seeds", "uninformative")))])
    untested = _verdict("stable", "uninformative", measured=False)
    assert headline_settled([replace(judgement, verdicts=(*first, untested))])
    assert not headline_settled([replace(judgement, verdicts=(*first, _verdict("stable", "uninformative")))])
    open_class = _verdict("same", "uninformative")
    assert headline_settled([replace(judgement, verdicts=(*first, open_class))])
    assert not headline_settled([replace(judgement, verdicts=(*first, replace(open_class, decides_at=120)))])
    silenced = replace(judgement, reading="nothing to read", verdicts=(_verdict("points", "uninformative"),))
    assert headline_settled([silenced])


@pytest.mark.slow
def test_standard_audit_spends_the_rest_on_the_shelf_and_never_repeats_an_answer(tmp_path: Path) -> None:
    run = audit(TorchToy(), TEXTS, out=tmp_path, budget="15000-passes", profile="standard", keep=0, limit=16)
    further = run.manifest["schedule"]["actual"]["further"]
    assert {name.split()[0] for name in further} == {"experiment", "metric", "metrics", "explainer"}
    rows = Counter(str(row["id"]) for page in run._results for row in page.rows)
    assert set(rows.values()) == {1}
    pairs = Counter((r.method, name) for page in run._results for r in page.relevances for name in r.ids)
    assert set(pairs.values()) == {1}
    shelf = {"saliency", "lime", "smooth_grad"} & set(run.methods())
    assert shelf, "explainers of the shelf are scored by the metrics of the headline"
    assert shelf <= {s.method for s in run.scores() if s.metric == "comprehensiveness"}
    assert {s.method for s in run.scores() if s.metric == "aopc"} >= {"attention", "leave_one_out"}


# ---------------------------------------------------------------------- does the model work?


def test_accuracy_is_that_of_all_predictions_beside_the_majority(whole: Run) -> None:
    facts = ConcludedRun(whole).conclusions.model_works
    assert facts is not None
    rows = whole.predictions()
    right = [row["label"] == row["predicted"] for row in rows]
    labels = Counter(row["label"] for row in rows)
    assert (facts.n, facts.labelled) == (60, 60)
    assert facts.accuracy == pytest.approx(float(np.mean(right)))
    assert facts.majority == pytest.approx(max(labels.values()) / 60)
    assert facts.gain == pytest.approx(facts.accuracy - facts.majority)
    assert facts.predicted == dict(sorted(Counter(str(row["predicted"]) for row in rows).items()))
    low, high = map(float, wilson(sum(right), 60))
    assert (facts.low, facts.high) == pytest.approx((low, high)), "all right is no certainty"
    expected = "yes" if facts.gain_low > 0 else "no" if facts.gain <= 0 else "unclear"
    assert facts.works == expected
    assert bool(model_warning(Material(whole))) == (facts.works != "yes")
    accuracy, classes, confidence, lengths = prediction_lines(Material(whole))
    assert f"{facts.accuracy:.0%}" in accuracy
    assert f"would get {facts.majority:.0%}" in accuracy
    assert all(f"{name} {n}" in classes for name, n in facts.predicted.items())
    assert f"{facts.confidence[1]:.2f}" in confidence
    assert f"{facts.lengths[1]:.0f}" in lengths
