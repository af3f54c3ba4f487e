"""Default methods of an audit: facts in the decorators of the methods, ranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar, cast

from regard.errors import RegardError, UnknownName
from regard.records import Json, Spec
from regard.registry import entry, names

DEFAULT_PROFILE = "standard"
HEADLINE = "headline"
"""Profile name, in the decorators, of the methods that answer the headline questions of every audit."""
ALL = "all"
"""Placeholder for every explainer that is not named beside it."""


def default_methods(kind: str, profile: str, *, without_family: str = "") -> list[str]:
    """Return the methods of a kind that the decorators assign to a profile, by rank, then by name.

    >>> default_methods("explainer", "quick")[:3]
    ['attention', 'rollout', 'input_x_gradient']
    """
    ranked: list[tuple[int, str, str]] = []
    for name in names(kind):
        with suppress(RegardError):  # a package that cannot be imported; `regard list` reports it
            facts = entry(kind, name).facts
            if without_family and facts.get("family") == without_family:
                continue
            for row in cast("Sequence[Json]", facts.get("profile", ())):
                about = row if isinstance(row, dict) else {"profiles": [row], "rank": 1000, "params": ""}
                if profile in cast("list[str]", about["profiles"]):
                    ranked.append((int(str(about["rank"])), name, str(about["params"])))
    return [f"{name}:{params}" if params else name for _, name, params in sorted(ranked)]


@dataclass(frozen=True, slots=True)
class Profile:
    """Thoroughness of an audit.

    Holds the budget, the number of examples without a budget, points on a gradient path, removal operators; the share
    of examples on which metrics rerun explainers, and on which non-default explainers run (0: none). most: the passes
    of a leave-one-out; longer inputs are screened (None: never).
    detailed: removal operators of metrics of detail (see `Metric`; None: as many as of all others).
    """

    name: str
    budget: str
    examples: int
    steps: int
    operators: int
    share: float = 1.0
    shelf: float = 0.0
    most: int | None = None
    detailed: int | None = None

    @property
    def explainers(self) -> list[str]:
        return default_methods("explainer", self.name)

    @property
    def experiments(self) -> list[str]:
        return default_methods("experiment", self.name)

    def metrics(self, *, rationales: bool = False) -> list[str]:
        """Default metrics; plausibility metrics only if the data have rationales."""
        return default_methods("metric", self.name, without_family="" if rationales else "plausibility")


PROFILES: Mapping[str, Profile] = {
    row.name: row
    for row in (
        Profile("quick", "2m", examples=80, steps=8, operators=2, most=40),
        Profile("standard", "15m", examples=200, steps=8, operators=2, share=0.1, shelf=0.1, most=64, detailed=1),
        Profile("full", "none", examples=800, steps=64, operators=3, share=0.25, shelf=0.25),
    )
}


def profile(name: str) -> Profile:
    if name not in PROFILES:
        raise UnknownName("profile", name, PROFILES)
    return PROFILES[name]


Named = TypeVar("Named", str, str | Spec)


def expanded(explainers: Sequence[Named]) -> list[Named]:
    """Replace `all` by every explainer that is neither named beside it nor an adapter.

    >>> expanded(["rollout", "random"])
    ['rollout', 'random']
    >>> methods = expanded(["lime:samples=20", "all"])
    >>> methods[0], "lime" in methods, "alti" in methods, "given" in methods
    ('lime:samples=20', False, True, False)
    """
    if ALL not in explainers:
        return list(explainers)
    methods: list[Named] = [name for name in explainers if name != ALL]
    excluded = {str(name).partition(":")[0] for name in methods}
    methods.extend(
        n for n in names("explainer") if n not in excluded and not entry("explainer", n).facts.get("adapter")
    )
    return methods
