"""Alignment error rate: against its definition, its bounds, and links of characters cut into any tokens."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from regard.measures.alignment import Link, alignment_error_rate, strongest, token_links

links = st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12)


def test_by_hand() -> None:
    # |A| = 3, |S| = 2; A & S = {(0, 0)}, A & P = {(0, 0), (2, 1)}
    rate = alignment_error_rate([(0, 0), (2, 1), (3, 3)], sure=[(0, 0), (1, 1)], possible=[(2, 1)])
    assert rate == pytest.approx(1 - (1 + 2) / (3 + 2))
    assert math.isnan(alignment_error_rate([], sure=[]))


@given(links, links)
def test_without_possible_links_it_is_one_minus_f1(found: frozenset[Link], sure: frozenset[Link]) -> None:
    assume(found or sure)
    both = len(found & sure)
    precision, recall = both / max(1, len(found)), both / max(1, len(sure))
    f1 = 2 * precision * recall / (precision + recall) if both else 0.0
    assert alignment_error_rate(found, sure) == pytest.approx(1 - f1)
    assert alignment_error_rate(found, sure) == alignment_error_rate(sure, found)


@given(links, links, links)
def test_bounds_and_what_is_best(found: frozenset[Link], sure: frozenset[Link], more: frozenset[Link]) -> None:
    assume(found or sure)
    rate = alignment_error_rate(found, sure, more)
    assert 0 <= rate <= alignment_error_rate(found, sure) <= 1, "a possible link never makes it worse"
    assert (rate == 0) == (sure <= found <= sure | more)


@given(links, st.permutations(range(6)), st.permutations(range(6)))
def test_the_numbering_of_tokens_is_of_no_importance(
    found: frozenset[Link], rows: list[int], columns: list[int]
) -> None:
    sure = frozenset({(0, 0), (1, 2), (2, 1)})
    moved = [frozenset((rows[i], columns[j]) for i, j in some) for some in (found, sure)]
    assert alignment_error_rate(*moved) == alignment_error_rate(found, sure)


def test_a_corpus_is_one_set() -> None:
    corpus = alignment_error_rate([(0, 0, 0), (1, 0, 0), (1, 1, 1)], sure=[(0, 1, 0), (1, 0, 0), (1, 1, 1)])
    assert corpus == pytest.approx(1 - 4 / 6)


def test_strongest_takes_one_source_for_each_target() -> None:
    weights = np.array([[0.1, 0.9, 0.0], [0.5, 0.5 + 1e-9, 0.0], [0.0, 0.2, 0.8], [0.4, 0.3, 0.3]])
    assert strongest(weights) == {(1, 0), (0, 1), (2, 2), (0, 3)}, "equals: the first"
    assert strongest(weights, targets={0, 2}) == {(1, 0), (2, 2)}


CUTS = {
    "words": ([(0, 1), (2, 5), (6, 10)], [(0, 4), (5, 7), (8, 10)]),
    "characters": ([(i, i + 1) for i in range(10)], [(i, i + 1) for i in range(10)]),
    "pieces": ([(0, 1), (2, 4), (4, 5), (6, 8), (8, 10), (0, 0)], [(0, 0), (0, 2), (2, 4), (4, 5), (5, 8), (8, 10)]),
}


@pytest.mark.parametrize("cut", CUTS)
def test_right_attention_has_rate_0_however_the_texts_are_cut(cut: str) -> None:
    # 3 May 1979 -> 1979-05-03
    alignment = [(0, 1, 8, 10), (2, 5, 5, 7), *((6 + i, 7 + i, i, i + 1) for i in range(4))]
    source, target = CUTS[cut]
    known = token_links(alignment, source, target)
    assert known.sure <= known.possible
    weights = np.full((len(target), len(source)), 0.01)
    wrong = weights.copy()
    for i, j in sorted(known.possible):
        weights[j, i] += 0.5
    for j in known.targets:
        wrong[j, next(i for i in range(len(source)) if (i, j) not in known.possible)] += 0.5
    assert alignment_error_rate(strongest(weights, known.targets), *known) == 0
    assert alignment_error_rate(strongest(wrong, known.targets), *known) == 1
    covered = [target[j] for j in known.targets]
    assert not any(a <= 4 < b for a, b in covered if b - a == 1), "nobody wrote the hyphen"
