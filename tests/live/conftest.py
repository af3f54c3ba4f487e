"""A small live model behind the app."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from chromium import Browser
from live_caller import Caller, small_model

from regard.live.server import Server, serve
from regard.live.session import Session
from regard.protocols import Model


@pytest.fixture(scope="session")
def model() -> Model:
    return small_model()


@pytest.fixture(scope="module")
def app(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    server = serve(Session(model, marks=tmp_path_factory.mktemp("marks") / "rationales.jsonl"))
    yield Caller(server)
    server.close()


@pytest.fixture
def served() -> Iterator[Callable[[Session], Caller]]:
    """Any session behind the app; all are closed at the end."""
    servers: list[Server] = []

    def start(session: Session) -> Caller:
        servers.append(serve(session))
        return Caller(servers[-1])

    yield start
    for server in servers:
        server.close()


@pytest.fixture(scope="session")
def chromium(running_browser: Any) -> Browser:
    return Browser(running_browser)
