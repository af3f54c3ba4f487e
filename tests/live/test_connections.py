"""Slow and silent clients do not keep the app from its user."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from live_caller import Caller

from regard.live import connections, guard
from regard.live.session import Session
from regard.protocols import Model

PATIENCE = 240
"""Seconds: a safety net, never a measurement."""


@pytest.fixture
def fresh(model: Model, served: Callable[[Session], Caller]) -> Caller:
    return served(Session(model))


@pytest.fixture
def opened() -> Iterator[Callable[[Caller, bytes], socket.socket]]:
    """A connection that has sent some bytes and no more."""
    with ExitStack() as stack:

        def start(app: Caller, sent: bytes) -> socket.socket:
            client = stack.enter_context(socket.create_connection(("127.0.0.1", app.server.port), PATIENCE))
            client.sendall(sent)
            return client

        yield start


def ends(client: socket.socket) -> bytes:
    """All that the server sends until it closes the connection."""
    parts = []
    try:
        while part := client.recv(4096):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_half_open_sockets_do_not_block_the_app(
    fresh: Caller, opened: Callable[..., socket.socket], sent: bytes
) -> None:
    held = [opened(fresh, sent) for _ in range(70)]
    for _ in range(3):
        assert fresh.raw("POST", "/api/hello", b"{}")[0] == 200
    assert len(held) == 70


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_a_head_that_does_not_arrive_ends_the_connection(
    fresh: Caller, opened: Callable[..., socket.socket], sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.05)
    assert ends(opened(fresh, sent)) == b""


def test_a_second_head_that_comes_in_drops_ends_the_connection(
    fresh: Caller, opened: Callable[..., socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)
    head = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{fresh.server.port}\r\n\r\n".encode()
    client = opened(fresh, head + b"GET / HTTP/1.1\r\n")
    assert ends(client).startswith(b"HTTP/1.1 200")


def test_a_body_that_does_not_arrive_is_answered_with_408(
    model: Model,
    served: Callable[[Session], Caller],
    opened: Callable[..., socket.socket],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    defaults = dict(guard.Guard.__init__.__kwdefaults__ or {})
    monkeypatch.setattr(guard.Guard.__init__, "__kwdefaults__", {**defaults, "patience": 0.05})
    app = served(Session(model))
    head = (
        f"POST /api/hello HTTP/1.1\r\nHost: 127.0.0.1:{app.server.port}\r\nAuthorization: Bearer {app.server.token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{"
    )
    answer = ends(opened(app, head.encode()))
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"within" in answer


@pytest.mark.parametrize("referer", ["http://[", "http://[::1", "//[x]:1]/", "http://a]b/"])
def test_a_malformed_referer_is_a_bad_request(fresh: Caller, referer: str) -> None:
    status = fresh.raw("GET", "/", headers={"Referer": referer})[0]
    assert status in (400, 403)
    if referer == "http://[":
        assert status == 400
    assert fresh.raw("GET", "/")[0] == 200
