"""Model fingerprint: a hash of the architecture and of every number in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from regard.errors import InputError, phrase
from regard.models.open.placement import weight
from regard.records import Json


def fingerprint(module: nn.Module, config: Mapping[str, Json] | None = None) -> str:
    """sha256 over the class, its settings, and the bytes of every parameter and buffer."""
    digest = hashlib.sha256(f"{type(module).__module__}.{type(module).__qualname__}".encode())
    digest.update(json.dumps(config or {}, sort_keys=True, default=str).encode())
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(f"{name}{tuple(tensor.shape)}{tensor.dtype}".encode())
        raw: Any = weight(module, name, tensor).detach().cpu().contiguous()
        if raw.numel():
            digest.update(raw.reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def refuse_nan(module: nn.Module, subject: str) -> None:
    """Raise an error that names the first weight with NaN or infinity."""
    for name, stored in module.state_dict().items():
        tensor = weight(module, name, stored)
        if tensor.is_floating_point() and tensor.device.type != "meta" and not bool(torch.isfinite(tensor).all()):
            bad = int((~torch.isfinite(tensor)).sum())
            raise InputError(
                phrase("errors.common.model_live", live=subject),
                expected=phrase("errors.models.finite_weights"),
                got=phrase("errors.models.nan_or_infinite_values_in_name", bad=bad, name=name),
                remedy=phrase("errors.models.save_model_again_from_healthy"),
            )
