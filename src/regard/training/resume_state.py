"""Resumable training state, safe against a kill at any moment: safetensors and JSON, no pickles.

state/state.json               the commit: where the training stands, and the sha256 of its tensors and of itself
      previous.json            the commit before, used if the last one is damaged
      state-E-S.safetensors    network, optimizer and best weights of each of the two
      *.damaged                what a checksum refused, set aside
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn, optim

from regard.errors import phrase
from regard.message import Message
from regard.records import Json
from regard.store.blobs import TEMPORARY, new_file, room_on_disk, write_atomically
from regard.store.shapes import COUNT, NUMBER, TEXT, WHOLE, Mismatch, decoded, listed, record
from regard.training.directory import DAMAGED, set_aside

_COMMIT, _PREVIOUS = "state.json", "previous.json"
_EPOCH = record({"loss": NUMBER, "dev_loss": NUMBER, "dev_metric": NUMBER})
_FACTS = record(
    {
        "recipe": TEXT,
        "tensors": TEXT,
        "sha256": TEXT,
        "epoch": COUNT,
        "step": COUNT,
        "loss": NUMBER,
        "history": listed(_EPOCH),
        "best": WHOLE,
    }
)


def save_state(
    directory: Path, network: nn.Module, optimizer: optim.Optimizer, best: Mapping[str, Tensor], facts: dict[str, Json]
) -> None:
    """Save everything that the next step depends on; replacing the JSON file commits it."""
    tensors = {f"network/{name}": tensor for name, tensor in network.state_dict().items()}
    tensors |= {f"best/{name}": tensor for name, tensor in best.items()}
    for i, slots in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer/{i}/{slot}": value for slot, value in slots.items()}
    name = f"state-{facts['epoch']}-{facts['step']}.safetensors"
    copies = {key: value.detach().cpu().contiguous().clone() for key, value in tensors.items()}
    with room_on_disk(directory):
        directory.mkdir(parents=True, exist_ok=True)
        with new_file(directory / name) as fresh:
            save_file(copies, fresh)
            digest = _digest(fresh)
        if (directory / _COMMIT).exists():
            os.replace(directory / _COMMIT, directory / _PREVIOUS)
        write_atomically(directory / _COMMIT, sealed({**facts, "tensors": name, "sha256": digest}))
    _sweep(directory, keep={name, _named(directory / _PREVIOUS)})


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load_state(
    directory: Path, network: nn.Module, optimizer: optim.Optimizer, recipe: str
) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
    """Restore network and optimizer; return the facts and the best weights, or None if no state fits `recipe`.

    A damaged state is set aside under a name that ends in `.damaged`, with a warning, and the one before it is used.
    """
    for commit in (directory / _COMMIT, directory / _PREVIOUS):
        if not commit.exists():
            continue
        try:
            facts = opened(commit.read_bytes())
            _FACTS(facts, "")
            if facts["recipe"] != recipe:
                return None
            tensors = _verified(directory, facts)
            _restore(network, optimizer, tensors)
        except (Mismatch, OSError) as error:
            _set_aside(directory, commit, error)
            continue
        return facts, _under("best/", tensors)
    return None


def sealed(facts: Mapping[str, Any]) -> bytes:
    """Serialize JSON with its own checksum."""
    return json.dumps({**facts, "seal": _seal(facts)}).encode()


def opened(data: bytes) -> dict[str, Any]:
    """Read the output of `sealed` or raise a `Mismatch`."""
    value = decoded(data)
    record({"seal": TEXT})(value, "")
    facts: dict[str, Any] = {key: part for key, part in value.items() if key != "seal"}
    if value["seal"] != _seal(facts):
        raise Mismatch("seal", phrase("errors.training.checksum_file"), phrase("errors.common.another_one"))
    return facts


def _seal(facts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(dict(facts), sort_keys=True).encode()).hexdigest()


def _verified(directory: Path, facts: Mapping[str, Any]) -> dict[str, Tensor]:
    """Load the tensors of a state and verify their checksum."""
    path = directory / Path(facts["tensors"]).name  # a name, never a way out of the directory
    try:
        if _digest(path) != facts["sha256"]:
            raise Mismatch(path.name, phrase("errors.common.file_written"), phrase("errors.common.other_bytes"))
        tensors: dict[str, Tensor] = load_file(path)
    except (SafetensorError, OSError) as error:
        raise Mismatch(path.name, phrase("errors.common.safetensors_file"), str(error)) from error
    return tensors


def _restore(network: nn.Module, optimizer: optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    network.load_state_dict(_under("network/", tensors), strict=True)
    slots: dict[int, dict[str, Tensor]] = {}
    for key, value in _under("optimizer/", tensors).items():
        i, slot = key.split("/")
        slots.setdefault(int(i), {})[slot] = value
    optimizer.load_state_dict({"state": slots, "param_groups": optimizer.state_dict()["param_groups"]})


def _set_aside(directory: Path, commit: Path, error: Exception) -> None:
    """Rename damaged files to keep them unused, and warn about the consequence."""
    tensors = directory / error.place if isinstance(error, Mismatch) and error.place.endswith(".safetensors") else None
    file = tensors if tensors is not None and tensors.exists() else commit
    older = commit.name == _COMMIT and (directory / _PREVIOUS).exists()
    if file != commit:
        os.replace(commit, commit.with_name(commit.name + DAMAGED))
    set_aside(file, error, Message("training_note.from_state_before" if older else "training_note.from_beginning"))


def _named(commit: Path) -> str:
    """Return the tensor file of a commit; nothing if the commit is damaged or missing."""
    try:
        return str(opened(commit.read_bytes()).get("tensors", ""))
    except (Mismatch, OSError):
        return ""


def _sweep(directory: Path, keep: set[str]) -> None:
    """Remove unreferenced tensors and temporary files."""
    for old in (*directory.glob("state-*.safetensors"), *directory.glob(f"*{TEMPORARY}")):
        if old.name not in keep:
            old.unlink()


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
