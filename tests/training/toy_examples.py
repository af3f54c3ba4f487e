"""Tiny data sets of every modality, each learned in a second or two."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from regard.datasets.examples import Examples
from regard.measures.keyed_random import keyed_rng
from regard.records import Example, Json
from regard.training.train_one import Splits

Inputs = dict[str, object]


def text(label: int, rng: np.random.Generator) -> Inputs:
    return {"text": " ".join(rng.permutation(["good" if label else "bad", "film", "the", "it"]))}


def image(label: int, rng: np.random.Generator) -> Inputs:
    picture = rng.random((4, 4))
    picture[:2] += 3 * label
    return {"image": picture}


def series(label: int, rng: np.random.Generator) -> Inputs:
    return {"series": rng.random((int(rng.integers(4, 8)), 2)) + 2 * label}


def row(label: int, rng: np.random.Generator) -> Inputs:
    return {"row": rng.random(3) + np.array([0.0, label, 0.0])}


def question(label: int, rng: np.random.Generator) -> Inputs:
    """The answer to the question "price" is the first word, that to "place" the second."""
    aspect = str(rng.choice(["place", "price"]))
    words = ["good" if label else "bad", "bad" if label else "good"]
    return {"text": " ".join(["it", *(words if aspect == "price" else words[::-1])]), "text_pair": aspect}


def marked(example: Example) -> tuple[tuple[float, ...], ...]:
    """Where the decisive word is."""
    said = str(example.inputs["text"])
    at = said.find("good" if "good" in said else "bad")
    return ((float(at), float(at + 4 - ("bad" in said))),)


def examples(make: Callable[[int, np.random.Generator], Inputs], key: str, n: int = 48) -> Examples:
    rng = keyed_rng(0, key)
    items = [Example(f"{key}{i}", make(i % 2, rng), i % 2) for i in range(n)]
    if make is text:
        items = [Example(e.id, e.inputs, e.label, marked(e)) for e in items]
    return Examples("toy", tuple(items), ("no", "yes"))


def splits(make: Callable[[int, np.random.Generator], Inputs], n: int = 48) -> Splits:
    return Splits(examples(make, "train", n), examples(make, "dev", 20), examples(make, "test", 20))


def labelled(items: Examples, label: Callable[[Example], Json]) -> Examples:
    return Examples("toy", tuple(Example(e.id, e.inputs, label(e)) for e in items))
