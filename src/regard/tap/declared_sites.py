"""Sites that no tap can find (sparsemax, a hand-written exp and sum): the user declares their modules and readers."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from regard.errors import CaptureError, phrase
from regard.tap.tap import ROOT, Tap

Reader = Callable[[tuple[Any, ...], Any], Tensor]
_READERS: weakref.WeakKeyDictionary[nn.Module, Reader] = weakref.WeakKeyDictionary()


def register_site(module: nn.Module, reader: Reader | None) -> None:
    """Declare that `reader(inputs, output)` of every later call of `module` gives the weights of a site.

    Weights are (batch, head, query, key), (batch, query, key) or (batch, key). None takes the site off again.

    >>> import torch
    >>> from regard.tap.capture_call import capture_call
    >>> class Hand(nn.Module):
    ...     def forward(self, h):
    ...         e = h.sum(-1).exp()
    ...         a = e / e.sum(-1, keepdim=True)
    ...         return (a[..., None] * h).sum(1), a
    >>> hand = Hand()
    >>> register_site(hand, lambda inputs, output: output[1])
    >>> _, taps = capture_call(hand, lambda: hand(torch.rand(2, 5, 3)))
    >>> taps.sites[0].shape, taps.sites[0].site.kind
    ((2, 1, 1, 5), 'pooling')
    """
    if reader is None:
        _READERS.pop(module, None)
    else:
        _READERS[module] = reader


class RegisteredSites:
    """The registered sites inside one module."""

    def __init__(self, module: nn.Module) -> None:
        self.readers = (
            {n or ROOT: (m, _READERS[m]) for n, m in module.named_modules() if m in _READERS} if _READERS else {}
        )

    def covers(self, name: str) -> bool:
        """Return whether the module of that name is, or is inside, one with a registered site."""
        return any(name == n or name.startswith(n + ".") or n == ROOT for n in self.readers)

    @contextmanager
    def watched(self, tap: Tap) -> Iterator[None]:
        handles = [
            module.register_forward_hook(_hook(tap, name, reader)) for name, (module, reader) in self.readers.items()
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def _hook(tap: Tap, name: str, reader: Reader) -> Callable[[nn.Module, tuple[Any, ...], Any], None]:
    def hook(module: nn.Module, args: tuple[Any, ...], out: Any) -> None:
        weights = reader(args, out)
        if not isinstance(weights, Tensor) or not 2 <= weights.ndim <= 4:
            raise CaptureError(
                phrase("errors.tap.registered_site", name=name),
                expected=phrase("errors.tap.tensor_batch_head_query_key"),
                got=phrase("errors.common.shape_shape", shape=tuple(weights.shape))
                if isinstance(weights, Tensor)
                else type(weights).__name__,
            )
        four = weights[:, None, None] if weights.ndim == 2 else weights[:, None] if weights.ndim == 3 else weights
        event = tap.place(name, module)
        event.weights, event.registered = four, True

    return hook
