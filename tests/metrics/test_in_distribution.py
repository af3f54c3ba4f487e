"""The operator finetuned_mask and F-Fidelity on a trained model that misbehaves on masked inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from benchmarks.in_distribution import DATA, STEPS, broken, degraded, order_recovered

from regard.datasets.read import read
from regard.desk.case import DeskCase
from regard.desk.changes import MaskTuned, reads_masks
from regard.desk.desk import Desk
from regard.desk.twin_check import twin_check, usable_twin
from regard.errors import InputError, Unsupported
from regard.metrics.comprehensiveness import comprehensiveness
from regard.metrics.f_fidelity import f_fidelity
from regard.metrics.soft_comprehensiveness import soft_comprehensiveness
from regard.models.ask.randomised import randomised_copy
from regard.models.open.load import load
from regard.networks.vocabulary import MASK, PAD
from regard.testing.metric_rules import planted
from regard.testing.toy import TEXTS, ToyCase, ToyModel
from regard.training.batches import TextRows

TUNED = {"operator": "finetuned_mask"}


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> DeskCase:
    model = load(broken(tmp_path_factory.mktemp("in_distribution"), 0))
    return DeskCase(Desk(model, seed=0), list(read(DATA, split="test", limit=40)))


def test_f_fidelity_recovers_the_order_where_raw_masking_reverses_it(case: DeskCase) -> None:
    assert order_recovered(case, "comprehensiveness, mask", 0)[0] < 0
    assert order_recovered(case, "f_fidelity, finetuned_mask", 0)[0] > 0.5


def test_the_operator_asks_the_twin(case: DeskCase) -> None:
    truth = degraded(case, STEPS[0], 0)
    raw, tuned = (comprehensiveness(case, truth, operator=way) for way in ("mask", "finetuned_mask"))
    assert tuned.where == {"operator": "finetuned_mask"}
    assert not np.array_equal(raw.values, tuned.values)
    assert f_fidelity(case, truth).where["operator"] == "finetuned_mask", "the default where there is a recipe"


def test_a_model_without_a_twin_is_refused_not_asked_itself() -> None:
    case = ToyCase(TEXTS[:-1], model=ToyModel(reads_masks=False))
    truth = planted(case, "truth")
    for metric, params in ((f_fidelity, {}), (f_fidelity, TUNED), (comprehensiveness, TUNED)):
        with pytest.raises(Unsupported, match="masking"):
            metric(case, truth, **params)
    assert f_fidelity(case, truth, operator="mask").where["operator"] == "mask", "a named operator is the user's choice"


def test_a_model_that_learned_from_masks_is_its_own_twin(case: DeskCase) -> None:
    twin = case.variant(MaskTuned())
    assert not reads_masks(case.desk.model)
    assert reads_masks(twin.desk.model)
    assert twin.variant(MaskTuned()).desk.model is twin.desk.model
    score = f_fidelity(twin, degraded(twin, STEPS[0], 0))
    assert score.where["operator"] == "finetuned_mask"


def test_a_twin_that_does_not_answer_like_the_model_is_refused(case: DeskCase) -> None:
    twin = case.variant(MaskTuned()).desk.model
    check = twin_check(case.desk.model, twin)
    assert check.usable
    assert check.agreement[1] < check.agreement[0] <= check.agreement[2]
    assert twin_check(twin, twin).agreement[0] == 1.0
    another = randomised_copy(case.desk.model, 1.0, 0)
    with pytest.raises(Unsupported, match=r"agreement 0\.\d\d \[.*n = \d+ validation examples"):
        usable_twin(another, twin)


def test_soft_metrics_drop_entries_of_embeddings_like_a_loop_by_hand(case: DeskCase) -> None:
    part, draws = case.subset(range(3)), 4
    truth = degraded(part, STEPS[0], 0)
    score = soft_comprehensiveness(part, truth, draws=draws)
    assert score.where["operator"] == "embedding"
    model: Any = part.desk.model
    network = model.module
    for i, name in enumerate(part.ids):
        encoded: Any = part.desk.encoded(name)
        ids = torch.tensor(encoded.arrays[model.reader.main])[None]
        vectors = network.embedding(ids).detach()
        chances = np.maximum(truth[i], 0) / truth[i].max()
        drawn = part.rng(i, "soft erasure", draws).random((draws, vectors.shape[1] * vectors.shape[2]))
        gone = drawn.reshape(draws, *vectors.shape[1:]) < chances[:, None]
        falls = []
        for mask in (np.ones_like(gone[0]), *gone):
            changed = vectors * torch.from_numpy(~mask)
            hook = network.embedding.register_forward_hook(lambda *_, new=changed: new)
            p = network(ids).softmax(-1)[0, part.targets[i]].item()
            hook.remove()
            falls.append(max(0.0, part.base().probability[i] - p))
        expected = np.mean([min(1.0, fall / falls[0]) for fall in falls[1:]]) if falls[0] > 0 else np.nan
        assert score.values[i] == pytest.approx(expected, abs=1e-5, nan_ok=True)
    named = soft_comprehensiveness(part, truth, draws=draws, operator="mask")
    assert named.where["operator"] == "mask"


def test_f_fidelity_never_removes_more_than_it_may() -> None:
    case = ToyCase(("wonderful " + "film " * 19,))
    sizes: list[int] = []
    ask = case.removed

    def counted(drops: list[np.ndarray], operator: str | None = None) -> object:
        sizes.extend(int(row.sum()) for rows in drops for row in rows)
        return ask(drops, operator)

    case.removed = counted  # type: ignore[assignment,method-assign]
    f_fidelity(case, planted(case, "truth"), most=0.1)
    assert set(sizes) <= {1, 2}
    assert len(sizes) == 4 * 2 * 3


def test_bad_settings_are_refused() -> None:
    case = ToyCase(TEXTS[:-1])
    for params in ({"most": 0.0}, {"part": 2.0}, {"draws": 0}, {"sizes": (1.0,)}):
        with pytest.raises(InputError):
            f_fidelity(case, planted(case, "truth"), **params)  # type: ignore[arg-type]


def test_masking_hides_any_share_of_half_of_the_texts() -> None:
    rows = TextRows([[5] * 200] * 400, np.zeros(400, np.int64), masking=0.5)
    words = rows.batch(np.arange(400), np.random.default_rng(0)).inputs[0].numpy()
    shares = (words == MASK).mean(1)
    assert not (words == PAD).any()
    assert 0.4 < (shares == 0).mean() < 0.6
    hidden = shares[shares > 0]
    assert np.abs(np.quantile(hidden, [0.25, 0.5, 0.75]) - [0.25, 0.5, 0.75]).max() < 0.1
    assert (rows.batch(np.arange(400), None).inputs[0].numpy() == 5).all(), "only in training"
