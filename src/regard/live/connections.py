"""Limits on connections to the local app: time for the head of a request, and a cap per client.

uvicorn has no limit on the time before the first request, so that some dozens of silent sockets would block the app.
Here a connection that does not send a whole head in time is closed, and when a client has too many connections the
oldest one that waits for a head makes room: sockets that say nothing never keep out those that do.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""Maximum seconds to send the head of the next request."""
MOST_PER_CLIENT = 48
"""Open connections per address; a browser opens about six, and uvicorn refuses requests beyond 64 connections."""


class LimitedProtocol(H11Protocol):
    """A client connection."""

    _deadline: asyncio.TimerHandle | None = None
    opened_at: float = 0.0
    most_per_client: ClassVar[int] = MOST_PER_CLIENT

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.opened_at = self.loop.time()
        same_address = [other for other in self._others() if _address(other) == _address(self)]
        if len(same_address) >= self.most_per_client:
            silent = [other for other in same_address if other.waiting]
            (silent[0] if silent else self)._drop()
        self._restart()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if not self.waiting:
            self._stop()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.waiting:  # the keep-alive limit ends an idle connection; this one ends a head that comes in drops
            self._restart()

    @property
    def waiting(self) -> bool:
        """Return whether no request is in progress."""
        return self.cycle is None or bool(self.cycle.response_complete)

    def _others(self) -> list[LimitedProtocol]:
        """Return the other connections, oldest first."""
        others = [c for c in self.connections if isinstance(c, LimitedProtocol) and c is not self]
        return sorted(others, key=lambda other: other.opened_at)

    def _restart(self) -> None:
        self._stop()
        self._deadline = self.loop.call_later(HEAD_SECONDS, self._too_slow)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        if self.waiting and not self.transport.is_closing():
            self._drop()

    def _drop(self) -> None:
        self.connections.discard(self)  # now: asyncio calls connection_lost later, and more may be accepted before
        self.transport.abort()


def _address(connection: LimitedProtocol) -> str:
    return connection.client[0] if connection.client else ""
