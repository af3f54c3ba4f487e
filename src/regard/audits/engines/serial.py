"""One task after another, in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from regard.audits.worker import named_function
from regard.errors import RegardError
from regard.protocols import Executor, Outcome, Task
from regard.records import Json
from regard.registry import engine


@dataclass(frozen=True)
class Serial:
    """`state` is used instead of a new one where it is given: a live model need not be rebuilt."""

    state: Any = None

    def run(
        self, setup: str, setup_payload: Mapping[str, Json], work: str, tasks: Iterable[Task], *, retries: int = 1
    ) -> Iterator[Outcome]:
        state = self.state if self.state is not None else named_function(setup)(setup_payload)
        call = named_function(work)
        for task in tasks:
            try:
                outcome = Outcome(task.key, "ok", call(state, task.payload))
            except RegardError as error:
                outcome = Outcome(task.key, "error", message=str(error))
            except Exception as error:
                outcome = Outcome(task.key, "error", message=f"{type(error).__name__}: {error}")
            yield outcome


@engine(in_process=True)
def serial(state: Any = None) -> Executor:
    """One task after another, in this process."""
    return Serial(state)
