"""The directory of a training: who it belongs to, whether it is finished, what came of it.

out/training.json    how it is made (recipe), its status, and in the end its facts
out/state/...        where it stands, so that it can be killed; gone when it is finished
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.errors import InputError
from regard.records import Json
from regard.training.cache import locked

FILE = "training.json"
FORMAT, VERSION = "regard-training", 1


@contextmanager
def claimed(out: Path, recipe: Mapping[str, Json]) -> Iterator[dict[str, Any] | None]:
    """Hold the directory; gives its record if this very training was begun or finished there before, else None."""
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out}", expected="a directory", got="a file", remedy="another --out")
    out.mkdir(parents=True, exist_ok=True)
    with locked(out / "lock", wait=False, subject=f"--out {out}"):
        record = _read(out)
        others = sorted(p.name for p in out.iterdir() if p.name != "lock")
        if record is None and others:
            raise InputError(
                f"--out {out}", expected="a new or empty directory, or a training to go on with",
                got=f"a directory with other files ({', '.join(others[:3])})", remedy="another --out",
            )  # fmt: skip
        if record is not None and record["recipe"] != recipe:
            raise InputError(
                f"--out {out}", expected="a new directory, or the training that is there",
                got=f"another training ({_difference(record['recipe'], recipe)})", remedy="another --out",
            )  # fmt: skip
        if record is None:
            write_json(out / FILE, {"format": FORMAT, "version": VERSION, "status": "running", "recipe": dict(recipe)})
        yield record


def finish(out: Path, recipe: Mapping[str, Json], facts: Mapping[str, Json]) -> None:
    """Say what came of it; from now on it is never trained again."""
    record = {"format": FORMAT, "version": VERSION, "status": "complete", "recipe": dict(recipe), "facts": dict(facts)}
    write_json(out / FILE, record)
    shutil.rmtree(out / "state", ignore_errors=True)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """The file appears whole or not at all."""
    new = path.with_name(f".{path.name}.new")
    new.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")
    os.replace(new, path)


def _read(out: Path) -> dict[str, Any] | None:
    try:
        found = json.loads((out / FILE).read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(str(out / FILE), expected="the record of a training", got=str(error)) from error
    if not isinstance(found, dict) or found.get("format") != FORMAT or found.get("version") != VERSION:
        raise InputError(str(out / FILE), expected=f'"format": "{FORMAT}", version {VERSION}', got="another file")
    return found


def _difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The first thing that is not the same, in words."""
    for key in sorted({*before, *now}):
        there, here = before.get(key), now.get(key)
        if there == here:
            continue
        if isinstance(there, Mapping) and isinstance(here, Mapping):
            return f"{key}, {_difference(there, here)}"
        return f"{key}: {_short(there)} there, {_short(here)} here"
    return "nothing"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
