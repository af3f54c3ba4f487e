"""Measures of a split during training: one number per example, and the better direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from torch import Tensor

from regard.measures.roc import roc_area
from regard.training.batches import Batch
from regard.training.loss import Outcome


@dataclass(frozen=True, slots=True)
class Measure:
    """Measure whose mean over a split selects the epoch; with `whole`, a number made of all its values and the labels.

    share: it is a share of right answers, so that Wilson's interval applies.
    """

    name: str
    function: Callable[[Outcome, Batch], Tensor]
    higher_is_better: bool = True
    whole: Callable[[NDArray[Any], NDArray[Any]], float] | None = None
    share: bool = True

    @property
    def shown(self) -> str:
        return self.name.replace("_", " ")


def _right(outcome: Outcome, batch: Batch) -> Tensor:
    return (outcome.logits.argmax(-1).cpu() == batch.labels).double()


def _all_right(outcome: Outcome, batch: Batch) -> Tensor:
    # given the right words so far, the likeliest next one is right at every place: just then does writing one word
    # after the other give exactly the label
    same = (outcome.logits.argmax(-1).cpu() == batch.labels) | (batch.labels == -100)
    return same.flatten(1).all(-1).double()


def _off(outcome: Outcome, batch: Batch) -> Tensor:
    return (outcome.logits.cpu().double() - batch.labels.double()).abs().flatten(1).mean(-1)


def _odds(outcome: Outcome, batch: Batch) -> Tensor:
    return (outcome.logits[:, 1] - outcome.logits[:, 0]).cpu().double()


ACCURACY = Measure("accuracy", _right)
EXACT_MATCH = Measure("exact_match", _all_right)
ABSOLUTE_ERROR = Measure("absolute_error", _off, higher_is_better=False, share=False)
ROC_AREA = Measure("roc_area", _odds, whole=roc_area, share=False)
"""Measures for two classes."""
