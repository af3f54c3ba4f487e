"""Search for different attention with the same prediction: gradient ascent on the logits of several attentions.

    maximise  sum over i of JSD(a_i, alpha) + JSD(a_1 .. a_K)   subject to   TVD(answer to a_i, answer) <= cap

with a penalty beyond the cap (Jain & Wallace 2019, whose states are frozen too). The result of each attention is the
most distant point on its path within the cap, so that no candidate exceeds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from regard.records import Floats

RATE, PENALTY = 0.05, 50.0
LEAST = np.float32(1e-30)
HIDDEN = -60.0
"""Logit of positions that are not units: a finite stand-in for minus infinity."""

Answer = Callable[[Floats], tuple[Floats, Floats]]
"""(texts, K, units) attention -> change of the prediction (texts, K), and its gradient (texts, K, units)."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Result of a search. best: (caps, texts, K, units) the most distant attention within each cap, else alpha.

    far: (caps, texts, K) its Jensen-Shannon divergence from alpha, 0 where there was none.
    """

    best: Floats
    far: Floats


def search(alpha: Floats, real: Floats, starts: Floats, answer: Answer, *, caps: Sequence[float], steps: int) -> Found:
    """Search all texts at once. alpha: (texts, units), 0 where `real` is 0. starts: (texts, K, units) logits.

    One path for all caps, `steps` at each, from the widest to the narrowest; a point counts for every cap it satisfies.
    """
    # float32 is as good as the answer of a model, and four times as fast
    a = alpha[:, None].astype(np.float32)
    log_a = np.log(np.maximum(a, LEAST))
    z = (starts + np.where(real[:, None] > 0, 0.0, HIDDEN)).astype(np.float32)
    first, second = np.zeros_like(z), np.zeros_like(z)
    best, far = np.broadcast_to(a, (len(caps), *z.shape)).copy(), np.zeros((len(caps), *z.shape[:2]), np.float32)
    for step in range(1, steps * len(caps) + 1):
        cap = sorted(caps, reverse=True)[(step - 1) // steps]
        log_share = z - z.max(-1, keepdims=True)
        share = np.exp(log_share)
        total = share.sum(-1, keepdims=True)
        share /= total
        log_share -= np.log(total)
        change, slope = answer(share)
        log_middle = np.log(0.5 * (share + a) + LEAST)
        logs = log_share - log_middle
        own = 0.5 * (np.einsum("tku,tku->tk", share, logs) + np.einsum("tou,tku->tk", a, log_a - log_middle))
        for k, limit in enumerate(caps):
            better = (change <= limit) & (own > far[k])
            np.copyto(far[k], own, where=better)
            np.copyto(best[k], share, where=better[..., None])
        log_mean = np.log(share.mean(1, keepdims=True) + LEAST)
        toward = 0.5 * logs + (log_share - log_mean) / share.shape[1]
        beyond = change > cap
        if beyond.any():
            toward -= np.where(beyond, PENALTY, 0.0).astype(np.float32)[..., None] * slope
        toward -= np.einsum("tku,tku->tk", share, toward)[..., None]
        gradient = share * toward
        first += 0.1 * (gradient - first)
        second += 0.001 * (gradient * gradient - second)
        z += (RATE / (1 - 0.9**step)) * first / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return Found(best.astype(np.float64), far.astype(np.float64))


def linear_answer(single: Floats, base: Floats) -> Answer:
    """Return the predictions of two classes.

    single: (texts, units) log-odds under attention on one unit. base: (texts,) p.
    """
    d, p0 = single.astype(np.float32), base[:, None].astype(np.float32)

    def answer(share: Floats) -> tuple[Floats, Floats]:
        p = 1 / (1 + np.exp(-np.clip(np.einsum("tku,tu->tk", share, d), -80, 80)))
        return np.abs(p - p0), (np.sign(p - p0) * p * (1 - p))[..., None] * d[:, None]

    return answer


def linear_answer_of_many(single: Floats, base: Floats) -> Answer:
    """Return the predictions of several classes.

    single: (texts, units, classes) logits under attention on one unit.
    """
    z, p0 = single.astype(np.float32), base[:, None].astype(np.float32)

    def answer(share: Floats) -> tuple[Floats, Floats]:
        logits = share @ z
        p = np.exp(logits - logits.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        way = np.sign(p - p0)
        slope = 0.5 * p * (way - (way * p).sum(-1, keepdims=True))
        return 0.5 * np.abs(p - p0).sum(-1), slope @ np.swapaxes(z, 1, 2)

    return answer


def padded(rows: Sequence[Floats], width: int) -> Floats:
    """Stack rows into (texts, ..., width), padded with zeros."""
    return np.stack([np.pad(r, [(0, 0)] * (r.ndim - 1) + [(0, width - r.shape[-1])]) for r in rows])
