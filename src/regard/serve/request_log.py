"""Structured logs, one JSON object per line, and OpenTelemetry spans where that package is installed.

A line holds no text of a request or an answer unless the operator turns that on.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

from regard.records import Json
from regard.store.manifest import now


class RequestLog:
    """Log of requests, one JSON line each. out: None for no log. texts: whether to log the texts of requests."""

    def __init__(self, out: TextIO | None = None, *, texts: bool = False) -> None:
        self._out, self.texts = out, texts
        self._tracer = _tracer()

    def write(self, event: str, **fields: Json) -> None:
        if self._out is None:
            return
        line = json.dumps({"time": now(), "event": event, **fields}, ensure_ascii=True, default=str)
        try:
            self._out.write(line + "\n")
            self._out.flush()
        except (OSError, ValueError):  # a log that cannot be written must not end the service
            self._out = None

    @contextmanager
    def span(self, name: str, attributes: Mapping[str, str | int | float | bool]) -> Iterator[dict[str, Any]]:
        """Time an operation; fields that the caller adds go to the span as attributes."""
        added: dict[str, Any] = {}
        began = time.monotonic()
        if self._tracer is None:
            yield added
            added["seconds"] = time.monotonic() - began
            return
        with self._tracer.start_as_current_span(name, attributes=dict(attributes)) as span:
            yield added
            added["seconds"] = time.monotonic() - began
            span.set_attributes({f"regard.{key}": value for key, value in added.items()})


def _tracer() -> Any:
    """Tracer of the process, if OpenTelemetry is configured; None otherwise."""
    if "opentelemetry" not in sys.modules:
        try:
            import opentelemetry.trace  # noqa: F401
        except ImportError:
            return None
    from opentelemetry import trace

    return trace.get_tracer("regard.serve")
