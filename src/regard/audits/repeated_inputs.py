"""Rows with the same input count as one independent draw, because the model answers them alike."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace

from regard.datasets.cells import content_of
from regard.records import Example


def with_copies_joined(examples: Iterable[Example]) -> Iterator[Example]:
    """Set the first example with the same input as the parent of each repeated example, unless it has a group.

    Intervals and tests count clusters (`Example.cluster`): a thousand copies of four texts are four draws.
    """
    first: dict[bytes, str] = {}
    for example in examples:
        key = hashlib.blake2b(content_of(dict(example.inputs)).encode("utf-8", "surrogatepass"), digest_size=16)
        cluster = first.setdefault(key.digest(), example.cluster)
        alone = example.group is not None or example.parent is not None
        yield example if alone or cluster == example.cluster else replace(example, parent=cluster)
