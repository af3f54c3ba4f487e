"""Removals asked ahead: the same numbers in fewer, larger batches, and nothing asked that no metric needs."""

from __future__ import annotations

import numpy as np
import pytest
from torch_toy import TorchToy, examples, sentences

from regard.audits import shard
from regard.audits.shard import Settings, compute
from regard.desk.questions import Removed
from regard.records import Spec
from regard.store.shard_result import ShardResult

EXPLAINERS = tuple(Spec("explainer", n) for n in ("attention", "input_x_gradient", "leave_one_out", "random"))

REMOVING = tuple(
    Spec("metric", name, {"operator": operator})
    for name in ("comprehensiveness", "sufficiency", "aopc", "insertion_area", "infidelity", "completeness_error")
    for operator in ("mask", "delete")
)


def scored(monkeypatch: pytest.MonkeyPatch, *, ahead: bool) -> tuple[ShardResult, list[int]]:
    """The page of a shard, and how many removals each batch held."""
    batches: list[int] = []
    answers = Removed.answers.__func__  # type: ignore[attr-defined]

    def counted(cls: type[Removed], desk: object, batch: list[object]) -> object:
        batches.append(len(batch))
        return answers(cls, desk, batch)

    with monkeypatch.context() as patch:
        patch.setattr(Removed, "answers", classmethod(counted))
        if not ahead:
            patch.setattr(shard, "ask_ahead", lambda pairs, metrics: None)
        page = compute(TorchToy(), examples(sentences(6)), Settings(EXPLAINERS, (*REMOVING, Spec("metric", "entropy"))))
    return page, batches


def test_removals_asked_ahead_give_the_same_numbers_in_fewer_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    page, batches = scored(monkeypatch, ahead=True)
    plain, small = scored(monkeypatch, ahead=False)
    assert not page.problems
    assert len(page.scores) == len(plain.scores)
    for one, other in zip(page.scores, plain.scores, strict=True):
        assert (one.metric, one.method, one.where) == (other.metric, other.method, other.where)
        np.testing.assert_allclose(one.values, other.values, atol=1e-6)
    assert sum(batches) == sum(small), "nothing is computed that the metrics would not have asked"
    assert len(batches) < len(small) / 2
    forwards, plainly = (sum(c.forwards for c in one.costs if c.kind == "metric") for one in (page, plain))
    assert forwards == plainly, "the metrics pay for them"
