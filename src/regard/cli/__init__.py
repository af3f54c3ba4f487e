"""The command line. One file per command in `cli/commands/`, imported only when called."""

from __future__ import annotations


def main() -> None:
    """Entry point of the `regard` command; always ends with one of `errors.EXIT_CODES`."""
    from regard.cli.root import root

    root.main(prog_name="regard")
