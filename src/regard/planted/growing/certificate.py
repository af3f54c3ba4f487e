"""Certificate: ground truth about a trained planted model, from the generator's knowledge. The judge never sees it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from regard.measures.keyed_random import keyed_rng
from regard.networks.vocabulary import PAD, SPECIALS
from regard.planted.growing.heads import Headed
from regard.planted.growing.networks import Planted
from regard.planted.growing.rows import Marked
from regard.records import Json

VERSION = 2
"""Version of the stored certificate; older ones are recomputed."""
TEXTS = 400
PERMUTATIONS = 20


def certificate(
    network: Planted | Headed, texts: Marked, keys: Sequence[Sequence[int]], fillers: int
) -> dict[str, Json]:
    """Return accuracy and, per predicted class, the need for its evidence and the attention on it.

    keys: token ids of the decisive words by class. Counts only correctly predicted texts, for whose class the generator
    knows the evidence. need: mean drop of p when filler replaces the evidence; swap: share of flips when evidence of
    another class replaces it; hit: share of the |E| heaviest words that are evidence; top: how often the heaviest is;
    mass: their weight; permuted, flips: change of p and share of flips under permuted weights.
    """
    rng = keyed_rng(0, "certificate")
    lead = int(isinstance(network, Headed))
    with torch.no_grad():
        readings = [_read(network, _one(t)) for t in texts.tokens]
        probability = np.array([float(p.max()) for p, _ in readings])
        predicted = np.array([int(p.argmax()) for p, _ in readings])
        scorable = np.array([bool(e.any()) for e in texts.evidence]) | _default(texts)
        right = predicted == texts.labels
        classes: dict[str, Json] = {}
        for c in range(len(set(texts.labels.tolist()))):
            texts_of_class = [i for i in np.flatnonzero((predicted == c) & right) if texts.evidence[i].any()]
            need, swap, hit, top, mass = ([] for _ in range(5))
            for i in texts_of_class:
                tokens, marks = texts.tokens[i], texts.evidence[i]
                blank, other = tokens.copy(), tokens.copy()
                blank[marks] = rng.integers(len(SPECIALS), len(SPECIALS) + fillers, int(marks.sum()))
                other[marks] = rng.choice(keys[(c + 1) % len(keys)], int(marks.sum()))
                need.append(probability[i] - float(_read(network, _one(blank))[0][c]))
                swap.append(float(int(_read(network, _one(other))[0].argmax()) != c))
                weights = readings[i][1][lead:]
                own = marks[lead:]
                if len(weights) != len(own):  # one key
                    continue
                heaviest = np.argsort(-weights, kind="stable")[: int(own.sum())]
                hit.append(float(own[heaviest].mean()))
                top.append(float(own[heaviest[0]]))
                mass.append(float(weights[own].sum() / max(float(weights.sum()), 1e-9)))
            classes[str(c)] = {
                "n": len(texts_of_class),
                "need": _mean(need),
                "swap": _mean(swap),
                "hit": _mean(hit),
                "top": _mean(top),
                "mass": _mean(mass),
            }
        permutation = (
            _permuted(network, texts, readings, predicted, rng) if isinstance(network, Planted) else (None, None)
        )
    return {
        "version": VERSION,
        "texts": len(texts),
        "accuracy": float(right[scorable].mean()),
        "classes": classes,
        "permuted": permutation[0],
        "flips": permutation[1],
    }


def _one(tokens: np.ndarray) -> Tensor:
    return torch.from_numpy(tokens)[None]


def _read(network: Planted | Headed, tokens: Tensor) -> tuple[np.ndarray, np.ndarray]:
    reading = network.read(tokens)
    return reading.logits.softmax(-1)[0].numpy(), reading.weights[0].numpy()


def _default(texts: Marked) -> np.ndarray:
    """Return texts without evidence whose label is not random: all texts of some class have none."""
    bare = np.array([not e.any() for e in texts.evidence])
    return np.array([bare[texts.labels == label].all() for label in texts.labels])


def _permuted(
    network: Planted,
    texts: Marked,
    readings: Sequence[tuple[np.ndarray, np.ndarray]],
    predicted: np.ndarray,
    rng: np.random.Generator,
) -> tuple[float | None, float | None]:
    if network.recipe.score == "mean" or network.recipe.noise:
        return None, None
    distances, flips = [], []
    for tokens, (p, weights), c in zip(texts.tokens, readings, predicted, strict=True):
        one = _one(tokens)
        states = network.read(one).states
        orders = torch.from_numpy(np.stack([rng.permutation(len(weights)) for _ in range(PERMUTATIONS)]))
        contexts = torch.from_numpy(weights)[orders] @ states[0]
        logits = network.answer(contexts, states.expand(PERMUTATIONS, -1, -1), (one != PAD).expand(PERMUTATIONS, -1))
        other = logits.softmax(-1).numpy()
        distances.append(float(0.5 * np.abs(other - p).sum(-1).mean()))
        flips.append(float((other.argmax(-1) != c).mean()))
    return float(np.mean(distances)), float(np.mean(flips))


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
