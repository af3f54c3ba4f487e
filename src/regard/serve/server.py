"""The service on a socket: uvicorn with limits on headers and connections, and a graceful shutdown."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from regard.errors import EnvironmentProblem, phrase
from regard.live.server import EXTRA, LOOPBACK
from regard.serve.app import application
from regard.serve.batch_worker import in_this_language
from regard.serve.request_log import RequestLog
from regard.serve.service import Service

HEADERS = 32 << 10
SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass(slots=True, eq=False)
class ServiceServer:
    """A service behind a listening socket; `run` blocks, `start` and `close` use a thread."""

    service: Service
    host: str
    port: int
    log: RequestLog
    _uvicorn: Any
    _listener: socket.socket
    _thread: threading.Thread | None = field(default=None)

    @property
    def address(self) -> str:
        return f"http://{self.host}:{self.port}"

    def start(self) -> ServiceServer:
        """Serve from a thread."""
        self._thread = in_this_language(self._serve, "regard-service")
        self._thread.start()
        while not self._uvicorn.started and self._thread.is_alive():
            time.sleep(0.005)
        return self

    def run(self) -> None:
        """Serve until SIGTERM or Ctrl-C; then answer the waiting requests, and return."""
        stopping = threading.Event()
        before = {number: signal.signal(number, lambda *_: stopping.set()) for number in SIGNALS}
        try:
            self.start()
            while not stopping.wait(0.2) and self._thread is not None and self._thread.is_alive():
                pass
        finally:
            self.close()
            for number, handler in before.items():
                signal.signal(number, handler)

    def close(self) -> bool:
        """Refuse new requests, answer those in the queue, stop; return False if some had to be dropped."""
        self.log.write("draining", waiting=self.service.worker.depth)
        complete = self.service.drain()
        self._uvicorn.should_exit = True
        if self._thread is not None:
            self._thread.join(self.service.limits.drain)
        self._listener.close()
        self.log.write("stopped", complete=complete)
        return complete

    def _serve(self) -> None:
        self._uvicorn.run(sockets=[self._listener])


def open_server(
    service: Service, *, host: str = LOOPBACK, port: int = 0, keys: Sequence[str] = (), log: RequestLog | None = None
) -> ServiceServer:
    """Bind the address; port 0: any free port. Without keys, only loopback addresses are allowed."""
    if not keys and not _is_loopback(host):
        raise EnvironmentProblem(
            f"--host {host}",
            expected=phrase("errors.serve.api_key_for_address"),
            got=phrase("errors.common.none"),
            remedy=phrase("errors.serve.regard_api_key_or_api_key_file"),
        )
    try:
        import uvicorn
    except ImportError as error:
        raise EnvironmentProblem(
            "regard serve", expected="uvicorn", got=phrase("errors.common.none"), remedy=EXTRA
        ) from error
    from regard.serve.connection_limits import ServiceProtocol

    listener = _bound(host, port)
    log = log or RequestLog()
    config = uvicorn.Config(
        application(service, keys=keys, log=log),
        log_level="critical",
        access_log=False,
        lifespan="off",
        h11_max_incomplete_event_size=HEADERS,
        timeout_keep_alive=9,
        ws="none",
        http=ServiceProtocol,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=max(1, round(service.limits.drain)),
        backlog=1024,
    )
    server = uvicorn.Server(config)
    return ServiceServer(service, host, int(listener.getsockname()[1]), log, server, listener)


def _bound(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, OverflowError) as error:
        raise EnvironmentProblem(f"--host {host}", expected=phrase("errors.serve.address"), got=str(error)) from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise EnvironmentProblem(
            phrase("errors.common.port_port", port=port),
            expected=phrase("errors.common.free_one"),
            got=str(error),
            remedy=phrase("errors.common.another_port_or_none"),
        ) from error
    return listener


def _is_loopback(host: str) -> bool:
    """
    >>> _is_loopback("127.0.0.1"), _is_loopback("::1"), _is_loopback("localhost"), _is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    return host in ("localhost", "::1") or host.startswith("127.")
