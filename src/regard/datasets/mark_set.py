"""A set of 64-bit hashes in 8 to 16 bytes each; a Python set needs about 70."""

from __future__ import annotations

from array import array


class MarkSet:
    """Set of hashes, by open addressing.

    >>> marks = MarkSet()
    >>> [marks.add(mark) for mark in (5, 0, 5, 0, 1 << 63)]
    [True, True, False, False, True]
    >>> len(marks)
    3
    """

    def __init__(self) -> None:
        self._slots = array("Q", bytes(8 * 1024))
        self._count = 0
        self._has_zero = False

    def __len__(self) -> int:
        return self._count + self._has_zero

    def add(self, mark: int) -> bool:
        """Add a hash; return whether it is new."""
        if mark == 0:  # an empty slot
            is_new, self._has_zero = not self._has_zero, True
            return is_new
        if 2 * self._count >= len(self._slots):
            self._grow()
        place = self._place(self._slots, mark)
        if self._slots[place] == mark:
            return False
        self._slots[place] = mark
        self._count += 1
        return True

    @staticmethod
    def _place(slots: array[int], mark: int) -> int:
        last = len(slots) - 1
        place = mark & last
        while slots[place] not in (0, mark):
            place = (place + 1) & last
        return place

    def _grow(self) -> None:
        larger = array("Q", bytes(8 * 2 * len(self._slots)))
        for mark in self._slots:
            if mark:
                larger[self._place(larger, mark)] = mark
        self._slots = larger
