"""Changes of attention, addressed by site, so that no output softmax is ever changed.

capture_call(model, call, edits=[Edit("uniform", site="encoder.layer.3.*")])
capture_call(model, call, edits=[[Edit(...)], [Edit(...)]])     # one list for each row of the batch
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import torch
from torch import Tensor

from regard.errors import InputError, UnknownName, phrase
from regard.records import Edit, Edits, Site

Block = tuple[Tensor, Tensor, Tensor]
"""Chosen heads, queries and keys as index tensors."""


@dataclass(slots=True, eq=False)
class EditRewriting:
    """Apply edits: scores first (knock_out), then weights, in the given order."""

    rows: list[list[Edit]]
    per_row: bool
    real: Tensor | None

    @staticmethod
    def of(edits: Edits, sites: Sequence[Site], real: Tensor | None) -> EditRewriting:
        """Build from edits: flat edits apply to the whole batch; a list of lists gives each row its own."""
        each = per_row(edits)
        rows: list[list[Edit]] = [[e for e in edits if isinstance(e, Edit)]] if each is None else each
        keys = [s.key for s in sites]
        for edit in (e for row in rows for e in row):
            if not any(fnmatchcase(key, edit.site) for key in keys):
                raise UnknownName("site", edit.site, keys)
        return EditRewriting(rows, each is not None, real)

    def _of_row(self, row: int, site: Site) -> list[Edit]:
        return [e for e in self.rows[row] if fnmatchcase(site.key, e.site)]

    def wants(self, site: Site) -> bool:
        return any(self._of_row(r, site) for r in range(len(self.rows)))

    def scores(self, site: Site, scores: Tensor) -> Tensor:
        def change(edit: Edit, part: Tensor, start: int) -> Tensor:
            if edit.what != "knock_out":
                return part
            return part.masked_fill(_chosen(edit, part, site), -torch.inf)

        return self._each(site, scores, change)

    def weights(self, site: Site, weights: Tensor, scores: Tensor) -> Tensor:
        allowed = self._allowed(site, scores)

        def change(edit: Edit, part: Tensor, start: int) -> Tensor:
            if edit.what == "knock_out":
                return part
            return _CHANGES[edit.what](edit, part, allowed[start : start + part.shape[0]], site)

        return self._each(site, weights, change)

    def _each(self, site: Site, tensor: Tensor, change: Callable[[Edit, Tensor, int], Tensor]) -> Tensor:
        if not self.per_row:
            for edit in self._of_row(0, site):
                tensor = change(edit, tensor, 0)
            return tensor
        count, rest = divmod(tensor.shape[0], len(self.rows))
        if rest or not count:
            raise InputError(
                "edits",
                expected=phrase("errors.tap.one_list_for_each_rows", shape=tensor.shape[0], site=site.key),
                got=phrase("errors.tap.lists_n", n=len(self.rows)),
            )
        parts = []
        for row in range(len(self.rows)):
            part = tensor[row * count : (row + 1) * count]
            for edit in self._of_row(row, site):
                part = change(edit, part, row * count)
            parts.append(part)
        return torch.cat(parts)

    def _allowed(self, site: Site, scores: Tensor) -> Tensor:
        """Return (batch, head, query, key): True where neither the mask nor padding hides a key."""
        open_ = scores.detach() > torch.finfo(scores.dtype).min / 2
        if self.real is not None and tuple(self.real.shape) == (scores.shape[0], scores.shape[3]):
            open_ = open_ & self.real.to(open_.device, torch.bool)[:, None, None]
        return open_


def per_row(edits: Edits) -> list[list[Edit]] | None:
    """List of edits of each row; None if edits apply to the whole batch."""
    if all(isinstance(e, Edit) for e in edits):
        return None
    return [[row] if isinstance(row, Edit) else list(row) for row in edits]


def _index(chosen: tuple[int, ...] | None, size: int, what: str, site: Site, device: torch.device) -> Tensor:
    if chosen is None:
        return torch.arange(size, device=device)
    if any(not -size <= i < size for i in chosen):
        raise InputError(
            phrase("errors.tap.edit_site", site=site.key),
            expected=phrase("errors.tap.below_what", what=what, size=size),
            got=str(list(chosen)[:8]),
        )
    return torch.tensor([i % size for i in chosen], dtype=torch.long, device=device)


def _block(edit: Edit, tensor: Tensor, site: Site) -> Block:
    _, heads, queries, keys = tensor.shape
    return (
        _index(edit.heads, heads, "heads", site, tensor.device),
        _index(edit.queries, queries, "queries", site, tensor.device),
        _index(edit.keys, keys, "keys", site, tensor.device),
    )


def _chosen(edit: Edit, tensor: Tensor, site: Site) -> Tensor:
    """(1, head, query, key) bool: the edges of the edit."""
    heads, queries, keys = _block(edit, tensor, site)
    edges = torch.zeros(tensor.shape[1:], dtype=torch.bool, device=tensor.device)
    edges[heads[:, None, None], queries[:, None], keys] = True
    return edges[None]


def _uniform(edit: Edit, weights: Tensor, allowed: Tensor, site: Site) -> Tensor:
    """Distribute the mass of the chosen keys equally among those that are visible."""
    support = allowed & _chosen(edit, weights, site)
    mass = (weights * support).sum(-1, keepdim=True)
    shared = mass / support.sum(-1, keepdim=True).clamp(min=1)
    return torch.where(support, shared, weights)


def _permute(edit: Edit, weights: Tensor, allowed: Tensor, site: Site) -> Tensor:
    """Permute the weights of each row among the visible keys."""
    support = allowed & _chosen(edit, weights, site)
    noise = torch.from_numpy(_noise(edit, support, site)).to(weights.device)
    places = torch.argsort((~support).to(torch.uint8), dim=-1, stable=True)
    order = torch.argsort(noise.masked_fill(~support, torch.inf), dim=-1, stable=True)
    permuted = torch.zeros_like(weights).scatter(-1, places, weights.gather(-1, order))
    return torch.where(support, permuted, weights)


def _noise(edit: Edit, support: Tensor, site: Site) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return a number for each (head, query, key), counted without padding: the same in any batch."""
    real = support.flatten(1, 2).any(1).cpu().numpy()
    batch, heads, queries, keys = support.shape
    key = np.maximum(np.cumsum(real, -1) - 1, 0).astype(np.uint64)
    query = key if queries == keys else np.broadcast_to(np.arange(queries, dtype=np.uint64), (batch, queries))
    start = np.uint64(edit.stream_start(site.key))
    head = np.arange(heads, dtype=np.uint64)[:, None, None]
    with np.errstate(over="ignore"):
        mixed = _mix(start + head * np.uint64(0x9E3779B97F4A7C15))
        mixed = _mix(mixed + query[:, None, :, None] * np.uint64(0xC2B2AE3D27D4EB4F))
        mixed = _mix(mixed + key[:, None, None, :] * np.uint64(0x165667B19E3779F9))
    return np.asarray((mixed >> np.uint64(11)).astype(np.float64))


