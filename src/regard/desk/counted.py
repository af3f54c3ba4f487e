"""Differentiable functions of a model whose rows are counted, one for each protocol that gives one out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from regard.desk.finite_answers import known_logits, known_tensor
from regard.protocols import BatchFunction, InputFunction, WeightFunction
from regard.records import Example


@dataclass(frozen=True, slots=True)
class PaidFunction:
    """Implements `protocols.InputFunction`; a backward is taken to follow where the inputs ask for one."""

    function: InputFunction
    pay: Callable[..., None]
    name: str = "the model"

    @property
    def x(self) -> Any:
        return self.function.x

    @property
    def owner(self) -> Any:
        return self.function.owner

    @property
    def module(self) -> Any:
        return self.function.module

    def baseline(self, name: str) -> Any:
        return self.function.baseline(name)

    def __call__(self, x: Any) -> Any:
        said = known_tensor(self.function(x), self.name)
        self.pay(requests=len(x), forwards=len(x), backwards=len(x) if said.requires_grad else 0)
        return said


@dataclass(frozen=True, slots=True)
class PaidSteering:
    """Implements `protocols.WeightFunction`."""

    function: WeightFunction
    pay: Callable[..., None]
    name: str = "the model"

    def __call__(self, weights: Sequence[Any]) -> Any:
        said = known_tensor(self.function(weights), self.name)
        rows = len(weights[0])
        self.pay(requests=rows, forwards=rows, backwards=rows if said.requires_grad else 0)
        return said


@dataclass(frozen=True, slots=True)
class PaidTogether:
    """Implements `protocols.BatchFunction`; a backward is taken to follow where the inputs ask for one."""

    function: BatchFunction
    pay: Callable[..., None]
    name: str = "the model"

    @property
    def x(self) -> Any:
        return self.function.x

    @property
    def free(self) -> Any:
        return self.function.free

    @property
    def owner(self) -> Any:
        return self.function.owner

    @property
    def classes(self) -> int:
        return self.function.classes

    @property
    def user(self) -> bool:
        return self.function.user

    def logits(self, x: Any, rows: Sequence[int] | None = None) -> Any:
        said = known_logits(self.function.logits(x, rows), self.name)
        self.pay(requests=len(x), forwards=len(x), backwards=len(x) if said.requires_grad else 0)
        return said

    def back(self, row: int, x: Any) -> Example:
        return self.function.back(row, x)
