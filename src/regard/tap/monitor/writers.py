"""Writers for the numbers of `watch`: TensorBoard and MLflow if they are installed, and several at once."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import EnvironmentProblem, phrase
from regard.tap.monitor.watch import Writer


def _imported(name: str, package: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise EnvironmentProblem(
            phrase("errors.common.package_needs", needs=package),
            expected=phrase("errors.common.installed"),
            got=str(error),
            remedy=f"pip install {package}",
        ) from error


class TensorBoardWriter:
    """Writer of scalars into event files of a directory."""

    def __init__(self, folder: str | Path) -> None:
        self._writer: Any = _imported("torch.utils.tensorboard", "tensorboard").SummaryWriter(str(folder))

    def write(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()


class MLflowWriter:
    """Writer of metrics into the active MLflow run, or a new one."""

    def __init__(self) -> None:
        self._mlflow: Any = _imported("mlflow", "mlflow")

    def write(self, step: int, values: Mapping[str, float]) -> None:
        self._mlflow.log_metrics(dict(values), step=step)


@dataclass(frozen=True, slots=True)
class Writers:
    """Writer that passes every number on to several others, or to none."""

    each: Sequence[Writer]

    def write(self, step: int, values: Mapping[str, float]) -> None:
        for writer in self.each:
            writer.write(step, values)


def installed_writers(folder: str | Path) -> Writers:
    """TensorBoard (into `folder`) and MLflow, whichever is installed; neither is required."""
    writers: list[Writer] = []
    with suppress(EnvironmentProblem):
        writers.append(TensorBoardWriter(folder))
    with suppress(EnvironmentProblem):
        writers.append(MLflowWriter())
    return Writers(writers)
