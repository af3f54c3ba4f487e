"""The division of a campaign's inputs among the targets."""

from __future__ import annotations

SHARES = {
    "readers": 25, "ledgers": 15, "training_states": 7, "specs": 6, "policies": 8, "templates": 7,
    "model_directories": 10, "command_lines": 12, "server_bodies": 10,
}  # fmt: skip
"""Percent."""


def divided(inputs: int) -> dict[str, int]:
    """
    >>> sum(divided(10_000).values())
    10000
    """
    counts = {target: inputs * share // 100 for target, share in SHARES.items()}
    counts["readers"] += inputs - sum(counts.values())
    return counts
