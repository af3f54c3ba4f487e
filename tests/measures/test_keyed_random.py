from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from regard.measures.keyed_random import keyed_rng


def first(*keys: object) -> int:
    return int(keyed_rng(0, *keys).integers(2**62))


def test_same_keys_same_numbers_in_another_process() -> None:
    code = "from regard.measures.keyed_random import keyed_rng; print(keyed_rng(0, 'x', 3).integers(2**62))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(other) == first("x", 3)


DIFFERENT = [
    (("ab", "c"), ("a", "bc")),
    ((1,), ("1",)),
    ((1,), (1.0,)),
    ((1,), (True,)),
    ((None,), ("None",)),
    ((("a", "b"),), ("a", "b")),
    ((), ("",)),
    (("ü",), ("u\u0308",)),
]


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_different_keys_different_numbers(left: tuple[object, ...], right: tuple[object, ...]) -> None:
    assert first(*left) != first(*right)


def test_seed_matters_and_numpy_scalars_count_as_their_value() -> None:
    assert keyed_rng(0, "a").integers(2**62) != keyed_rng(1, "a").integers(2**62)
    assert first(np.int64(5), np.str_("a")) == first(5, "a")
    assert first(["a", 1]) == first(("a", 1))


def test_a_stranger_is_refused() -> None:
    with pytest.raises(TypeError, match="key must be"):
        keyed_rng(0, object())


def test_streams_look_independent() -> None:
    means = [keyed_rng(0, "m", i).random(200).mean() for i in range(200)]
    assert abs(np.mean(means) - 0.5) < 4 * (1 / 12 / 40_000) ** 0.5
    assert 0.5 < np.std(means) / (1 / 12 / 200) ** 0.5 < 1.5
