"""Help of a command in the language of the session: usage, options and examples from the catalogue."""

from __future__ import annotations

from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem

from regard.present.messages.messages import known, say

TABLES = {"plan": ("plan", "audit", "shared"), "root": ("regard", "shared")}
"""Catalogue tables with the options of a command, if they differ from its own and the shared ones."""

COLUMN = 52
"""Column of the remarks, except behind longer examples."""


class TranslatedHelp(click.Command):
    """A command whose usage and options are described by the catalogue."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, " ".join(self.collect_usage_pieces(ctx)), say("term.help.usage"))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        rows = [option_row(self.name or "", option, ctx) for option in options]
        with formatter.section(say("term.help.options")):
            formatter.write_dl([row for row in rows if row is not None])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        for option in self.get_params(ctx):
            if isinstance(option, click.Option):
                option.help = option_words(self.name or "", option)
        return super().shell_complete(ctx, incomplete)


def option_key(command: str, option: click.Option) -> str:
    """Return the key of an option in the catalogue; "" for none."""
    name = "help" if "--help" in option.opts else option.name
    keys = (f"option.{table}.{name}" for table in TABLES.get(command, (command, "shared")))
    return next(filter(known, keys), "")


def option_words(command: str, option: click.Option) -> str:
    """Return the sentence about an option; one without an entry, of another package, keeps its own."""
    key = option_key(command, option)
    return say(key) if key else option.help or ""


def option_row(command: str, option: click.Option, ctx: click.Context) -> tuple[str, str] | None:
    """Return the option as it is typed and its sentence with default, range and environment variable."""
    row = option.get_help_record(ctx)
    if row is None:
        return None
    extra = option.get_help_extra(ctx)
    facts = [say("term.help.variable", name=", ".join(extra["envvars"]))] if "envvars" in extra else []
    facts += [say("term.help.default", value=extra["default"])] if "default" in extra else []
    facts += [extra["range"]] if "range" in extra else []
    facts += [say("term.help.required")] if "required" in extra else []
    words = option_words(command, option)
    return row[0], f"{words}  [{say('term.help.joint').join(facts)}]" if facts else words


def example_lines(command: str, examples: Sequence[str]) -> str:
    """Return the examples below each other, each with its remark, if the catalogue has one.

    >>> print(example_lines("verify", ["regard verify a.zip", "regard verify a.zip --signers names"]), end="")
      regard verify a.zip
      regard verify a.zip --signers names    and who signed it
    """
    remarks = [say(key) if known(key := f"example.{command}.line_{i}") else "" for i, _ in enumerate(examples, 1)]
    lengths = [len(line) for line, remark in zip(examples, remarks, strict=True) if remark]
    width = max((length for length in lengths if length <= COLUMN), default=0)
    return "".join(
        f"  {line:{width}}    {remark}\n" if remark else f"  {line}\n"
        for line, remark in zip(examples, remarks, strict=True)
    )
