"""Write catalogue.json: `python -m regard.testing.catalogue [--check]`.

Every file of a method package in `registry.ROOMS` is a method, named after its file. Files that start with an
underscore are private and skipped.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from regard.errors import InputError, phrase
from regard.registry import GATHERED, ROOMS, SHELVES, describe, language_entry, marked_kind

PATH = Path(__file__).parents[1] / "catalogue.json"


def methods() -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """(kind, name, function) of every method file; a file without its method is an error."""
    for kind, room in places():
        package = importlib.import_module(room)
        if kind in GATHERED:
            yield from _gathered(kind, package)
            continue
        for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
            if info.name.startswith("_") or info.ispkg:
                continue
            module = importlib.import_module(f"{room}.{info.name}")
            function = getattr(module, info.name, None)
            if not callable(function):
                raise InputError(
                    f"{room}.{info.name}",
                    expected=phrase("errors.testing.function_decorated", info=info.name, kind=kind),
                    got=phrase("errors.common.none"),
                    remedy=phrase("errors.testing.name_function_like_file"),
                )
            yield kind, info.name, function


def _gathered(kind: str, package: ModuleType) -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """Every function of a module, or of the modules in a package, that is decorated as that kind."""
    names = [f"{package.__name__}.{m.name}" for m in pkgutil.iter_modules(getattr(package, "__path__", ()))]
    for module in (package, *map(importlib.import_module, sorted(names))):
        for name, value in vars(module).items():
            if marked_kind(value) == kind and value.__module__ == module.__name__:
                yield kind, name, value


def places() -> Iterator[tuple[str, str]]:
    """(kind, package) of every package that holds methods, including subpackages."""
    for kind, room in ROOMS.items():
        if kind == "language":  # a file of sentences, not of code
            continue
        shelves = SHELVES.get(kind)
        yield from [(kind, room)] if shelves is None else [(kind, f"{room}.{shelf}") for shelf in shelves]


def catalogue() -> str:
    """The text of catalogue.json, the same for the same code."""
    entries = []
    for kind, name, function in methods():
        entry = describe(function)
        if (entry.kind, entry.name) != (kind, name):
            raise InputError(
                f"{function.__module__}.{name}", expected=f"{kind} {name}", got=f"{entry.kind} {entry.name}"
            )
        entries.append(entry.to_json())
    languages = sorted(Path(importlib.import_module(ROOMS["language"]).__path__[0]).glob("*.toml"))
    entries += [language_entry(path.stem).to_json() for path in languages]
    # one method a line: a new method is one line in the diff
    lines = ",\n".join(json.dumps(e, ensure_ascii=False, sort_keys=True) for e in entries)
    return f"[\n{lines}\n]\n"


def main(arguments: Sequence[str]) -> int:
    text = catalogue()
    current = PATH.read_text("utf-8") if PATH.exists() else ""
    if "--check" in arguments:
        if text != current:
            print(f"{PATH.name} is not what the code says. Try: python -m regard.testing.catalogue")
        return int(text != current)
    if text != current:
        PATH.write_text(text, "utf-8")
    print(f"{PATH}: {text.count(chr(10)) - 2} methods")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
