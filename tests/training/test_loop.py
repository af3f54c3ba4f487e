"""The loop: it learns, it repeats itself, it stops on dev, it can be killed, it says why it cannot."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import mannwhitneyu
from torch import Tensor
from toy_data import QUICK, network, rows

from regard.errors import InputError
from regard.networks.tabular import TabularTransformer
from regard.training.batches import Accompanied, ArrayRows, Batch, TextRows
from regard.training.loop import Fitted, Settings, _Course, _slope, evaluate, fit, seeded, threads
from regard.training.loss import Outcome, Term, forward, total, weighted_terms
from regard.training.progress import Report, reporting
from regard.training.scoring import ACCURACY, ROC_AREA

TRAIN, DEV = rows(160, "train"), rows(60, "dev")
PLAIN = weighted_terms({"cross_entropy": 1})


def _weights(settings: Settings = QUICK, state: Path | None = None) -> tuple[dict[str, Tensor], Fitted]:
    net = network()
    fitted = fit(net, TRAIN, DEV, PLAIN, settings, state=state)
    return net.state_dict(), fitted


@pytest.fixture(scope="module")
def reference() -> tuple[dict[str, Tensor], Fitted]:
    return _weights()


def _same(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    return all(torch.equal(a[name], b[name]) for name in a)


def test_it_learns() -> None:
    net = network()
    fitted = fit(net, TRAIN, DEV, PLAIN, dataclasses.replace(QUICK, epochs=12, patience=12))
    assert fitted.dev_metric > 0.9
    assert evaluate(net, DEV, PLAIN) == pytest.approx(
        (fitted.epochs[fitted.best].dev_loss, fitted.epochs[fitted.best].dev_metric)
    )
    assert not net.training


def test_the_same_seed_gives_the_same_weights(reference: tuple[dict[str, Tensor], Fitted]) -> None:
    torch.rand(7)  # whatever was drawn before
    again, fitted = _weights()
    assert _same(again, reference[0])
    assert fitted == reference[1]
    assert not _same(_weights(dataclasses.replace(QUICK, seed=5))[0], reference[0])


def test_the_number_of_threads_does_not_matter(reference: tuple[dict[str, Tensor], Fitted]) -> None:
    before = torch.get_num_threads()
    with threads(2):
        assert _same(_weights()[0], reference[0])
        assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == before


def test_the_random_numbers_of_others_are_left_alone() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    _weights(dataclasses.replace(QUICK, epochs=1))
    assert torch.equal(torch.rand(3), expected)


class _KilledError(BaseException):
    """Stands for whatever ends a process, as far as code can see it."""


@pytest.mark.parametrize("step", [1, 4, 10, 13, 25])
def test_a_stopped_training_goes_on_to_the_same_result(
    step: int, reference: tuple[dict[str, Tensor], Fitted], tmp_path: Path
) -> None:
    settings, seen = dataclasses.replace(QUICK, save_seconds=0.0), 0

    def stop(report: Report) -> None:
        nonlocal seen
        seen += not report.epoch_is_over
        if seen == step:
            raise _KilledError

    with pytest.raises(_KilledError), reporting(stop):
        _weights(settings, tmp_path)
    steps: list[int] = []
    with reporting(lambda report: steps.append(report.step) if not report.epoch_is_over else None):
        weights, fitted = _weights(settings, tmp_path)
    assert len(steps) == 30 - step + 1  # the step that was cut off is done again, no other
    assert _same(weights, reference[0])
    assert fitted == reference[1]


def test_a_killed_process_goes_on_to_the_same_result(
    reference: tuple[dict[str, Tensor], Fitted], tmp_path: Path
) -> None:
    script = f"""
import sys, dataclasses
sys.path[:0] = [{str(Path(__file__).parent)!r}]
from pathlib import Path
from toy_data import QUICK, network, rows
from regard.training.loop import fit
from regard.training.progress import reporting
from regard.training.loss import weighted_terms
def tell(report):
    print(report.epoch, report.step, flush=True)
    if (report.epoch, report.step) == (2, 3):
        sys.stdin.readline()
terms = weighted_terms({{"cross_entropy": 1}})
with reporting(tell):
    fit(network(), rows(160, "train"), rows(60, "dev"), terms, QUICK, state=Path({str(tmp_path)!r}))
