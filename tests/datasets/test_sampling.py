"""Samples: seeded, stratified within 1, and the same whatever the order of the file."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from regard.datasets.sampling import GroupSample, StratifiedSample, quotas, stratified, whole_groups
from regard.datasets.splits import normalised, split, split_of
from regard.records import Example

counts = st.dictionaries(st.text("abcdefgh", min_size=1, max_size=2), st.integers(1, 60), min_size=1, max_size=8)


def examples(sizes: dict[str, int]) -> list[Example]:
    return [Example(f"{c}{i}", {"text": f"{c} {i}"}, c) for c, size in sizes.items() for i in range(size)]


@given(counts, st.integers(1, 200))
def test_quotas_are_exact_within_one_and_sum_up(sizes: dict[str, int], n: int) -> None:
    total = sum(sizes.values())
    seats = quotas(sizes, n)
    assert sum(seats.values()) == min(n, total)
    for name, count in sizes.items():
        assert abs(seats[name] - min(n, total) * count / total) < 1
        assert seats[name] <= count


@given(counts)
def test_a_class_is_only_left_out_when_there_are_not_seats_enough(sizes: dict[str, int]) -> None:
    """One seat per class is always possible if the floors leave as many seats as there are empty classes."""
    n = len(sizes)
    seats = quotas(sizes, n)
    empty = [name for name, taken in seats.items() if taken == 0]
    floors = sum(n * count // sum(sizes.values()) for count in sizes.values())
    small = sum(n * count < sum(sizes.values()) for count in sizes.values())
    assert len(empty) == max(0, small - (n - floors))


@settings(max_examples=60)
@given(counts, st.integers(1, 60), st.integers(0, 3), st.randoms(use_true_random=False))
def test_the_sample_does_not_depend_on_the_order(sizes: dict[str, int], n: int, seed: int, rng: random.Random) -> None:
    items = examples(sizes)
    shuffled = rng.sample(items, len(items))
    taken, again = stratified(items, n, seed=seed), stratified(shuffled, n, seed=seed)
    assert {e.id for e in taken} == {e.id for e in again}
    assert len(taken) == min(n, len(items))
    if n < len(items):
        assert [e.id for e in taken] == [e.id for e in again]
        got = Counter(e.label for e in taken)
        assert all(abs(got[c] - n * size / len(items)) < 1 for c, size in sizes.items())
    else:
        assert taken == items, "a file that is small enough keeps its order"


def test_seeds_give_other_samples_and_the_same_seed_the_same() -> None:
    items = examples({"a": 300, "b": 300})
    samples = [frozenset(e.id for e in stratified(items, 100, seed=seed)) for seed in (0, 0, 1, 2)]
    assert samples[0] == samples[1]
    assert len(set(samples)) == 3
    assert len(samples[1] & samples[2]) < 60, "seeds must not share most of their sample (33 expected)"


def test_every_item_is_as_likely_as_any_other() -> None:
    items = examples({"a": 20})
    drawn = Counter(e.id for seed in range(400) for e in stratified(items, 5, seed=seed))
    assert set(drawn) == {e.id for e in items}
    assert 60 < min(drawn.values()) <= max(drawn.values()) < 145, "100 expected, sd 8.7"


def test_many_labels_are_numbers_and_the_sample_is_then_the_smallest_keys_of_all() -> None:
    stream: StratifiedSample[int] = StratifiedSample(30, seed=0)
    plain: StratifiedSample[int] = StratifiedSample(30, seed=0)
    for i in range(500):
        stream.add(str(i * 0.37), f"row {i}", i)
        plain.add("", f"row {i}", i)
    assert not stream.stratified
    assert plain.stratified
    assert stream.chosen() == plain.chosen()
    assert stream.total == 500


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=30),
    st.integers(1, 40),
    st.integers(0, 2),
    st.randoms(use_true_random=False),
)
def test_groups_stay_whole_and_do_not_depend_on_the_order(
    sizes: list[int], n: int, seed: int, rng: random.Random
) -> None:
    items = [Example(f"{g}-{i}", {}, 0, group=str(g)) for g, size in enumerate(sizes) for i in range(size)]
    taken = whole_groups(items, n, seed=seed)
    again = whole_groups(rng.sample(items, len(items)), n, seed=seed)
    assert {e.id for e in taken} == {e.id for e in again}
    for group, size in Counter(e.group for e in taken).items():
        assert size == sizes[int(group or 0)]
    assert len(taken) <= max(n, sizes[int(taken[0].group or 0)])
    assert taken
    if sum(sizes) <= n:
        assert taken == items


def test_a_stream_holds_no_more_than_it_needs() -> None:
    stream: StratifiedSample[int] = StratifiedSample(10, seed=0)
    groups: GroupSample[int] = GroupSample(10, seed=0)
    for i in range(5000):
        stream.add(str(i % 3), str(i), i)
        groups.add(str(i // 2), i)
    assert sum(len(heap) for heap in stream._heaps.values()) == 30
    assert len(groups.chosen()) == 10


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_split_is_a_function_of_the_content(one: str, other: str) -> None:
    if normalised(one) == normalised(other):
        assert split_of(normalised(one)) == split_of(normalised(other))
    assert split_of(one) in ("train", "dev", "test")


def test_splits_have_their_sizes_keep_groups_and_spellings_together() -> None:
    items = [Example(str(i), {"text": f"Text number {i // 2}{'!' * (i % 2)}"}, 0) for i in range(6000)]
    items += [Example(f"g{i}", {"text": f"other {i}"}, 0, group=f"p{i % 200}") for i in range(2000)]
    parts = {name: split(items, name) for name in ("train", "dev", "test")}
    assert sum(map(len, parts.values())) == len(split(items, "all")) == 8000
    for name, share in (("train", 0.8), ("dev", 0.1), ("test", 0.1)):
        assert abs(len(parts[name]) / 8000 - share) < 0.02
    for same in (lambda e: e.group, lambda e: None if e.group else e.inputs["text"].rstrip("!")):
        kept = [{same(e) for e in part} - {None} for part in parts.values()]
        assert sum(map(len, kept)) == len(kept[0] | kept[1] | kept[2]), "never on both sides"
