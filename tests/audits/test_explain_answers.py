"""`regard.explain` on given answers: every method and metric of the shelf, sources as units, contrasts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import regard
from regard.errors import InputError, RegardError, Unsupported
from regard.models.open.load import load
from regard.registry import names
from regard.surveys.cite import cite
from regard.testing.copier import copier

NOTES = ["Anna lives in Rome.", "Bert lives in Oslo.", "Clara lives in Lima."]
MESSAGES = [{"role": "user", "content": "\n".join(NOTES) + "\nWhere does Anna live?"}]
RECORD: dict[str, Any] = {"messages": MESSAGES, "answer": "Rome. Oslo", "sources": NOTES}


@pytest.fixture(scope="module")
def model() -> Any:
    module, tokenizer = copier(["Rome", "Oslo", "Lima", "Paris"], [*NOTES, "Where does Anna live?"], strength=4.0)
    return load(module, processor=tokenizer)


@pytest.mark.parametrize("units", ["token", "source"])
def test_every_explainer_and_metric_runs_or_says_why_not(model: Any, units: str) -> None:
    methods, metrics = names("explainer"), names("metric")
    explained = regard.explain(model, RECORD, methods, units=units)
    scored_methods = ["leave_one_out", "attention", "integrated_gradients"]
    scored_explanation = regard.explain(model, RECORD, scored_methods, units=units, metrics=metrics)
    skipped = {**explained.skipped, **scored_explanation.skipped}
    assert set(explained.relevance) | set(explained.skipped) >= set(methods)
    impossible = {"given", "fast_leave_one_out", "decision_flip", "label_randomisation", "f_fidelity"}
    # a metric that asks a method anew cannot do so for sums over tokens
    anew = {"max_sensitivity", "local_lipschitz", "weight_randomisation"} if units == "source" else set()
    assert {"given"} <= {name.split(",")[0] for name in skipped} <= impossible | anew
    assert all(": " in reason or "expected" in reason for reason in skipped.values())
    scored = set(scored_explanation.scores["leave_one_out"]) | {name.split(",")[0] for name in skipped}
    assert scored >= set(metrics)
    assert explained.said(0) == "Rome . Oslo"
    assert np.isfinite(explained.answers.value[0])
    if units == "source":
        assert {"attention", "rollout", "knock_out"} <= set(explained.summed)
        assert "leave_one_out" not in explained.summed


def test_leaving_a_source_out_is_the_deletion_of_cite(model: Any) -> None:
    explained = regard.explain(model, RECORD, ["leave_one_out"], units="source")
    cited = cite(model, MESSAGES, "Rome. Oslo", sources=NOTES, units="answer", delta=0.1, check=3)
    exact = [value for value in cited.sentences[0].exact if value is not None]
    assert len(exact) >= 2
    for value in exact:
        assert np.abs(explained.relevance["leave_one_out"][0] - value).min() < 1e-4


def test_summed_attention_is_the_mass_on_the_tokens_of_a_source(model: Any) -> None:
    by_source = regard.explain(model, RECORD, ["attention"], units="source").relevance["attention"][0]
    tokens = regard.explain(model, RECORD, ["attention"])
    values, units = tokens.relevance["attention"][0], tokens.units[0]
    expected = [values[1 + 5 * i : 6 + 5 * i].sum() for i in range(3)]  # one template token, five tokens each
    assert units.names[1:6] == ("Anna", "lives", "in", "Rome", ".")
    assert by_source == pytest.approx(expected)


def test_a_contrast_is_the_difference_of_two_answers(model: Any) -> None:
    record = {**RECORD, "answer": "Rome."}
    both = regard.explain(model, {**record, "span": "Rome", "contrast": "Oslo Lima"}, ["leave_one_out", "saliency"])
    cited = cite(model, MESSAGES, "Rome.", sources=NOTES, span="Rome", contrast="Oslo Lima")
    assert both.answers.value[0] == pytest.approx(cited.sentences[0].log_odds, abs=1e-5)
    assert both.said(0) == "Rome / Oslo Lima"
    assert "sign" in both.skipped["saliency"]
    rows = zip(both.units[0].names, both.relevance["leave_one_out"][0], both.units[0].free, strict=True)
    values = {name: value for name, value, free in rows if free}
    assert values["Rome"] > 1
    assert values["Oslo"] < -1
    assert values["lives"] == pytest.approx(0, abs=1e-6)


def test_metrics_of_a_contrast_remove_sources_of_both_answers(model: Any) -> None:
    record = {**RECORD, "answer": "Rome.", "span": "Rome", "contrast": "Oslo Lima"}
    metrics = ["comprehensiveness:fractions=[0.3]", "log_odds", "max_sensitivity"]
    both = regard.explain(model, record, ["leave_one_out"], units="source", metrics=metrics)
    assert both.relevance["leave_one_out"][0].argmax() == 0
    shorter = [{"role": "user", "content": MESSAGES[0]["content"].replace(NOTES[0] + "\n", "")}]
    without = regard.explain(model, {**record, "messages": shorter, "sources": NOTES[1:]}, ["leave_one_out"])
    scores = both.scores["leave_one_out"]
    drop = both.answers.probability[0] - without.answers.probability[0]
    assert scores[metrics[0]][0] == pytest.approx(drop, abs=1e-6)
    assert drop > 0.1
    assert np.isfinite(scores["log_odds"][0])
    assert "asks nothing else" in both.skipped["max_sensitivity"]


def test_the_models_own_answer_is_explained(model: Any) -> None:
    explained = regard.explain(model, {"messages": MESSAGES}, ["leave_one_out"])
    assert explained.said(0).split()[0] in {"Rome", "Oslo", "Lima"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"answer": " "}, "empty"),
        ({"span": "Vienna"}, "stands in the answer once"),
        ({"sources": ["Rome", "Rome"]}, "places"),
        ({"sources": ["nowhere"]}, "no such text"),
        ({"color": "red"}, "color"),
        ({"contrast": "Rome. Oslo"}, "another text"),
        ({"messages": [{"role": "user", "content": "Rome " * 600 + "\nAnna?"}], "sources": "lines"}, "at most"),
    ],
)
def test_bad_input_is_refused(model: Any, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(RegardError, match=words):
        regard.explain(model, {**RECORD, **changes}, ["leave_one_out"], units="source")


def test_other_inputs_have_no_sources(model: Any) -> None:
    with pytest.raises(InputError, match="without an answer"):
        regard.explain(model, "Anna lives in", ["leave_one_out"], units="source")
    with pytest.raises(Unsupported, match="language model"):
        regard.explain("bilstm", RECORD, ["leave_one_out"])
