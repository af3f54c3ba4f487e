"""Batches of similar length, to keep padding small."""

from __future__ import annotations

from collections.abc import Sequence

POSITIONS = 896
"""Maximum positions per batch on a CPU: more fall out of its cache (MiniLM: 20 % slower at 1600)."""
ENOUGH = 256
"""Positions at which a CPU reaches full speed (MiniLM: 5 % from here to 2048).

Beyond, longer rows in the batch only add padding.
"""


def like_lengths(lengths: Sequence[int]) -> list[list[int]]:
    """Indices from short to long, cut into pieces.

    No piece exceeds POSITIONS (except for one long row), and no piece that is large enough already gets padding.

    >>> like_lengths([30, 100, 30, 100, 99])
    [[0, 2, 4], [1, 3]]
    """
    runs: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: (lengths[i], i)):
        run = runs[-1] if runs else []
        if not run or (lengths[i] > lengths[run[-1]] and len(run) * lengths[run[-1]] >= ENOUGH):
            runs.append([i])
        else:
            run.append(i)
    pieces = []
    for run in runs:
        count = min(len(run), -(-len(run) * max(lengths[i] for i in run) // POSITIONS))
        size, longer = divmod(len(run), count)
        start = 0
        for k in range(count):  # equal parts: no small rest
            stop = start + size + (k < longer)
            pieces.append(run[start:stop])
            start = stop
    return pieces
