"""Collector of row captures: copies the selected rows of every attention, references its keys, and verifies both."""

from __future__ import annotations

import re
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.errors import CaptureError, Text, Unsupported, phrase
from regard.records import UNCHECKED, Check, Message, Site, SiteKind
from regard.tap.row_attention import Keys, QueryBlocks, RowAttention, RowPart
from regard.tap.whole_attention import WholeAttention

Rows = slice | Sequence[int] | Literal["last", "new"]
"""Positions; "last": the last row of every step; "new": the rows that predict generated tokens."""

_TOLERANCE = {torch.float64: 1e-8, torch.float32: 5e-5, torch.float16: 1e-2, torch.bfloat16: 4e-2}
_LISTED = 8
_BLOCK = 256
"""Rows of a block of queries."""


@dataclass(slots=True, eq=False)
class RowTaps:
    """Captured rows of every site, attention that bypassed the registry, and the kind of verification."""

    sites: list[RowAttention]
    rejected: list[tuple[str, Text]]
    checked: Message
    whole: list[WholeAttention] = field(default_factory=list)

    @property
    def held_bytes(self) -> int:
        """Memory of the queries and masks of all sites, masks that layers share counted once."""
        tensors = [t for site in self.sites for part in site.parts for t in (part.stored, part.mask) if t is not None]
        sizes = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
        return sum(sizes.values())


@dataclass(slots=True, eq=False)
class _Kept:
    """The rows of one call; first, start: positions of its first query and its first key."""

    site: RowAttention
    part: RowPart
    first: int
    start: int


class _Referred:
    """Tensors by weak reference, since the id of a dead tensor may be reused."""

    def __init__(self, *tensors: Tensor | None) -> None:
        self._references = [None if tensor is None else weakref.ref(tensor) for tensor in tensors]

    def holds(self, *tensors: Tensor | None) -> bool:
        return all(
            tensor is None if reference is None else reference() is tensor
            for reference, tensor in zip(self._references, tensors, strict=True)
        )


