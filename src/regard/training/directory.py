"""Training directory: its recipe, status and results.

out/training.json    recipe, status, and in the end its facts
out/state/...        resumable state; gone when it is finished
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.errors import DamageWarning, InputError, Text, phrase
from regard.message import Message
from regard.records import Json
from regard.store.blobs import TEMPORARY, room_on_disk, write_atomically
from regard.store.shapes import ANYTHING, TEXT, WHOLE, Mismatch, choice, decoded, listed, record, table
from regard.training.cache import locked

FILE = "training.json"
FORMAT, VERSION = "regard-training", 1
DAMAGED = ".damaged"
RECORD = record(
    {"format": TEXT, "version": WHOLE},
    {
        "status": choice("running", "complete"),
        "recipe": table(ANYTHING),
        "facts": record({}, {"members": listed(table(ANYTHING))}),
    },
)


@contextmanager
def claimed(out: Path, recipe: Mapping[str, Json]) -> Iterator[dict[str, Any] | None]:
    """Lock the directory and yield the record of this training if it exists there, else None."""
    if out.exists() and not out.is_dir():
        raise InputError(
            f"--out {out}",
            expected=phrase("errors.common.directory"),
            got=phrase("errors.common.file"),
            remedy=phrase("errors.common.another_out"),
        )
    with room_on_disk(out):
        out.mkdir(parents=True, exist_ok=True)
    with room_on_disk(out), locked(out / "lock", wait=False, subject=f"--out {out}"):
        before = _read(out)
        others = sorted(p.name for p in out.iterdir() if p.name != "lock")
        aside = FILE + DAMAGED in others
        for left in out.glob(f"*{TEMPORARY}"):
            left.unlink()
        if before is None and others and not aside:
            remedy = phrase("errors.common.another_out")
            problem = phrase("errors.common.directory_with_other_files", others=", ".join(others[:3]))
            expected = phrase("errors.training.new_or_empty_directory")
            raise InputError(f"--out {out}", expected=expected, got=problem, remedy=remedy)
        if before is not None and before["recipe"] != recipe:
            remedy = phrase("errors.common.another_out")
            problem = phrase("errors.training.another_training", recipe=_difference(before["recipe"], recipe))
            expected = phrase("errors.training.new_directory_or_training")
            raise InputError(f"--out {out}", expected=expected, got=problem, remedy=remedy)
        if before is None:
            write_json(out / FILE, {"format": FORMAT, "version": VERSION, "status": "running", "recipe": dict(recipe)})
        yield before


def finish(out: Path, recipe: Mapping[str, Json], facts: Mapping[str, Json]) -> None:
    """Record the results and mark the training as complete."""
    record = {"format": FORMAT, "version": VERSION, "status": "complete", "recipe": dict(recipe), "facts": dict(facts)}
    write_json(out / FILE, record)
    shutil.rmtree(out / "state", ignore_errors=True)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file atomically."""
    with room_on_disk(path.parent):
        write_atomically(path, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode())


def _read(out: Path) -> dict[str, Any] | None:
    """Read the record of a training; None if it does not exist or was damaged and set aside."""
    path = out / FILE
    try:
        facts = read_record(path)
        RECORD(facts, "")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(str(path), expected=phrase("errors.training.record_training"), got=str(error)) from error
    except Mismatch as error:
        set_aside(path, error, Message("training_note.from_saved_state"))
        return None
    if facts.get("format") != FORMAT or facts.get("version") != VERSION:
        raise InputError(
            str(path),
            expected=phrase("errors.common.format_version", format=FORMAT, version=VERSION),
            got=phrase("errors.common.another_file"),
        )
    return facts


def read_record(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file or raise a `Mismatch`."""
    value = decoded(path.read_bytes())
    table(ANYTHING)(value, "")
    return dict(value)


def set_aside(path: Path, error: Exception, instead: Message) -> None:
    """Rename a damaged file or directory to keep it unused, and warn about the consequence."""
    aside = path.with_name(path.name + DAMAGED)
    if aside.is_dir():
        shutil.rmtree(aside)
    os.replace(path, aside)
    facts = phrase("training_note.damaged", path=path, error=error, aside=aside.name, instead=instead)
    warnings.warn(DamageWarning(str(facts)), stacklevel=2)


def _difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> Text:
    """Describe the first difference."""
    for key in sorted({*before, *now}):
        earlier, here = before.get(key), now.get(key)
        if earlier == here:
            continue
        if isinstance(earlier, Mapping) and isinstance(here, Mapping):
            return f"{key}, {_difference(earlier, here)}"
        return phrase("errors.training.there_here", key=key, earlier=_short(earlier), here=_short(here))
    return "nothing"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
