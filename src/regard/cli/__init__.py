"""The verbs for people. One file per command in `cli/commands/`, imported only when it is called."""

from __future__ import annotations


def main() -> None:
    """Entry point of the `regard` command; always ends with one of `errors.EXIT_CODES`."""
    from regard.cli.root import root

    root.main(prog_name="regard")
