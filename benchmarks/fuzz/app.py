"""The local app with the small network behind it, in this process, and requests to it byte by byte."""

from __future__ import annotations

import json
import socket
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.fuzz.materials import Materials
from benchmarks.fuzz.outcome import Outcome

SAFETY = 300.0
"""Seconds that a socket waits: a safety net only, a hang is found by the watchdog of the worker."""


@dataclass(frozen=True)
class Request:
    """One request. complete: the server knows its end; otherwise the client disconnects, and no answer is fine too."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""
    complete: bool = True

    def raw(self) -> bytes:
        if not self.method:
            return self.body
        lines = [f"{self.method} {self.path} HTTP/1.1", *(f"{name}: {value}" for name, value in self.headers.items())]
        return "\r\n".join(lines).encode("utf-8", "replace") + b"\r\n\r\n" + self.body


@dataclass
class Answer:
    """One response. status None: the connection ended without one."""

    status: int | None
    body: bytes = b""

    def json(self) -> Any:
        return json.loads(self.body, parse_constant=_refused)


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


@dataclass
class App:
    """Address of the app. pack: an existing pack."""

    port: int
    token: str
    pack: str = ""
    jobs: list[str] = field(default_factory=list)

    def headers(self, length: int) -> dict[str, str]:
        return {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Content-Length": str(length),
            "Connection": "close",
        }

    def post(self, op: str, body: bytes) -> Request:
        return Request("POST", f"/api/{op}", self.headers(len(body)), body)

    def call(self, op: str, **body: Any) -> Any:
        return self.send(self.post(op, json.dumps(body).encode())).json()

    def send(self, request: Request) -> Answer:
        with socket.create_connection(("127.0.0.1", self.port), timeout=SAFETY) as connection:
            try:
                connection.sendall(request.raw())
                if not request.complete:
                    connection.shutdown(socket.SHUT_WR)
                return _answer(connection, head_only=request.method == "HEAD")
            except (ConnectionError, BrokenPipeError):
                return Answer(None)  # refused before it was read to its end

    def outcome(self, requests: Sequence[Request]) -> Outcome:
        """Send the requests, follow their jobs, and check that the app still answers."""
        refused = ""
        for request in requests:
            problem, clear = self.checked(request)
            if problem:
                return Outcome("internal error", problem)
            refused = refused or clear
        alive = self.send(self.post("hello", b"{}"))
        if alive.status not in (200, 429):
            return Outcome("crash", f"the app answers {alive.status} to a good request afterwards")
        return Outcome("clear error" if refused else "ok", refused)

    def checked(self, request: Request) -> tuple[str, str]:
        """Return (problem, refusal); both are empty where all is well."""
        answer = self.send(request)
        if answer.status == 429:  # too many in a second: that is a rule, wait and ask again
            time.sleep(0.2)
            answer = self.send(request)
        if answer.status is None:
            return ("no answer to a complete request" if request.complete else "", "no answer")
        if answer.status >= 500 and answer.status != 503:
            return f"{answer.status}: {answer.body[:300]!r}", ""
        if answer.status >= 400:
            return "", str(answer.status)
        if not request.path.startswith("/api/") or request.method != "POST":
            return "", ""
        return self._followed(answer)

    def _followed(self, answer: Answer) -> tuple[str, str]:
        """Follow a job to its end."""
        try:
            job = answer.json()
        except ValueError as error:
            return f"an answer that is no JSON: {error}", ""
        while isinstance(job, dict) and job.get("state") in ("waiting", "running"):
            job = self.call("job", job=job["job"], after=job["version"])
            if "error" in job and "state" not in job:
                time.sleep(0.2)  # too many questions in a second
                return "", "429"
        if isinstance(job, dict) and job.get("state") == "failed":
            said = str(job["error"].get("said"))[:300]
            return (said, "") if job["error"].get("subject") == "internal error" else ("", said)
        return "", ""


def _answer(connection: socket.socket, *, head_only: bool = False) -> Answer:
    """Read one response, to the end that its length states."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return Answer(None)
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    if status == 100:
        return _answer(connection)
    lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    wanted = 0 if head_only else int(lengths[0]) if lengths else None
    while wanted is None or len(body) < wanted:
        piece = connection.recv(65536)
        if not piece:
            break
        body += piece
    return Answer(status, body)


_APPS: dict[str, App] = {}


def app(originals: Materials) -> App:
    """Return the app of this process, started at the first request."""
    key = str(originals.root)
    if key not in _APPS:
        from regard.live.server import serve
        from regard.live.session import Session
        from regard.models.open.load import load
        from regard.records import Example

        marks = Path(tempfile.mkdtemp(prefix="marks-")) / "rationales.jsonl"
        session = Session(load(originals.network, device="cpu"), marks=marks)
        pack = session.show(Example("input", {"text": "a quiet film"}), ["attention"])
        server = serve(session)
        _APPS[key] = App(server.port, server.token, pack)
    return _APPS[key]
