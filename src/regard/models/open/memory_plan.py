"""Memory plan of a Hugging Face model, from its configuration and the headers of its files, without loading it.

The plan decides how large a batch is, so that numbers do not depend on free memory. Free memory only limits how many
workers run at once.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from regard.files import kind_of
from regard.models.open.hub import snapshot_of
from regard.models.open.placement import QUANTIZED, Placement
from regard.models.open.weight_files import held

BATCH_BYTES = 12 << 30
"""Maximum bytes of activations that one batch may keep for its gradients."""
ROWS, POSITIONS = 64, 8192
"""Usual batch: rows, and positions with padding."""
USUAL_LENGTH = 512
"""Positions of an input if a model declares no limit, or a much larger one."""
SAFE = 0.9
"""Share of the free memory that a plan uses."""
_DTYPE_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8}


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a transformer that determine its memory. bytes: per number."""

    layers: int
    hidden: int
    heads: int
    bytes: int

    def activations(self, positions: int) -> int:
        """Bytes that a pass over one input keeps for its gradients, in all layers.

        17 vectors per position and 2.5 attention matrices per head in every layer: inputs of the norms, projections,
        attention, nonlinearity and both linear maps of the MLP (Korthikanti et al. 2022, eq. 2, without dropout masks).
        """
        vectors = 17 * positions * self.hidden
        matrices = 5 * self.heads * positions * positions // 2
        return self.layers * (vectors + matrices) * self.bytes

    def capture(self, positions: int) -> int:
        """Bytes of every attention weight of one input, in float32."""
        return self.layers * self.heads * positions * positions * 4


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Memory plan. weights: bytes of the model. length: positions of the input that the rest refers to.

    activations, capture: bytes of one such input. rows: inputs of that length in a batch. free: bytes available on this
    machine.
    """

    weights: int
    length: int
    activations: int
    capture: int
    rows: int
    free: int

    @property
    def worker(self) -> int:
        """Bytes of one worker: the weights, one batch, and one captured input."""
        return self.weights + self.rows * self.activations + self.capture

    @property
    def workers(self) -> int:
        """Workers that fit into the free memory at once; at least one, which may be too large."""
        return max(1, math.floor(SAFE * self.free / max(1, self.worker)))

    @property
    def fits(self) -> bool:
        return self.worker <= SAFE * self.free


def batch_positions(config: Mapping[str, Any], bytes_each: int) -> int:
    """Positions of a batch: the usual number, or fewer if a large model would keep more than BATCH_BYTES.

    A function of the architecture and its precision alone: the same batches on every machine.

    >>> batch_positions({"num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12}, 4)
    8192
    >>> batch_positions({"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32}, 2)
    2880
    """
    shape = shape_of(config, bytes_each)
    if shape is None:
        return POSITIONS
    affordable = BATCH_BYTES // (shape.layers * 17 * shape.hidden * shape.bytes)
    return max(64, min(POSITIONS, affordable // 64 * 64))


def shape_of(config: Mapping[str, Any], bytes_each: int) -> Shape | None:
    """Sizes in a configuration, under the names that model families use; None if some are missing."""
    text = config.get("text_config")
    config = text if isinstance(text, Mapping) else config
    layers = _number(config, "num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers")
    hidden = _number(config, "hidden_size", "n_embd", "d_model", "dim")
    heads = _number(config, "num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads")
    if layers is None or hidden is None or heads is None:
        return None
    return Shape(layers, hidden, heads, bytes_each)


def memory_plan(source: str, where: Placement, *, rows: int = ROWS, max_length: int | None = None) -> MemoryPlan | None:
    """Plan of a Hugging Face directory or of an id in the local cache; None for any other model."""
    folder = Path(source).expanduser()
    place = folder if folder.is_dir() else None
    if place is None and "/" in source and ":" not in source and not folder.exists():
        place = snapshot_of(source)
    if place is None or kind_of(place / "config.json") != "file":
        return None
    try:
        config = json.loads((place / "config.json").read_text("utf-8"))
        content = held(place)
    except (OSError, ValueError):
        return None  # opening the model reports it
    if not isinstance(config, dict):
        return None
    bytes_each = where.dtype.itemsize if where.dtype is not None else _stored_bytes(config)
    shape = shape_of(config, bytes_each)
    if shape is None:
        return None
    limit = _number(config, "max_position_embeddings", "n_positions") or USUAL_LENGTH
    length = min(limit, max_length or USUAL_LENGTH)
    positions = batch_positions(config, bytes_each)
    return MemoryPlan(
        weights=_weight_bytes(content.tensors, content.size, bytes_each, where),
        length=length,
        activations=shape.activations(length),
        capture=shape.capture(length),
        rows=max(1, min(rows, positions // length)),
        free=free_memory(),
    )


def free_memory() -> int:
    """Bytes available for a model on this machine, or on its first GPU."""
    if torch.cuda.is_available():
        return int(torch.cuda.mem_get_info()[0])
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        kilobytes = next(line.split()[1] for line in lines if line.startswith("MemAvailable"))
        return 1024 * int(kilobytes)
    except (OSError, StopIteration, ValueError):
        pages = os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
        return int(pages) * (os.sysconf("SC_PAGE_SIZE") if pages else 0)


def _weight_bytes(tensors: Mapping[str, tuple[int, ...]], size: int, bytes_each: int, where: Placement) -> int:
    if not tensors:
        return size
    matrices = sum(math.prod(shape) for shape in tensors.values() if len(shape) == 2)
    others = sum(math.prod(shape) for shape in tensors.values()) - matrices
    bits = QUANTIZED.get(where.quantize or "", 8 * bytes_each)
    if bits == 4 and not torch.accelerator.is_available():  # unpacked there: `unpack_on_cpu`
        bits = 8 * bytes_each
    return matrices * bits // 8 + others * bytes_each


def _stored_bytes(config: Mapping[str, Any]) -> int:
    name = str(config.get("dtype") or config.get("torch_dtype") or "float32")
    return _DTYPE_BYTES.get(name.removeprefix("torch."), 4)


def _number(config: Mapping[str, Any], *names: str) -> int | None:
    values = (config.get(name) for name in names)
    return next((value for value in values if isinstance(value, int) and value > 0), None)
