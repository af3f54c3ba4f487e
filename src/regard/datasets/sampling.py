"""Seeded samples that do not depend on the order of the file.

Every item has a key, a hash of (seed, id), and the smallest keys are sampled: another order of the same items gives the
same sample, a smaller sample is part of a bigger one within one stratum, and a stream of a million rows needs memory
for the sample only.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Generic, TypeVar

from regard.records import Example, Json, Message

T = TypeVar("T")
STRATIFIED = Message("data.stratified")
MOST_STRATA = 50
"""Maximum distinct labels of a stratified sample; more are numbers or sentences, not classes."""


def key(seed: int, ident: str) -> int:
    """Return 64 pseudo-random bits for a seed and an id, the same on every machine."""
    digest = hashlib.blake2b(f"{seed}\x1f{ident}".encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big")


def stratum_of(label: Json) -> str:
    """Name of the stratum of a label; 1 and "1" are different labels."""
    return _quoted(label) if isinstance(label, str) else json.dumps(label, sort_keys=True)


@lru_cache(maxsize=4 * MOST_STRATA)
def _quoted(label: str) -> str:
    return json.dumps(label)


def quotas(counts: Mapping[str, int], n: int) -> dict[str, int]:
    """Allocate a sample to strata: proportional, within 1 of exact, small strata first in line for a seat.

    >>> quotas({"a": 50, "b": 30, "rare": 2}, 10)
    {'a': 6, 'b': 3, 'rare': 1}
    """
    total = sum(counts.values())
    if n >= total:
        return dict(counts)
    # whole numbers throughout: a rounding error must not move a seat
    seats = {name: n * count // total for name, count in counts.items()}
    left = n - sum(seats.values())
    line = sorted(counts, key=lambda name: (seats[name] > 0, -(n * counts[name] % total), name))
    for name in [name for name in line if n * counts[name] % total][:left]:
        seats[name] += 1
    return seats


class StratifiedSample(Generic[T]):
    """Stratified sample of `n` items from a stream.

    chosen(): everything in input order if there were at most `n`, else the sample in key order.

    >>> sample = StratifiedSample(2, seed=0)
    >>> for i in range(1000):
    ...     sample.add(str(i % 2), f"row {i}", i)
    >>> sorted(i % 2 for i in sample.chosen()), sample.total
    ([0, 1], 1000)
    """

    def __init__(self, n: int | None, *, seed: int) -> None:
        self.n, self.seed, self.total = n, seed, 0
        self.counts: Counter[str] = Counter()
        self.stratified = True
        self._heaps: dict[str, list[tuple[int, int, T]]] = {}

    def add(self, stratum: str, ident: str, item: T) -> None:
        name = stratum if self.stratified else ""
        self.counts[name] += 1
        self._push(name, (-key(self.seed, ident) if self.n is not None else 0, -self.total, item))
        self.total += 1
        if self.stratified and len(self.counts) > MOST_STRATA and self.n is not None:
            self._merge()

    def _push(self, name: str, entry: tuple[int, int, T]) -> None:
        heap = self._heaps.setdefault(name, [])
        if self.n is None:
            heap.append(entry)
        elif len(heap) < self.n:
            heapq.heappush(heap, entry)
        else:
            heapq.heappushpop(heap, entry)

    def _merge(self) -> None:
        # exact: the smallest keys of all are among the smallest keys of each stratum
        heaps, self._heaps, self.stratified = self._heaps, {}, False
        self.counts = Counter({"": self.total})
        for heap in heaps.values():
            for entry in heap:
                self._push("", entry)

    def chosen(self) -> list[T]:
        if self.n is None or self.total <= self.n:
            entries = [entry for heap in self._heaps.values() for entry in heap]
            return [item for _, _, item in sorted(entries, key=lambda entry: -entry[1])]
        entries_drawn: list[tuple[int, int, T]] = []
        for name, seats in quotas(self.counts, self.n).items():
            entries_drawn += heapq.nlargest(seats, self._heaps[name], key=lambda entry: entry[:2])
        return [item for _, _, item in sorted(entries_drawn, key=lambda entry: (-entry[0], -entry[1]))]


class GroupSample(Generic[T]):
    """Sample of whole groups from a stream, at most `n` items unless the first group is larger.

    chosen(): everything in input order if there were at most `n`, else group after group in key order.
    """

    def __init__(self, n: int | None, *, seed: int) -> None:
        self.n, self.seed, self.total = n, seed, 0
        self._groups: dict[int, list[tuple[int, T]]] = {}
        self._line: list[int] = []
        self._held = 0
        self._bar: int | None = None

    def add(self, group: str, item: T) -> None:
        place = key(self.seed, group)
        self.total += 1
        if self._bar is not None and place >= self._bar:
            return
        if place not in self._groups:
            self._groups[place] = []
            heapq.heappush(self._line, -place)
        self._groups[place].append((self.total, item))
        self._held += 1
        while self.n is not None and len(self._line) > 1 and self._held > self.n:
            # the group with the largest key cannot be part of the answer any more, nor can any beyond it
            self._bar = -heapq.heappop(self._line)
            self._held -= len(self._groups.pop(self._bar))

    def chosen(self) -> list[T]:
        entries = [entry for place in sorted(self._groups) for entry in self._groups[place]]
        if self._held == self.total:
            entries.sort(key=lambda entry: entry[0])
        return [item for _, item in entries]


def stratified(examples: Iterable[Example], n: int | None, *, seed: int = 0) -> list[Example]:
    """Sample `n` of the examples, each label in proportion (within 1)."""
    sample: StratifiedSample[Example] = StratifiedSample(n, seed=seed)
    for example in examples:
        sample.add(stratum_of(example.label), example.id, example)
    return sample.chosen()


def whole_groups(examples: Iterable[Example], n: int | None, *, seed: int = 0) -> list[Example]:
    """Sample whole groups of examples, about `n` and never more unless one group alone has more."""
    sample: GroupSample[Example] = GroupSample(n, seed=seed)
    for example in examples:
        sample.add(example.cluster, example)
    return sample.chosen()


def note(taken: int, total: int, *, seed: int, how: Message = STRATIFIED) -> Message:
    return Message.of("data.sample", taken=taken, total=total, how=how, seed=seed)


def how(labels: Sequence[Json], *, strata: bool) -> Message:
    """Describe the kind of sample."""
    if not any(label is not None for label in labels):
        return Message("data.random_unlabelled")
    return STRATIFIED if strata else Message.of("data.random_many", most=MOST_STRATA)
