"""The search for other attention with the same answer: gradients on the logits of several attentions at once.

    maximise  sum over i of JSD(a_i, alpha) + JSD(a_1 .. a_K)   subject to   TVD(answer to a_i, answer) <= cap

with a penalty for what is beyond the cap (Jain & Wallace 2019, whose states are frozen too). What is kept of each
attention is the most distant point on its way that was within the cap, so that no candidate is beyond it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from regard.records import Floats

RATE, PENALTY = 0.05, 50.0
TINY = 1e-12

Answer = Callable[[Floats], tuple[Floats, Floats]]
"""(texts, K, units) attention -> change of the prediction (texts, K), and its gradient (texts, K, units)."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """best: (caps, texts, K, units) the most distant attention within each cap; alpha itself where there was none.

    far: (caps, texts, K) its Jensen-Shannon divergence from alpha, 0 where there was none.
    """

    best: Floats
    far: Floats


def search(alpha: Floats, real: Floats, starts: Floats, answer: Answer, *, caps: Sequence[float], steps: int) -> Found:
    """alpha: (texts, units), 0 where `real` is 0. starts: (texts, K, units) logits. All texts at once.

    One way for all caps, `steps` at each, from the widest to the narrowest; a point counts for every cap that it keeps.
    """
    a = alpha[:, None]
    hidden = np.where(real[:, None] > 0, 0.0, -np.inf)
    z, first, second = starts.copy(), np.zeros_like(starts), np.zeros_like(starts)
    best, far = np.broadcast_to(a, (len(caps), *z.shape)).copy(), np.zeros((len(caps), *z.shape[:2]))
    for step in range(1, steps * len(caps) + 1):
        cap = sorted(caps, reverse=True)[(step - 1) // steps]
        shifted = z + hidden
        e = np.exp(shifted - shifted.max(-1, keepdims=True))
        share = e / e.sum(-1, keepdims=True)
        change, slope = answer(share)
        middle = 0.5 * (share + a)
        logs = np.log((share + TINY) / (middle + TINY))
        own = 0.5 * ((share * logs).sum(-1) + (a * np.log((a + TINY) / (middle + TINY))).sum(-1))
        for k, limit in enumerate(caps):
            better = (change <= limit) & (own > far[k])
            if better.any():
                far[k][better], best[k][better] = own[better], share[better]
        mean = share.mean(1, keepdims=True)
        apart = np.log((share + TINY) / (mean + TINY)) / share.shape[1]
        toward = 0.5 * logs + apart - PENALTY * (change > cap)[..., None] * slope
        gradient = share * (toward - (share * toward).sum(-1, keepdims=True))
        first += 0.1 * (gradient - first)
        second += 0.001 * (gradient * gradient - second)
        z += RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return Found(best, far)


def linear_answer(single: Floats, base: Floats) -> Answer:
    """Two classes: single (texts, units) are the log-odds under attention on one unit, base (texts,) p."""
    d, p0 = single[:, None], base[:, None]

    def answer(share: Floats) -> tuple[Floats, Floats]:
        p = 1 / (1 + np.exp(-np.clip((share * d).sum(-1), -700, 700)))
        return np.abs(p - p0), (np.sign(p - p0) * p * (1 - p))[..., None] * d

    return answer


def padded(rows: Sequence[Floats], width: int) -> Floats:
    """(texts, ..., width) filled up with zeros."""
    return np.stack([np.pad(r, [(0, 0)] * (r.ndim - 1) + [(0, width - r.shape[-1])]) for r in rows])
