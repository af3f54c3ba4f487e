"""Requests to the local app: hostile JSON bodies of every operation, malformed headers and paths."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.fuzz import mutations
from benchmarks.fuzz.app import App, Request, app
from benchmarks.fuzz.case import Case, evil_module
from benchmarks.fuzz.materials import Materials
from benchmarks.fuzz.targets.specs import spec


def case(rng: Random, originals: Materials, folder: Path) -> Case:
    evil_module(folder)
    served = app(originals)
    requests = [request(rng, served) for _ in range(rng.choice((1, 2, 3)))]
    return Case(play=lambda: served.outcome(requests))


def request(rng: Random, served: App) -> Request:
    """Return one request; three of four have a good header and a hostile body."""
    if rng.random() < 0.75:
        op, body = _body(rng, served)
        content = mutations.dumps(mutations.json_value(body, rng)).encode("utf-8", "surrogatepass")
        if rng.random() < 0.15:
            content = mutations.data(content, rng)
        return served.post(op, content)
    return rng.choice((_head, _head, _bytes, _path))(rng, served)


def good_request(rng: Random, served: App) -> Request:
    """Return a request as the page itself sends it."""
    op, body = _body(rng, served)
    return served.post(op, json.dumps(body).encode())


def _body(rng: Random, served: App) -> tuple[str, dict[str, Any]]:
    text = rng.choice(("a quiet film", "the cast and the plot", "good"))
    bodies: list[tuple[str, dict[str, Any]]] = [
        ("hello", {}),
        ("ask", {"text": text, "methods": ["attention"]}),
        ("ask", {"text": text, "methods": ["attention", "leave_one_out"], "beside": served.pack}),
        ("edit", {"pack": served.pack, "example": 0, "edits": spec(rng)["params"]["edits"]}),
        ("open", {"spec": spec(rng)}),
        ("job", {"job": "none", "after": 0}),
        ("cancel", {"job": "none"}),
        ("manifest", {"pack": served.pack}),
        ("marks", {"pack": served.pack, "example": 0}),
        ("mark", {"pack": served.pack, "example": 0, "units": [0, 1], "author": "Anna"}),
    ]
    return rng.choice(bodies)


def _head(rng: Random, served: App) -> Request:
    """Return a hostile, missing or duplicate header."""
    content = b"{}"
    headers = served.headers(len(content))
    name = rng.choice(
        (*headers, "Referer", "Origin", "Sec-Fetch-Site", "Transfer-Encoding", "Expect", "Cookie", "Range")
    )
    odd = (
        "http://[", "http://[::1", "http://a]b/", "//", "chunked", "100-continue", "-1", "1e3", "9" * 20, "", " ",
        "x" * 20000, "\x7f", "é", "bytes=0-", "Bearer", "Bearer \u00e9", "null", "0, 0", "gzip", "+2", "2 ", "٢",
    )  # fmt: skip
    headers[name] = rng.choice(odd)
    if rng.random() < 0.1:
        del headers[name]
    return Request(
        "POST", "/api/hello", headers, content, complete=name not in ("Content-Length", "Transfer-Encoding", "Expect")
    )


def _bytes(rng: Random, served: App) -> Request:
    whole = served.post("hello", b"{}").raw()
    return Request("", "", {}, mutations.data(whole, rng), complete=False)


def _path(rng: Random, served: App) -> Request:
    paths = (
        "/api/chunk/x/y", f"/api/chunk/{served.pack}/none", f"/api/chunk/{served.pack}/../../x", "/static/x",
        "/static/..%2f", "/api/", "/api/hello/../ask", "//", "/%00", "/%ff%fe", "/api/%E2%80%A8", "/" + "x" * 600,
        "/?x=" + "y" * 3000, "*", "http://127.0.0.1:1/", "/api/hello?token=x",
    )  # fmt: skip
    method = rng.choice(("GET", "GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "X" * 50))
    headers = served.headers(0 if method == "GET" else 2)
    return Request(method, rng.choice(paths), headers, b"" if method == "GET" else b"{}", complete=method != "HEAD")
