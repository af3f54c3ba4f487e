"""What every command has in common: `--json`, `--debug`, and examples in its help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


class Verb(click.Command):
    """A command whose help ends with examples, printed as they are."""

    examples: tuple[str, ...] = ()

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples"):
            formatter.write("".join(f"  {line}\n" for line in self.examples))


def verb(name: str, *examples: str) -> Callable[[Callable[..., Any]], Verb]:
    """Make a command of a function that takes `as_json` besides its own options."""

    def make(function: Callable[..., Any]) -> Verb:
        marked = click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output.")(function)
        marked = click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks.")(marked)
        command = click.command(name, cls=Verb)(marked)
        command.examples = examples
        return command

    return make
