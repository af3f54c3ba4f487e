"""The packs that a page may ask about, by ids that nobody can guess; the oldest make room."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from regard.errors import UnknownName
from regard.live.live_input import Asked, Beside
from regard.present.pack.records import Pack

KEPT = 24


@dataclass(slots=True, eq=False)
class Held:
    """A pack that the page may ask about. owners: for each of its examples the input and its number there.

    beside: what its first example is compared with.
    """

    pack: Pack
    owners: list[tuple[Asked, int]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    methods: tuple[str, ...] = ()
    edits: list[Any] = field(default_factory=list)
    beside: tuple[Beside, ...] = ()


class Shelf:
    """first: the pack that is shown first; it stays, whatever comes."""

    def __init__(self) -> None:
        self._packs: OrderedDict[str, Held] = OrderedDict()
        self._lock = threading.Lock()
        self.first: str | None = None

    def put(self, held: Held) -> str:
        """Its id."""
        name = secrets.token_urlsafe(9)
        with self._lock:
            self._packs[name] = held
            while len(self._packs) > KEPT:
                oldest = next(n for n in self._packs if n != self.first)
                del self._packs[oldest]
        return name

    def get(self, name: str) -> Held:
        with self._lock:
            if name not in self._packs:
                raise UnknownName("pack", name[:40], ())
            if name != self.first:
                self._packs.move_to_end(name)
            return self._packs[name]

    def peek(self) -> Held | None:
        """The first one, if there is one."""
        with self._lock:
            return self._packs.get(self.first or "")
