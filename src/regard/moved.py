"""Old public names, redirected to their new module with a warning for one release."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from regard.message import Message


def _moved_modules() -> dict[str, str]:
    """Return old module -> new module, from the table beside this file; without those that have no successor."""
    with open(__file__.replace("moved.py", "moved_modules.txt"), encoding="utf-8") as table:
        rows = [line.split()[:2] for line in table if not line.startswith("#")]
    return {old: new for old, new in rows if new != "-"}


MOVED = _moved_modules()
ONCE_AT_THE_TOP = {
    "Spec": "regard.records",
    "atlas": "regard.surveys.atlas",
    "capture_generation": "regard.models.capture_generation",
    "from_arrays": "regard.models.open.from_arrays",
    "names": "regard.registry",
    "preconditions": "regard.audits.preconditions",
    "prune": "regard.surveys.prune",
    "register_site": "regard.tap.declared_sites",
    "verdicts": "regard.judge.verdicts",
    "walkthrough": "regard.models.walkthrough",
    "watch": "regard.tap.monitor.watch",
}
"""Name that `import regard` had -> the module that defines it."""


def moved_name(name: str) -> Any:
    """Return `regard.NAME` from its own module, with a warning; raise AttributeError for an unknown name."""
    if name not in ONCE_AT_THE_TOP:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    home = ONCE_AT_THE_TOP[name]
    remedy = f"from {home} import {name}"
    warnings.warn(str(Message.of("moved.name", name=name, remedy=remedy)), DeprecationWarning, 3)
    return getattr(importlib.import_module(home), name)


class _Alias:
    """Load the new module under the old name."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = MOVED[spec.name]
        warnings.warn(str(Message.of("moved.module", old=spec.name, new=new)), DeprecationWarning, 2)
        module = importlib.import_module(new)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Keep the identity of the new name; its code has run."""
        module.__spec__ = self._spec


class _Finder:
    """A finder without `importlib.abc`, whose import takes 40 ms."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in MOVED:
            return None
        return ModuleSpec(name, _Alias())  # type: ignore[arg-type]


def install() -> None:
    """Let the old names import."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())  # before the path of the new package is searched
