"""`-o/--out FILE` of commands that print their result: write it to a file instead of standard output."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import wraps
from pathlib import Path
from typing import Any

import click

from regard.cli.console import remarks


def with_out_file(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `-o/--out` to a command that writes no file of its own."""

    @wraps(function)
    def command(*, out: Path | None, as_json: bool, **options: Any) -> Any:
        if out is None:
            return function(as_json=as_json, **options)
        with printed_to(out):
            return function(as_json=as_json or out.suffix.lower() == ".json", **options)

    option = click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False))
    return option(command)


@contextmanager
def printed_to(path: Path) -> Iterator[None]:
    """Write the output of the block to `path` once it ends; an error leaves the file as it was."""
    from regard.present.messages.messages import say
    from regard.store.blobs import write_output

    printed = io.StringIO()
    with redirect_stdout(printed):
        yield
    write_output(path, printed.getvalue().encode())
    remarks().print(say("term.written", path=path), markup=False, style="dim", soft_wrap=True)
