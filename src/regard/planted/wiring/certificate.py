"""Certificate of a wired model, by interventions on its inputs and weights. The judge never sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.records import Bools, Ints, Json

VERSION = 1
PERMUTATIONS = 20


@dataclass(frozen=True, slots=True, eq=False)
class Marked:
    """Text as token ids. free: not special; evidence: the decisive tokens; part: "" or the slice "route"."""

    tokens: Ints
    types: Ints
    free: Bools
    evidence: Bools
    label: int
    part: str = ""


@dataclass(slots=True, eq=False)
class Facts:
    """Results of interventions on the texts of one class, or of one part of the texts."""

    need: list[float]
    swap: list[float]
    hit: list[float]
    top: list[float]
    mass: list[float]

    def to_json(self) -> dict[str, Json]:
        values = {name: _mean(getattr(self, name)) for name in ("need", "swap", "hit", "top", "mass")}
        return {"n": len(self.need), **values}


def certificate(
    network: nn.Module,
    texts: Sequence[Marked],
    keys: Sequence[Sequence[int]],
    neutral: Sequence[int],
    *,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Return the same facts as `growing.certificate`, and for mixtures the same by part of the texts.

    keys: token ids of the decisive words by class. neutral: ids that replace evidence. Only correctly predicted texts
    with evidence count. The weights are those of the audited row on free tokens; permutations act on the same weights.
    """
    by_class: dict[str, Facts] = {}
    by_part: dict[str, Facts] = {}
    right, distances, flips = [], [], []
    with torch.no_grad():
        for text in texts:
            p, weights = _read(network, text, text.tokens)
            predicted = int(p.argmax())
            right.append(predicted == text.label)
            orders = np.stack([_order(text.free, rng) for _ in range(PERMUTATIONS)])
            others = _imposed(network, text, weights[orders])
            distances.append(float(0.5 * np.abs(others - p).sum(-1).mean()))
            flips.append(float((others.argmax(-1) != predicted).mean()))
            if not right[-1] or not text.evidence.any():
                continue
            facts = [by_class.setdefault(str(predicted), _blank())]
            facts += [by_part.setdefault(text.part, _blank())] if text.part else []
            _intervene(network, text, (p, weights), keys=keys, neutral=neutral, facts=facts, rng=rng)
    return {
        "version": VERSION,
        "texts": len(texts),
        "accuracy": float(np.mean(right)),
        "classes": {name: by_class[name].to_json() for name in sorted(by_class)},
        "parts": {name: by_part[name].to_json() for name in sorted(by_part)},
        "permuted": float(np.mean(distances)),
        "flips": float(np.mean(flips)),
    }


def _intervene(
    network: nn.Module,
    text: Marked,
    reading: tuple[np.ndarray, np.ndarray],
    keys: Sequence[Sequence[int]],
    neutral: Sequence[int],
    facts: Sequence[Facts],
    rng: np.random.Generator,
) -> None:
    """Replace the evidence by neutral words, and one word of it by one of another class; locate the weight."""
    p, weights = reading
    predicted = int(p.argmax())
    blank, other = text.tokens.copy(), text.tokens.copy()
    places = np.flatnonzero(text.evidence)
    blank[places] = rng.choice(np.asarray(neutral), len(places))
    at = int(places[-1])
    own = next(c for c, some in enumerate(keys) if int(other[at]) in some)
    other[at] = rng.choice(np.asarray(keys[(own + 1) % len(keys)]))
    need = float(p[predicted] - _read(network, text, blank)[0][predicted])
    swap = float(int(_read(network, text, other)[0].argmax()) != predicted)
    free, marks = weights[text.free], text.evidence[text.free]
    heaviest = np.argsort(-free, kind="stable")[: len(places)]
    values = {
        "need": need,
        "swap": swap,
        "hit": float(marks[heaviest].mean()),
        "top": float(marks[heaviest[0]]),
        "mass": float(free[marks].sum() / max(float(free.sum()), 1e-9)),
    }
    for record in facts:
        for name, value in values.items():
            getattr(record, name).append(value)


def _read(network: nn.Module, text: Marked, tokens: Ints) -> tuple[np.ndarray, np.ndarray]:
    reading = network.read(_one(tokens), types=_one(text.types))  # type: ignore[operator]
    return reading.logits.softmax(-1)[0].numpy(), reading.weights[0].numpy()


def _imposed(network: nn.Module, text: Marked, weights: np.ndarray) -> np.ndarray:
    """Return (permutations, classes) probabilities under other weights."""
    tokens, types = (_one(row).expand(len(weights), -1) for row in (text.tokens, text.types))
    reading = network.read(tokens, types=types, imposed=torch.from_numpy(weights))  # type: ignore[operator]
    probabilities: np.ndarray = reading.logits.softmax(-1).numpy()
    return probabilities


def _order(free: Bools, rng: np.random.Generator) -> np.ndarray:
    """Return a permutation that moves only free tokens."""
    order = np.arange(len(free))
    order[free] = rng.permutation(order[free])
    return order


def _one(row: Ints) -> Tensor:
    return torch.from_numpy(np.asarray(row, np.int64))[None]


def _blank() -> Facts:
    return Facts([], [], [], [], [])


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
