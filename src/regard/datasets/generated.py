"""Generated examples: unique draws from a seed, assigned to splits by content."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from regard.datasets.splits import THIRDS, checked, split_of
from regard.errors import InputError, phrase
from regard.measures.keyed_random import keyed_rng
from regard.records import Example, Json, Message

Draw: TypeAlias = "Callable[[np.random.Generator, int], Drawn]"
"""(random generator, number kept so far, for balance) -> a draw."""

PATIENCE = 5000
"""Draws without anything new after which the generator counts as exhausted."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An example that has no id yet."""

    inputs: Mapping[str, Any]
    label: Json
    rationale: tuple[tuple[float, ...], ...] | None = None
    slices: Mapping[str, str] = field(default_factory=dict)
    alignment: tuple[tuple[int, int, int, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """Drafts that belong together (the notes of a patient).

    home: the content that decides their split. make: called only for the requested split.
    """

    home: str
    make: Callable[[], Sequence[Draft]]
    group: str | None = None


def generated(
    name: str, draw: Draw, *, split: str, n: int, seed: int, settings: Sequence[str | float] = ()
) -> tuple[Example, ...]:
    """Generate `n` examples of one split: equal for equal seed and settings, and a prefix of any longer list.

    Each of train, dev and test owns a third of all homes, whatever the seed, so no home is ever in two splits.
    """
    split = checked(split)
    if n < 1:
        raise InputError(f"{name}.n", expected=phrase("errors.datasets.at_least_example"), got=str(n))
    rng = keyed_rng(seed, name, split, *settings)
    items: list[Example] = []
    taken_names: set[str | bytes] = set()
    count = tries = 0
    while len(items) < n:
        tries += 1
        if tries > PATIENCE:
            expected = phrase("errors.datasets.fewer_examples_or_settings")
            raise InputError(f"{name}.n", expected=expected, got=phrase("errors.datasets.found_n", n=len(items), n_2=n))
        candidate = draw(rng, count)
        if split != "all" and split_of(f"{name} {candidate.home}", fractions=THIRDS) != split:
            continue
        drafts = candidate.make()
        names = {_content(drafts[0].inputs)} | ({f"group {candidate.group}"} if candidate.group else set())
        if names & taken_names:
            continue
        taken_names |= names
        count, tries = count + 1, 0
        for draft in drafts[: n - len(items)]:
            ident = f"{split}-{len(items):05d}"
            items.append(
                Example(
                    ident,
                    draft.inputs,
                    draft.label,
                    draft.rationale,
                    candidate.group,
                    slices=draft.slices,
                    alignment=draft.alignment,
                )
            )
    return tuple(items)


def _content(inputs: Mapping[str, Any]) -> str | bytes:
    value = next(iter(inputs.values()))
    return value if isinstance(value, str) else bytes(np.ascontiguousarray(value).tobytes())


def note(what: str, count: int, *, split: str, seed: int, known: str) -> Message:
    """Describe generated data: `data.kind` and `data.known` of the catalogues hold the words."""
    kind, truth = Message(f"data.kind.{what}"), Message(f"data.known.{known}")
    return Message.of("data.generated", n=count, what=kind, split=split, seed=seed, known=truth)


def share(name: str, value: float) -> float:
    """Check a share in 0..1; an error names the parameter."""
    if not 0 <= value <= 1:
        raise InputError(name, expected=phrase("errors.datasets.share_in_range"), got=str(value))
    return value
