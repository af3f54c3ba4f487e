"""Redundant heads: distances between their maps, and groups of close ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from regard.measures.keyed_random import keyed_rng
from regard.measures.maps import map_divergences, tight_groups
from regard.protocols import SiteAttention
from regard.records import Floats
from regard.surveys.heads.naming import Head

EXAMPLES, ROWS = 16, 8
"""Examples to compare, and rows of each (chosen at random)."""
WITHIN = 0.05
"""Maximum Jensen-Shannon divergence in nats (of at most 0.69) of two near-identical maps."""


@dataclass(frozen=True, slots=True)
class HeadGroup:
    """Heads whose maps are all within `within` of each other.

    apart: the largest divergence between two of them. typical: the median between two heads of this model.
    """

    heads: tuple[str, ...]
    apart: float
    typical: float
    within: float
    n: int


@dataclass(slots=True)
class Likeness:
    """Sums of divergences between the heads of sites whose maps have the same queries and keys."""

    seed: int
    sums: dict[tuple[str, ...], Floats] = field(default_factory=dict)
    counts: dict[tuple[str, ...], int] = field(default_factory=dict)

    def add(self, example: int, sites: Sequence[SiteAttention]) -> None:
        if example >= EXAMPLES:
            return
        like: dict[tuple[int, int, bool], list[SiteAttention]] = {}
        for site in sites:
            if site.shape[0] == 1 and site.shape[3] > 1:
                like.setdefault((*site.shape[2:], site.site.kind == "cross"), []).append(site)
        for (queries, keys, _), group in like.items():
            # the first rows of a causal map are alike by force
            first = min(queries - 1, 3) if group[0].site.kind == "causal" else 0
            rng = keyed_rng(self.seed, "rows compared", example, queries, keys)
            rows = sorted((first + rng.permutation(queries - first)[:ROWS]).tolist())
            maps = np.concatenate([site.rows(0, rows).astype(np.float64) for site in group])
            names = tuple(site.site.key for site in group)
            divergences = map_divergences(maps)
            self.sums[names] = self.sums.get(names, 0.0) + divergences
            self.counts[names] = self.counts.get(names, 0) + 1

    def groups(self, heads: Sequence[Head], within: float = WITHIN) -> list[HeadGroup]:
        """Groups of two heads or more, the largest first."""
        groups = []
        for names, total in self._whole().items():
            members = [h for key in names for h in heads if h.site.key == key]
            apart = total / self.counts[names]
            typical = float(np.median(apart[np.triu_indices(len(apart), 1)])) if len(apart) > 1 else float("nan")
            member = tight_groups(apart, within)
            for group in range(int(member.max(initial=-1)) + 1):
                inside = np.flatnonzero(member == group)
                if len(inside) > 1:
                    names_ = tuple(members[i].name for i in inside)
                    widest = float(apart[np.ix_(inside, inside)].max())
                    groups.append(HeadGroup(names_, widest, typical, within, self.counts[names]))
        return sorted(groups, key=lambda g: (-len(g.heads), g.apart))

    def _whole(self) -> dict[tuple[str, ...], Floats]:
        """Return the most frequent comparison of every site (encoder and decoder may have equal lengths by chance)."""
        sums: dict[tuple[str, ...], Floats] = {}
        for names in sorted(self.sums, key=lambda k: (-self.counts[k], k)):
            if not any(set(names) & set(other) for other in sums):
                sums[names] = self.sums[names]
        return sums
