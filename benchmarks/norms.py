"""Norm-based analysis by the Gram identity, against building the n x n x d tensor of all parts."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np

from benchmarks.lines import Line, peak_memory_mb, side_by_side
from regard.measures.contributions import part_norms

TOKENS, HEADS, WIDTH = 128, 12, 384
"""One layer of MiniLM."""


def run() -> list[Line]:
    """Measure CPU time on one thread, with the same float32 weights and values for both sides."""
    weights, values = made(WIDTH)

    def tensor() -> np.ndarray:
        parts = np.einsum("hqk,hkd->qkd", weights, values, optimize=True)
        return np.linalg.norm(parts, axis=-1)

    def batched() -> np.ndarray:
        """Build the same tensor in the fastest known way: one matrix product per key."""
        parts = weights.transpose(2, 1, 0) @ values.transpose(1, 0, 2)
        return np.sqrt(np.einsum("kqd,kqd->qk", parts, parts))

    def gram() -> np.ndarray:
        return part_norms(weights, values)

    error = float(np.abs(gram() - tensor()).max() / tensor().max())
    if error > 1e-5:
        raise AssertionError(f"the Gram identity is off by {error}")
    spent = side_by_side({"n x n x d by einsum": tensor, "n x n x d by products": batched, "Gram identity": gram})
    tensor_seconds = min(spent["n x n x d by einsum"], spent["n x n x d by products"])
    detail: dict[str, float | str] = {f"{name} ms": seconds * 1000 for name, seconds in spent.items()}
    detail |= {"largest relative difference": error, "peak MB": peak_memory_mb()}
    narrow, wide = memory(WIDTH), memory(4 * WIDTH)
    memory_detail: dict[str, float | str] = {
        f"d={WIDTH} MB": narrow, f"d={4 * WIDTH} MB": wide, "n x n x d MB": _peak(batched),
    }  # fmt: skip
    where = f"{TOKENS} tokens, {HEADS} heads, d={WIDTH}"
    return [
        Line(f"norms of all parts: n x n x d tensor / Gram identity ({where})",
             tensor_seconds / spent["Gram identity"], 5.0, ">=", detail),
        Line("memory of the Gram identity, 4 x the features / 1 x (linear: at most 4)", wide / narrow, 4.0, "<=",
             memory_detail),
    ]  # fmt: skip


def made(width: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.full(TOKENS, 0.2), size=(HEADS, TOKENS)).astype(np.float32)
    return weights, rng.standard_normal((HEADS, TOKENS, width)).astype(np.float32)


def memory(width: int) -> float:
    """Return the largest MB that the Gram identity needs, without its inputs."""
    weights, values = made(width)
    return _peak(lambda: part_norms(weights, values))


def _peak(call: Callable[[], object]) -> float:
    tracemalloc.start()
    call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 2**20


if __name__ == "__main__":
    for line in run():
        print(line.shown())
