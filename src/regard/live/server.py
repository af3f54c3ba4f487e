"""The local app: one page, one script and the requests of a session, on this machine only.

It listens on 127.0.0.1 and nowhere else. The token is in the fragment of the printed address, which a browser does not
send; the page takes it from there, removes it from the address, and sends it as a header.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import threading
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regard.errors import Busy, EnvironmentProblem, InputError, RegardError, UnknownName, phrase
from regard.live.guard import App, Guard
from regard.live.jobs import LONGEST_WAIT, error_json
from regard.live.page import app_page, scripts
from regard.live.session import Session

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

LOOPBACK = "127.0.0.1"
MOST_AT_ONCE = 64
"""Maximum concurrent requests."""
HEADERS = 16 << 10
EXTRA = "pip install 'regard[live]'"


def application(session: Session, *, token: str, hosts: Collection[str]) -> App:
    """Build the ASGI application of a session behind its guard. hosts: accepted Host headers."""
    try:
        from starlette.applications import Starlette
        from starlette.routing import Route
    except ImportError as error:
        raise EnvironmentProblem(
            phrase("errors.live.local_app"), expected="starlette", got=phrase("errors.common.none"), remedy=EXTRA
        ) from error
    page, policy = app_page(session.lang)

    async def index(request: Request) -> Response:
        return _response("text/html; charset=utf-8", page)

    async def script(request: Request) -> Response:
        source = scripts().get(request.path_params["name"])
        if source is None:
            return _error(UnknownName("file", request.path_params["name"][:80], ()), 404)
        return _response("text/javascript; charset=utf-8", source)

    async def call(request: Request) -> Response:
        try:
            body = json.loads(await request.body() or b"{}")
        except (ValueError, RecursionError):
            return _error(
                InputError(phrase("errors.live.request"), expected="JSON", got=phrase("errors.common.something_else")),
                400,
            )
        if not isinstance(body, dict):
            return _error(
                InputError(
                    phrase("errors.live.request"), expected=phrase("errors.common.json_object"), got=type(body).__name__
                ),
                400,
            )
        op, after = request.path_params["op"], body.pop("after", None)
        until = time.monotonic() + LONGEST_WAIT
        while True:
            # opening a model or writing a file must not hold up the others
            status, answer = await asyncio.to_thread(_answer, session, op, body)
            old = op == "job" and isinstance(after, int) and answer.get("state") in ("waiting", "running")
            if not old or answer["version"] > after or time.monotonic() > until:
                return _response("application/json", json.dumps(answer, allow_nan=False).encode(), status)
            await asyncio.sleep(0.03)  # no thread waits here: many pages may be waiting

    async def chunk(request: Request) -> Response:
        pack, name = request.path_params["pack"], request.path_params["name"]
        try:
            chunk_bytes = await asyncio.to_thread(session.chunk, pack, name)
        except RegardError as error:
            return _error(error, 404)
        return _response("application/octet-stream", chunk_bytes)

    app = Starlette(
        routes=[
            Route("/", index, methods=["GET"]),
            Route("/static/{name}", script, methods=["GET"]),
            Route("/api/chunk/{pack}/{name:path}", chunk, methods=["GET"]),
            Route("/api/{op}", call, methods=["POST"]),
        ]
    )
    return Guard(app, token=token, hosts=hosts, styles=policy)


def _answer(session: Session, op: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return (status, JSON)."""
    try:
        return 200, session.call(op, body)
    except Busy as error:
        return 429, {"error": error_json(error)}
    except UnknownName as error:
        return 404, {"error": error_json(error)}
    except RegardError as error:
        return 400, {"error": error_json(error)}
    except Exception as error:  # the page says what happened; the app goes on
        return 500, {"error": error_json(error)}


def _response(kind: str, body: bytes, status: int = 200) -> Response:
    from starlette.responses import Response

    return Response(body, status, media_type=kind)


def _error(error: BaseException, status: int) -> Response:
    return _response("application/json", json.dumps({"error": error_json(error)}).encode(), status)


@dataclass(slots=True, eq=False)
class Server:
    """A session served from its own thread; `url` contains the secret token."""

    session: Session
    port: int
    token: str
    _uvicorn: Any
    _thread: threading.Thread

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/"

    @property
    def url(self) -> str:
        return f"{self.address}#token={self.token}"

    def wait(self) -> None:
        """Block until Ctrl-C, then close."""
        with suppress(KeyboardInterrupt):
            while self._thread.is_alive():
                self._thread.join(0.5)
        self.close()

    def close(self) -> None:
        self._uvicorn.should_exit = True
        self.session.close()
        self._thread.join(10)


def serve(session: Session, *, port: int = 0, hosts: Collection[str] = ()) -> Server:
    """Start the app. port 0: any free port. hosts: additional host names of the user's tunnels or proxies."""
    uvicorn = _uvicorn()
    from regard.live.connections import LimitedProtocol

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise EnvironmentProblem(
            phrase("errors.common.port_port", port=port),
            expected=phrase("errors.common.free_one"),
            got=str(error),
            remedy=phrase("errors.common.another_port_or_none"),
        ) from error
    listener.listen(128)
    at, token = int(listener.getsockname()[1]), secrets.token_urlsafe(32)
    names = [f"{LOOPBACK}:{at}", f"localhost:{at}", *hosts]
    config = uvicorn.Config(
        application(session, token=token, hosts=names),
        log_level="critical",
        access_log=False,
        lifespan="off",
        limit_concurrency=MOST_AT_ONCE,
        h11_max_incomplete_event_size=HEADERS,
        timeout_keep_alive=5,
        ws="none",
        http=LimitedProtocol,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: server.run(sockets=[listener]), name="regard-server", daemon=True)
    thread.start()
    return Server(session, at, token, server, thread)


def _uvicorn() -> Any:
    try:
        import uvicorn
    except ImportError as error:
        raise EnvironmentProblem(
            phrase("errors.live.local_app"), expected="uvicorn", got=phrase("errors.common.none"), remedy=EXTRA
        ) from error
    return uvicorn
