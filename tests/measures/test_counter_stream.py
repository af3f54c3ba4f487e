"""The counter-based stream: the published numbers, the same one by one and all at once, and no patterns."""

from __future__ import annotations

import numpy as np
import pytest

from regard.measures.keyed_random import Stream, keyed_stream, keyed_streams


def test_the_numbers_of_splitmix64() -> None:
    stream = Stream(1234567)
    assert [stream.bits() for _ in range(5)] == [
        6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821,
    ]  # fmt: skip


def test_one_by_one_and_all_at_once_are_one_stream() -> None:
    one, many = Stream(7), Stream(7)
    assert [one.share() for _ in range(11)] == many.shares(11).tolist()
    assert one.below(1000) == many.below(1000)
    assert one.sample(50, 6) == sorted(set(many.sample(50, 6)))


@pytest.mark.parametrize(("n", "k"), [(0, 3), (1, 1), (5, 9), (10, 4)])
def test_a_sample_has_no_number_twice(n: int, k: int) -> None:
    drawn = Stream(3).sample(n, k)
    assert len(drawn) == len(set(drawn)) == min(n, k)
    assert all(0 <= i < n for i in drawn)


def test_every_number_is_as_likely() -> None:
    stream = Stream(11)
    counts = np.bincount([i for _ in range(4000) for i in stream.sample(12, 3)], minlength=12)
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(1000)
    single = np.bincount([stream.below(6) for _ in range(6000)], minlength=6)
    assert np.abs(single - 1000).max() < 5 * np.sqrt(1000)


def test_normal_numbers() -> None:
    drawn = Stream(5).normals(201, 100)
    assert abs(drawn.mean()) < 0.02
    assert abs(drawn.std() - 1) < 0.02
    assert abs(np.mean(np.abs(drawn) < 1.959964) - 0.95) < 0.01


def test_a_key_has_its_stream_whatever_was_drawn_before() -> None:
    family = keyed_streams(0, "keyboard", 3)
    family("other").shares(100)
    assert family("a").bits() == keyed_streams(0, "keyboard", 3)("a").bits()
    first = {keyed_streams(s, "keyboard", v)(name).bits() for s in (0, 1) for v in (1, 2) for name in "ab"}
    assert len(first) == 8
    assert keyed_stream(0, "a").bits() != keyed_stream(0, "b").bits()
