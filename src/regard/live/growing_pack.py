"""Packs of an answer while its methods run: one after each method, the newest in the job's `partial`."""

from __future__ import annotations

from collections.abc import Sequence

from regard.live.jobs import Job
from regard.live.live_input import LiveInput
from regard.live.pack_cache import CachedPack, PackCache
from regard.records import Spec
from regard.registry import entry

CHEAP_FIRST = ("none", "input", "layer", "unit", "setting")
"""Growth of an explainer's passes (`passes_per`), cheap ones first."""


class GrowingPack:
    """Publish the finished part of a live input.

    The newest two packs stay, because a page may still be reading the older.
    """

    def __init__(self, packs: PackCache, job: Job, live_input: LiveInput, methods: Sequence[str]) -> None:
        self._packs, self._job, self._input = packs, job, live_input
        self._methods = tuple(methods)
        self._names: list[str] = []

    def publish(self) -> None:
        """Put a pack of all results so far into the cache and name it in the job."""
        live_input = self._input
        owners = [(live_input, i) for i in range(len(live_input.examples))]
        pack = live_input.pack()
        self._names.append(
            self._packs.put(CachedPack(pack, owners, methods=tuple(live_input.relevances), remake=live_input.pack))
        )
        finished = {*live_input.relevances, *live_input.skipped}
        self._job.share(
            {
                "pack": self._names[-1],
                "done": [method for method in self._methods if method in finished],
                "waiting": [method for method in self._methods if method not in finished],
            }
        )
        for name in self._names[:-2]:
            self._packs.drop(name)
        self._names = self._names[-2:]


def cheap_first(methods: Sequence[str]) -> list[str]:
    """Sort the methods by their stated cost; ties keep the order of the request."""
    return sorted(methods, key=_cost_rank)


def _cost_rank(method: str) -> int:
    """Return the position of a method in CHEAP_FIRST."""
    return CHEAP_FIRST.index(str(entry("explainer", Spec.parse("explainer", method).name).facts["passes_per"]))
