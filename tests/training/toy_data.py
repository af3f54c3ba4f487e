"""A text task that a tiny network learns in a second: which of two marker words is there?"""

from __future__ import annotations

import numpy as np

from regard.measures.keyed_random import keyed_rng
from regard.networks.classifier import AttentionClassifier
from regard.training.batches import TextRows
from regard.training.loop import Settings, seeded

QUICK = Settings(epochs=3, batch_size=16, rate=2e-2, seed=4)


def rows(n: int, key: str) -> TextRows:
    rng = keyed_rng(0, "toy", key)
    labels = rng.integers(0, 2, n)
    texts = []
    for label in labels:
        words = rng.integers(5, 30, rng.integers(3, 9)).tolist()
        words[int(rng.integers(len(words)))] = 3 + int(label)
        texts.append(words)
    return TextRows(texts, labels.astype(np.int64), word_dropout=0.05)


def network(seed: int = 0) -> AttentionClassifier:
    with seeded(seed, "weights"):
        return AttentionClassifier(words=30, classes=2, size=8, hidden=8, dropout=0.2)
