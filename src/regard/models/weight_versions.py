"""Version stamp of a module's weights, by which caches of its results notice a change."""

from __future__ import annotations

from torch import nn


def weight_versions(module: nn.Module) -> tuple[int, ...]:
    """Count the in-place changes of each weight.

    An offloaded weight is read from its store for every pass, so it has no history.
    """
    return tuple(0 if p.is_inference() or p.device.type == "meta" else p._version for p in module.parameters())