def _mix(state: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    """SplitMix64 (Steele, Lea & Flood 2014)."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def _replace(edit: Edit, weights: Tensor, allowed: Tensor, site: Site) -> Tensor:
    """Replace the chosen block by `values`: (batch, head, query, key), or fewer axes from the right."""
    if edit.values is None:
        raise InputError(
            phrase("errors.tap.edit_site", site=site.key),
            expected=phrase("errors.tap.values_replace_weights"),
            got=phrase("errors.common.none"),
        )
    heads, queries, keys = _block(edit, weights, site)
    shape = (weights.shape[0], len(heads), len(queries), len(keys))
    values = torch.as_tensor(np.array(edit.values), dtype=weights.dtype, device=weights.device)
    try:
        values = values.expand(shape)
    except RuntimeError as problem:
        raise InputError(
            phrase("errors.tap.edit_site", site=site.key),
            expected=phrase("errors.tap.values_that_broadcast", shape=shape),
            got=str(tuple(values.shape)),
        ) from problem
    if not bool(torch.isfinite(values).all()):
        raise InputError(
            phrase("errors.tap.edit_site", site=site.key),
            expected=phrase("errors.tap.finite_values"),
            got=phrase("errors.common.nan_or_infinity"),
        )
    edited = weights.clone()
    rows = torch.arange(weights.shape[0], device=weights.device)[:, None, None, None]
    edited[rows, heads[:, None, None], queries[:, None], keys] = values
    return edited


def _scale(edit: Edit, weights: Tensor, allowed: Tensor, site: Site) -> Tensor:
    return torch.where(_chosen(edit, weights, site), weights * edit.factor, weights)


def _mask_heads(edit: Edit, weights: Tensor, allowed: Tensor, site: Site) -> Tensor:
    return weights.masked_fill(_chosen(edit, weights, site), 0.0)


_CHANGES: Mapping[str, Callable[[Edit, Tensor, Tensor, Site], Tensor]] = {
    "uniform": _uniform,
    "permute": _permute,
    "replace": _replace,
    "scale": _scale,
    "mask_heads": _mask_heads,
}
