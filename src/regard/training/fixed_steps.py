"""Training for a fixed number of steps, for the small Hugging Face models that regard makes itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from regard.models.open.checkpoints import quiet

Row = TypeVar("Row")


def train_steps(
    model: nn.Module, loss: Callable[[], Tensor], *, steps: int, rate: float, clip: float | None = None
) -> None:
    """Minimise `loss()`, which draws a batch at each call, by AdamW with one cycle of the learning rate.

    clip: the largest norm of a gradient.
    """
    optimiser = torch.optim.AdamW(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, max(steps, 2))
    model.train()
    for _ in range(steps):
        value = loss()
        optimiser.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimiser.step()
        schedule.step()
    model.eval()


def batch_of(rows: Sequence[Row], size: int, rng: np.random.Generator) -> list[Row]:
    """Draw rows without replacement."""
    return [rows[int(i)] for i in rng.choice(len(rows), size, replace=False)]


def save_parts(out: Path, *parts: Any) -> None:
    """Save a Hugging Face model and its tokenizer or processor in one directory."""
    with quiet():
        for part in parts:
            part.save_pretrained(out)
