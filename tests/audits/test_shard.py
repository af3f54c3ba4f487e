from __future__ import annotations

import numpy as np
import pytest
from torch_toy import TorchToy, examples, sentences

from regard.audits.default_methods import profile
from regard.audits.plan import metric_specs
from regard.audits.shard import Settings, compute
from regard.models.open.labels import named
from regard.records import Example, Spec
from regard.store.shard_result import ShardResult

EXPLAINERS = tuple(Spec("explainer", n) for n in ("attention", "input_x_gradient", "leave_one_out", "random"))
METRICS = (Spec("metric", "comprehensiveness", {"operator": "mask"}), Spec("metric", "agreement"))
SETTINGS = Settings(EXPLAINERS, METRICS)


def test_a_page_survives_the_trip_to_bytes() -> None:
    page = compute(TorchToy(), examples(sentences(5)), SETTINGS, keep=["t3"])
    back = ShardResult.from_bytes(page.to_bytes())
    assert back.to_bytes() == page.to_bytes()
    assert [r.method for r in back.relevances] == [s.name for s in EXPLAINERS]
    assert len(back.scores) == len(EXPLAINERS) * len(METRICS)
    for mine, theirs in zip(page.scores, back.scores, strict=True):
        np.testing.assert_array_equal(mine.values, theirs.values)
        assert dict(mine.where) == dict(theirs.where)
    assert list(page.attentions) == ["t3"]


def test_settings_survive_the_trip_to_json() -> None:
    assert Settings.from_json(SETTINGS.to_json()) == SETTINGS


def test_a_poison_example_is_reported_and_the_others_go_on() -> None:
    texts = [*sentences(4), "a poisonous film"]
    page = compute(TorchToy(raises_on="poisonous"), examples(texts), SETTINGS)
    clean = compute(TorchToy(), examples(texts[:4]), SETTINGS)
    assert [(p.id, p.stage) for p in page.problems] == [("t4", "forward")]
    assert "cannot stand 'poisonous'" in str(page.problems[0].message)
    assert [row["id"] for row in page.rows] == ["t0", "t1", "t2", "t3"]
    for mine, theirs in zip(page.relevances, clean.relevances, strict=True):
        np.testing.assert_allclose(mine.values, theirs.values, atol=1e-6)


def test_a_method_that_fails_on_one_example_keeps_the_others() -> None:
    class Picky(TorchToy):
        def slopes(self, batch, targets, points):  # type: ignore[no-untyped-def]
            if any(len(e.units) == 4 for e in batch):
                raise RuntimeError("four units are unlucky")
            return super().slopes(batch, targets, points)

    texts = ["one two three", "one two", "one two three four"]
    page = compute(Picky(), examples(texts), SETTINGS)
    found = {r.method: r.ids for r in page.relevances}
    assert found["input_x_gradient"] == ("t1", "t2")
    assert found["attention"] == found["leave_one_out"] == ("t0", "t1", "t2")
    assert [(p.id, p.stage) for p in page.problems] == [("t0", "explainer input_x_gradient")]
    scored = {(s.metric, s.method): s.ids for s in page.scores}
    assert scored["agreement", "input_x_gradient"] == ("t1", "t2")
    assert scored["agreement", "attention"] == ("t0", "t1", "t2")


def test_what_the_model_does_not_support_is_skipped_with_the_reason() -> None:
    page = compute(TorchToy(blind=True), examples(sentences(3)), SETTINGS)
    assert page.problems == ()
    assert "it is blind" in str(page.skipped["attention"])
    assert [r.method for r in page.relevances] == ["input_x_gradient", "leave_one_out", "random"]


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_an_empty_text_is_a_problem_of_its_own(text: str) -> None:
    page = compute(TorchToy(), examples(["fine film", text]), SETTINGS)
    assert [(p.id, p.stage) for p in page.problems] == [("t1", "encode")]
    assert [row["id"] for row in page.rows] == ["t0"]


