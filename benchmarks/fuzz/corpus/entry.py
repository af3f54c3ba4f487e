"""One past failure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fuzz.case import Case
from benchmarks.fuzz.materials import Materials

Make = Callable[[Materials, Path], Case]


@dataclass(frozen=True)
class Entry:
    """One entry. slow: it may take seconds even without a failure, so `make test` leaves it to `make fuzz`."""

    name: str
    make: Make
    slow: bool = False


class Entries(list[Entry]):
    """A list with a decorator that adds entries: `@past("CR-only line ends")`."""

    def past(self, name: str, *, slow: bool = False) -> Callable[[Make], Make]:
        def enter(make: Make) -> Make:
            self.append(Entry(name, make, slow))
            return make

        return enter
