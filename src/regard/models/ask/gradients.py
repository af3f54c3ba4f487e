"""Gradients of the objective with respect to the model's continuous inputs, summed per unit.

Units that the user did not write stay as they are at every point, so the sum over the free units is complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.measures.keyed_random import keyed_rng
from regard.models.adapter import TorchModel, own
from regard.models.ask.capability import capability
from regard.models.ask.input_function import Ends, contents, ends, free_entries, inserted, never_read
from regard.models.read.encoded import Item
from regard.models.read.length_groups import like_lengths
from regard.models.tasks import Outputs
from regard.protocols import Encoded, Point, Slopes, Target
from regard.records import Floats, Site
from regard.tap.attention_gradients import no_graph
from regard.tap.capture_call import rewritten_call

Row = tuple[int, Point]
"""(item index, point)."""
Slope = tuple[Floats, Floats, float]
"""dot (n,), norm (n,) and the value at the point."""


@capability(needs="gradient")
def slopes(
    model: TorchModel, batch: Sequence[Encoded], targets: Sequence[Target], points: Sequence[Point]
) -> list[Slopes]:
    """Differentiate the objective at these points: one record per example, one row per point.

    Noise is in units of the range (max - min) of the inputs (Smilkov et al. 2017), keyed by example and draw. The value
    at the baseline costs an extra forward pass: it is NaN if no point lies on the path from there.
    """
    items = [own(encoded) for encoded in batch]
    if not points:
        return [_empty(item) for item in items]
    top = Point(1.0, points[0].baseline)
    bottoms = [Point(0.0, point.baseline, draw=_drawn(point)) for point in points]
    on_path = any(point.alpha != 1.0 for point in points)
    results: dict[Row, Slope] = {}
    for chunk in row_chunks(model, items, [(i, point) for i in range(len(items)) for point in points]):
        results.update(zip(chunk, _differentiate(model, items, targets, chunk), strict=True))
    end_points = [point for point in dict.fromkeys([top, *bottoms]) if point not in points] if on_path else []
    for chunk in row_chunks(model, items, [(i, point) for i in range(len(items)) for point in end_points]):
        results.update(zip(chunk, _evaluate(model, items, targets, chunk), strict=True))
    out = []
    for i in range(len(items)):
        rows = [results[i, point] for point in points]
        high, *lows = (results[i, end][2] if (i, end) in results else float("nan") for end in (top, *bottoms))
        dot, norm = (np.stack([answer[k] for answer in rows]) for k in (0, 1))
        values = np.array([answer[2] for answer in rows])
        out.append(Slopes(dot, norm, values, (high, float(np.mean(lows))), np.array(lows)))
    return out


def _drawn(point: Point) -> int:
    """Draw number of the baseline; fixed ones have none."""
    return point.draw if point.baseline == "resample" else 0


def _empty(item: Item) -> Slopes:
    n = len(item.units)
    return Slopes(np.zeros((0, n)), np.zeros((0, n)), np.zeros(0), (float("nan"), float("nan")))


def row_chunks(model: TorchModel, items: Sequence[Item], rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Rows of similar length, as many as the processor's cache holds."""
    for group in model.groups(items):
        inside = set(group)
        group_rows = [row for row in rows if row[0] in inside]
        for piece in like_lengths([items[i].length for i, _ in group_rows]):
            yield [group_rows[k] for k in piece]


def placed_inputs(
    model: TorchModel, items: Sequence[Item], chunk: Sequence[Row]
) -> tuple[Tensor, dict[tuple[int, str, int], Ends]]:
    """Return (rows, positions, ...) continuous inputs of a chunk, padded with zeros, and the ends of their paths."""
    path_ends: dict[tuple[int, str, int], Ends] = {}
    grounds: dict[int, tuple[Tensor, str]] = {}
    rows = []
    for i, point in chunk:
        key = (i, point.baseline, _drawn(point))
        if key not in path_ends:
            path_ends[key] = ends(model, items[i], point.baseline, _drawn(point))
        if point.noise and i not in grounds:
            grounds[i] = _room(items[i], path_ends[key].x), contents(items[i])
        rows.append(_at(path_ends[key], point, grounds.get(i)))
    width = max(len(x) for x in rows)
    return torch.stack([_filled_up(x, width) for x in rows]), path_ends


