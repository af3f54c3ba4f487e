"""Attention health as a callback of the Hugging Face `Trainer`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from regard.tap.monitor.watch import AttentionHealth, Writer
from regard.tap.monitor.writers import installed_writers


class HealthCallback(TrainerCallback):
    """`Trainer(..., callbacks=[HealthCallback(every=100)])`: entropy, sink mass and collapse every 100 steps.

    writer: anything with `write(step, values)`; without one, TensorBoard (in the trainer's output directory) and
    MLflow, whichever is installed. `health.glimpses` holds the samples, `health.problems` the failures.
    """

    def __init__(self, every: int = 100, writer: Writer | None = None) -> None:
        self.every, self.writer = every, writer
        self.health: AttentionHealth | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **others: Any) -> None:
        writer = self.writer or installed_writers(Path(args.output_dir) / "attention")
        self.health = AttentionHealth(model, self.every, writer)

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        if self.health is not None:
            self.health.step(int(state.global_step))

    def on_train_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        if self.health is not None:
            self.health.close()
