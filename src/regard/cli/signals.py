"""SIGTERM and SIGHUP end a command like Ctrl-C: committed work stays, one line names the command to resume."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from regard.cli.console import echo
from regard.errors import DamageWarning, Stopped

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@dataclass
class Stop:
    """The signal that ended the command, if any."""

    signal: int | None = None

    @property
    def exit_code(self) -> int:
        """Return 128 plus the signal number, as in a shell; 130 for Ctrl-C."""
        return 128 + (self.signal or signal.SIGINT)


@contextmanager
def stopping() -> Iterator[Stop]:
    """Raise `Stopped` on the first signal inside the block; later ones wait for cleanup.

    Signals ignored by the parent process (`nohup`) stay ignored.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def raised(number: int, frame: FrameType | None) -> None:
        stop.signal = number
        for other in before:
            signal.signal(other, signal.SIG_IGN)
        raise Stopped

    before = {number: signal.getsignal(number) for number in SIGNALS}
    before = {number: handler for number, handler in before.items() if handler is signal.SIG_DFL}
    for number in before:
        signal.signal(number, raised)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def damage_in_one_line() -> Iterator[None]:
    """Print a `DamageWarning` as one line; leave other warnings unchanged."""
    original = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if issubclass(category, DamageWarning):
            echo("regard: " + " ".join(str(message).split()), error=True)
        else:
            original(message, category, *rest, **more)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = original
