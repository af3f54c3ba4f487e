"""Encoder memory: an encoder that has read an input does not read it again for the next question about it.

The output of an encoder depends on its input alone. All steps that a model writes about one recording, and variants
that remove the same segment of it, share one encoder pass; only the decoder runs for each of them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import _get_current_function_mode_stack

from regard.models.weight_versions import weight_versions
from regard.tap.pass_history import forgettable

MOST_BYTES = 256 * 2**20
"""Size of the remembered outputs; the oldest are dropped."""


class EncoderMemory:
    """Outputs of one encoder by the rows that it has read.

    Rows are computed one by one, so that a number depends neither on the other rows of a batch nor on the memory.
    """

    def __init__(self) -> None:
        self._states: OrderedDict[bytes, Tensor] = OrderedDict()
        self._bytes = 0
        self._weights: tuple[object, ...] = ()
        self._form: Any = None
        self.computed = 0
        forgettable(self)

    def clear(self) -> None:
        """Forget every output."""
        self._states.clear()
        self._bytes = 0

    @contextmanager
    def used(self, module: nn.Module) -> Iterator[None]:
        """Inside the block, the encoder of `module` computes only rows that are new.

        Nothing changes where gradients are needed, or hooks or a tap look into the encoder.
        """
        native: Any = module
        encoder = native.get_encoder() if hasattr(native, "get_encoder") else None
        if not isinstance(encoder, nn.Module) or not torch.is_inference_mode_enabled() or _is_watched(encoder):
            yield
            return
        weights = (id(encoder), *weight_versions(encoder))
        if weights != self._weights:
            self.clear()
            self._weights = weights
        compute = encoder.forward

        def forward(features: Tensor, **keywords: Any) -> Any:
            if any(isinstance(value, Tensor) for value in keywords.values()):
                return compute(features, **keywords)
            return self._outputs(compute, features, keywords)

        encoder.__dict__["forward"] = forward
        try:
            yield
        finally:
            del encoder.__dict__["forward"]

    def _outputs(self, compute: Callable[..., Any], features: Tensor, keywords: Mapping[str, Any]) -> Any:
        options = repr(sorted(keywords.items())).encode()
        rows: list[Tensor] = []
        for row in (features[i : i + 1] for i in range(len(features))):
            key = blake2b(options + row.cpu().numpy().tobytes(), digest_size=16).digest()
            if key not in self._states:
                output = compute(row, **keywords)
                self.computed += 1
                if set(output) != {"last_hidden_state"}:
                    return compute(features, **keywords)
                self._form = type(output)
                self._store(key, output["last_hidden_state"])
            self._states.move_to_end(key)
            rows.append(self._states[key])
        return self._form(last_hidden_state=torch.cat(rows))

    def _store(self, key: bytes, states: Tensor) -> None:
        self._states[key] = states
        self._bytes += states.nbytes
        while self._bytes > MOST_BYTES and len(self._states) > 1:
            self._bytes -= self._states.popitem(last=False)[1].nbytes


def _is_watched(encoder: nn.Module) -> bool:
    """Return whether somebody observes or changes the encoder: hooks, replayed modules, a tap."""
    modules = list(encoder.modules())
    hooks = any(m._forward_hooks or m._forward_pre_hooks or "forward" in m.__dict__ for m in modules)
    return hooks or bool(_get_current_function_mode_stack())  # type: ignore[no-untyped-call]