def test_a_shard_of_nothing_but_bad_examples_is_an_empty_page() -> None:
    page = compute(TorchToy(), [Example("x", {"text": ""})], SETTINGS)
    assert page.rows == page.relevances == page.scores == ()
    assert len(page.problems) == 1


def test_numbers_that_are_not_finite_are_never_stored() -> None:
    class Broken(TorchToy):
        def slopes(self, batch, targets, points):  # type: ignore[no-untyped-def]
            found = super().slopes(batch, targets, points)
            for slopes in found:
                slopes.dot[:, -1] = np.nan
            return found

    page = compute(Broken(), examples(sentences(2)), SETTINGS)
    assert {p.stage for p in page.problems} == {"explainer input_x_gradient"}
    assert all("NaN" in str(p.message) for p in page.problems)
    assert all(np.isfinite(r.values).all() for r in page.relevances)


def test_targets_are_named_where_they_are_classes() -> None:
    assert named(1, ("bad", "good")) == "good"
    assert named(7, ("bad", "good")) == 7
    assert named([3, 5], ("bad", "good")) == [3, 5]


def test_what_is_asked_about_a_share_is_the_same_however_examples_are_shared_out() -> None:
    some = Settings(EXPLAINERS, METRICS, sampled=2, share=0.5)
    assert Settings.from_json(some.to_json()) == some
    assert [s.name for s in some.everywhere] == ["attention", "input_x_gradient"]
    texts = examples(sentences(12))
    whole = {r.method: r for r in compute(TorchToy(), texts, SETTINGS).relevances}
    page = compute(TorchToy(), texts, some)
    drawn = {r.method: r for r in page.relevances}
    halves = [r for part in (texts[:5], texts[5:]) for r in compute(TorchToy(), part, some).relevances]
    assert drawn["attention"].ids == whole["attention"].ids
    few = drawn["leave_one_out"].ids
    assert 0 < len(few) < 12
    assert drawn["random"].ids == few
    assert tuple(i for r in halves if r.method == "leave_one_out" for i in r.ids) == few
    for k, name in enumerate(few):
        mine, theirs = drawn["leave_one_out"][k], whole["leave_one_out"][whole["leave_one_out"].ids.index(name)]
        np.testing.assert_allclose(mine, theirs, atol=1e-6)
    assert {s.ids for s in page.scores if s.method == "leave_one_out"} == {few}


def test_sampled_explainers_are_not_run_again_where_too_few_examples_are_left() -> None:
    again = Spec("metric", "max_sensitivity", {"share": 0.5})
    detail = Spec("metric", "aopc", {"operator": "mask"})
    some = Settings(EXPLAINERS, (*METRICS, again, detail), sampled=2, share=0.5, reruns=False)
    assert Settings.from_json(some.to_json()) == some
    page = compute(TorchToy(), examples(sentences(6)), some)
    for costly in ("max_sensitivity", "aopc"):
        assert {s.method for s in page.scores if s.metric == costly} == {"attention", "input_x_gradient"}
    assert {s.method for s in page.scores if s.metric == METRICS[0].name} > {"attention", "input_x_gradient"}


def test_metrics_that_no_verdict_rests_on_are_computed_by_one_operator_in_standard_audits() -> None:
    def operators(name: str) -> dict[str, list[object]]:
        by_metric: dict[str, list[object]] = {}
        for spec in metric_specs(TorchToy(), ["comprehensiveness", "sufficiency", "aopc"], profile(name)):
            by_metric.setdefault(spec.name, []).append(spec.params["operator"])
        return by_metric

    standard, full = operators("standard"), operators("full")
    assert len(standard["comprehensiveness"]) == len(standard["sufficiency"]) == 2, "verdicts compare two operators"
    assert standard["aopc"] == standard["comprehensiveness"][:1]
    assert full["aopc"] == full["comprehensiveness"]
