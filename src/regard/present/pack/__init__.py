"""Pack: the data format of every viewer, a manifest (JSON) and chunks of bytes. Start in `pack.py`."""

from __future__ import annotations

import warnings
from typing import Any

from regard.message import Message


def __getattr__(name: str) -> Any:
    if name == "pack_of_capture":
        old, new = f"{__name__}.{name}", f"{__name__}.pack.{name}"
        warnings.warn(str(Message.of("moved.module", old=old, new=new)), DeprecationWarning, 2)
        from regard.present.pack.pack import pack_of_capture

        return pack_of_capture
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
