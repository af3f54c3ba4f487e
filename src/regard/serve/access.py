"""Access control of the service: sizes, content type and API key, before any route runs."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import Sequence

from regard.errors import InputError, phrase
from regard.live.guard import (
    BODY_SECONDS,
    LARGEST_HEADERS,
    LONGEST_PATH,
    App,
    Message,
    Receive,
    Scope,
    Send,
    has_body,
    read_body,
    replay_body,
)
from regard.message import Text

OPEN_PATHS = ("/", "/v2/health/live", "/v2/health/ready")
"""Paths answered without a key: the probes of an orchestrator, with that of the model (`_is_probe`)."""
HEADERS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))


class ServiceGuard:
    """`app` behind the rules. keys: API keys of which a request must carry one; empty: no key is needed."""

    def __init__(self, app: App, *, keys: Sequence[str], body_bytes: int, patience: float = BODY_SECONDS) -> None:
        self._app, self._body_bytes, self._patience = app, body_bytes, patience
        self._keys = [hashlib.sha256(key.encode()).digest() for key in keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refusal = self._refused(scope)
        if refusal is not None:
            await _refuse(send, *refusal)
            return
        try:
            coming = read_body(receive, self._body_bytes)
            body = await (asyncio.wait_for(coming, self._patience) if has_body(scope) else coming)
        except TimeoutError:
            await _refuse_body(send, 408, phrase("errors.common.body_within_seconds", seconds=self._patience))
            return
        if body is None:
            await _refuse_body(send, 413, phrase("errors.common.body_at_most_bytes", n=self._body_bytes))
            return
        await self._app(scope, replay_body(body, receive), _with_headers(send))

    def _refused(self, scope: Scope) -> tuple[int, InputError] | None:
        pairs = [(name.lower(), value) for name, value in scope["headers"]]
        if sum(len(n) + len(v) for n, v in pairs) > LARGEST_HEADERS or len(scope["path"]) > LONGEST_PATH:
            short = phrase("errors.common.short_head", n=LARGEST_HEADERS, path=LONGEST_PATH)
            return 431, InputError(phrase("errors.serve.request_head"), expected=short)
        headers = dict(pairs)
        if self._keys and not _is_probe(scope["path"]) and not self._has_key(headers):
            return 401, InputError(
                phrase("errors.serve.api_key"),
                expected=phrase("errors.serve.bearer_or_header"),
                got=phrase("errors.serve.no_valid_key"),
            )
        if scope["method"] == "POST":
            kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
            binary = b"inference-header-content-length" in headers
            if binary and not scope["path"].endswith("/infer"):
                return 415, InputError(phrase("errors.serve.request_body"), expected=phrase("errors.serve.json_body"))
            if kind not in (b"application/json", b"") and not (binary and kind == b"application/octet-stream"):
                return 415, InputError(phrase("errors.serve.content_type"), expected="application/json")
        return None

    def _has_key(self, headers: dict[bytes, bytes]) -> bool:
        kind, _, token = headers.get(b"authorization", b"").partition(b" ")
        sent = token if kind.lower() == b"bearer" else headers.get(b"x-api-key", b"")
        digest = hashlib.sha256(sent).digest()
        return any(hmac.compare_digest(digest, key) for key in self._keys)


def _is_probe(path: str) -> bool:
    """
    >>> _is_probe("/v2/health/ready"), _is_probe("/v2/models/reviews/ready"), _is_probe("/v2/models/reviews/infer")
    (True, True, False)
    """
    model = path.removeprefix("/v2/models/").removesuffix("/ready")
    return path in OPEN_PATHS or path == f"/v2/models/{model}/ready"


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *HEADERS]
        await send(message)

    return sending


async def _refuse_body(send: Send, status: int, expected: Text) -> None:
    await _refuse(send, status, InputError(phrase("errors.serve.request_body"), expected=expected))


async def _refuse(send: Send, status: int, error: InputError) -> None:
    body = json.dumps({"error": str(error)}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *HEADERS]
    headers += [(b"connection", b"close")] if status in (408, 413) else []
    headers += [(b"www-authenticate", b"Bearer")] if status == 401 else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
