"""Training for a fixed number of steps, for the small Hugging Face models that regard makes itself."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


def train_steps(model: nn.Module, loss: Callable[[], Tensor], *, steps: int, rate: float) -> None:
    """Minimise `loss()`, which draws a batch at each call, by AdamW with one cycle of the learning rate."""
    optimiser = torch.optim.AdamW(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, max(steps, 2))
    model.train()
    for _ in range(steps):
        value = loss()
        optimiser.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
    model.eval()
