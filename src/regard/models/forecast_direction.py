"""Forecast as a decision: is the value at a step of the horizon above or below the last value of the input?

A number has no classes, so nothing can flip and no verdict is defined. The direction of a forecast can flip. Its
log-odds are (forecast - last value) / scale: linear in the forecast, so every gradient and every removal keeps its
order. The last value and the scale are those of the unmodified window. The scale is the standard deviation of the
changes over one horizon inside the window; it only scales changes of the forecast to points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from regard.errors import Unsupported, phrase
from regard.models.adapter import TorchModel
from regard.models.objective import TensorAnswers
from regard.models.other_task import OtherTask
from regard.models.read.encoded import Item
from regard.models.tasks import TASKS, Outputs, Request, Runner, forecasts
from regard.protocols import Model, Target
from regard.records import Example, Message, Text

LAST, SCALE = "last", "scale"
"""Keys beside the arrays of a window: its last value, and the standard deviation of its changes."""
LABELS = ("fall", "rise")


class DirectionModel(OtherTask):
    """Implements `protocols.Model` for the direction of a forecast against the last value of the window."""

    def __init__(self, model: TorchModel, step: int = 0) -> None:
        task = replace(TASKS["forecast_direction"], decide=self._decide, read=self._read_direction)
        super().__init__(model, task, labels=LABELS)
        self._step = step

    @property
    def notes(self) -> list[Text]:
        return [*super().notes, Message.of("data.forecast_direction", step=self._step + 1)]

    def windows(self, example: Example) -> list[Example]:
        return [replace(window, label=self._direction(window)) for window in super().windows(example)]

    def encode(self, example: Example) -> Item:
        item = super().encode(example)
        values = np.asarray(item.arrays[self.reader.main], np.float64)[:, 0]
        ahead = min(self._step + 1, len(values) - 1)
        spread = float(np.std(values[ahead:] - values[:-ahead])) if ahead > 0 else 0.0
        scale = spread or float(np.std(values)) or 1.0
        return replace(item, aside={**item.aside, LAST: values[-1:], SCALE: np.array([scale])})

    def _direction(self, example: Example) -> str | None:
        """True direction of an example whose label lists the values that follow."""
        label, series = example.label, example.inputs.get("series")
        if isinstance(label, str) or label is None:
            return label
        ahead = np.atleast_1d(np.asarray(label, np.float64))
        if series is None or len(ahead) <= self._step:
            return None
        last = float(np.asarray(series, np.float64).reshape(len(np.asarray(series)), -1)[-1, 0])
        return LABELS[int(ahead[self._step] > last)]

    def _log_odds(self, outputs: Outputs, items: Sequence[Item]) -> Tensor:
        """(batch,) log-odds of a rise."""
        forecast = forecasts(outputs)[:, self._step]
        last, scale = (
            torch.tensor([float(item.aside[name][0]) for item in items], device=forecast.device, dtype=forecast.dtype)
            for name in (LAST, SCALE)
        )
        return (forecast - last) / scale

    def _decide(self, run: Runner, items: Sequence[Item]) -> list[Target]:
        outputs, _ = run.outputs(items, None)
        return [int(z > 0) for z in self._log_odds(outputs, items)]

    def _read_direction(self, outputs: Outputs, request: Request, targets: Sequence[Target]) -> TensorAnswers:
        rise = self._log_odds(outputs, request.items)
        rising = torch.tensor([int(str(target)) for target in targets], device=rise.device) == 1
        value = torch.where(rising, rise, -rise)
        return TensorAnswers(value, torch.sigmoid(value), torch.stack([torch.sigmoid(-rise), torch.sigmoid(rise)], -1))


def direction_if_forecast(model: Model) -> Model:
    """Wrap a forecasting model for its direction; return any other model unchanged."""
    return direction_of(model) if isinstance(model, TorchModel) and model.task == "forecasting" else model


def direction_of(model: Model) -> DirectionModel:
    """Wrap a forecasting model for the direction of its forecast."""
    if isinstance(model, DirectionModel):
        return model
    if not isinstance(model, TorchModel) or model.task != "forecasting":
        raise Unsupported(
            phrase("errors.models.direction_of_name", name=model.name),
            expected=phrase("errors.models.forecasting_model"),
            got=model.task,
        )
    return DirectionModel(model)
