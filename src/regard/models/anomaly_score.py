"""An anomaly detector as a decision: does the score of a window lie above the level of normal windows?

The score is the output of the model or, for a model that reconstructs the window, the root of the mean squared
residual. Log-odds of an anomaly are (score - threshold) / spread. The threshold is a quantile of the scores of normal
windows, the spread their standard deviation: it only scales changes of the score to points. A removal changes the
window and its reconstruction alike, so the score is always that of the window that the model reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.errors import InputError, Unsupported, phrase
from regard.models.adapter import Call, TorchModel
from regard.models.objective import TensorAnswers
from regard.models.read.encoded import Item
from regard.models.tasks import TASKS, Outputs, Request, Runner
from regard.protocols import Model, Target
from regard.records import Example, Floats, Message, Text

TASK = "anomaly_score"
LABELS = ("normal", "anomaly")
QUANTILE = 0.95
"""Share of the normal windows with a score below the threshold."""
FEWEST = 10
"""Minimum normal windows for a threshold."""
FLOOR = 1e-12
"""Constant added to a mean squared residual before its root, whose slope at 0 is infinite."""


@dataclass(frozen=True, slots=True)
class Level:
    """Scores of normal windows: the threshold, and their standard deviation."""

    threshold: float
    spread: float


def level_of(scores: Floats) -> Level:
    """The level of the scores of normal windows.

    >>> level_of(np.arange(101.0)).threshold
    95.0
    """
    if len(scores) < FEWEST:
        raise InputError(
            phrase("errors.models.anomaly_threshold"),
            expected=phrase("errors.models.normal_windows", n=FEWEST),
            got=str(len(scores)),
        )
    return Level(float(np.quantile(scores, QUANTILE)), float(np.std(scores)) or 1.0)


def anomaly_scores(output: Tensor, series: Tensor) -> Tensor:
    """(batch,) scores: the output itself, or the root of the mean squared residual of a reconstruction.

    output: (batch,), (batch, 1), (batch, steps) of the first channel, or (batch, steps, channels).
    """
    if output.dim() == 1 or output.shape[1:] == (1,):
        return output.reshape(len(output))
    expected = series if output.dim() == 3 else series[:, :, 0]
    if output.shape != expected.shape:
        raise InputError(
            phrase("errors.models.output_module"),
            expected=phrase("errors.models.score_or_reconstruction", shape=tuple(series.shape)),
            got=str(tuple(output.shape)),
        )
    return torch.sqrt((expected - output).square().flatten(1).mean(1) + FLOOR)


class AnomalyModel(TorchModel):
    """Implements `protocols.Model` for the score of a window against the level of normal windows."""

    def __init__(self, model: TorchModel, level: Level) -> None:
        super().__init__(
            model.module,
            model.reader,
            replace(TASKS[TASK], decide=self._decide, read=self._read_score),
            name=model.name,
            labels=LABELS,
            device=str(model.device),
            traits=model.traits,
            embedding=model.embedding,
            call=_scored(model.call, model.reader.main),
            spec=model.spec,
            notes=[note for note in model.notes if note not in model.reader.notes()],
        )
        self.level = level

    @property
    def notes(self) -> list[Text]:
        return [*super().notes, Message.of("data.anomaly_score", share=f"{QUANTILE:.0%}")]

    def windows(self, example: Example) -> list[Example]:
        """Return the window without the values that follow it, which are not its label."""
        label = None if isinstance(example.label, list) else example.label
        return super().windows(replace(example, label=label))

    def scores(self, examples: Sequence[Example]) -> Floats:
        """The anomaly score of each window."""
        with torch.inference_mode():
            outputs, _ = self.outputs([self.encode(example) for example in examples], None)
        return np.asarray(outputs["logits"].double().cpu().numpy(), np.float64)

    def _log_odds(self, outputs: Outputs) -> Tensor:
        return (outputs["logits"] - self.level.threshold) / self.level.spread

    def _decide(self, run: Runner, items: Sequence[Item]) -> list[Target]:
        outputs, _ = run.outputs(items, None)
        return [int(z > 0) for z in self._log_odds(outputs)]

    def _read_score(self, outputs: Outputs, request: Request, targets: Sequence[Target]) -> TensorAnswers:
        odds = self._log_odds(outputs)
        anomalous = torch.tensor([int(str(target)) for target in targets], device=odds.device) == 1
        value = torch.where(anomalous, odds, -odds)
        return TensorAnswers(value, torch.sigmoid(value), torch.stack([torch.sigmoid(-odds), torch.sigmoid(odds)], -1))


def anomaly_of(model: Model, normal: Sequence[Example]) -> AnomalyModel:
    """Wrap a model for its anomaly score; normal: windows that are known to be normal, which set the level.

    model: of series, whose output is a score or a reconstruction of the window: `regard.wrap(module,
    modality="series", task="forecasting")`. The windows should not be those that it learned from.
    """
    if not isinstance(model, TorchModel) or model.modality != "series":
        raise Unsupported(
            phrase("errors.common.model_live", live=model.name),
            expected=phrase("errors.models.model_of_series"),
            got=model.modality,
        )
    rough = AnomalyModel(model, Level(0.0, 1.0))
    return AnomalyModel(model, level_of(rough.scores(normal)))


def _scored(call: Call, main: str) -> Call:
    def score(module: nn.Module, tensors: Mapping[str, Tensor]) -> Any:
        output = call(module, tensors)
        numbers = output["logits"] if isinstance(output, Mapping) else output
        return {"logits": anomaly_scores(numbers, tensors[main])}

    return score
