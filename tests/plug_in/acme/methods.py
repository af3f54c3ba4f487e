"""An explainer, a metric and an engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.audits.engines.serial import Serial
from regard.protocols import Case, Executor, Outcome, Task
from regard.records import Json, Relevance, Score
from regard.registry import EVERY, engine, explainer, metric


@explainer(cite="Acme 2026", profile=EVERY)
def word_length(case: Case) -> Relevance:
    """Longer units matter more."""
    rows = [[0 if s else len(n) for n, s in zip(u.names, u.special, strict=True)] for u in case.units]
    return Relevance.of("word_length", case.ids, rows)


@metric(better="higher", family="complexity", profile=EVERY)
def top_share(case: Case, relevance: Relevance) -> Score:
    """Share of the largest value."""
    shares = [abs(relevance[i]).max() / max(1e-9, abs(relevance[i]).sum()) for i in range(len(relevance.ids))]
    return Score("top_share", relevance.method, relevance.ids, np.array(shares), "higher")


@dataclass(frozen=True)
class _Backwards:
    serial: Serial

    def run(
        self, setup: str, setup_payload: Mapping[str, Json], work: str, tasks: Iterable[Task], *, retries: int = 1
    ) -> Iterator[Outcome]:
        yield from self.serial.run(setup, setup_payload, work, [*tasks][::-1], retries=retries)


@engine(in_process=True)
def backwards(state: Any = None) -> Executor:
    """The last task first, in this process."""
    return _Backwards(Serial(state))
