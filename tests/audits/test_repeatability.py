"""A model that does not answer the same input the same way is named, its noise measured, and every verdict refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import broken_models as broken
import numpy as np
import pytest
import torch
from torch import nn
from torch_toy import Texts, TorchToy, sentences

from regard.audits.audit import audit
from regard.audits.repeatability import EDITED, PROBES, Repeatability, RepeatCheck, warning, worse
from regard.errors import Incomplete
from regard.gate.gate import gate
from regard.gate.policy import Gate, Policy
from regard.judge.verdicts import verdicts
from regard.models.open.training_mode import training_modules
from regard.present.messages.messages import render, say, speaking
from regard.present.report.as_json import run_json
from regard.present.report.as_markdown import run_markdown
from regard.present.report.report import report
from regard.records import Answers, Example, joined
from regard.store.run import Run

FEW: dict[str, Any] = {
    "explainers": ["attention", "leave_one_out", "random"], "metrics": ["comprehensiveness", "sufficiency"],
    "experiments": ["map_shape", "permutation", "pointing"], "keep": 0,
}  # fmt: skip


def start(net: broken.Net) -> Repeatability:
    return RepeatCheck(broken.model(net), broken.texts(5)).start()


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (broken.noise, "answers by chance"),
        (broken.OwnNoise(), "answers by chance"),
        (broken.counter, "keeps state"),
        (broken.LastInput(), "keeps state"),
        (broken.sometimes_nan, "returns NaN"),
    ],
)
def test_each_fault_is_named(fault: Any, kind: str) -> None:
    seen = start(broken.Net(fault))
    assert seen.kinds == (kind,)
    assert seen.times >= 8
    assert not seen.repeats


def test_the_noise_is_measured() -> None:
    seen = start(broken.Net(broken.noise))
    # two logits with a standard deviation of 0.5 each: their difference has 0.71
    assert 0.4 < seen.noise.value_sd < 1.1
    assert seen.noise.value_largest > seen.noise.value_sd
    assert 0 < seen.noise.probability_sd < seen.noise.probability_largest < 1
    assert f"standard deviation {seen.noise.value_sd:.2g}" in render(joined(seen.sentences))


@pytest.mark.parametrize("fault", [None, broken.rounding])
def test_a_sound_model_costs_twenty_passes_and_rounding_passes(fault: Any) -> None:
    net = broken.Net(fault)
    check = RepeatCheck(broken.model(net), broken.texts(5))
    assert check.start().repeats
    seen = check.end()
    assert seen.repeats
    assert seen.passes == net.calls == 4 * (PROBES + EDITED) == 20
    assert seen.examples == PROBES
    assert not seen.sentences


def test_noise_on_edited_inputs_alone_is_found() -> None:
    """An audit asks mostly about inputs with units removed."""
    whole = {tuple(int(w[1:]) for w in e.inputs["text"].split()) for e in broken.texts(5)}

    def spoilt(net: broken.Net, ids: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        known = torch.tensor([[float(tuple(row) in whole)] for row in ids.tolist()])
        return logits + (1 - known) * 0.5 * torch.randn(logits.shape)

    assert start(broken.Net(spoilt)).kinds == ("answers by chance",)


def test_noise_on_the_longest_inputs_alone_is_found(tmp_path: Path) -> None:
    examples = [Example(f"e{i}", {"text": " ".join(f"w{j + i}" for j in range(4 + i))}, label=i % 2) for i in range(9)]

    def spoilt(net: broken.Net, ids: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        long = (ids != 0).sum(1, keepdim=True) > 11
        return logits + long * 0.5 * torch.randn(logits.shape)

    options: Any = {"explainers": ["random"], "metrics": ["entropy"], "experiments": [], "profile": "quick"}
    run = audit(broken.model(broken.Net(spoilt)), examples, out=tmp_path / "run", **options)
    assert run.manifest["repeatability"]["kinds"] == ["answers by chance"]


def test_dropout_in_training_mode_is_named_with_its_module() -> None:
    net = broken.Net(dropout=0.3)
    model = broken.model(net)
    net.drop.train()  # the network itself stays in evaluation mode
    seen = RepeatCheck(model, broken.texts(5)).start()
    assert seen.kinds == ("is in training mode",)
    assert seen.modules == ("drop (Dropout)",)
    assert "in training mode (drop (Dropout))" in render(seen.sentences[0])


def test_normalisation_by_the_batch_needs_no_noise_to_be_named() -> None:
    net = broken.Net()
    net.add_module("norm", nn.BatchNorm1d(4))
    model = broken.model(net)
    assert RepeatCheck(model, broken.texts(5)).start().repeats
    net.norm.train()
    assert RepeatCheck(model, broken.texts(5)).start().kinds == ("is in training mode",)


@pytest.mark.parametrize(
    ("module", "names"),
    [
        (nn.Dropout(0.0), []), (nn.Dropout(0.1), ["the module (Dropout)"]), (nn.Linear(2, 2), []),
        (nn.MultiheadAttention(4, 1, dropout=0.1), ["the module (MultiheadAttention)"]),
    ],
)  # fmt: skip
def test_only_modules_that_behave_otherwise_in_training_are_named(module: nn.Module, names: list[str]) -> None:
    assert training_modules(module.train()) == names
    assert training_modules(module.eval()) == []


def test_an_answer_from_inside_the_audit_is_compared_too() -> None:
    check = RepeatCheck(broken.model(broken.Net()), broken.texts(5))
    check.start()
    rows = [
        {"id": e.id, "units": {}, "value": 9.0, "probability": 0.9, "distribution": [0.1, 0.9]}
        for e in broken.texts(5)
    ]  # fmt: skip
    assert check.end(rows).kinds == ("keeps state",)


def test_a_fault_of_an_earlier_session_stays() -> None:
    sound, noisy = start(broken.Net()), start(broken.Net(broken.noise))
    assert worse(None, sound)["repeats"]
    assert worse(noisy.to_json(), sound)["kinds"] == ["answers by chance"]
    assert worse(sound.to_json(), noisy)["kinds"] == ["answers by chance"]


def test_global_random_numbers_are_left_as_they_were() -> None:
    net = broken.Net(broken.OwnNoise())
    np.random.seed(1)
    torch.manual_seed(1)
    wanted = np.random.random(), torch.rand(1).item()
    np.random.seed(1)
    torch.manual_seed(1)
    assert not start(net).repeats
    assert (np.random.random(), torch.rand(1).item()) == wanted


def test_one_example_is_enough_for_a_warning() -> None:
    (example,) = broken.texts(1)
    net = broken.Net()
    assert warning(broken.model(net), example) == ""
    assert net.calls == 2
    assert warning(broken.model(broken.Net(broken.noise)), example).params["parts"][0] == {
        "message": "repeatability.random"
    }  # type: ignore[union-attr, index, call-overload]


# ---------------------------------------------------------------------- whole audits


@pytest.fixture(scope="module")
def noisy_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Logits + N(0, 0.5): before, "Clearly better than random: leave_one_out"."""
    out = tmp_path_factory.mktemp("noisy") / "run"
    torch.manual_seed(0)
    said: list[str] = []
    run = audit(broken.model(broken.Net(broken.noise)), broken.texts(24), out=out, announce=said.append, **FEW)
    assert any(say("repeatability.random") in sentence for sentence in said)
    verdicts(run, keep=True)
    return Run(out)


