"""Explanation drift: shares of relevance before and after, per unit or word."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from regard.attacks._search import by_word
from regard.attacks._text import Text
from regard.measures.agreement import spearman
from regard.measures.divergence import jsd
from regard.measures.ranking import top_k
from regard.protocols import Case
from regard.records import Floats, Threat


def shares(values: Floats) -> Floats:
    """Return magnitudes normalised to sum 1; uniform if all are 0."""
    size = np.abs(np.asarray(values, np.float64))
    total = size.sum()
    return size / total if total > 0 else np.full(len(size), 1 / max(1, len(size)))


def mass_on_top(before: Floats, after: Floats, k: int) -> float:
    """Return the share in `after` of the k most relevant units of `before` (Ghorbani et al. 2019)."""
    return float(after[top_k(before, min(k, len(before)))].sum())


def drift(before: Floats, after: Floats, k: int) -> Mapping[str, float]:
    """Return drift measures of two share arrays; an undefined correlation counts as 0."""
    k = min(k, len(before))
    shared = top_k(before, k) & top_k(after, k)
    correlation = float(spearman(before, after)) if len(before) > 2 else 1.0
    return {
        "top_k_overlap": float(shared.sum()) / max(1, k),
        "top_k_mass": mass_on_top(before, after, k),
        "spearman": 0.0 if np.isnan(correlation) else correlation,
        "jensen_shannon": float(jsd(before, after)),
    }


def by_place(case: Case, i: int, values: Floats) -> Floats:
    """Return shares of relevance per word of a text, per free unit otherwise."""
    units = case.units[i]
    if isinstance(case.examples[i].inputs.get("text"), str):
        return shares(by_word(np.abs(values), units, Text(case.examples[i], Threat())))
    return shares(np.asarray(values)[units.free])
