"""A function of several examples whose rows are counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from regard.protocols import Together
from regard.records import Example


@dataclass(frozen=True, slots=True)
class PaidTogether:
    """Implements `protocols.Together`; a backward is taken to follow where the inputs ask for one."""

    function: Together
    pay: Callable[..., None]

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
        said = self.function.logits(x, rows)
        self.pay(requests=len(x), forwards=len(x), backwards=len(x) if said.requires_grad else 0)
        return said

    def back(self, row: int, x: Any) -> Example:
        return self.function.back(row, x)
