"""Serial engine: one task after another, in this process."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from regard.audits.named_function import named_function, this_worker
from regard.errors import error_message
from regard.protocols import Executor, Outcome, Task
from regard.records import Json
from regard.registry import engine


@dataclass(frozen=True)
class Serial:
    """Engine that runs tasks in this process. `state`, where given, replaces a newly built one, for live models."""

    state: Any = None

    def run(
        self, setup: str, setup_payload: Mapping[str, Json], work: str, tasks: Iterable[Task], *, retries: int = 1
    ) -> Iterator[Outcome]:
        state = self.state if self.state is not None else named_function(setup)(setup_payload)
        call = named_function(work)
        for task in tasks:
            started = time.monotonic()
            try:
                outcome = Outcome(task.key, "ok", call(state, task.payload))
            except Exception as error:
                outcome = Outcome(task.key, "error", message=error_message(error))
            outcome = replace(outcome, worker=this_worker(), seconds=time.monotonic() - started)
            yield outcome
            del outcome  # the attention on its page would stay in memory beside that of the next task


@engine(in_process=True)
def serial(state: Any = None) -> Executor:
    """Run one task after another, in this process."""
    return Serial(state)
