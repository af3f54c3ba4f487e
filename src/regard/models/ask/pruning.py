"""Permanent head pruning: drop heads where the architecture allows it, else zero their output weights.

A silenced head has zeros where the output projection would read it. An experiment finds these columns, not their names:
with the head switched off, they become zero, and nothing else changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from regard.errors import Unsupported, phrase
from regard.models.adapter import TorchModel, own
from regard.models.ask.capability import capability
from regard.models.read.encoded import Item
from regard.protocols import Encoded, Target
from regard.records import Edit, Message, Site, Text
from regard.tap.capture_call import capture_call
from regard.tap.operations import Op, meaning

Heads = Mapping[str, tuple[int, ...]]
"""Site key -> indices of its heads."""


@dataclass(frozen=True, slots=True)
class Projection:
    """Parameter that reads a site's heads, the axis along which they lie, and the columns of each."""

    parameter: str
    axis: int
    columns: Mapping[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class _Product:
    parameter: nn.Parameter
    axis: int
    factor: Tensor


class _Products(TorchFunctionMode):
    """Record every product of an activation with a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[_Product] = []

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        op = meaning(func)
        arguments = [*args, *(kwargs or {}).values()]
        if op is Op.LINEAR and len(arguments) > 1:
            self._note(arguments[0], arguments[1], 1)
        elif op is Op.PRODUCT and len(arguments) > 1:
            self._note(arguments[0], arguments[1], 0)
        elif op is Op.ADDED_PRODUCT and len(arguments) > 2:
            self._note(arguments[1], arguments[2], 0)
        return out

    def _note(self, given: Any, parameter: Any, axis: int) -> None:
        if isinstance(parameter, nn.Parameter) and isinstance(given, Tensor) and parameter.ndim == 2:
            self.seen.append(_Product(parameter, axis, given.detach().reshape(-1, given.shape[-1]).clone()))


@capability(needs="model")
def prune_heads(model: TorchModel, encoded: Encoded, target: Target, sites: Sequence[Site], heads: Heads) -> Text:
    """Drop heads from the matrices of the model, or silence them and return the reason; "" for dropped heads.

    encoded, target: an example that shows which columns the heads own.
    """
    reason = why_not_dropped(model, sites, heads)
    if reason:
        silence(model, projections(model, own(encoded), target, heads))
    else:
        drop(model, sites, heads)
    return reason


def projections(model: TorchModel, item: Item, target: Target, heads: Heads) -> dict[str, Projection]:
    """Find the projection that reads each site's heads, by masking one head at a time."""
    names = {id(p): n for n, p in model.module.named_parameters(remove_duplicate=False)}
    whole = _run(model, item, target, ())
    n = len(whole)
    by_site = {}
    for site, numbers in heads.items():
        off = _run(model, item, target, (Edit("mask_heads", site),))[-n:]
        at = next((i for i, (a, b) in enumerate(zip(whole, off, strict=False)) if _silent(a, b)), None)
        if at is None:
            raise _refused(
                site,
                phrase("errors.models.projection_that_reads_heads"),
                phrase("errors.models.none_that_falls_silent"),
            )
        columns = {}
        for head in numbers:
            one = _run(model, item, target, (Edit("mask_heads", site, (head,)),))[-n:][at].factor
            silent = (one == 0).all(0) & (whole[at].factor != 0).any(0)
            if not bool(silent.any()) or not torch.allclose(one[:, ~silent], whole[at].factor[:, ~silent], atol=1e-4):
                raise _refused(
                    site,
                    phrase("errors.models.columns_head_own", head=head),
                    phrase("errors.models.columns_that_heads_share"),
                )
            columns[head] = tuple(int(i) for i in torch.nonzero(silent).flatten())
        by_site[site] = Projection(names[id(whole[at].parameter)], whole[at].axis, columns)
    _refuse_shared(by_site, heads)
    return by_site


def _run(model: TorchModel, item: Item, target: Target, edits: Sequence[Edit]) -> list[_Product]:
    """Products of a pass. Passes that look for sites may precede an edited pass; its own products are the last."""
    tensors, request = model.tensors([item], [target])
    products = _Products()
    with torch.no_grad(), products:
        if edits:
            capture_call(model.module, lambda: model.run(tensors, request), edits=edits)
        else:
            model.run(tensors, request)
    return products.seen


def _silent(whole: _Product, off: _Product) -> bool:
    return whole.parameter is off.parameter and not bool(off.factor.any()) and bool(whole.factor.any())


def _refused(site: str, expected: Text, got: Text) -> Unsupported:
    return Unsupported(phrase("errors.common.pruning_site", site=site), expected=expected, got=got)


def _refuse_shared(found: Mapping[str, Projection], heads: Heads) -> None:
    """Refuse to prune one of several layers that share their weights."""
    for site, one in found.items():
        for other, two in found.items():
            if one.parameter == two.parameter and set(heads[site]) != set(heads[other]):
                raise _refused(
                    site, phrase("errors.models.same_heads_in_other", other=other), phrase("errors.common.others")
                )


@torch.no_grad()
def silence(model: TorchModel, found: Mapping[str, Projection]) -> int:
    """Zero the columns of these heads; return the number of zeroed weights."""
    parameters = dict(model.module.named_parameters(remove_duplicate=False))
    count = 0
    for one in found.values():
        columns = torch.tensor([c for some in one.columns.values() for c in some])
        parameter = parameters[one.parameter]
        parameter.index_fill_(one.axis, columns.to(parameter.device), 0.0)
        count += len(columns) * parameter.shape[1 - one.axis]
    return count


_SEPARATE = ("q_proj", "k_proj", "v_proj", "o_proj")


def why_not_dropped(model: TorchModel, sites: Sequence[Site], heads: Heads) -> Text:
    """Return the reason why these heads can only be silenced; "" if they can be dropped.

    They can if the configuration names the size of a head apart from the width of the model (Llama, Qwen, Mistral,
    ...), one number of heads serves all layers, and every group of queries around one key keeps as many.
    """
    config: Any = getattr(model.module, "config", None)
    if getattr(config, "head_dim", None) is None or getattr(config, "num_key_value_heads", None) is None:
        return Message("prune.no_head_size")
    groups = set()
    for site in sites:
        owner = dict(model.module.named_modules()).get(site.name)
        if owner is None or any(not isinstance(getattr(owner, name, None), nn.Linear) for name in _SEPARATE):
            return Message("prune.joint_projection")
        groups.add(tuple(sorted(len(kept) for kept in _kept(site, heads, config) if kept)))
    if len(groups) > 1 or len(set(next(iter(groups)))) != 1:
        return Message("prune.unequal_layers")
    return ""


def _kept(site: Site, heads: Heads, config: Any) -> list[list[int]]:
    """Return the query heads that stay, for every head of keys."""
    size = site.heads // int(config.num_key_value_heads)
    pruned = set(heads.get(site.key, ()))
    return [[h for h in range(g * size, (g + 1) * size) if h not in pruned] for g in range(config.num_key_value_heads)]


@torch.no_grad()
def drop(model: TorchModel, sites: Sequence[Site], heads: Heads) -> int:
    """Remove the heads from the matrices; return the number of removed weights. See `why_not_dropped`."""
    config: Any = model.module.config
    width, before = int(config.head_dim), sum(p.numel() for p in model.module.parameters())
    for site in sites:
        owner: Any = model.module.get_submodule(site.name)
        groups = _kept(site, heads, config)
        queries = _spread([h for group in groups for h in group], width)
        keys = _spread([g for g, group in enumerate(groups) if group], width)
        for name, rows in (("q_proj", queries), ("k_proj", keys), ("v_proj", keys)):
            _shrink(getattr(owner, name), rows, 0)
        _shrink(owner.o_proj, queries, 1)
    counts = [_kept(sites[0], heads, config)]
    config.num_attention_heads = sum(len(group) for group in counts[0])
    config.num_key_value_heads = sum(bool(group) for group in counts[0])
    return before - sum(p.numel() for p in model.module.parameters())


def _spread(heads: Sequence[int], width: int) -> Tensor:
    return torch.tensor([h * width + i for h in heads for i in range(width)], dtype=torch.long)


def _shrink(linear: nn.Linear, kept: Tensor, axis: int) -> None:
    linear.weight = nn.Parameter(linear.weight.index_select(axis, kept.to(linear.weight.device)), requires_grad=False)
    if axis == 0 and linear.bias is not None:
        linear.bias = nn.Parameter(linear.bias.index_select(0, kept.to(linear.bias.device)), requires_grad=False)
    linear.out_features, linear.in_features = linear.weight.shape
