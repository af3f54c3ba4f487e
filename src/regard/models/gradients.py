"""Gradients of the objective with respect to the model's continuous inputs, summed up per unit.

For text the continuous inputs are the outputs of the input-embedding module; for arrays the arrays themselves.
Units that the user did not write stay as they are at every point, so the sum over the free units is complete.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from regard.errors import UnknownName, Unsupported
from regard.measures.keyed_random import keyed_rng
from regard.models.attention_gradients import no_graph
from regard.models.encoded import Item, Reader
from regard.models.regions import ArrayReader
from regard.models.tasks import Asked, Outputs, TaskRow
from regard.models.text import TextReader
from regard.protocols import Point, Slopes, Target
from regard.records import Floats

ROWS, POSITIONS = 16, 2048
"""At most so many rows, and so many positions, are differentiated at a time."""


class Differentiable(Protocol):
    """The adapter, as this file sees it."""

    @property
    def reader(self) -> Reader: ...
    @property
    def row(self) -> TaskRow: ...
    @property
    def embedding(self) -> nn.Module | None: ...
    @property
    def name(self) -> str: ...
    @property
    def device(self) -> torch.device: ...
    @property
    def dtype(self) -> torch.dtype: ...
    def tensors(self, items: Sequence[Item], targets: Sequence[Target] | None) -> tuple[dict[str, Tensor], Asked]: ...
    def run(self, tensors: Mapping[str, Tensor], asked: Asked) -> Outputs: ...
    def groups(self, items: Sequence[Item]) -> list[list[int]]: ...
    def backward_allowed(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class _Ends:
    """The two ends of a path, in continuous inputs of one item: x and its baseline."""

    x: Tensor
    baseline: Tensor


def slopes(
    model: Differentiable, items: Sequence[Item], targets: Sequence[Target], points: Sequence[Point]
) -> list[Slopes]:
    """One record per item, one row per point. Noise is given in units of the range (max - min) of the inputs
    (Smilkov et al. 2017); its numbers belong to the item and the draw."""
    for point in points:
        if point.baseline not in model.reader.baselines:
            raise UnknownName("baseline", point.baseline, model.reader.baselines)
    if not points:
        return [_empty(item) for item in items]
    first = points[0].baseline
    asked = [*points, *(p for p in (Point(1.0, first), Point(0.0, first)) if p not in points)]
    rows = [(i, point) for i in range(len(items)) for point in asked]
    found: dict[tuple[int, Point], tuple[Floats, Floats, float]] = {}
    for chunk in _chunks(model, items, rows):
        wanted = any(point in points for _, point in chunk)
        answers = _differentiate(model, items, targets, chunk, wanted=wanted)
        found.update(zip(chunk, answers, strict=True))
    out = []
    for i in range(len(items)):
        mine = [found[i, point] for point in points]
        ends = found[i, Point(1.0, first)][2], found[i, Point(0.0, first)][2]
        dot, norm = (np.stack([answer[k] for answer in mine]) for k in (0, 1))
        out.append(Slopes(dot, norm, np.array([answer[2] for answer in mine]), ends))
    return out


def _empty(item: Item) -> Slopes:
    n = len(item.units)
    return Slopes(np.zeros((0, n)), np.zeros((0, n)), np.zeros(0), (float("nan"), float("nan")))


def _chunks(
    model: Differentiable, items: Sequence[Item], rows: Sequence[tuple[int, Point]]
) -> Iterator[list[tuple[int, Point]]]:
    for group in model.groups(items):
        inside = set(group)
        mine = [row for row in rows if row[0] in inside]
        mine.sort(key=lambda row: items[row[0]].length)  # stable: the points of an item stay together
        chunk: list[tuple[int, Point]] = []
        for row in mine:
            if chunk and (len(chunk) == ROWS or (len(chunk) + 1) * items[row[0]].length > POSITIONS):
                yield chunk
                chunk = []
            chunk.append(row)
        if chunk:
            yield chunk


def _differentiate(
    model: Differentiable,
    items: Sequence[Item],
    targets: Sequence[Target],
    chunk: Sequence[tuple[int, Point]],
    *,
    wanted: bool,
) -> list[tuple[Floats, Floats, float]]:
    own = [items[i] for i, _ in chunk]
    about = [targets[i] for i, _ in chunk]
    tensors, asked = model.tensors(own, about)
    ends = [_path(model, item, point.baseline) for item, (_, point) in zip(own, chunk, strict=True)]
    placed = [_at(item, end, point) for item, end, (_, point) in zip(own, ends, chunk, strict=True)]
    width = max(len(x) for x in placed)
    x = torch.stack([_filled_up(p, width) for p in placed]).detach().requires_grad_(wanted)
    with model.backward_allowed(), torch.set_grad_enabled(wanted), _inserted(model, tensors, x) as given:
        said = model.row.read(model.run(given, asked), asked, about)
        if wanted and not said.value.requires_grad:
            raise no_graph(model.name)
        found = torch.autograd.grad(said.value.sum(), x, allow_unused=True)[0] if wanted else torch.zeros_like(x)
    if found is None:
        raise _never_read(model)
    gradient: Tensor = found
    out = []
    for row, (item, end) in enumerate(zip(own, ends, strict=True)):
        slope = gradient[row, : len(end.x)].float()
        dot = _per_unit(item, slope * (end.x - end.baseline).float())
        norm = np.sqrt(_per_unit(item, slope.square()))
        out.append((dot, norm, float(said.value[row].detach())))
    return out


def _path(model: Differentiable, item: Item, name: str) -> _Ends:
    reader = model.reader
    if isinstance(reader, ArrayReader):
        x, baseline = (
            torch.from_numpy(np.asarray(a)).to(device=model.device, dtype=model.dtype)
            for a in (item.arrays[reader.main], reader.baseline(item, name))
        )
        return _Ends(x, torch.where(_free(item, x), baseline, x))
    if model.embedding is None or not isinstance(reader, TextReader):
        raise Unsupported(
            f"gradients of {model.name}", expected="an input-embedding module", got="none",
            remedy="name it: wrap(..., embedding='path.of.the.module')",
        )  # fmt: skip
    with torch.no_grad():
        ids = torch.from_numpy(item.arrays[reader.main]).to(model.device)
        x = model.embedding(ids[None])[0]
        if name == "mask":
            baseline = model.embedding(torch.full_like(ids[None], reader.alphabet.blank or 0))[0]
        else:
            baseline = torch.zeros_like(x)
        return _Ends(x, torch.where(_free(item, x), baseline, x))


def _free(item: Item, x: Tensor) -> Tensor:
    """True on the entries that belong to a unit of the user's own; one entry per position for text."""
    free = np.append(item.units.free, False)[item.owner]
    mask = torch.from_numpy(free).to(x.device)
    return mask.reshape(*mask.shape, *[1] * (x.dim() - mask.dim())).expand_as(x)


