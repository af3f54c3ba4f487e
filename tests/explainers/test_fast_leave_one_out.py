"""Nearly exact leave-one-out: exact where it must be, proved on the model, refused where it does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from transformers import BertConfig, BertForSequenceClassification

from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.questions import nearly_removed
from regard.errors import InputError, Unsupported
from regard.explainers.fast_leave_one_out import fast_leave_one_out
from regard.explainers.leave_one_out import leave_one_out
from regard.measures.agreement import spearman
from regard.models.open.wrap import wrap
from regard.records import Example

WORDS = [f"w{i}" for i in range(60)]
TEXTS = tuple(
    " ".join(np.random.default_rng(k).choice(WORDS, size=n)) for k, n in enumerate((24, 30, 12, 4))
)  # fmt: skip


class Layers(nn.Module):
    """A small BERT; `broken` lets positions mix inside the feed-forward part."""

    def __init__(self, *, broken: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=64, hidden_size=32, intermediate_size=128, num_hidden_layers=4, num_attention_heads=4,
            max_position_embeddings=40, num_labels=3,
        )  # fmt: skip
        self.bert = BertForSequenceClassification(config)
        for parameter in self.bert.parameters():
            parameter.data.mul_(2.0)
        if broken:
            for layer in self.bert.bert.encoder.layer:
                layer.intermediate.register_forward_hook(lambda m, a, out: out + out.mean(1, keepdim=True))

    def forward(self, ids: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        return self.bert(input_ids=ids, attention_mask=mask).logits


def encode(text: str) -> list[int]:
    return [2, *(3 + int(word[1:]) for word in text.split())]


def case_of(module: nn.Module) -> DeskCase:
    model = wrap(module.eval(), encode, labels=["a", "b", "c"], mask="mask", mask_id=1, special_ids=[2], device="cpu")
    return DeskCase(Desk(model), [Example(t, {"text": t}) for t in TEXTS])


@pytest.fixture(scope="module")
def case() -> Any:
    return case_of(Layers())


def test_all_positions_are_exact(case: Any) -> None:
    got, exact = fast_leave_one_out(case, schedule=(1.0,)), leave_one_out(case, operator="mask")
    np.testing.assert_allclose(got.values, exact.values, atol=1e-5)
    np.testing.assert_allclose(got.extras["spearman"], 1, atol=1e-3)


def test_fewer_positions_are_near_and_the_fidelity_is_what_it_says(case: Any) -> None:
    got, exact = fast_leave_one_out(case, schedule=(0.5, 0.5, 1.0, 1.0), bar=0.5), leave_one_out(case, operator="mask")
    assert not np.allclose(got[0], exact[0], atol=1e-5), "nothing was left out"
    free = [units.free for units in case.units]
    rho = [float(spearman(got[i][free[i]], exact[i][free[i]])) for i in range(3)]
    assert got.extras["spearman"][0] == pytest.approx(np.mean(rho), abs=1e-9)
    assert got.extras["checked"].tolist() == [3, 3, 3, 3]
    np.testing.assert_allclose(got[3], exact[3], atol=1e-6, err_msg="a short text is computed exactly")


def test_below_the_bar_it_is_refused(case: Any) -> None:
    with pytest.raises(Unsupported, match=r"rank correlation .* of 0\.9999 or more"):
        fast_leave_one_out(case, schedule=(0.05,), bar=0.9999)


def test_a_schedule_is_checked(case: Any) -> None:
    for schedule in ((), (0.0,), (1.5,)):
        with pytest.raises(InputError, match="schedule"):
            fast_leave_one_out(case, schedule=schedule)


def test_what_does_not_fit_is_refused_with_the_reason(case: Any) -> None:
    with pytest.raises(Unsupported, match="changes the length"):
        fast_leave_one_out(case, operator="delete")
    with pytest.raises(Unsupported, match="not on their own"):
        fast_leave_one_out(case_of(Layers(broken=True)))

    class Bag(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.out = nn.Embedding(64, 8), nn.Linear(8, 3)

        def forward(self, ids: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
            return self.out(torch.tanh(self.table(ids)).mean(1))

    with pytest.raises(Unsupported, match="no ModuleList"):
        fast_leave_one_out(case_of(Bag()))


def test_weights_that_changed_are_noticed(case: Any) -> None:
    module = Layers()
    mine = case_of(module)
    before = fast_leave_one_out(mine, schedule=(1.0,))
    with torch.no_grad():
        module.bert.classifier.weight.mul_(1.5)
    fresh = case_of(module)
    after = fast_leave_one_out(fresh, schedule=(1.0,))
    assert not np.allclose(before.values, after.values)
    np.testing.assert_allclose(after.values, leave_one_out(fresh, operator="mask").values, atol=1e-5)


def test_the_estimate_counts_it(case: Any) -> None:
    before = {c.method: c.forwards for c in case.desk.costs()}
    nearly_removed(case, [np.eye(len(u), dtype=bool)[:2] for u in case.units], (1.0,))
    after = {c.method: c.forwards for c in case.desk.costs()}
    assert sum(after.values()) - sum(before.values()) == 8
