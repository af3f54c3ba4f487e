"""Comprehensiveness and sufficiency: the formula spelled out, invariants, and the order of truth and inverse."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regard.errors import InputError
from regard.metrics.comprehensiveness import comprehensiveness
from regard.metrics.sufficiency import sufficiency
from regard.records import Relevance
from regard.testing.metric_rules import planted
from regard.testing.toy import TEXTS, ToyCase

METRICS = {"comprehensiveness": comprehensiveness, "sufficiency": sufficiency}
FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.5)


def spelled_out(case: ToyCase, i: int, values: np.ndarray, *, keep: bool) -> list[float]:
    """The definition, one unit at a time."""
    w, free = case.word_weights(i), [j for j in range(len(values)) if case.units[i].free[j]]
    sign = 1 if case.targets[i] else -1
    ranked = sorted(free, key=lambda j: (-values[j], j))

    def probability(left: set[int]) -> float:
        return 1 / (1 + math.exp(-sign * sum(w[j] for j in left)))

    out = []
    for fraction in FRACTIONS:
        top = set(ranked[: max(1, math.ceil(fraction * len(free) - 1e-9))])
        left = {0} | (top if keep else set(free) - top)
        out.append(probability({0, *free}) - probability(left))
    return out


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("kind", ["truth", "random", "inverse"])
def test_the_formula(name: str, kind: str) -> None:
    case = ToyCase()
    relevance = planted(case, kind)
    got = METRICS[name](case, relevance)
    for i in range(len(TEXTS) - 1):
        want = spelled_out(case, i, np.asarray(relevance[i]), keep=name == "sufficiency")
        np.testing.assert_allclose(got.curves["drop"][i], want, atol=1e-12)
        assert got.values[i] == pytest.approx(np.mean(want))
    assert np.isnan(got.values[-1]), "nothing can be removed from an empty text"
    assert got.where == {"operator": "delete"}
    assert got.grid == FRACTIONS


@pytest.mark.parametrize("name", METRICS)
def test_only_the_ranking_counts(name: str) -> None:
    case = ToyCase()
    truth = planted(case, "truth")
    stretched = Relevance.of("planted", case.ids, [7 * row for row in truth], signed=True)
    np.testing.assert_array_equal(METRICS[name](case, truth).values, METRICS[name](case, stretched).values)


@pytest.mark.parametrize("name", METRICS)
def test_the_operator_is_recorded_and_matters(name: str) -> None:
    case = ToyCase()
    truth = planted(case, "truth")
    masked = METRICS[name](case, truth, operator="mask")
    assert masked.where == {"operator": "mask"}
    assert not np.array_equal(masked.values[:-1], METRICS[name](case, truth).values[:-1])


@pytest.mark.parametrize("name", METRICS)
def test_bins_of_equal_size_are_asked_for_once(name: str) -> None:
    case = ToyCase((TEXTS[0],))  # eight words: 1 %, 5 % and 10 % are one word, 20 % two, 50 % four
    METRICS[name](case, planted(case, "truth"))
    assert case.calls["removed"] == 3


def test_removing_and_keeping_everything_are_the_two_ends() -> None:
    case = ToyCase(TEXTS[:-1])
    truth = planted(case, "truth")
    assert np.abs(sufficiency(case, truth, fractions=(1.0,)).values).max() == 0
    empty = case.removed([units.free[None] for units in case.units]).probability
    np.testing.assert_allclose(comprehensiveness(case, truth, fractions=(1.0,)).values, case.base().probability - empty)


def test_supporting_units_go_first() -> None:
    case = ToyCase(("wonderful terrible good",))
    signed = comprehensiveness(case, planted(case, "truth"), fractions=(0.01,))
    unsigned = Relevance.of("planted", case.ids, [np.abs(case.exact(0)) * [0, 1, 2, 1]])
    against = comprehensiveness(case, unsigned, fractions=(0.01,))
    assert signed.values[0] > 0 > against.values[0], "removing a word that speaks against raises the probability"


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("wrong", [{"fractions": ()}, {"fractions": (0.0,)}, {"fractions": (2.0,)}, {"operator": "x"}])
def test_refuses(name: str, wrong: dict[str, object]) -> None:
    case = ToyCase()
    with pytest.raises(InputError):
        METRICS[name](case, planted(case, "truth"), **wrong)  # type: ignore[arg-type]
