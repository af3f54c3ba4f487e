"""The class position alone above the last attention: the same outputs, and no shortcut for models that read others."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from regard.models.class_row import ClassRow

ROWS, POSITIONS, WIDTH = 4, 6, 8


class Reader(nn.Module):
    """One attention, a feed-forward block, and a head that reads the states by `read`."""

    def __init__(self, read: Callable[[Tensor], Tensor], *, first: bool = True) -> None:
        super().__init__()
        self.read, self.first = read, first
        self.value, self.out, self.up, self.down, self.head = (nn.Linear(WIDTH, WIDTH) for _ in range(5))
        self.seen: list[int] = []
        self.up.register_forward_hook(lambda module, inputs, output: self.seen.append(inputs[0].shape[1]))

    def forward(self, x: Tensor) -> Tensor:
        values = self.value(x)
        states = x + self.out(torch.softmax(x @ x.transpose(1, 2), -1) @ values)
        states = states if self.first else states.transpose(0, 1)
        states = states + self.down(torch.relu(self.up(states)))
        answer: Tensor = self.head(self.read(states if self.first else states.transpose(0, 1)))
        return answer


def outputs(rows: ClassRow, model: Reader, x: Tensor) -> Tensor:
    return rows.outputs(model, len(x), lambda: {"logits": model(x)})["logits"]


@pytest.fixture
def inputs() -> Tensor:
    return torch.randn(ROWS, POSITIONS, WIDTH, generator=torch.Generator().manual_seed(0))


def test_only_the_class_position_runs_above_the_last_attention_and_the_answer_stays(inputs: Tensor) -> None:
    torch.manual_seed(0)
    model, rows = Reader(lambda states: states[:, 0]), ClassRow()
    whole = outputs(rows, model, inputs)
    model.seen.clear()
    short = outputs(rows, model, inputs)
    assert model.seen == [1]
    torch.testing.assert_close(short, whole)
    other = inputs.flip(0)[:2]  # another batch, with a gradient
    other.requires_grad_()
    torch.testing.assert_close(*(torch.autograd.grad(f().sum(), other)[0] for f in _both(rows, model, other)))
    rows.clear()
    model.seen.clear()
    outputs(rows, model, inputs)
    assert model.seen[0] == POSITIONS, "after forgetting, the first pass is whole again"


def _both(rows: ClassRow, model: Reader, x: Tensor) -> list[Callable[[], Tensor]]:
    return [lambda: outputs(rows, model, x), lambda: model(x)]


@pytest.mark.parametrize(
    "read",
    [lambda s: s.mean(1), lambda s: s[:, -1], lambda s: s[:, 0] + 1e-9 * s[:, 3], lambda s: s.max(1).values],
    ids=["mean", "last", "hardly", "max"],
)
def test_models_that_read_other_positions_are_left_as_they_are(
    read: Callable[[Tensor], Tensor], inputs: Tensor
) -> None:
    torch.manual_seed(0)
    model, rows = Reader(read), ClassRow()
    for _ in range(2):
        assert torch.equal(outputs(rows, model, inputs), model(inputs))
    model.seen.clear()
    outputs(rows, model, inputs)
    assert model.seen == [POSITIONS]


def test_positions_first_and_one_position_show_nothing(inputs: Tensor) -> None:
    torch.manual_seed(0)
    turned, rows = Reader(lambda states: states[:, 0], first=False), ClassRow()
    for x in (inputs, inputs[:1], inputs):
        assert torch.equal(outputs(rows, turned, x), turned(x))
    model, rows = Reader(lambda states: states.mean(1)), ClassRow()
    for x in (inputs[:, :1], inputs):  # a single position is the mean of all
        assert torch.equal(outputs(rows, model, x), model(x))
