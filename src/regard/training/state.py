"""A training that can be killed at any moment and goes on where it was: safetensors + JSON, no pickles."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor, nn, optim

from regard.records import Json

_COMMIT = "state.json"


def save_state(
    directory: Path, network: nn.Module, optimizer: optim.Optimizer, best: Mapping[str, Tensor], facts: dict[str, Json]
) -> None:
    """Everything the next step depends on. The JSON file is the commit: until it is replaced, the last state holds."""
    directory.mkdir(parents=True, exist_ok=True)
    tensors = {f"network/{name}": tensor for name, tensor in network.state_dict().items()}
    tensors |= {f"best/{name}": tensor for name, tensor in best.items()}
    for i, slots in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer/{i}/{slot}": value for slot, value in slots.items()}
    name = f"state-{facts['epoch']}-{facts['step']}.safetensors"
    save_file({key: value.detach().cpu().contiguous().clone() for key, value in tensors.items()}, directory / name)
    commit = directory / f".{_COMMIT}.new"
    commit.write_text(json.dumps({**facts, "tensors": name}), "utf-8")
    os.replace(commit, directory / _COMMIT)
    for old in directory.glob("state-*.safetensors"):
        if old.name != name:
            old.unlink()


def load_state(
    directory: Path, network: nn.Module, optimizer: optim.Optimizer, recipe: str
) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
    """Put network and optimizer back; gives the facts and the best weights, or None where nothing fits `recipe`."""
    try:
        facts = json.loads((directory / _COMMIT).read_text("utf-8"))
        if facts["recipe"] != recipe:
            return None
        tensors: dict[str, Tensor] = load_file(directory / facts["tensors"])
    except (OSError, ValueError, KeyError):
        return None
    network.load_state_dict(_under("network/", tensors), strict=True)
    slots: dict[int, dict[str, Tensor]] = {}
    for key, value in _under("optimizer/", tensors).items():
        i, slot = key.split("/")
        slots.setdefault(int(i), {})[slot] = value
    optimizer.load_state_dict({"state": slots, "param_groups": optimizer.state_dict()["param_groups"]})
    return facts, _under("best/", tensors)


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
