"""Connections of the service: the time limit on heads of the local app, with room for many clients."""

from __future__ import annotations

from typing import ClassVar

from regard.live.connections import LimitedProtocol


class ServiceProtocol(LimitedProtocol):
    """A client connection; a proxy opens many from one address."""

    most_per_client: ClassVar[int] = 512
