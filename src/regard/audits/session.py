"""Listeners and resources of an audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from regard.audits.scheduler import Progress
from regard.audits.worker_rates import ActivityWriter, WorkerRates
from regard.records import Json, Message, Text
from regard.registry import upstairs

Say = Callable[[Text], None]


@dataclass(frozen=True, slots=True)
class Session:
    """Listeners of an audit, the command line that started it, and the number of workers that fit into memory."""

    say: Say
    progress: Progress | None
    watch: Callable[[dict[str, Json]], None] | None
    command_line: Sequence[str] | None
    most_workers: int | None = None

    def rows(self, done: int, total: int) -> None:
        """Report rows of a pass over all of them."""
        if self.progress is not None:
            self.progress(done, total, None)

    def watched(self, writer: ActivityWriter) -> tuple[Session, WorkerRates]:
        """Return this session with progress that is also stored in the run."""
        rates = WorkerRates(writer, self.watch)
        tell = self.progress

        def progress(done: int, total: int, eta: float | None) -> None:
            rates.progress(done, total, eta)
            if tell is not None:
                tell(done, total, eta)

        return replace(self, progress=progress), rates


class Announcement(str):
    """A remark of an audit in the language of the session.

    key: its catalogue id, or the note's id in a remark about data; "" for plain text.
    """

    __slots__ = ("key",)
    key: str

    @staticmethod
    def of(sentence: str, text: Text) -> Announcement:
        announcement = Announcement(sentence)
        note = text.params.get("note") if isinstance(text, Message) else None
        inner = note.get("message") if isinstance(note, Mapping) else None
        announcement.key = str(inner or text.key) if isinstance(text, Message) else ""
        return announcement


def rendered(announce: Callable[[str], None]) -> Say:
    """Announce every message in the language of the session."""
    render = upstairs("render")
    return lambda text: announce(Announcement.of(render(text), text))


def silent(sentence: Text) -> None:
    """Ignore all progress."""