def _at(item: Item, end: _Ends, point: Point) -> Tensor:
    x = end.baseline + point.alpha * (end.x - end.baseline) if point.alpha != 1.0 else end.x
    if not point.noise:
        return x
    free = _free(item, x)
    raw = b"".join(np.ascontiguousarray(a).tobytes() for _, a in sorted(item.arrays.items()))
    rng = keyed_rng(0, "slope noise", point.draw, hashlib.blake2b(raw, digest_size=16).hexdigest())
    drawn = torch.from_numpy(rng.standard_normal(tuple(x.shape))).to(device=x.device, dtype=x.dtype)
    inside = end.x[free]
    spread = float(inside.max() - inside.min()) if inside.numel() else 0.0
    return torch.where(free, x + point.noise * spread * drawn, x)


def _filled_up(x: Tensor, width: int) -> Tensor:
    """Zeros after the last position; the mask hides them as it hides padding."""
    return x if len(x) == width else torch.cat([x, x.new_zeros(width - len(x), *x.shape[1:])])


def _per_unit(item: Item, values: Tensor) -> Floats:
    """(n,) the sum of the entries that each unit owns; 0 for special units."""
    flat = values.detach().cpu().double().numpy()
    if flat.ndim > item.owner.ndim:
        flat = flat.sum(axis=tuple(range(item.owner.ndim, flat.ndim)))
    owned = item.owner >= 0
    sums = np.bincount(item.owner[owned].ravel(), flat[owned].ravel(), minlength=len(item.units))
    return np.where(item.units.free, sums, 0.0)


def _never_read(model: Differentiable) -> Unsupported:
    return Unsupported(
        f"gradients of {model.name}", expected="continuous inputs that the objective depends on",
        got=f"{type(model.embedding).__name__} that the module does not read the ids with",
        remedy="name the input-embedding module: wrap(..., embedding='path.of.the.module')",
    )  # fmt: skip


@contextmanager
def _inserted(model: Differentiable, tensors: dict[str, Tensor], x: Tensor) -> Iterator[dict[str, Tensor]]:
    """The tensors of a call in which `x` stands for the continuous inputs."""
    if model.embedding is None or model.reader.modality != "text":
        yield {**tensors, model.reader.main: x}
        return
    ids, waiting = tensors[model.reader.main], [x]

    def instead(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], out: Tensor) -> Tensor | None:
        read = args[0] if args else next(iter(kwargs.values()))
        # a shared embedding also serves the decoder: only the call that reads the ids is replaced, and only once
        if waiting and read.shape == ids.shape and bool((read == ids).all()):
            return waiting.pop().to(out.dtype)
        return None

    handle = model.embedding.register_forward_hook(instead, with_kwargs=True)
    try:
        yield tensors
    finally:
        handle.remove()
    if waiting:
        raise _never_read(model)
