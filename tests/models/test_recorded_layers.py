"""Recorded layers: what lies below an edited attention runs once per input, and again when the weights change."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.models.recorded_layers import layers_below
from regard.records import Edit
from regard.tap.capture_call import capture_call
from regard.tap.pass_history import forget_passes


class Counted(nn.Linear):
    """A linear layer that counts how often it computes."""

    passes = 0

    def forward(self, input: Tensor) -> Tensor:
        self.passes += 1
        return super().forward(input)


class Stack(nn.Module):
    """A counted layer below one attention."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.below = Counted(8, 8)
        self.query, self.value, self.head = (nn.Linear(8, 8) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        states = torch.relu(self.below(x))
        weights = torch.softmax(self.query(states) @ states.transpose(1, 2), -1)
        answer: Tensor = self.head((weights @ self.value(states))[:, 0])
        return answer


def test_layers_below_run_once_per_input_and_edited_answers_stay() -> None:
    model, x = Stack().eval(), torch.rand(1, 5, 8)
    items: Any = [object()]
    with torch.inference_mode():
        _, taps = capture_call(model, lambda: model(x))
        site = taps.sites[0].site.key
        edits = [Edit("uniform", site=site)]
        whole, _ = capture_call(model, lambda: model(x), edits=edits)
        forget_passes()
        capture_call(model, lambda: model(x))

        def answer() -> Tensor:
            below = layers_below(model, items, [0], (site,), lambda: model(x))
            three = x.expand(3, -1, -1)
            return capture_call(model, lambda: model(three), edits=edits, resume=below.for_rows([0] * 3))[0]

        model.below.passes = 0
        first = answer()
        assert model.below.passes == 1
        torch.testing.assert_close(first, whole.expand(3, -1))
        assert torch.equal(answer(), first)
        assert model.below.passes == 1, "the second experiment computes nothing below the attention"
        with torch.inference_mode(False), torch.no_grad():
            model.below.weight.mul_(2.0)
        changed = answer()
        assert model.below.passes == 2, "other weights, another recording"
        assert not torch.allclose(changed, first)
        forget_passes()
        capture_call(model, lambda: model(x))
        model.below.passes = 0
        torch.testing.assert_close(answer(), changed)
        assert model.below.passes == 1, "a shard starts without recordings"


def test_recordings_of_inference_mode_are_not_part_of_a_graph() -> None:
    model, x = Stack().eval(), torch.rand(1, 5, 8)
    items: Any = [object()]
    _, taps = capture_call(model, lambda: model(x))
    site = taps.sites[0].site.key
    with torch.inference_mode():
        frozen = layers_below(model, items, [0], (site,), lambda: model(x))
    with torch.no_grad():
        plain = layers_below(model, items, [0], (site,), lambda: model(x))
    assert all(done.out.is_inference() for done in frozen.done)
    assert not any(done.out.is_inference() for done in plain.done)
