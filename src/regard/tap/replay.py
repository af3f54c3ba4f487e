"""Edited passes that start at the lowest edited site; everything below it runs once.

base, resume = record_below(model, call, "encoder.layer.4.*")
out, _ = capture_call(model, call, edits=[Edit("uniform", "encoder.layer.4.*")], resume=resume)
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from torch import Tensor, nn

from regard.errors import UnknownName
from regard.records import Edit, Edits, Site
from regard.tap.capture_call import discover, tapped
from regard.tap.capture_plan import Plan, plan_of
from regard.tap.recorder import Recorder
from regard.tap.replay_cache import Recording, Resume
from regard.tap.sdpa import SdpaCall
from regard.tap.tap import Event

T = TypeVar("T")


class _Reached(Exception):
    """The first selected site: nothing after it is needed."""


@dataclass(slots=True, eq=False)
class _Until:
    """`Handler` that changes nothing and signals the first selected site."""

    plan: Plan
    recorder: Recorder
    recording: Recording
    patterns: tuple[str, ...]
    halt: bool = False

    def _met(self, event: Event) -> None:
        entry = self.plan.events.get(event.key)
        if entry is not None and entry.site is not None and matches(entry.site, self.patterns):
            self.recording.stop()
            if self.halt:
                raise _Reached
        if not self.recording.stopped:
            self.recording.events[event.name] += 1

    def attention(self, event: Event, call: SdpaCall) -> Any:
        self._met(event)
        return self.recorder.attention(event, call)

    def softmax(self, event: Event, scores: Tensor, axis: int, run: Callable[[Tensor], Tensor]) -> Tensor:
        self._met(event)
        return self.recorder.softmax(event, scores, axis, run)


def matches(site: Site, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(site.key, pattern) for pattern in patterns)


def patterns_of(edits: Edits) -> tuple[str, ...]:
    """Sites of some edits, as globs."""
    flat = [e for item in edits for e in ([item] if isinstance(item, Edit) else item)]
    return tuple(sorted({e.site for e in flat}))


def record_below(module: nn.Module, call: Callable[[], T], *sites: str) -> tuple[T, Resume]:
    """Return the output of `call`, and all module outputs before the first of `sites` (globs over site keys).

    The outputs of whole modules are stored: layers below, an embedding, a recurrent encoder. Code outside modules runs
    again. `Resume.for_rows([0] * 8)` serves eight variants of the first example in one batch.
    """
    out, recording = _recorded(module, call, sites, halt=False)
    return out[0], recording.result()


def run_below(module: nn.Module, call: Callable[[], object], *sites: str) -> Resume:
    """Like `record_below`, without its output: the pass ends where the first of the sites begins."""
    return _recorded(module, call, sites, halt=True)[1].result()


def _recorded(
    module: nn.Module, call: Callable[[], T], sites: tuple[str, ...], *, halt: bool
) -> tuple[list[T], Recording]:
    plan = plan_of(module, switched=False) or discover(module, call)
    known = plan.sites()
    for pattern in sites:
        if not any(matches(site, (pattern,)) for site in known):
            raise UnknownName("site", pattern, [site.key for site in known])
    recorder, recording = Recorder("qk"), Recording(module)
    handler = _Until(plan, recorder, recording, sites, halt)
    out: list[T] = []
    with recording.watching(), suppress(_Reached):
        out.append(tapped(module, call, handler, recorder, plan=plan, switch=False)[0])
    return out, recording