@dataclass(slots=True, eq=False)
class RowCollector:
    """Receive every attention of the running call."""

    names: dict[nn.Module, str]
    rows: Rows
    check: Check
    device: torch.device
    wants_all: Callable[[str], bool]
    whole: dict[str, WholeAttention] = field(default_factory=dict)
    sites: dict[str, RowAttention] = field(default_factory=dict)
    kinds: dict[str, SiteKind] = field(default_factory=dict)
    offsets: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    cross: set[nn.Module] = field(default_factory=set)
    ran: set[str] = field(default_factory=set)
    static: set[str] = field(default_factory=set)
    calls: Counter[str] = field(default_factory=Counter)
    windows: dict[str, int] = field(default_factory=dict)
    prompts: dict[str, int] = field(default_factory=dict)
    positions: dict[str, set[int]] = field(default_factory=dict)
    blocks: QueryBlocks = field(default_factory=lambda: QueryBlocks(_BLOCK))
    offset: int = 0
    worst: float = 0.0
    proved: int = 0
    _masks: dict[tuple[int, ...], tuple[_Referred, Tensor | None]] = field(default_factory=dict)

    def collect(
        self,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        mask: Tensor | None,
        *,
        causal: bool,
        details: dict[str, Any],
    ) -> _Kept | None:
        """Store the selected rows of one attention; None if it has none."""
        name, ordinal = self._name(self.names[module])
        crossing = module in self.cross
        queries, columns = query.shape[2], key.shape[2]
        first, start = self._place(queries, columns, crossing=crossing)
        if not crossing:
            columns = min(columns, first + queries - start)
        site = self.sites.get(name)
        if site is None:
            kind: SiteKind = "cross" if crossing else _kind(mask, queries, first, causal=causal)
            self.kinds[name] = kind
            site = self.sites[name] = RowAttention(
                Site(
                    name=self.names[module],
                    call=ordinal,
                    kind=kind,
                    layer=0,
                    heads=query.shape[1],
                    module=type(module).__name__,
                ),
                Keys(),
                scale=details.get("scaling"),
                softcap=details.get("softcap"),
                sinks=details.get("s_aux"),
            )
        elif site.parts and query.shape[0] != site.shape[0]:
            raise CaptureError(
                phrase("errors.common.attention_model", model=name),
                expected=phrase("errors.tap.same_batch_in_every_step"),
                got=phrase("errors.tap.and_rows", shape=site.shape[0], shape_2=query.shape[0]),
            )
        if not crossing and first == 0 and queries > 1 and self.wants_all(name):
            self.whole[name] = _whole(site.site, query, key[:, :, :columns], details)
        site.queries = max(site.queries, first + queries)
        site.columns = max(site.columns, start + columns)
        earlier = self.positions.setdefault(name, set())
        rows = [row for row in self._wanted(name, first, queries) if row not in earlier]
        earlier.update(rows)
        bias = details.get("position_bias")
        window = None if crossing else details.get("sliding_window")
        part = None
        if rows:
            local = [row - first for row in rows]
            own_mask = self._mask_rows(mask, bias, local, columns, causal=causal)
            if queries == 1:
                block, at = self.blocks.store(query)
                part = RowPart(rows, block, start, start + columns, own_mask, at)
            else:
                part = RowPart(rows, query[:, :, local].clone(), start, start + columns, own_mask)
        if window:
            self.windows[name] = int(window)
            self._copy_window(site, part, key[:, :, :columns], start)
        else:
            site.keys.refer(key)
            if key.shape[2] > columns or hasattr(key, "_dynamo_static_input_type"):
                self.static.add(name)
        if part is None:
            return None
        site.parts.append(part)
        return _Kept(site, part, first, start)

    def release(self, name: str) -> None:
        """Release the keys of a site before it computes its next step.

        Its cache is about to replace them by a longer tensor, and two at a time would fragment the memory.
        """
        if name in self.sites and name not in self.windows and not self.calls[name]:
            self.sites[name].keys.pieces.clear()

    def _name(self, module: str) -> tuple[str, int]:
        """Return the key of the site, and the number of earlier calls of its module in this step."""
        ordinal = self.calls[module]
        self.calls[module] += 1
        return (f"{module}#{ordinal}" if ordinal else module), ordinal

    def _place(self, queries: int, columns: int, *, crossing: bool) -> tuple[int, int]:
        """Return the positions of the first query and of the first key."""
        if crossing:
            return self.offset, 0
        first, start = self.offsets.get((queries, columns), (max(0, columns - queries), 0))
        self.offset = first
        return first, start

    def _wanted(self, name: str, first: int, queries: int) -> list[int]:
        stop = first + queries
        if self.rows == "new":
            return list(range(max(first, self.prompts.setdefault(name, stop) - 1), stop))
        if self.rows == "last":
            return [stop - 1]
        if isinstance(self.rows, slice):
            return [row for row in range(stop)[self.rows] if row >= first]
        rows = sorted({int(row) + (stop if int(row) < 0 else 0) for row in self.rows})
        return [row for row in rows if first <= row < stop]

    def _mask_rows(
        self, mask: Tensor | None, bias: Tensor | None, local: list[int], columns: int, *, causal: bool
    ) -> Tensor | None:
        """Return the rows of the mask, shared between layers that received the same one."""
        identity = (id(mask), id(bias), local[0], local[-1], len(local), columns, causal)
        if identity in self._masks and self._masks[identity][0].holds(mask, bias):
            return self._masks[identity][1]
        rows: Tensor | None = None
        if mask is not None:
            four = mask[(None,) * (4 - mask.ndim)]
            rows = (four[:, :, local] if four.shape[2] > 1 else four)[..., :columns].clone()
        elif causal:
            seen_columns = torch.tensor(local)[:, None] >= torch.arange(columns)
            rows = None if bool(seen_columns.all()) else seen_columns[None, None].to(self.device)
        if bias is not None:
            added = bias[:, :, local if bias.shape[2] > 1 else slice(None), :columns].clone()
            if rows is None:
                rows = added
            elif rows.dtype == torch.bool:
                rows = added.masked_fill(~rows, torch.finfo(added.dtype).min)
            else:
                rows = added + rows
        if len(self._masks) >= _LISTED:
            self._masks.clear()
        self._masks[identity] = (_Referred(mask, bias), rows)
        return rows

    def _copy_window(self, site: RowAttention, part: RowPart | None, keys: Tensor, start: int) -> None:
        """Copy the part of a window that the selected rows see, and later the new keys."""
        if part is not None and part.mask is not None and not site.keys.pieces:
            visible = part.mask if part.mask.dtype == torch.bool else part.mask > torch.finfo(part.mask.dtype).min / 2
            columns = visible.flatten(0, 2).any(0).nonzero()
            hidden = int(columns[0]) if len(columns) else 0
            if hidden:
                part.mask, part.start = part.mask[..., hidden:].clone(), start + hidden
                keys, start = keys[:, :, hidden:], start + hidden
        elif part is None and not site.keys.pieces:
            # nothing here is wanted, but rows to come may look back over the window
            back = max(0, keys.shape[2] - (self.windows[site.site.name] - 1))
            keys, start = keys[:, :, back:], start + back
        site.keys.copy(start, keys)
        if part is not None and part.start < site.keys.pieces[0][0]:
            shift = site.keys.pieces[0][0] - part.start
            part.start += shift
            part.mask = None if part.mask is None else part.mask[..., shift:].clone()

    @torch.no_grad()
    def prove(self, kept: _Kept, value: Tensor, out: Tensor) -> None:
        """Compare the last row of a part with the output of the attention itself: out (batch, query, head, feature)."""
        site, part = kept.site, kept.part
        weights = site.weights(0, torch.tensor(part.rows[-1:]))[:, 0, part.start : part.stop]
        values = value[0][:, part.start - kept.start : part.stop - kept.start].to(weights.dtype)
        values = values.repeat_interleave(weights.shape[0] // values.shape[0], 0)
        replayed = torch.einsum("hk,hkd->hd", weights, values)
        expected = out[0, part.rows[-1] - kept.first].to(weights.dtype)
        error = float((replayed - expected).abs().max()) / max(1.0, float(expected.abs().max()))
        self.worst, self.proved = max(self.worst, error), self.proved + 1
        if not error <= _TOLERANCE.get(out.dtype, 5e-5):
            raise CaptureError(
                phrase("errors.common.self_check", place=site.site.key),
                expected=phrase("errors.tap.rows_that_reproduce_output"),
                got=phrase("errors.common.difference_two_digits", error=error),
                remedy=phrase("errors.common.report_this_model_check_never"),
            )

    def prove_whole(self, whole: WholeAttention, value: Tensor, out: Tensor) -> None:
        """Compare the first, the middle and the last row with the output of the attention itself."""
        rows = sorted({0, whole.positions // 2, whole.positions - 1})
        weights = torch.from_numpy(whole.rows(rows)).to(value.device)
        values = value[0, :, : whole.positions].to(weights.dtype)
        values = values.repeat_interleave(whole.heads // values.shape[0], 0)
        replayed = torch.einsum("hrk,hkd->rhd", weights, values)
        expected = out[0, rows].to(weights.dtype)
        error = float((replayed - expected).abs().max()) / max(1.0, float(expected.abs().max()))
        self.worst, self.proved = max(self.worst, error), self.proved + len(rows)
        if not error <= _TOLERANCE.get(out.dtype, 5e-5):
            raise Unsupported(
                phrase("errors.tap.all_rows", site=whole.site.key),
                expected=phrase("errors.tap.causal_attention_over_everything"),
                got=phrase("errors.tap.another_pattern_difference", error=error),
            )

    def finish(self) -> RowTaps:
        """Number layers and calls, and copy everything that a static cache will overwrite."""
        for name in self.static:
            self.sites[name].keys.own(self.sites[name].columns)
        stacks: dict[str, list[str]] = {}
        for name in dict.fromkeys(site.site.name for site in self.sites.values()):
            stacks.setdefault(re.sub(r"\d+", "*", name), []).append(name)
        sites: list[RowAttention] = []
        rejected: list[tuple[str, Text]] = []
        proof = Message.of("check.rows", rows=self.proved, error=float(f"{self.worst:.0e}"))
        checked = Message.of(f"check.{self.check}", proof=proof) if self.proved else UNCHECKED
        for name, site in self.sites.items():
            kind = self.kinds[name]
            if self.rows == "new" and kind == "self":
                rejected.append((name, phrase("errors.tap.reads_prompt_once")))
                continue
            if not site.parts:
                rejected.append((name, phrase("errors.tap.no_requested_rows", n=site.queries)))
                continue
            window = self.windows.get(name)
            if window is not None and site.columns > window and kind == "causal":
                kind = "windowed"
            stack = stacks[re.sub(r"\d+", "*", site.site.name)]
            layer = site.site.call if len(stack) == 1 else stack.index(site.site.name)
            site.site, site.checked = replace(site.site, layer=layer, kind=kind), checked
            sites.append(site)
            if name in self.whole:
                self.whole[name].site = site.site
        captured = {site.site.name for site in self.sites.values()}
        rejected += [
            (name, phrase("errors.tap.outside_registry"))
            for name in sorted(self.ran)
            if not any(_inside(name, other) or _inside(other, name) for other in captured)
        ]
        return RowTaps(sites, rejected, checked, list(self.whole.values()))


def _whole(site: Site, query: Tensor, key: Tensor, details: dict[str, Any]) -> WholeAttention:
    """Reference the queries and keys of one input."""
    if query.shape[0] > 1 or details.get("position_bias") is not None:
        raise Unsupported(
            phrase("errors.tap.all_rows", site=site.key),
            expected=phrase("errors.tap.one_input_without_bias_positions"),
            got=phrase("errors.tap.another_attention"),
        )
    scale = details.get("scaling")
    window = details.get("sliding_window")
    return WholeAttention(
        site,
        query[0].detach(),
        key[0].detach(),
        scale=query.shape[-1] ** -0.5 if scale is None else float(scale),
        softcap=details.get("softcap"),
        sinks=details.get("s_aux"),
        window=None if window is None else int(window),
    )


def _kind(mask: Tensor | None, queries: int, first: int, *, causal: bool) -> SiteKind:
    if causal or first > 0:
        return "causal"
    if mask is None or queries < 2:
        return "self" if queries > 1 else "causal"
    corner = mask[(None,) * (4 - mask.ndim)][:, :, 0, queries - 1]
    visible = corner if corner.dtype == torch.bool else corner > torch.finfo(corner.dtype).min / 2
    return "self" if bool(visible.any()) else "causal"


def _inside(name: str, other: str) -> bool:
    return name == other or name.startswith(f"{other}.")
