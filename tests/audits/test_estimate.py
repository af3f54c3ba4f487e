"""Work is shared among methods, and the cost is known before the start."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from torch_toy import Read, Texts, TorchToy, examples, sentences

from regard.audits.audit import audit
from regard.audits.default_methods import default_methods
from regard.audits.estimate import check_capture, estimate, middle_first
from regard.audits.preconditions import of_run
from regard.audits.repeatability import PROBES
from regard.present.messages.messages import render
from regard.records import UNCHECKED, Example
from regard.store.shard_result import Cost, ShardResult

EXPLAINERS = default_methods("explainer", "quick")
METRICS = default_methods("metric", "quick", without_family="plausibility")


def test_base_and_leave_one_out_forwards_are_computed_once_per_audit(tmp_path: Path) -> None:
    """Every word is a different one here, so every question has an input of its own that can be counted."""
    texts = tuple(" ".join(f"w{7 * i + j}" for j in range(3 + i % 4)) for i in range(9))
    toy = TorchToy(vocabulary=100_003)
    methods = [*EXPLAINERS, "leave_one_out:operator=delete"]  # the same method twice is one method
    run = audit(toy, Texts(texts), out=tmp_path / "run", explainers=methods, profile="quick", budget="none")
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
    assert look.calls["predict"] == 0
    times = Counter(toy.rows[ids] - look.rows[ids] for ids in questions)
    # a few examples are asked four times more: twice before the audit and twice after it
    assert times == {1: len(questions) - PROBES, 5: PROBES}
    assert toy.calls["predict"] == len(texts) + 1 + PROBES  # and one look at the model before the start
    costs = {c["method"]: c for c in run.costs()}
    assert costs["base"]["forwards"] == len(texts)
    assert costs["leave_one_out"]["forwards"] == len(questions) - len(texts)
    assert "leave_one_out:operator=delete" not in costs
    assert costs["rollout"]["forwards"] == 0  # its captures are those of `attention`
    assert costs["leave_one_out"]["limit"] is None  # nobody knows how much arithmetic a foreign model does


def test_a_pilot_of_middling_length_runs_first_and_is_scaled() -> None:
    shards = [["long"], ["b", "c"], ["d"]]
    assert middle_first(shards) == [["b", "c"], ["long"], ["d"]]
    assert middle_first([]) == []
    lengths = {"long": 20, "b": 10, "c": 10, "d": 5}
    costs = (Cost("model", "base", 1.0, 40, 10, 50), Cost("explainer", "x", 1.0, 60, 0, 60))
    pilot = ShardResult(costs=costs, skipped={"attention": "no attention"})
    guess = estimate(pilot, ["b", "c"], lengths, [*lengths])
    assert (guess.examples, guess.forwards, guess.backwards) == (4, 225, 22)  # 45 positions instead of 20
    assert guess.seconds == pytest.approx(2 * (400 + 100 + 100 + 25) / 200)
    assert guess.to_json()["skipped"] == {"attention": "no attention"}
    assert render(guess.sentence(1)) == "4 examples, about 225 forward passes and 22 gradients, about 6 s"


@pytest.mark.wording
def test_an_audit_announces_its_cost_after_the_pilot_and_stores_it(tmp_path: Path) -> None:
    events: list[str] = []
    run = audit(
        TorchToy(),
        Texts(sentences(30)),
        out=tmp_path / "run",
        budget="none",
        explainers=["leave_one_out", "integrated_gradients"],
        metrics=["agreement"],
        announce=events.append,
        progress=lambda done, total, eta: events.append(f"{done} of {total}"),
    )
    (said,) = [i for i, event in enumerate(events) if "forward passes" in event]
    assert "0 of 30" in events[:said]
    assert sum(" of 30" in event for event in events[said:]) > 2, "most shards come after the forecast"
    real = sum(c["forwards"] for c in run.costs())
    assert real * 0.75 < run.manifest["estimate"]["forwards"] < real * 1.35


def test_encodes_per_example_are_two_and_one_per_variant(tmp_path: Path) -> None:
    class Counted(TorchToy):
        def encode(self, example: Example) -> Read:
            encodes[example.id] += 1
            return super().encode(example)

    encodes: Counter[str] = Counter()
    plain = {"explainers": ["attention", "leave_one_out"], "metrics": ["comprehensiveness", "max_sensitivity"]}
    audit(Counted(live=True), Texts(sentences(12)), out=tmp_path / "run", **plain)  # type: ignore[arg-type]
    probed = {name for name, times in encodes.items() if times > 1}
    assert len(probed) <= PROBES, "only the check that the model repeats its answers encodes anew"
    assert max(encodes.values()) <= 2 + 4, "a probed example is encoded before and after the audit"
    encodes.clear()
    noisy = ["explanation_drift:noises=1,share=1.0"]
    audit(Counted(live=True), Texts(sentences(12)), out=tmp_path / "noisy", experiments=noisy, **plain)  # type: ignore[arg-type]
    variants = 1  # the noisy text keeps its id; copies under other names are examples of their own
    fair = [times for name, times in encodes.items() if name not in probed]
    assert max(fair) <= 2 + variants


def test_the_capture_check_asks_no_question_of_the_audit() -> None:
    toy = TorchToy()
    example = examples(("one two three four five six",))[0]
    encoded = toy.encode(example)
    assert check_capture(toy, encoded, np.random.default_rng(0)).checked == "given"
    assert encoded.ids not in toy.rows
    singles = [toy.remove(encoded, d, "delete", np.random.default_rng(0)).ids for d in np.eye(7, dtype=bool)[1:]]
    assert not any(ids in toy.rows for ids in singles)
    assert check_capture(TorchToy(blind=True), encoded, np.random.default_rng(0)).checked == UNCHECKED
