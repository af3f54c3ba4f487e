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
"""(random numbers, how many were kept so far) -> what was drawn. The number is there for balance."""

PATIENCE = 5000
"""After so many draws without anything new there is probably nothing new to find."""


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

    home: the content that decides their split. make: called only if that is the split that is wanted.
    """

    home: str
    make: Callable[[], Sequence[Draft]]
    group: str | None = None


def generated(
    name: str, draw: Draw, *, split: str, n: int, seed: int, settings: Sequence[str | float] = ()
) -> tuple[Example, ...]:
    """`n` examples of one split: the same for the same seed and settings, and the first of any longer list.

    A third of all homes belongs to each of train, dev and test, whatever the seed: no home is ever in two of them.
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
