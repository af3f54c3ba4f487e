"""Access control of the local app: an ASGI layer in front of every route.

The app runs on the user's machine beside every page that is open in the browser. Those pages must not reach it, whether
by its address, by a name that suddenly points here (DNS rebinding), by a form, or by guessing.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from regard.errors import InputError, Text, in_words, phrase

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST_BODY = 1 << 20
LARGEST_HEADERS = 16 << 10
LONGEST_PATH = 512
BODY_SECONDS = 20.0
"""Maximum seconds for the body of a request to arrive."""
BURST, PER_SECOND = 400, 100
"""Burst size, and requests per second after that; a view fetches some dozens of chunks."""
WRONG_TOKENS = 20
"""Maximum wrong tokens per minute; beyond, every request without the right one waits for the minute to end."""

HEADERS = (
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-embedder-policy", "require-corp"),
    ("x-frame-options", "DENY"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
    ("cache-control", "no-store"),
)
POLICY = (
    "default-src 'none'; script-src 'self'{script}; style-src 'self'{style}; connect-src 'self'; img-src 'self' data: "
    "blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)


class Guard:
    """`app` behind the rules. hosts: "127.0.0.1:8941" and the like, exactly as a browser sends them.

    scripts, styles: hashes ('sha256-...') of inline content, for the content security policy of the page.
    """

    def __init__(
        self,
        app: App,
        *,
        token: str,
        hosts: Collection[str],
        scripts: Collection[str] = (),
        styles: Collection[str] = (),
        clock: Callable[[], float] = time.monotonic,
        patience: float = BODY_SECONDS,
    ) -> None:
        self._patience = patience
        self._app, self._token, self._hosts = app, token.encode(), frozenset(hosts)
        self._origins = frozenset(f"http://{host}" for host in hosts)
        added = ("".join(f" {h}" for h in scripts), "".join(f" {h}" for h in styles))
        self._headers = [*HEADERS, ("content-security-policy", POLICY.format(script=added[0], style=added[1]))]
        self._clock, self._tokens, self._filled = clock, float(BURST), clock()
        self._wrong: deque[float] = deque()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        guarded = self._with_headers(send)
        if scope["type"] != "http":  # no web sockets: nothing here needs them
            return
        refusal = self._refused(scope)
        if refusal is not None:
            await _say(guarded, *refusal)
            return
        try:
            coming = read_body(receive, LARGEST_BODY)
            body = await (asyncio.wait_for(coming, self._patience) if has_body(scope) else coming)
        except TimeoutError:
            await _say(guarded, 408, phrase("errors.common.body_within_seconds", seconds=self._patience), close=True)
            return
        if body is None:
            await _say(guarded, 413, phrase("errors.common.body_at_most_bytes", n=LARGEST_BODY))
            return
        await self._app(scope, replay_body(body, receive), guarded)

    def _refused(self, scope: Scope) -> tuple[int, Text] | None:
        """Return (status, expectation) for a refused request, None for an allowed one."""
        pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        if sum(len(n) + len(v) for n, v in pairs) > LARGEST_HEADERS or len(scope["path"]) > LONGEST_PATH:
            return 431, phrase("errors.common.short_head", n=LARGEST_HEADERS, path=LONGEST_PATH)
        if not self._has_room():
            return 429, phrase("errors.live.requests_a_second", n=PER_SECOND)
        headers = dict(pairs)
        if [n for n, _ in pairs].count("host") != 1 or headers["host"] not in self._hosts:
            return 421, phrase("errors.live.own_address")
        if "origin" in headers and headers["origin"] not in self._origins:
            return 403, phrase("errors.live.own_page")
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, phrase("errors.live.own_page")
        if "referer" in headers and (origin := _place(headers["referer"])) not in self._hosts:
            return (
                (400, phrase("errors.live.well_formed_referer"))
                if origin is None
                else (403, phrase("errors.live.own_page"))
            )
        return self._refused_api(scope, headers) if scope["path"].startswith("/api/") else _refused_page(scope, headers)

    def _refused_api(self, scope: Scope, headers: dict[str, str]) -> tuple[int, Text] | None:
        now = self._clock()
        while self._wrong and now - self._wrong[0] > 60:
            self._wrong.popleft()
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind != "Bearer" or not hmac.compare_digest(token.encode("latin-1"), self._token):
            if len(self._wrong) >= WRONG_TOKENS:
                return 429, phrase("errors.live.printed_token")
            self._wrong.append(now)
            return 401, phrase("errors.live.printed_token")
        if scope["method"] not in ("GET", "POST"):
            return 405, phrase("errors.live.get_or_post")
        if scope["method"] == "POST" and headers.get("content-type", "").partition(";")[0] != "application/json":
            return 415, phrase("errors.common.json_content_type")
        if scope["method"] == "GET" and (headers.get("content-length", "0") != "0" or "transfer-encoding" in headers):
            return 413, phrase("errors.live.no_body")
        if int(headers["content-length"]) > LARGEST_BODY if headers.get("content-length", "").isdigit() else False:
            return 413, phrase("errors.common.body_at_most_bytes", n=LARGEST_BODY)
        return None

    def _has_room(self) -> bool:
        now = self._clock()
        self._tokens = min(float(BURST), self._tokens + (now - self._filled) * PER_SECOND)
        self._filled = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def _with_headers(self, send: Send) -> Send:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in self._headers}
                others = [(n, v) for n, v in message.get("headers", []) if n.decode("latin-1").lower() not in own]
                message["headers"] = [*others, *((n.encode(), v.encode()) for n, v in self._headers)]
            await send(message)

        return guarded


def _place(address: str) -> str | None:
    """Return host and port of an address, or None if it is malformed."""
    try:
        return urlsplit(address).netloc
    except ValueError:
        return None


def _refused_page(scope: Scope, headers: dict[str, str]) -> tuple[int, Text] | None:
    if scope["method"] not in ("GET", "HEAD"):
        return 405, "GET"
    if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
        return 413, phrase("errors.live.no_body")
    return None


def has_body(scope: Scope) -> bool:
    """Return whether the head of the request announces a body."""
    return any(
        name.lower() == b"transfer-encoding" or (name.lower() == b"content-length" and value != b"0")
        for name, value in scope["headers"]
    )


async def read_body(receive: Receive, most: int) -> bytes | None:
    """Read the whole body; return None if it exceeds the limit, whatever its headers say."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b""
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            return None
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a channel that delivers a body that was already read."""
    delivered = False

    async def again() -> Message:
        nonlocal delivered
        if delivered:
            return await receive()
        delivered = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _say(send: Send, status: int, expected: Text, *, close: bool = False) -> None:
    problem = InputError(phrase("errors.live.request"), expected=expected)
    parts = {name: in_words(getattr(problem, name)) for name in ("subject", "expected", "got", "remedy")}
    body = json.dumps({"error": {**parts, "said": str(problem)}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += [(b"connection", b"close")] if close else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
