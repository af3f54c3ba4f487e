"""Words that other rooms and other commands print too, in English."""

from __future__ import annotations

from regard.present.messages.messages import catalogue

CAVEAT = catalogue("en")["caveat"]
"""What must stand beside every attention map."""


def count(n: int, noun: str) -> str:
    """
    >>> count(1, "example"), count(2, "example")
    ('1 example', '2 examples')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
