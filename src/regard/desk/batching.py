"""Batches of similar length; when memory runs out, the batch size is halved for good."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
BATCH = 64
TOKENS = 8192


@dataclass(slots=True)
class Batching:
    """Batch size limits: at most `rows` rows, and at most `tokens` positions including padding."""

    rows: int = BATCH
    tokens: int = TOKENS

    def answers(self, items: Sequence[T], lengths: Sequence[int], ask: Callable[[Sequence[T]], list[R]]) -> list[R]:
        """Apply `ask` to all items, similar lengths together; return the answers in the order of the items.

        >>> Batching(rows=2).answers(["a", "ccc", "bb"], [1, 3, 2], lambda part: [len(part)] * len(part))
        [2, 1, 2]
        """
        waiting = list(reversed(self._grouped(lengths)))
        answers: dict[int, R] = {}
        while waiting:
            group = waiting.pop()
            if len(group) > self.rows:  # memory ran out since it was made
                waiting += _halves(group)
                continue
            try:
                batch_answers = ask([items[i] for i in group])
            except (MemoryError, RuntimeError) as error:
                if len(group) == 1 or not out_of_memory(error):
                    raise
                self.rows = max(1, len(group) // 2)
                waiting += _halves(group)
                continue
            answers.update(zip(group, batch_answers, strict=True))
        return [answers[i] for i in range(len(items))]

    def _grouped(self, lengths: Sequence[int]) -> list[list[int]]:
        groups: list[list[int]] = []
        for i in sorted(range(len(lengths)), key=lambda i: (lengths[i], i)):
            group = groups[-1] if groups else []
            if group and len(group) < self.rows and (len(group) + 1) * lengths[i] <= self.tokens:
                group.append(i)
            else:
                groups.append([i])
        return groups


def out_of_memory(error: BaseException) -> bool:
    """Return whether a smaller batch may help.

    >>> out_of_memory(RuntimeError("DefaultCPUAllocator: not enough memory")), out_of_memory(ValueError())
    (True, False)
    """
    if isinstance(error, MemoryError):
        return True
    message = str(error).lower()
    # torch.OutOfMemoryError is a RuntimeError that says "out of memory"
    return isinstance(error, RuntimeError) and any(
        words in message for words in ("out of memory", "not enough memory", "can't allocate memory")
    )


def _halves(group: list[int]) -> list[list[int]]:
    middle = (len(group) + 1) // 2
    return [group[middle:], group[:middle]]  # the first half is popped first
