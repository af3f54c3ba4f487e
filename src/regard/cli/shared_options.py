"""The option set that all commands share, and the reason why a command has no use for one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from regard.present.messages.messages import say

F = TypeVar("F", bound=Callable[..., Any])
EVERYWHERE = ("-o", "--out", "-q", "--quiet", "-v", "--verbose", "--json", "--lang")
TABLE = ("--labels", "--split", "--text-column", "--pair-column", "--label-column")
OF_A_MODEL = ("--device", "--seed", *TABLE)
SHARED = (*EVERYWHERE, *OF_A_MODEL)


def _without(reason: str, *options: str) -> dict[str, str]:
    return dict.fromkeys(options, reason)


WITHOUT: dict[str, dict[str, str]] = {
    **dict.fromkeys(
        ("metrics", "experiments", "gate", "status", "verdicts", "report", "export"), _without("stored", *OF_A_MODEL)
    ),
    **dict.fromkeys(("list", "verify", "new", "completion"), _without("no_model", *OF_A_MODEL)),
    **dict.fromkeys(("cite", "atlas"), _without("messages", *TABLE)),
    **dict.fromkeys(("train", "improve"), _without("all_splits", "--split")),
    "align": _without("no_classes", "--labels"),
    "doctor": _without("machine", "--seed", *TABLE),
    "serve": {**_without("requests", *TABLE), **_without("endless", "-o", "--out")},
}
"""Command -> option of the shared set that has no meaning there -> key of the reason."""


def missing_option_text(command: str, option: str) -> str | None:
    """Explain why a command lacks an option of the shared set; None for any other option."""
    reason = WITHOUT.get(command, {}).get(option)
    if reason is None:
        return None
    return say("term.options.lacks", command=command, option=option, reason=say(f"term.options.{reason}"))


def seed_option(function: F) -> F:
    """Add `--seed`."""
    return click.option("--seed", type=int, default=0, show_default=True)(function)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the random numbers that a model draws while it runs, and restore torch's state afterwards."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
