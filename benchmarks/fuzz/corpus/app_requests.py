"""Requests that once confused or blocked the local app."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks.fuzz.app import Request, app
from benchmarks.fuzz.case import Case
from benchmarks.fuzz.corpus.entry import Entries
from benchmarks.fuzz.materials import Materials
from benchmarks.fuzz.outcome import Outcome

ENTRIES = Entries()
HALF_OPEN = 70
TRIES = 240


def _header(name: str, header: str, value: str) -> None:
    @ENTRIES.past(name)
    def make(originals: Materials, folder: Path) -> Case:
        served = app(originals)
        headers = {**served.headers(2), header: value}
        return Case(play=lambda: served.outcome([Request("POST", "/api/hello", headers, b"{}")]))


_header("a Referer that is no address", "Referer", "http://[")
_header("a Referer with a wrong bracket", "Referer", "http://[::1]x/")
_header("a Referer with a wrong port", "Referer", "http://127.0.0.1:99999999/")
_header("an Origin that is no address", "Origin", "http://[")
_header("a length that is no number", "Content-Length", "²")


@ENTRIES.past("half-open connections", slow=True)
def _half_open(originals: Materials, folder: Path) -> Case:
    """Check that the next good request is answered even if many clients stop in the middle of a header."""
    served = app(originals)

    def play() -> Outcome:
        with ExitStack() as held:
            for _ in range(HALF_OPEN):
                connection = held.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=60))
                connection.sendall(b"POST /api/hello HTTP/1.1\r\nHost: x\r\n")
            for _ in range(TRIES):
                try:
                    if served.send(served.post("hello", b"{}")).status == 200:
                        return Outcome("ok")
                except OSError:
                    pass
                time.sleep(0.5)
        return Outcome("hang", f"{HALF_OPEN} half-open connections block the app")

    return Case(play=play)


@ENTRIES.past("a deep body")
def _deep(originals: Materials, folder: Path) -> Case:
    served = app(originals)
    bodies = [b"[" * 100_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000, b'{"after":' + b"9" * 5000 + b"}"]
    return Case(
        play=lambda: served.outcome([served.post(op, body) for body in bodies for op in ("hello", "job", "ask")])
    )