def test_every_verdict_is_refused_and_the_tables_stay(noisy_run: Run) -> None:
    stored = noisy_run.manifest["repeatability"]
    assert (stored["repeats"], stored["kinds"], stored["examples"]) == (False, ["answers by chance"], PROBES)
    assert any(s.n for s in noisy_run.summaries())
    (judgement,) = verdicts(noisy_run)
    assert judgement.reading == "undecided"
    assert {v.answer for v in judgement.verdicts} == {"uninformative"}
    assert all("judge.because.not_repeatable" in repr(v.sentence) for v in judgement.verdicts)
    assert {row["answer"] for v in judgement.verdicts for row in v.rows if "answer" in row} <= {"imprecise"}


def test_nothing_that_is_shown_makes_a_claim(noisy_run: Run) -> None:
    page, text, json = report(noisy_run), run_markdown(noisy_run), run_json(noisy_run)
    for shown in (page, text):
        assert "The model is random" in shown
        assert "Clearly better" not in shown
    assert page.index("The model is random") < page.index('class="reading')
    assert 'id="exhibit-instead"' not in page
    assert {d["reading"] for d in json["differences"]} == {"undefined"}  # type: ignore[index, union-attr, call-overload]
    assert set(json["exhibits"].values()) == {None}  # type: ignore[union-attr]
    with speaking("zh"):
        assert "该模型的预测带有随机性" in report(noisy_run)


def test_a_gate_refuses_the_run(noisy_run: Run) -> None:
    policy = Policy(gates=(Gate("comprehensiveness", min=-1.0),))
    with pytest.raises(Incomplete, match="same answer to the same input"):
        gate(noisy_run, policy)


def test_weights_that_change_during_the_audit(tmp_path: Path) -> None:
    net = broken.Net()

    def train_on(done: int, total: int, eta: float | None, /) -> None:
        with torch.no_grad():
            net.out.weight.mul_(1 + 1e-7 * done).add_(1e-7 * done)

    run = audit(broken.model(net), broken.texts(6), out=tmp_path / "run", progress=train_on, explainers=["attention"])
    assert run.manifest["repeatability"]["kinds"] == ["changed"]
    assert "repeatability.changed" in str(run.manifest["repeatability"]["sentence"])


class NoisyToy(TorchToy):
    """A model of somebody's own, without a torch module."""

    def _answers(self, logits: torch.Tensor, targets: Any) -> Answers:
        return super()._answers(logits + 0.5 * torch.randn(logits.shape), targets)


def test_a_model_that_is_no_torch_module_is_asked_twice_too(tmp_path: Path) -> None:
    few: dict[str, Any] = {"explainers": ["leave_one_out", "random"], "metrics": ["comprehensiveness"]}
    run = audit(NoisyToy(live=True), Texts(sentences(6)), out=tmp_path / "run", **few)
    assert run.manifest["repeatability"]["kinds"] == ["answers by chance"]


def test_a_stopped_session_of_a_noisy_model_is_remembered(tmp_path: Path) -> None:
    def stop(done: int, total: int, eta: float | None, /) -> None:
        raise KeyboardInterrupt

    few: dict[str, Any] = {"explainers": ["leave_one_out", "random"], "metrics": ["comprehensiveness"]}
    data, out = Texts(sentences(6)), tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        audit(NoisyToy(live=True), data, out=out, progress=stop, **few)
    run = audit(TorchToy(live=True), data, out=out, **few)  # the same fingerprint, and sound
    assert run.manifest["repeatability"]["kinds"] == ["answers by chance"]
    assert run.manifest["repeatability"]["finished"]
