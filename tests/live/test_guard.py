"""Each rule of the server, tried against a real one."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

import pytest
from live_caller import Caller

from regard.errors import EnvironmentProblem
from regard.live import guard, server
from regard.live.guard import Guard
from regard.live.session import Session
from regard.protocols import Model


def test_it_listens_on_the_loopback_alone(app: Caller) -> None:
    outside = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
    for address in outside:
        with pytest.raises(OSError, match=r"refused|timed out|unreachable"):
            socket.create_connection((address, app.server.port), timeout=1).close()
    with socket.create_connection(("127.0.0.1", app.server.port), timeout=1):
        pass


def test_a_port_that_is_taken_is_an_error_in_words() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        with pytest.raises(EnvironmentProblem, match="another --port"):
            server.serve(Session(), port=held.getsockname()[1])


def test_the_token_is_long_and_not_in_what_a_browser_sends(app: Caller) -> None:
    address, _, fragment = app.server.url.partition("#")
    assert len(fragment.removeprefix("token=")) >= 43  # 256 bits in base64
    assert app.server.token not in address
    assert app.server.token not in app.raw("GET", "/", token=False)[2].decode()


def test_the_page_needs_no_token_and_holds_no_data(app: Caller) -> None:
    status, headers, body = app.raw("GET", "/", token=False)
    assert status == 200
    assert headers["content-type"].startswith("text/html")
    assert b"negative" not in body


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Basic {token}"}, 401),
        ({"Authorization": "Bearer {token}x"}, 401),
        ({"Cookie": "token={token}", "Authorization": ""}, 401),
    ],
)
def test_requests_need_the_token_in_the_header(app: Caller, headers: dict[str, str], status: int) -> None:
    sent = {k: v.format(token=app.server.token) for k, v in headers.items()}
    assert app.raw("POST", "/api/hello", b"{}", sent)[0] == status


def test_the_token_in_the_address_is_not_taken(app: Caller) -> None:
    for path in (f"/api/hello?token={app.server.token}", f"/api/hello?access_token={app.server.token}"):
        assert app.raw("POST", path, b"{}", token=False)[0] == 401


def test_guessing_tokens_is_slowed_down(model: Model, served: Callable[[Session], Caller]) -> None:
    app = served(Session(model))
    wrong = {"Authorization": "Bearer nope"}
    seen = [app.raw("POST", "/api/hello", b"{}", wrong)[0] for _ in range(guard.WRONG_TOKENS + 3)]
    assert seen == [401] * guard.WRONG_TOKENS + [429] * 3
    assert app.raw("POST", "/api/hello", b"{}")[0] == 200  # whoever has the token is let in


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "[::1]:{port}", ""]
)
@pytest.mark.parametrize("path", ["/", "/static/viewer.js", "/api/hello"])
def test_another_host_is_refused(app: Caller, host: str, path: str) -> None:
    """DNS rebinding: the browser believes that the page of evil.example lives here."""
    sent = {"Host": host.format(port=app.server.port)}
    assert app.raw("POST" if "api" in path else "GET", path, b"{}" if "api" in path else None, sent)[0] in (400, 421)


def test_localhost_is_this_machine_too(app: Caller) -> None:
    assert app.raw("GET", "/", headers={"Host": f"localhost:{app.server.port}"})[0] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://127.0.0.1:{port}"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "https://127.0.0.1:{port}"}, 403),
        ({"Origin": "http://127.0.0.1:{port}.evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Referer": "http://evil.example/page"}, 403),
    ],
)
def test_pages_of_others_are_refused(app: Caller, headers: dict[str, str], status: int) -> None:
    sent = {k: v.format(port=app.server.port) for k, v in headers.items()}
    assert app.raw("POST", "/api/hello", b"{}", sent)[0] == status
    assert app.raw("GET", "/", headers=sent, token=False)[0] == status


def test_every_answer_carries_the_policy_and_no_permission_for_others(app: Caller) -> None:
    for method, path, sent in (
        ("GET", "/", {}), ("POST", "/api/hello", {}), ("GET", "/nothing", {}), ("GET", "/", {"Origin": "http://evil"}),
        ("GET", "/static/viewer.js", {}), ("OPTIONS", "/api/hello", {"Access-Control-Request-Method": "POST"}),
    ):  # fmt: skip
        _, headers, _ = app.raw(method, path, b"{}" if method == "POST" else None, sent)
        policy = headers["content-security-policy"]
        for rule in ("default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'",
                     "base-uri 'none'", "form-action 'none'"):  # fmt: skip
            assert rule in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert not [name for name in headers if name.startswith("access-control-")]
        assert "set-cookie" not in headers
        assert "server" not in headers


def test_methods_and_bodies(app: Caller) -> None:
    assert app.raw("OPTIONS", "/api/hello")[0] == 405
    assert app.raw("PUT", "/api/hello", b"{}")[0] == 405
    assert app.raw("DELETE", "/")[0] == 405
    assert app.raw("POST", "/", b"{}")[0] == 405
    assert app.raw("GET", "/api/hello")[0] == 405
    assert app.raw("POST", "/api/hello", b"{}", {"Content-Type": "text/plain"})[0] == 415  # what a form can send
    assert app.raw("POST", "/api/hello", b"{}", {"Content-Type": "application/x-www-form-urlencoded"})[0] == 415
    assert app.raw("POST", "/api/hello", b"[1")[0] == 400
    assert app.raw("POST", "/api/hello", b"[]")[0] == 400
    assert app.raw("POST", "/api/hello", b"[" * 100_000)[0] == 400
    assert app.raw("GET", "/", b"x" * 10)[0] == 413


def test_a_body_that_is_too_long_is_refused_whatever_it_says_about_itself(app: Caller) -> None:
    assert app.raw("POST", "/api/hello", b"", {"Content-Length": "99999999"})[0] == 413
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    body = chunk * (guard.LARGEST_BODY // 65536 + 2) + b"0\r\n\r\n"
    try:
        status = app.raw("POST", "/api/hello", body, {"Transfer-Encoding": "chunked"})[0]
    except (BrokenPipeError, ConnectionResetError):
        status = 413  # it hung up while we were still talking
    assert status == 413
    assert app.call("hello")["model"]


def test_long_headers_and_paths_are_refused(app: Caller) -> None:
    assert app.raw("GET", "/", headers={"X-Long": "x" * 15_000, "X-More": "y" * 2_000})[0] in (400, 431)
    assert app.raw("GET", "/" + "a" * 600)[0] == 431


@pytest.mark.parametrize(
    "path",
    [
        "/static/..%2f..%2f..%2fetc%2fpasswd", "/static/../server.py", "/static//etc/passwd", "/../../etc/passwd",
        "/static/viewer.py", "/api/chunk/..%2f..%2fetc/passwd", "/api/chunk//etc/passwd", "/etc/passwd",
    ],
)  # fmt: skip
def test_ids_are_never_paths(app: Caller, path: str) -> None:
    status, _, body = app.raw("GET", path)
    assert status == 404
    assert b"root:" not in body
    assert b"import" not in body


def test_ids_that_nobody_gave_out_are_unknown(app: Caller) -> None:
    for op, body in (
        ("manifest", {"pack": "../../etc/passwd"}), ("job", {"job": "x"}), ("cancel", {"job": None}),
        ("edit", {"pack": "x", "edits": []}), ("marks", {"pack": "/etc/passwd"}), ("nothing", {}), ("__class__", {}),
    ):  # fmt: skip
        answer = app.call(op, **body)
        assert answer["status"] == 404, op
        assert set(answer["error"]) == {"subject", "expected", "got", "remedy", "said"}


def test_nothing_is_unpickled() -> None:
    """A model or a run may come from anywhere: neither the app nor what it carries can bring code."""
    import ast
    from pathlib import Path

    import regard.live

    for file in Path(regard.live.__file__).parent.glob("*.py"):
        tree = ast.parse(file.read_text("utf-8"))
        names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        names |= {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        names |= {str(n.module) for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        assert not names & {"pickle", "dill", "marshal", "shelve", "joblib", "eval", "exec", "compile"}, file


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_too_many_requests_wait() -> None:
    """By the clock, so that a slow machine does not decide."""
    clock = Clock()

    async def fine(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    guarded = Guard(fine, token="t", hosts=["h"], clock=clock)

    def ask() -> int:
        seen: list[int] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                seen.append(message["status"])

        scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"h")]}
        with pytest.raises(StopIteration):  # nothing here waits; a browser test may have left its loop running
            guarded(scope, receive, send).send(None)
        return seen[0]

    assert [ask() for _ in range(guard.BURST + 1)] == [200] * guard.BURST + [429]
    clock.now = 1.0
    assert [ask() for _ in range(guard.PER_SECOND + 1)] == [200] * guard.PER_SECOND + [429]


def test_web_sockets_are_not_spoken(app: Caller) -> None:
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
               "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}  # fmt: skip
    status, headers, _ = app.raw("GET", "/api/hello", headers=upgrade)
    assert status != 101
    assert "sec-websocket-accept" not in headers


def test_errors_inside_are_said_and_the_app_goes_on(app: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(op: str, body: dict[str, Any]) -> dict[str, Any]:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(app.server.session, "call", broken)
    status, _, body = app.raw("POST", "/api/hello", b"{}")
    assert status == 500
    assert json.loads(body)["error"]["said"] == "internal error: ZeroDivisionError: a bug"
    assert b"Traceback" not in body
    monkeypatch.undo()
    assert app.call("hello")["model"]
