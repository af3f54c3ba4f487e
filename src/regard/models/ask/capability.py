"""Generic functions for everything that a model can do beyond `protocols.Model`.

    @capability(needs="gradient")
    def slopes(model: TorchModel, batch: Sequence[Encoded], ...) -> list[Slopes]: ...

The decorated function serves torch models; call it as `slopes(model, batch, ...)`. A model of another class joins with
`slopes.register(ItsClass, function)`; without that the call raises `Unsupported`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch, update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from regard.errors import Unsupported, phrase
from regard.models.adapter import TorchModel
from regard.protocols import Model

P = ParamSpec("P")
R = TypeVar("R")


class Capability(Generic[P, R]):
    """A function of a model that dispatches on the class of the model."""

    def __init__(self, function: Callable[Concatenate[Any, P], R], needs: str) -> None:
        update_wrapper(self, function)
        self.name, self.needs = function.__name__, needs
        self._dispatch = singledispatch(self._refuse)
        self.register(TorchModel, function)

    def __call__(self, model: Model, /, *args: P.args, **kwargs: P.kwargs) -> R:
        answer: R = self._dispatch.dispatch(type(model))(model, *args, **kwargs)
        return answer

    def register(self, kind: type, function: Callable[Concatenate[Any, P], R]) -> None:
        """Register `function` for models of this class; `object` stands for every class without its own."""
        self._dispatch.register(kind, function)

    def supports(self, model: Model) -> bool:
        """Return whether a function is registered for the class of this model."""
        return self._dispatch.dispatch(type(model)) != self._refuse

    def _refuse(self, model: Model, *_: object, **__: object) -> Any:
        raise Unsupported(
            phrase("errors.common.of_key", key=self.name, subject=model.name),
            expected=phrase("errors.models.model_that_provides_needs", needs=self.needs),
            got=type(model).__name__,
            remedy=getattr(model, "without_capability", ""),
        )


def capability(*, needs: str) -> Callable[[Callable[Concatenate[Any, P], R]], Capability[P, R]]:
    """Make a function of torch models generic. needs: its requirement, in the words of `needs=` of the methods."""

    def generic(function: Callable[Concatenate[Any, P], R]) -> Capability[P, R]:
        return Capability(function, needs)

    return generic
