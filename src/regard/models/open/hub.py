"""The one switch for Hugging Face's hub: off, unless the user asked for a download."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_VARIABLES: Mapping[str, str] = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "USE_HUB_KERNELS": "0",
}
"""Environment variables that the libraries read on import: no network, and no compiled kernels from the hub."""
_CONSTANTS: Mapping[tuple[str, str], tuple[str, bool]] = {
    ("huggingface_hub.constants", "HF_HUB_OFFLINE"): ("HF_HUB_OFFLINE", True),
    ("huggingface_hub.constants", "HF_HUB_DISABLE_TELEMETRY"): ("HF_HUB_DISABLE_TELEMETRY", True),
    ("datasets.config", "HF_HUB_OFFLINE"): ("HF_DATASETS_OFFLINE", True),
    ("datasets.config", "HF_DATASETS_OFFLINE"): ("HF_DATASETS_OFFLINE", True),
    ("transformers.integrations.hub_kernels", "_kernels_enabled"): ("USE_HUB_KERNELS", False),
}
"""(module, constant) of such a variable after the import -> the variable, and the value that switches off."""
_LOCK = threading.Lock()
_depth = 0
_before: dict[str, str | None] = {}
_constants: dict[tuple[str, str], Any] = {}


@contextmanager
def hub(*, download: bool = False) -> Iterator[None]:
    """Call the libraries of Hugging Face without network access; with `download`, with the user's settings.

    The switch belongs to the whole process and is restored afterwards: the user's own downloads are not affected.
    """
    if download:
        yield
        return
    _enter()
    try:
        yield
    finally:
        _leave()


def snapshot_of(source: str) -> Path | None:
    """The directory of a Hugging Face id in the local cache, if it is there."""
    with hub():
        from huggingface_hub import try_to_load_from_cache
        from huggingface_hub.errors import HFValidationError

        try:
            config_path = try_to_load_from_cache(source, "config.json")
        except HFValidationError:
            return None
    return Path(config_path).parent if isinstance(config_path, str) else None


def _enter() -> None:
    global _depth
    with _LOCK:
        if _depth == 0:
            _before.update({name: os.environ.get(name) for name in _VARIABLES})
            _constants.clear()
            os.environ.update(_VARIABLES)
        _depth += 1
        for (module, name), (_, off) in _CONSTANTS.items():
            loaded = sys.modules.get(module)
            if loaded is not None and hasattr(loaded, name):
                _constants.setdefault((module, name), getattr(loaded, name))
                setattr(loaded, name, off)


def _leave() -> None:
    global _depth
    with _LOCK:
        _depth -= 1
        if _depth:
            return
        for name, value in _before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        for (module, name), (variable, off) in _CONSTANTS.items():
            loaded = sys.modules.get(module)
            if loaded is not None and hasattr(loaded, name):
                imported_inside = (module, name) not in _constants
                restored = _as_imported(variable, off) if imported_inside else _constants[module, name]
                setattr(loaded, name, restored)


def _as_imported(variable: str, off: bool) -> bool:
    """Return the value that a library would have had if it were imported outside the block."""
    switched_on = (os.environ.get(variable) or "").upper() in ("1", "ON", "YES", "TRUE")
    if variable == "USE_HUB_KERNELS":
        return switched_on if variable in os.environ else not off
    if variable == "HF_HUB_DISABLE_TELEMETRY":
        return switched_on
    return switched_on or (os.environ.get("HF_HUB_OFFLINE") or "").upper() in ("1", "ON", "YES", "TRUE")
