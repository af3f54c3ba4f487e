"""Functions by name, so that a worker imports only its own work; and the name of the worker. Imports no torch."""

from __future__ import annotations

import importlib
import os
import platform
from collections.abc import Callable
from typing import Any, cast

from regard.errors import InputError, phrase


def named_function(name: str) -> Callable[..., Any]:
    """Return the function called "package.module:function".

    >>> named_function("regard.records:frozen")([1.0, 2.0]).tolist()
    [1.0, 2.0]
    """
    module, colon, function = name.partition(":")
    if not colon:
        raise InputError(
            phrase("errors.audits.work_name", name=repr(name)),
            expected="package.module:function",
            got=phrase("errors.audits.no_colon"),
        )
    return cast("Callable[..., Any]", getattr(importlib.import_module(module), function))


def this_worker() -> str:
    """HOST:PID of this process, as `regard status` shows it."""
    return f"{platform.node()}:{os.getpid()}"