"""
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdin is not None
    while child.stdout.readline().strip() != "2 3":
        assert child.poll() is None
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    child.stdout.close()
    child.stdin.close()
    assert json.loads((tmp_path / "state.json").read_text())["epoch"] == 1
    first: list[Report] = []
    with reporting(first.append):
        weights, fitted = _weights(state=tmp_path)
    assert (first[0].epoch, first[0].step) == (2, 1)
    assert _same(weights, reference[0])
    assert fitted == reference[1]


def test_the_state_of_another_training_is_not_used(reference: tuple[dict[str, Tensor], Fitted], tmp_path: Path) -> None:
    _weights(dataclasses.replace(QUICK, seed=9), tmp_path)
    assert _same(_weights(state=tmp_path)[0], reference[0])
    assert len(list(tmp_path.glob("*.safetensors"))) == 2  # of the last state and of the one before


def test_batches_follow_the_network_to_its_device() -> None:
    net = network().to("meta")  # a device that every machine has: shapes without numbers
    batch = TRAIN.batch(np.arange(4), None)
    outcome = forward(net, batch)
    loss, _ = total(PLAIN, outcome, batch)
    assert outcome.real is not None
    assert {outcome.logits.device.type, outcome.real.device.type, loss.device.type} == {"meta"}


def test_it_stops_on_dev_and_keeps_the_best_epoch() -> None:
    """Dev labels are the opposite of train labels: every epoch of learning makes dev worse."""
    turned = TextRows(DEV.tokens, 1 - DEV.labels)
    net = network()
    fitted = fit(net, TRAIN, turned, PLAIN, dataclasses.replace(QUICK, epochs=30, patience=2))
    assert len(fitted.epochs) == fitted.best + 1 + 2 < 30
    kept = fitted.epochs[fitted.best]
    assert all((e.dev_metric, -e.dev_loss) <= (kept.dev_metric, -kept.dev_loss) for e in fitted.epochs)
    assert evaluate(net, turned, PLAIN)[1] == kept.dev_metric


def test_progress_is_told() -> None:
    heard: list[Report] = []
    with reporting(heard.append):
        _, fitted = _weights()
    told = [r for r in heard if not r.epoch_is_over]
    over = [r for r in heard if r.epoch_is_over]
    assert [(r.loss, r.dev_loss, r.dev_metric) for r in over] == [dataclasses.astuple(e) for e in fitted.epochs]
    assert [i for i, r in enumerate(over) if r.best][-1] == fitted.best
    assert [r.step for r in told[:3]] == [1, 2, 3]
    assert {r.steps for r in told} == {10}
    assert told[0].dev_metric is None
    assert told[-1].dev_metric == fitted.epochs[1].dev_metric
    assert told[-1].terms.keys() == {"cross_entropy"}
    assert [told[9].loss, told[19].loss] == [e.loss for e in fitted.epochs[:2]]
    assert told[-1].fraction == 1.0
    assert [r.fraction for r in told] == sorted(r.fraction for r in told)


def test_class_weights_lift_the_rare_class() -> None:
    rare = np.flatnonzero(TRAIN.labels)[:8]
    chosen = np.concatenate([np.flatnonzero(TRAIN.labels == 0), rare])
    few = TextRows([TRAIN.tokens[i] for i in chosen], TRAIN.labels[chosen])

    def share_of_rare(weights: list[float] | None) -> float:
        net = network()
        seen = few if weights is None else Accompanied(few, {"weight": list(torch.tensor(weights)[few.labels])})
        fit(net, seen, DEV, PLAIN, dataclasses.replace(QUICK, epochs=1))
        batch = DEV.batch(np.arange(60), None)
        return net(*batch.inputs).softmax(-1)[:, 1].mean().item()

    assert share_of_rare([0.2, 1.8]) > share_of_rare(None) + 0.05


BROKEN = ArrayRows(torch.tensor([[0.0, 1.0], [float("nan"), 0.0]]), np.array([0, 1]))
FINE = ArrayRows(torch.rand(4, 2), np.array([0, 1, 0, 1]))


@pytest.mark.parametrize(
    ("train", "dev", "says"),
    [
        (ArrayRows(torch.rand(0, 2), np.zeros(0, np.int64)), FINE, "train split of toy: expected at least one"),
        (FINE, ArrayRows(torch.rand(0, 2), np.zeros(0, np.int64)), "dev split of toy: expected at least one"),
        (BROKEN, FINE, r"a finite loss; got nan at step 1 of epoch 1 \(cross_entropy\)"),
    ],
    ids=["empty train", "empty dev", "nan"],
)
def test_unusable_data(train: ArrayRows, dev: ArrayRows, says: str) -> None:
    net = TabularTransformer(columns=2, classes=2, size=8)
    with pytest.raises(InputError, match=says):
        fit(net, train, dev, PLAIN, Settings(epochs=1), what="toy")


def test_terms_are_summed_with_their_weights_and_named_when_they_break() -> None:
    calls: Iterator[int] = iter(range(100))

    def entropy(outcome: Outcome, batch: Batch) -> Tensor:
        assert outcome.weights is not None
        weights = outcome.weights.clamp_min(1e-9)
        return -(weights * weights.log()).sum(-1).mean()

    def breaks(outcome: Outcome, batch: Batch) -> Tensor:
        return outcome.logits.sum() * (float("inf") if torch.is_grad_enabled() and next(calls) == 12 else 0.0)

    told: list[Report] = []
    terms = [*PLAIN, Term("entropy", entropy, 0.5), Term("breaks", breaks, 1.0)]
    with reporting(told.append), pytest.raises(InputError, match=r"at step 3 of epoch 2 \(breaks\)"):
        fit(network(), TRAIN, DEV, terms, QUICK)
    first = told[0]
    assert first.loss == pytest.approx(first.terms["cross_entropy"] + 0.5 * first.terms["entropy"])


def test_a_term_about_attention_changes_attention() -> None:
    def entropy(outcome: Outcome, batch: Batch) -> Tensor:
        assert outcome.weights is not None
        weights = outcome.weights.clamp_min(1e-9)
        return -(weights * weights.log()).sum(-1).mean()

    def spread(weight: float) -> float:
        net = network()
        terms = [*PLAIN, Term("entropy", entropy, weight)]
        fit(net, TRAIN, DEV, terms, dataclasses.replace(QUICK, patience=9))
        batch = DEV.batch(np.arange(60), None)
        return entropy(Outcome(*net.read(*batch.inputs)[:2]), batch).item()

    assert spread(1.0) < spread(0.0) < spread(-1.0)


def test_seeded_puts_the_state_back_after_an_error() -> None:
    torch.manual_seed(2)
    expected = torch.rand(2)
    torch.manual_seed(2)
    with pytest.raises(ZeroDivisionError), seeded(0):
        raise ZeroDivisionError
    assert torch.equal(torch.rand(2), expected)


def test_the_roc_area_is_of_the_split_as_a_whole() -> None:
    net = network().eval()
    with torch.no_grad():
        said = [net(DEV.batch(np.array([i]), None).inputs[0])[0] for i in range(len(DEV.labels))]
    odds = np.array([float(row[1] - row[0]) for row in said])
    higher = mannwhitneyu(odds[DEV.labels == 1], odds[DEV.labels == 0]).statistic
    expected = higher / ((DEV.labels == 1).sum() * (DEV.labels == 0).sum())
    for size in (7, 60):  # a mean over batches would depend on their size
        assert evaluate(net, DEV, PLAIN, ROC_AREA, size)[1] == pytest.approx(expected)


@pytest.mark.parametrize(("last", "expected"), [(0.0, [0.001 / 0.2, 1.0, 0.5, 0.125]), (1.0, [0.001 / 0.2, 1, 1, 1])])
def test_the_rate_rises_and_falls_to_what_is_left(last: float, expected: list[float]) -> None:
    settings = Settings(epochs=2, warmup=0.2, last=last)
    steps = [(0, 0), (0, 2), (1, 1), (1, 4)]  # of five in each epoch: at 0, .2, .6 and .9 of the way
    assert [_slope(_Course(epoch=e, step=s), 5, settings) for e, s in steps] == pytest.approx(expected)


def test_an_early_epoch_is_not_kept_however_good() -> None:
    worst = dataclasses.replace(ACCURACY, higher_is_better=False)  # so that the first epoch is the best one

    def kept(settings: Settings) -> tuple[int, int]:
        fitted = fit(network(), TRAIN, DEV, PLAIN, settings, measure=worst)
        return fitted.best, len(fitted.epochs)

    free = dataclasses.replace(QUICK, epochs=4, patience=1)
    assert kept(free) == (0, 2)
    assert kept(dataclasses.replace(free, earliest=3))[0] >= 2
    assert kept(dataclasses.replace(free, epochs=2, earliest=9)) == (1, 2)  # there is always one to keep
