"""Defaults of the command line from `regard.toml`, or `[tool.regard]` of `pyproject.toml`, in the current directory.

The file may come with somebody else's project, so it may set harmless options only: it cannot name code, a model, data
or an output, and it cannot permit code or downloads.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from regard.errors import InputError, phrase

OWN, SHARED = "regard.toml", "pyproject.toml"
ALLOWED = {
    "lang": "lang",
    "seed": "seed",
    "device": "device",
    "budget": "budget",
    "profile": "profile",
    "limit": "limit",
    "keep": "keep",
    "workers": "workers",
    "overflow": "overflow",
    "labels": "labels",
    "split": "split",
    "text-column": "text_column",
    "pair-column": "pair_column",
    "label-column": "label_column",
    "group-column": "group_column",
    "id-column": "id_column",
    "quiet": "quiet",
    "verbose": "verbose",
    "json": "as_json",
}
"""Option in the file -> parameter of a command."""
MOST_BYTES = 1 << 20


def stored_defaults(commands: Collection[str], folder: Path | None = None) -> dict[str, dict[str, Any]]:
    """Return command -> parameter -> default; a table named after a command wins over the options of all.

    Raise `InputError` for a file that is not TOML, an option that the file may not set, and an unknown table.
    """
    path, options = _options(folder or Path())
    shared = {key: value for key, value in options.items() if not isinstance(value, dict)}
    tables = {key: value for key, value in options.items() if isinstance(value, dict)}
    for name in tables:
        if name not in commands:
            raise InputError(
                phrase("errors.cli.table_path", path=path, name=name),
                expected=phrase("errors.cli.command_commands", commands=", ".join(commands)),
                got=name,
            )
    checked = _parameters(path, shared)
    return {name: {**checked, **_parameters(path, tables.get(name, {}))} for name in commands} if options else {}


def _options(folder: Path) -> tuple[Path, Mapping[str, Any]]:
    own, shared = folder / OWN, folder / SHARED
    if own.is_file():
        return own, _read(own)
    if shared.is_file():
        table = _read(shared, only="[tool.regard").get("tool", {}).get("regard", {})
        return shared, table if isinstance(table, dict) else {}
    return own, {}


def _read(path: Path, only: str = "") -> dict[str, Any]:
    """Parse a file; `only`: skip a file without this text."""
    import tomllib

    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(
                str(path),
                expected=phrase("errors.cli.at_most_mb", most_bytes=MOST_BYTES >> 20),
                got=phrase("errors.cli.larger_file"),
            )
        text = path.read_text("utf-8")
        return tomllib.loads(text) if only in text else {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(str(path), expected=phrase("errors.cli.toml_file"), got=str(error)) from error


def _parameters(path: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    parameters = {}
    for name, value in options.items():
        key = name.replace("_", "-")
        if key not in ALLOWED:
            raise InputError(
                phrase("errors.cli.option_path", path=path, name=name),
                expected=phrase("errors.common.one_allowed", allowed=", ".join(ALLOWED)),
                got=name,
                remedy=phrase("errors.cli.on_command_line_file_may", key=key),
            )
        if not isinstance(value, str | int | float):
            raise InputError(
                phrase("errors.cli.option_path", path=path, name=name),
                expected=phrase("errors.cli.text_number_or_true_false"),
                got=repr(value),
            )
        parameters[ALLOWED[key]] = value
    return parameters
