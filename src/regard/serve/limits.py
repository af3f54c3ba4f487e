"""Limits of the service: size and time of requests, length of the queue."""

from __future__ import annotations

from dataclasses import dataclass

from regard.errors import InputError, phrase


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLimits:
    """Limits of a service. queue: waiting requests; one more is refused with 429. batch: inputs that share a pass.

    deadline: seconds from arrival to the answer. drain: seconds that a stopping service gives requests that it has
    accepted.
    """

    queue: int = 256
    batch: int = 32
    deadline: float = 30.0
    drain: float = 30.0
    body_bytes: int = 1 << 20
    instances: int = 64
    characters: int = 50_000
    numbers: int = 1 << 18
    methods: int = 8

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if getattr(self, name) <= 0:
                raise InputError(name, expected=phrase("errors.serve.above_zero"), got=str(getattr(self, name)))
