"""Generator data, written into the run before any computation, so that an audit of a stream can be resumed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.audits.options import AuditOptions
from regard.audits.resolve import read_data
from regard.datasets.examples import Examples
from regard.errors import InputError, phrase
from regard.protocols import Dataset
from regard.records import decoded, encoded
from regard.store.blobs import damaged, room_on_disk, write_atomically
from regard.store.example_json import example_from_json, example_to_json
from regard.store.run_writer import GENERATOR_DATA


def kept_data(data: Iterator[Any], path: Path, options: AuditOptions) -> Dataset:
    """Return the examples that the generator yielded when the run at `path` began, or yields now.

    A resumed run does not read the generator. A run without text stores no words, so its generator is walked each time.
    """
    file = path / GENERATOR_DATA
    if options.resume and file.is_file():
        return _stored(file)
    examples = read_data(data, options)
    if options.text and isinstance(examples, Examples) and not _taken(path):
        _keep(file, examples)
    return examples


def _taken(path: Path) -> bool:
    """Return whether the directory already has other content, which the run writer refuses or resumes."""
    return path.exists() and (not path.is_dir() or any(path.iterdir()))


def _keep(file: Path, data: Examples) -> None:
    first = {"name": data.name, "labels": data.labels, "columns": data.columns, "modality": data.modality}
    lines = [{**first, "notes": encoded(data.notes)}, *map(example_to_json, data)]
    text = "".join(json.dumps(line, ensure_ascii=False, default=str) + "\n" for line in lines)
    with room_on_disk(file.parent):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, text.encode("utf-8", "surrogatepass"))


def _stored(file: Path) -> Examples:
    try:
        lines = file.read_bytes().decode("utf-8", "surrogatepass").rstrip("\n").split("\n")
        first, *rows = map(json.loads, lines)
        items = tuple(map(example_from_json, rows))
        facts: dict[str, Any] = {name: tuple(first[name]) for name in ("labels", "columns")}
        data = Examples(str(first["name"]), items, modality=first["modality"], **facts)
        return replace(data, notes=tuple(map(decoded, first["notes"])))
    except (ValueError, KeyError, TypeError, InputError) as error:
        raise damaged(
            file, "", phrase("errors.audits.examples_generator"), f"{type(error).__name__}: {error}"
        ) from error
