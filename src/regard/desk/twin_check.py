"""Check of a masked twin before it replaces the model: accuracy and agreement on unmasked inputs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.datasets.read import read
from regard.desk.desk import Desk
from regard.errors import Message, RegardError, Unsupported, phrase
from regard.measures.intervals import clopper_pearson
from regard.measures.significance import t_quantile
from regard.protocols import Model
from regard.records import Bools, Example, Ints
from regard.registry import build, named_model

EXAMPLES = 400
"""Maximum validation examples."""
AGREEING = 0.7
"""Minimum of the lower end of the agreement."""
LOST = 0.1
"""Maximum of the upper end of the accuracy that the twin loses."""
_CHECKS: dict[tuple[str, str], TwinCheck] = {}
"""Cache by the fingerprints of the model and its twin."""


@dataclass(frozen=True, slots=True)
class TwinCheck:
    """A model and its twin on `n` whole validation examples: shares with their 95 % intervals.

    agreement: equal predictions. model_accuracy, twin_accuracy: right ones. lost: the difference of the two, paired.
    """

    n: int
    agreement: tuple[float, float, float]
    model_accuracy: float
    twin_accuracy: tuple[float, float, float]
    lost: tuple[float, float, float]

    @property
    def usable(self) -> bool:
        """Return whether the twin predicts like the model on unmasked inputs.

        >>> TwinCheck(400, (0.9, 0.87, 0.93), 0.8, (0.79, 0.75, 0.83), (0.01, -0.03, 0.05)).usable
        True
        """
        return self.agreement[1] >= AGREEING and self.lost[2] <= LOST

    def figures(self) -> Message:
        """The agreement and the accuracies with their intervals, for an error."""
        agreement, accuracy = (
            f"{share:.2f} [{low:.2f}, {high:.2f}]" for share, low, high in (self.agreement, self.twin_accuracy)
        )
        return phrase(
            "errors.desk.twin_figures", agreement=agreement, accuracy=accuracy, model=self.model_accuracy, n=self.n
        )


def usable_twin(model: Model, twin: Model) -> Model:
    """Return the twin, or raise with the figures if it cannot replace the model."""
    check = twin_check(model, twin)
    if not check.usable:
        raise Unsupported(
            phrase("errors.desk.masked_twin_usable", name=model.name),
            expected=phrase("errors.desk.agreement_and_accuracy", agreeing=AGREEING, lost=LOST),
            got=check.figures(),
            remedy=phrase("errors.desk.other_operator_or_longer_training"),
        )
    return twin


def twin_check(model: Model, twin: Model) -> TwinCheck:
    """Compare both models on the validation split of the data that the twin learned from.

    Costs one pass of each model per validation example, at most 400 each, once per process and pair of models.
    """
    key = (model.fingerprint, twin.fingerprint)
    if key not in _CHECKS:
        _CHECKS[key] = _checked(model, twin)
    return _CHECKS[key]


def _checked(model: Model, twin: Model) -> TwinCheck:
    examples = validation_examples(twin, EXAMPLES)
    mine, its = (predicted_classes(one, examples) for one in (model, twin))
    names = {name: place for place, name in enumerate(twin.labels)}
    labels = np.array([e.label if isinstance(e.label, int) else names.get(str(e.label), -1) for e in examples])
    right, twin_right = mine == labels, its == labels
    return TwinCheck(
        n=len(examples),
        agreement=_share(mine == its),
        model_accuracy=float(right.mean()),
        twin_accuracy=_share(twin_right),
        lost=_mean(right.astype(np.float64) - twin_right),
    )


def validation_examples(model: Model, limit: int) -> list[Example]:
    """Return examples of the validation split that selected a network of regard's own."""
    source = None if model.spec is None else named_model(model.spec.name)
    folder = Path(str(build(source)()) if source is not None else "" if model.spec is None else model.spec.name)
    try:
        about: Any = json.loads((folder / "regard.json").read_text("utf-8"))
        return list(read(str(about["training"]["data"]), split="dev", limit=limit))
    except (OSError, ValueError, KeyError, TypeError, RegardError) as error:
        raise Unsupported(
            phrase("errors.desk.validation_data", name=model.name),
            expected=phrase("errors.desk.network_with_record"),
            got=str(error),
        ) from error


def predicted_classes(model: Model, examples: list[Example]) -> Ints:
    """(examples,): class that the model predicts."""
    desk = Desk(model)
    for example in examples:
        desk.admit(example)
    rows = [answer.distribution for answer in desk.base([e.id for e in examples])]
    return np.array([-1 if row is None else int(np.argmax(row)) for row in rows])


def _share(yes: Bools) -> tuple[float, float, float]:
    return float(yes.mean()), *clopper_pearson(int(yes.sum()), len(yes))


def _mean(values: np.ndarray) -> tuple[float, float, float]:
    middle, n = float(values.mean()), len(values)
    half = t_quantile(0.025, n - 1) * float(values.std(ddof=1)) / n**0.5 if n > 1 else float("inf")
    return middle, middle - half, middle + half
