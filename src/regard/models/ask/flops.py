"""Operations of a forward pass, and peak operations per second of this machine: the speed limit of every method.

Two operations per entry of every matrix and position: the usual estimate for dense networks. It omits the products of
queries and keys (a few per cent for sentences) and counts shared layers once, so it is a slight underestimate.
"""

from __future__ import annotations

import time

import torch
from torch import nn

SIDE, TURNS = 384, 40
"""Sizes of square matrices for timing: large enough to be fast, and about 1 ms.

So some repetition runs without interruption on a shared processor.
"""


def flops_per_position(module: nn.Module) -> float:
    """Floating-point operations of a forward pass per input position; embedding lookups count as zero.

    >>> flops_per_position(nn.Sequential(nn.Embedding(100, 8), nn.Linear(8, 4)))
    64.0
    """
    looked_up = {id(p) for m in module.modules() if isinstance(m, nn.Embedding) for p in m.parameters()}
    return 2.0 * sum(p.numel() for p in module.parameters() if p.ndim > 1 and id(p) not in looked_up)


def machine_flops() -> float:
    """Operations per second of a float32 matrix product here and now, with torch's current threads."""
    a, b = torch.ones(SIDE, SIDE), torch.ones(SIDE, SIDE)
    spent = []
    with torch.inference_mode():
        for _ in range(TURNS):
            start = time.perf_counter()
            torch.mm(a, b)
            spent.append(time.perf_counter() - start)
    return 2.0 * SIDE**3 / min(spent)
