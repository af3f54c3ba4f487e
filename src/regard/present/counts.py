"""The n beside a number: one for a whole table if all its numbers share it, else one in each cell that differs.

Every n is that of the defined values behind the number. A caption states the largest n of its table; `own` gives the
note of a cell with another one. A chart or a sentence that pools several numbers states the range.
"""

from __future__ import annotations

from collections.abc import Iterable

from regard.present.messages.messages import count, say
from regard.records import Summary

Size = tuple[int, int]
"""Number of examples, and of independent draws among them."""


def size(summary: Summary) -> Size:
    return summary.n, summary.clusters


def largest(sizes: Iterable[Size]) -> Size:
    """Return the numbers for the caption; (0, 0) if no number is defined."""
    return max(sizes, default=(0, 0))


def alike(counts: Iterable[int]) -> list[Size]:
    """Sizes in which every example is a draw of its own, or draws are not shown."""
    return [(n, n) for n in counts]


def written(one: Size) -> str:
    """
    >>> written((14, 14)), written((14, 9))
    ('14', '14 in 9 clusters')
    """
    n, clusters = one
    return f"{n}{say('results.clusters', n=clusters) if clusters != n else ''}"


def in_caption(sizes: Iterable[Size]) -> str:
    """Format the n of a table.

    >>> in_caption([(14, 14), (14, 14)]), in_caption([(14, 14), (14, 14), (9, 9), (0, 0)])
    ('14', '14 unless a cell says otherwise')
    """
    nonempty = [s for s in sizes if s[0]]
    return say("counts.mostly", n=written(largest(nonempty))) if len(set(nonempty)) > 1 else written(largest(nonempty))


def own(one: Size, common: Size) -> str:
    """Note of a cell; "" if the caption says it, or if there is no number."""
    return say("results.n_is", n=written(one)) if one[0] and one != common else ""


def between(counts: Iterable[int]) -> str:
    """Format the n of a chart or of several numbers in one sentence.

    >>> between([14, 14]), between([14, 9, 0])
    ('14', '9 to 14')
    """
    nonempty = [n for n in counts if n]
    if not nonempty:
        return "0"
    least, most = min(nonempty), max(nonempty)
    return str(most) if least == most else say("counts.range", least=least, most=most)


def examples(counts: Iterable[int]) -> str:
    """
    >>> examples([1]), examples([14, 9])
    ('1 example', '9 to 14 examples')
    """
    words = between(counts)
    return count(int(words), "example") if words.isdigit() else say("count.example.many", n=words)
