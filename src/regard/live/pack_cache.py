"""A bounded cache of packs under unguessable ids; the oldest are evicted."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from regard.errors import UnknownName
from regard.live.live_input import Comparison, LiveInput
from regard.present.pack.records import Pack, VerdictEntry

MOST_PACKS = 24


@dataclass(slots=True, eq=False)
class CachedPack:
    """A cached pack. owners: for each of its examples, the input and the position there.

    beside: the comparisons of its first example. remake: builds the pack again in the current language.
    """

    pack: Pack
    owners: list[tuple[LiveInput, int]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    methods: tuple[str, ...] = ()
    edits: list[Any] = field(default_factory=list)
    beside: tuple[Comparison, ...] = ()
    remake: Callable[[], Pack] | None = None

    def translate(self, verdict: VerdictEntry | None) -> None:
        """Build the pack again in the current language, if possible. verdict: in that language."""
        for owner, _ in self.owners:
            owner.verdict = owner.verdict and verdict
        if self.remake is not None:
            self.pack = self.remake()


class PackCache:
    """The cache. first: the initial pack, which is never evicted."""

    def __init__(self) -> None:
        self._packs: OrderedDict[str, CachedPack] = OrderedDict()
        self._lock = threading.Lock()
        self.first: str | None = None

    def put(self, held: CachedPack) -> str:
        """Store a pack; return its id."""
        name = secrets.token_urlsafe(9)
        with self._lock:
            self._packs[name] = held
            while len(self._packs) > MOST_PACKS:
                oldest = next(n for n in self._packs if n != self.first)
                del self._packs[oldest]
        return name

    def get(self, name: str) -> CachedPack:
        with self._lock:
            if name not in self._packs:
                raise UnknownName("pack", name[:40], ())
            if name != self.first:
                self._packs.move_to_end(name)
            return self._packs[name]

    def drop(self, name: str) -> None:
        with self._lock:
            if name != self.first:
                self._packs.pop(name, None)

    def peek(self) -> CachedPack | None:
        """Return the first pack, if any."""
        with self._lock:
            return self._packs.get(self.first or "")
