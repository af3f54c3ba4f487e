"""Operations of a forward pass, and peak operations per second of this machine: the speed limit of every method.

Two operations per entry of every matrix and position: the usual estimate for dense networks. It leaves out the products
of queries and keys (a few per cent for sentences) and counts shared layers once, so that it is rather too small.
"""

from __future__ import annotations

import time

import torch
from torch import nn

SIDE, TURNS = 384, 40
"""Square matrices whose product shows what the machine can do: large enough to be fast, and about 1 ms, so that one of
the turns is not interrupted where other work shares the processor."""


def flops_per_position(module: nn.Module) -> float:
    """Floating-point operations of a forward pass per input position; embedding lookups count as zero.

    >>> flops_per_position(nn.Sequential(nn.Embedding(100, 8), nn.Linear(8, 4)))
    64.0
    """
    looked_up = {id(p) for m in module.modules() if isinstance(m, nn.Embedding) for p in m.parameters()}
    return 2.0 * sum(p.numel() for p in module.parameters() if p.ndim > 1 and id(p) not in looked_up)


def machine_flops() -> float:
    """Operations per second of a product of float32 matrices here and now, with the threads that torch has."""
    a, b = torch.ones(SIDE, SIDE), torch.ones(SIDE, SIDE)
    spent = []
    with torch.inference_mode():
        for _ in range(TURNS):
            start = time.perf_counter()
            torch.mm(a, b)
            spent.append(time.perf_counter() - start)
    return 2.0 * SIDE**3 / min(spent)
