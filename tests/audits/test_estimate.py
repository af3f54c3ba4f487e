"""Work is shared among methods, and the cost is known before the start."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from torch_toy import Texts, TorchToy, examples, sentences

from regard.audits.audit import audit
from regard.audits.default_methods import EXPLAINERS, METRICS
from regard.audits.estimate import CountingModel, estimate, probe
from regard.audits.preconditions import of_run
from regard.audits.repeatability import PROBES
from regard.audits.shard import Settings, compute
from regard.records import Spec

TEXTS = sentences(10)


def _explainers(*names: str) -> tuple[Spec, ...]:
    return tuple(Spec("explainer", name) for name in names)


def test_base_and_leave_one_out_forwards_are_computed_once_per_audit(tmp_path: Path) -> None:
    """Every word is a different one here, so every question has an input of its own that can be counted."""
    texts = tuple(" ".join(f"w{7 * i + j}" for j in range(3 + i % 4)) for i in range(9))
    toy = TorchToy(vocabulary=100_003)
    methods = [*EXPLAINERS, "leave_one_out:operator=delete"]  # the same method twice is one method
    run = audit(toy, Texts(texts), out=tmp_path / "run", explainers=methods, profile="quick")
    assert {s.metric for s in run.scores()} == set(METRICS)  # each of these asks for some of the same forwards
    questions = []
    for example in examples(texts):
        encoded = toy.encode(example)
        none = np.zeros(len(encoded.units), bool)
        for drop in (none, *np.eye(len(encoded.units), dtype=bool)[1:]):
            questions.append(toy.remove(encoded, drop, "delete", np.random.default_rng(0)).ids)
    assert len(set(questions)) == len(questions)
    look = TorchToy(vocabulary=100_003)  # the look for defects edits the attention of a few examples: other questions
    of_run(look, examples(texts), run.examples(), seed=0)
    assert look.calls["decide"] == 0
    times = Counter(toy.rows[ids] - look.rows[ids] for ids in questions)
    # a few examples are asked four times more: twice before the audit and twice after it
    assert times == {1: len(questions) - PROBES, 5: PROBES}
    assert toy.calls["decide"] == len(texts) + 1 + PROBES  # and one look at the model before the start
    costs = {c["method"]: c for c in run.costs()}
    assert costs["base"]["forwards"] == len(texts)
    assert costs["leave_one_out"]["forwards"] == len(questions) - len(texts)
    assert "leave_one_out:operator=delete" not in costs
    assert costs["rollout"]["forwards"] == 0  # its captures are those of `attention`
    assert costs["leave_one_out"]["limit"] is None  # nobody knows how much arithmetic a foreign model does


EXACT = ("attention", "rollout", "input_x_gradient", "integrated_gradients", "leave_one_out", "random")


@pytest.mark.parametrize("names", [EXACT, ("leave_one_out",), ("rollout", "random"), ("integrated_gradients:steps=5",)])
def test_the_estimate_is_exact_where_requests_do_not_depend_on_answers(names: tuple[str, ...]) -> None:
    settings = Settings(tuple(Spec.parse("explainer", n) for n in names), (Spec("metric", "agreement"),))
    toy = TorchToy()
    seen = probe(toy, toy.encode(examples(TEXTS)[0]), np.random.default_rng(0))
    guess = estimate(toy, examples(TEXTS), settings, seen)
    page = compute(TorchToy(), examples(TEXTS), settings)
    real = {(c.kind, c.method): (c.forwards, c.backwards, c.requests) for c in page.costs}
    assert {(c.kind, c.method): (c.forwards, c.backwards, c.requests) for c in guess.methods} == real
    assert guess.forwards == sum(c.forwards for c in page.costs)
    assert guess.examples == len(TEXTS)


def test_the_estimate_is_close_where_they_do() -> None:
    settings = Settings(_explainers(*EXPLAINERS), tuple(Spec("metric", m) for m in METRICS))
    toy = TorchToy()
    seen = probe(toy, toy.encode(examples(TEXTS)[0]), np.random.default_rng(0))
    guess = estimate(toy, examples(TEXTS), settings, seen)
    real = sum(c.forwards for c in compute(TorchToy(), examples(TEXTS), settings).costs)
    assert real * 0.75 < guess.forwards < real * 1.35


def test_counting_never_runs_the_model() -> None:
    toy = TorchToy()
    seen = probe(toy, toy.encode(examples(TEXTS)[0]), np.random.default_rng(0))
    before = dict(toy.calls)
    settings = Settings(_explainers(*EXPLAINERS), tuple(Spec("metric", m) for m in METRICS))
    page = compute(CountingModel(toy, seen), examples(TEXTS), settings)
    assert not page.problems
    assert dict(toy.calls) == before


def test_what_is_not_supported_is_known_before_the_start() -> None:
    toy = TorchToy(blind=True)
    seen = probe(toy, toy.encode(examples(TEXTS)[0]), np.random.default_rng(0))
    guess = estimate(toy, examples(TEXTS), Settings(_explainers("attention", "random")), seen)
    assert "it is blind" in guess.skipped["attention"]


def test_the_probe_asks_no_question_of_the_audit() -> None:
    toy = TorchToy()
    example = examples(("one two three four five six",))[0]
    encoded = toy.encode(example)
    probe(toy, encoded, np.random.default_rng(0))
    assert encoded.ids not in toy.rows
    singles = [toy.remove(encoded, d, "delete", np.random.default_rng(0)).ids for d in np.eye(7, dtype=bool)[1:]]
    assert not any(ids in toy.rows for ids in singles)
