"""History that passes leave behind for later passes, and one way to drop all of it.

Capture plans, trusted shortcuts and replay caches let later passes take a cheaper path through the same arithmetic.
Two paths may differ in the last bit, so the numbers of a pass depend on the passes before it in the same process. Work
whose numbers must not depend on that (a shard of an audit, which may be the first or the tenth of its process) calls
`forget_passes` before it starts.
"""

from __future__ import annotations

import weakref
from typing import Protocol, TypeVar


class Clearable(Protocol):
    """Holder of knowledge about earlier passes."""

    def clear(self) -> None: ...


Holder = TypeVar("Holder", bound=Clearable)
_HOLDERS: dict[int, weakref.ref[Clearable]] = {}


def forgettable(holder: Holder) -> Holder:
    """Register a holder, which `forget_passes` clears from now on for as long as it lives; return it.

    >>> plans = forgettable(weakref.WeakKeyDictionary())
    >>> plans[Holder] = "light"
    >>> forget_passes()
    >>> len(plans)
    0
    """
    key = id(holder)
    _HOLDERS[key] = weakref.ref(holder, lambda _: _HOLDERS.pop(key, None))
    return holder


def forget_passes() -> None:
    """Clear the history of passes of every model in this process, so that the next pass is like the first."""
    for reference in list(_HOLDERS.values()):
        holder = reference()
        if holder is not None:
            holder.clear()
