"""What every command has in common: `--json`, `--debug`, and examples in its help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
LANGUAGES = ("en", "zh")


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


def lang_option(function: F) -> F:
    """`--lang`: the language of what the command prints and writes (environment variable REGARD_LANG)."""
    chosen = click.option(
        "--lang", type=click.Choice(LANGUAGES), default="en", show_default=True, envvar="REGARD_LANG",
        show_envvar=True, expose_value=False, callback=_speak, help="Language of the output.",
    )  # fmt: skip
    return chosen(function)


def _speak(ctx: click.Context, parameter: click.Parameter, value: str) -> None:
    if value != "en":  # nothing has to be imported to go on in English
        from regard.present.saying import speaking

        ctx.with_resource(speaking(value))