def _backward(
    model: TorchModel, items: Sequence[Item], targets: Sequence[Target], chunk: Sequence[Row]
) -> tuple[Tensor, Tensor, dict[tuple[int, str, int], Ends]]:
    """Return (rows, ...) gradients of a chunk, (rows,) values, and the ends of the paths."""
    about = [targets[i] for i, _ in chunk]
    tensors, request = model.tensors([items[i] for i, _ in chunk], about)
    placed, path_ends = placed_inputs(model, items, chunk)
    x = placed.detach().requires_grad_()

    def call() -> Outputs:
        with inserted(model, tensors, x) as inputs:
            return model.run_read(inputs, request, tapped=chunk[0][1].detached)

    with model.backward_allowed(), torch.enable_grad():
        outputs = rewritten_call(model.module, call, lambda known: _DETACHED)[0] if chunk[0][1].detached else call()
        answers = model.row.read(outputs, request, about)
        if not answers.value.requires_grad:
            raise no_graph(model.name)
        gradient = torch.autograd.grad(answers.value.sum(), x, allow_unused=True)[0]
    if gradient is None:
        raise never_read(model)
    return gradient, answers.value.detach(), path_ends


def _differentiate(
    model: TorchModel, items: Sequence[Item], targets: Sequence[Target], chunk: Sequence[Row]
) -> list[Slope]:
    gradient, value, path_ends = _backward(model, items, targets, chunk)
    values = value.double().cpu().numpy()
    out = []
    for row, (i, point) in enumerate(chunk):
        end = path_ends[i, point.baseline, _drawn(point)]
        slope = gradient[row, : len(end.x)].float()
        dot = per_unit(items[i], slope * (end.x - end.baseline).float())
        norm = np.sqrt(per_unit(items[i], slope.square()))
        out.append((dot, norm, float(values[row])))
    return out


@capability(needs="gradient")
def input_gradients(
    model: TorchModel, batch: Sequence[Encoded], targets: Sequence[Target]
) -> list[NDArray[np.float32]]:
    """Differentiate at the inputs: (positions, features) for a text, else an array of the shape of the inputs."""
    items = [own(encoded) for encoded in batch]
    here = Point(baseline=model.reader.baselines[0])
    gradients: dict[int, NDArray[np.float32]] = {}
    for chunk in row_chunks(model, items, [(i, here) for i in range(len(items))]):
        slopes, _, _ = _backward(model, items, targets, chunk)
        for row, (i, _) in enumerate(chunk):
            n = len(items[i].arrays[model.reader.main])
            gradients[i] = slopes[row, :n].detach().float().cpu().numpy()
    return [gradients[i] for i in range(len(items))]


class _Detached:
    """Keep every attention weight and detach it from the graph."""

    def wants(self, site: Site) -> bool:
        return True

    def scores(self, site: Site, scores: Tensor) -> Tensor:
        return scores

    def weights(self, site: Site, weights: Tensor, scores: Tensor) -> Tensor:
        return weights.detach()


_DETACHED = _Detached()


def _evaluate(model: TorchModel, items: Sequence[Item], targets: Sequence[Target], chunk: Sequence[Row]) -> list[Slope]:
    """Evaluate the value alone."""
    about = [targets[i] for i, _ in chunk]
    tensors, request = model.tensors([items[i] for i, _ in chunk], about)
    x, _ = placed_inputs(model, items, chunk)
    with torch.no_grad(), inserted(model, tensors, x) as inputs:
        values = model.row.read(model.run_read(inputs, request), request, about).value.double().cpu().numpy()
    nothing = np.zeros(0)
    return [(nothing, nothing, float(value)) for value in values]


def _room(item: Item, x: Tensor) -> Tensor:
    """Return the range of the free entries, 0 for the others, which get no noise; same shape as x."""
    free = free_entries(item, x)
    inside = x[free]
    return free.to(x.dtype) * (inside.max() - inside.min() if inside.numel() else 0.0)


def _at(end: Ends, point: Point, ground: tuple[Tensor, str] | None) -> Tensor:
    x = end.baseline + point.alpha * (end.x - end.baseline) if point.alpha != 1.0 else end.x
    if ground is None or not point.noise:
        return x
    room, key = ground
    noise = keyed_rng(0, "slope noise", point.draw, key).standard_normal(tuple(x.shape), np.float32)
    return x + point.noise * room * torch.from_numpy(noise).to(device=x.device, dtype=x.dtype)


def _filled_up(x: Tensor, width: int) -> Tensor:
    """Pad with zeros after the last position; the mask hides them as it hides padding."""
    return x if len(x) == width else torch.cat([x, x.new_zeros(width - len(x), *x.shape[1:])])


def per_unit(item: Item, values: Tensor) -> Floats:
    """(n,): sum of the entries that each unit owns; 0 for special units."""
    own = item.owner.ndim
    if values.dim() > own:
        values = values.flatten(own).sum(-1, dtype=torch.float64)
    flat = values.detach().cpu().double().numpy()
    owned = item.owner >= 0
    sums = np.bincount(item.owner[owned].ravel(), flat[owned].ravel(), minlength=len(item.units))
    return np.where(item.units.free, sums, 0.0)
