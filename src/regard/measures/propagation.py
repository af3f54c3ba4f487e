"""The algebra of relevance propagation through self- and cross-attention (Chefer et al. 2021, equations 5-11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Propagation:
    """Share of each origin in each position: source of source, target of target, target of source.

    Sources are the inputs; targets (the outputs of a decoder, the query of a pooling) come with the first attention
    that has other queries than keys.
    """

    ss: Floats
    tt: Floats | None = None
    ts: Floats | None = None

    @staticmethod
    def start(n: int) -> Propagation:
        """Start with the identity: every source holds itself."""
        return Propagation(np.eye(n))

    def through_source(self, a: Floats) -> Propagation:
        """Apply self-attention among sources; a: (n, n)."""
        return replace(self, ss=self.ss + a @ self.ss)

    def fits_target(self, a: Floats) -> bool:
        return a.shape[0] == a.shape[1] and (self.tt is None or a.shape == self.tt.shape)

    def through_target(self, a: Floats) -> Propagation:
        """Apply self-attention among targets, including their share of the sources."""
        tt = np.eye(len(a)) if self.tt is None else self.tt
        ts = None if self.ts is None else self.ts + a @ self.ts
        return Propagation(self.ss, tt + a @ tt, ts)

    def across(self, a: Floats) -> Propagation:
        """Apply cross-attention, or a pooling; a: (targets, sources)."""
        tt = np.eye(len(a)) if self.tt is None or len(self.tt) != len(a) else self.tt
        before = np.zeros_like(a) if self.ts is None or self.ts.shape != a.shape else self.ts
        return Propagation(self.ss, tt, before + normalised(tt).T @ a @ normalised(self.ss))

    def read(self, rows: Sequence[int], *, across: bool) -> Floats:
        """Mean relevance (n,) of the sources over the rows, without the identity."""
        if across:
            return np.zeros(len(self.ss)) if self.ts is None else np.asarray(self.ts[list(rows)].mean(0))
        return np.asarray((self.ss - np.eye(len(self.ss)))[list(rows)].mean(0))


def normalised(r: Floats) -> Floats:
    """Identity plus the row-normalized gathered relevance (equations 8 and 9).

    >>> normalised(np.array([[1.0, 0.5], [0.0, 1.0]])).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    gathered = r - np.eye(len(r))
    total = gathered.sum(-1, keepdims=True)
    return np.asarray(gathered / np.where(total > 0, total, 1.0) + np.eye(len(r)))
