"""`--rows` of `capture` and `view`."""

from __future__ import annotations

from typing import Any, Literal

from regard.errors import InputError, phrase


def typed_rows(text: str) -> Any:
    """Read the rows of a finished text."""
    from regard.models.row_capture import parsed_rows

    rows = parsed_rows(text)
    if rows == "new":
        raise InputError("--rows new", expected=phrase("errors.cli.generate_beside"), got=phrase("errors.common.none"))
    return rows


def new_rows(text: str | None) -> Literal["new"] | None:
    """Read the rows of a generation: those of new tokens, or all."""
    if text not in (None, "new"):
        raise InputError(f"--rows {text}", expected=phrase("errors.cli.rows_new_beside_generate"), got=repr(text))
    return "new" if text == "new" else None
