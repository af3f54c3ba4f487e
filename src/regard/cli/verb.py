"""Options shared by all commands (`--json`, `--lang`, `-q`, `-v`, `-o`, `--debug`, `--max-bytes`), and their help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from regard.cli.help_text import TranslatedHelp, example_lines
from regard.cli.out_file import with_out_file
from regard.cli.shared_options import missing_option_text
from regard.errors import InputError, phrase
from regard.files import limited, parse_size
from regard.present.messages.messages import is_language, say

READING = {"data", "text_column"}
"""Options of the commands that read data."""
ENDLESS = ("serve",)
"""Commands without a result: they run until the user stops them."""


def _limited(context: click.Context, option: click.Parameter, size: str | None) -> None:
    """Limit the size of input files while the command runs."""
    if size is None:
        return
    try:
        context.with_resource(limited(parse_size(size)))
    except ValueError:
        raise InputError(
            phrase("errors.cli.option_name", name="'--max-bytes'"),
            expected=phrase("errors.cli.size_with_unit"),
            got=repr(size),
        ) from None


def _wished(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    """Store `--quiet` and `--verbose` for `console.verbosity`."""
    context.meta[f"regard.{parameter.name}"] = value


class _Language(click.ParamType[str]):
    """Language name, validated lazily, because searching other packages takes time."""

    name = "language"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        from regard.registry import names

        return f"[{'|'.join(names('language'))}]"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not is_language(value):
            from regard.registry import names

            raise InputError(
                phrase("errors.cli.option_name", name="'--lang'"),
                expected=phrase("error.one_of", names=", ".join(names("language"))),
                got=repr(value),
            )
        return value


class Verb(TranslatedHelp):
    """A command whose help text comes from the catalogue and ends with verbatim examples."""

    examples: tuple[str, ...] = ()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:  # the parser of click does not know the command
            error.ctx = error.ctx or ctx
            text = None
            if isinstance(error, click.NoSuchOption):
                text = missing_option_text(self.name or "", error.option_name)
            if text is None:
                raise
            raise click.UsageError(text, ctx) from None

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(say(f"term.help.{self.name}"))

    def get_short_help_str(self, limit: int = 45) -> str:
        return say(f"term.help.{self.name}")

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section(say("term.help.examples")):
            formatter.write(example_lines(self.name or "", self.examples))


def verb(name: str, *examples: str) -> Callable[[Callable[..., Any]], Verb]:
    """Turn a function with an `as_json` parameter into a command with these usage examples."""

    def make(function: Callable[..., Any]) -> Verb:
        own_options = getattr(function, "__click_params__", ())
        if name not in ENDLESS and not any("--out" in option.opts for option in own_options):
            function = with_out_file(function)
        decorated = click.option("--json", "as_json", is_flag=True)(function)
        # `root` selects the language before any output; this option only validates and documents it
        decorated = click.option(
            "--lang",
            type=_Language(),
            default="en",
            show_default=True,
            envvar="REGARD_LANG",
            show_envvar=True,
            expose_value=False,
        )(decorated)
        for flag, wish in (("-v", "verbose"), ("-q", "quiet")):
            decorated = click.option(flag, f"--{wish}", wish, is_flag=True, expose_value=False, callback=_wished)(
                decorated
            )
        decorated = click.option("--debug", is_flag=True, expose_value=False)(decorated)
        if READING & {option.name for option in own_options}:
            decorated = click.option("--max-bytes", metavar="SIZE", expose_value=False, callback=_limited)(decorated)
        command = click.command(name, cls=Verb)(decorated)
        command.examples = examples
        return command

    return make
