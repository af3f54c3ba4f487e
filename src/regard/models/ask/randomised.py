"""Randomized copy of a module: the weights of its upper blocks are permuted, block by block.

Permuted rather than redrawn: every tensor keeps its values, so activations neither vanish nor explode; only the
structure is lost. The copy shares the tensors that it does not change with the original; nothing ever writes into them.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from regard.errors import InputError, Unsupported, phrase
from regard.measures.keyed_random import keyed_rng
from regard.models.adapter import TorchModel
from regard.models.ask.capability import capability
from regard.protocols import Model


def blocks(module: nn.Module) -> list[list[str]]:
    """Parameter names in blocks, from bottom to top, in declaration order.

    A block is one numbered part (a layer of a stack), or one module outside of stacks.

    >>> blocks(nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 4), nn.Linear(4, 2)))
    [['0.weight'], ['1.weight', '1.bias'], ['2.weight', '2.bias']]
    """
    by_block: dict[str, list[str]] = {}
    for name, _ in module.named_parameters():
        numbered = re.match(r"(?:.*?\.)??\d+(?=\.)", name)
        key = numbered.group() if numbered else name.rpartition(".")[0]
        by_block.setdefault(key, []).append(name)
    return list(by_block.values())


@capability(needs="model")
def randomised_copy(model: TorchModel, share: float, draw: int) -> Model:
    """Copy the model with permuted weights in the top `share` of its blocks; the model itself is unchanged.

    Copies are cached, and share their tensors: all steps of a cascade take the memory of one more model.
    """
    return model.once(("randomised copy", share, draw), lambda: _copy(model, share, draw))


def _copy(model: TorchModel, share: float, draw: int) -> TorchModel:
    permuted: dict[str, nn.Parameter] = model.once(("permuted weights", draw), dict)
    module, memo = _permuted_copy(model.module, share, draw, name=model.name, drawn=permuted)
    embedding = None if model.embedding is None else memo.get(id(model.embedding))
    return TorchModel(
        module,
        model.reader,
        model.row,
        name=f"{model.name}, top {share:.0%} randomised",
        labels=model.labels,
        device=str(model.device),
        traits=replace(model.traits, shares=False),
        embedding=embedding if isinstance(embedding, nn.Module) else None,
        call=model.call,
    )


def _permuted_copy(
    module: nn.Module, share: float, draw: int, *, name: str, drawn: dict[str, nn.Parameter]
) -> tuple[nn.Module, dict[int, object]]:
    """Copy the module; also return the memo that maps originals to copies. drawn: cache of permuted tensors by name.

    Shared (tied) tensors are one tensor: if either use is in the upper share, both change.
    """
    if not 0 < share <= 1:
        raise InputError("share", expected=phrase("errors.common.more_than_at_most"), got=str(share))
    parts = blocks(module)
    count = max(1, int(np.ceil(share * len(parts) - 1e-9)))
    upper = {n for part in parts[len(parts) - count :] for n in part}
    tensors: Mapping[str, nn.Parameter] = dict(module.named_parameters())
    memo: dict[int, object] = {id(p): p for p in tensors.values()}
    for n in sorted(upper):
        p = tensors[n]
        if not p.is_floating_point() or p.numel() < 2:
            continue
        if n not in drawn:
            order = torch.from_numpy(keyed_rng(draw, "randomised", n).permutation(p.numel()))
            drawn[n] = nn.Parameter(
                p.detach().flatten()[order.to(p.device)].reshape(p.shape), requires_grad=p.requires_grad
            )
        memo[id(p)] = drawn[n]
    try:
        return copy.deepcopy(module, memo), memo
    except Exception as error:  # somebody else's module may refuse in any way
        raise Unsupported(
            phrase("errors.models.randomised_copy", name=name),
            expected=phrase("errors.models.module_that_can_copied"),
            got=f"{type(error).__name__}: {error}",
        ) from error
