"""The `regard` command: imports one command file per call and prints every error as one line."""

from __future__ import annotations

import difflib
import errno
import importlib
import os
import sys
import sysconfig
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import click

from regard.cli.console import echo
from regard.cli.help_text import TranslatedHelp, example_lines
from regard.cli.signals import damage_in_one_line, stopping
from regard.errors import EXIT_CODES, RegardError, either, in_words, phrase
from regard.present.messages.messages import is_language, say, speaking

COMMANDS = (
    "plan",
    "audit",
    "perturb",
    "attack",
    "train",
    "improve",
    "explain",
    "cite",
    "atlas",
    "align",
    "capture",
    "view",
    "serve",
    "walkthrough",
    "heads",
    "prune",
    "support",
    "list",
    "metrics",
    "experiments",
    "gate",
    "status",
    "verdicts",
    "report",
    "export",
    "verify",
    "new",
    "completion",
    "doctor",
)
"""Names of the commands in the order of `regard --help`, which imports none of them."""

COMPLETION = "_REGARD_COMPLETE"
"""Environment variable by which click's shell completion requests its script, and then completions."""


class Interrupted(click.Abort):
    """The user interrupted a command that can be resumed."""

    def __init__(self, remedy: str) -> None:
        super().__init__()
        self.remedy = remedy


class Commands(TranslatedHelp, click.Group):
    """A group that loads each command from `cli/commands/NAME.py`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"regard.cli.commands.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = difflib.get_close_matches(name, COMMANDS, n=2, cutoff=0.5)
            subject = phrase("errors.cli.command_name", name=repr(name))
            expected = phrase("error.one_of", names=", ".join(COMMANDS))
            remedy = either([f"regard {n}" for n in near]) if near else "regard --help"
            raise click.UsageError(str(RegardError(subject, expected=expected, remedy=remedy)))
        return super().resolve_command(ctx, args)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for text in (say("term.help.lead"), say("term.help.about")):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(text)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        TranslatedHelp.format_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section(say("term.help.commands")):
            formatter.write_dl([(name, say(f"term.help.{name}")) for name in COMMANDS])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section(say("term.help.examples")):
            formatter.write(example_lines("regard", EXAMPLES))
        with formatter.section(say("term.help.codes")):
            formatter.write_dl([(str(code), say(f"term.help.code_{code}")) for code in EXIT_CODES])

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> NoReturn:
        arguments, output = list(sys.argv[1:] if args is None else args), sys.stdout
        extra.setdefault("obj", ("regard", *arguments))  # commands may say how they were called
        # the language around everything, so that help and errors are told in it too
        with speaking(_language(arguments)), damage_in_one_line(), stopping() as stop:
            if COMPLETION not in os.environ and not arguments:
                _short_help()
                sys.exit(0)
            try:
                if not {"-h", "--help", "--version"} & {*arguments}:
                    extra.setdefault("default_map", _defaults())
                code = super().main(arguments, prog_name, complete_var, standalone_mode=False, **extra)
                if stop.signal is not None:  # a server that closed itself
                    raise click.Abort
            except BaseException as error:
                if sys.stdout is not output:  # click's own echo met a closed pipe: it replaces the stream and exits
                    sys.stdout = output
                    sys.exit(_tell(BrokenPipeError()))
                if COMPLETION in os.environ:
                    if isinstance(error, SystemExit) and error.code in (0, None):
                        raise
                    shells = either(["bash_source", "zsh_source", "fish_source"])
                    sys.exit(_tell(RegardError(COMPLETION, expected=shells, got=repr(os.environ[COMPLETION]))))
                if "--debug" in arguments and not isinstance(error, click.ClickException | click.Abort):
                    raise
                sys.exit(_tell(error, stop.exit_code))
            sys.exit(code if isinstance(code, int) else 0)


def _defaults() -> dict[str, dict[str, Any]]:
    """Return the defaults of the current directory; import the module that reads them only if there are some."""
    try:
        configured = Path("regard.toml").is_file() or b"[tool.regard" in Path("pyproject.toml").read_bytes()
    except OSError:
        return {}
    if not configured:
        return {}
    from regard.cli.defaults import stored_defaults

    return stored_defaults(COMMANDS)


SHORT = (
    ("audit", "regard audit MODEL --data FILE"),
    ("explain", "regard explain MODEL --text '...'"),
    ("view", "regard view MODEL --text '...'"),
    ("cite", "regard cite MODEL --messages FILE"),
    ("report", "regard report RUN"),
)
"""Commands to start with; the catalogue describes the question that each answers."""


def _short_help() -> None:
    """Print the purpose of regard and the first commands."""
    formatter = click.HelpFormatter()
    formatter.write_text(say("term.short.title"))
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_dl([(line, say(f"term.short.{name}")) for name, line in SHORT], col_max=40)
    formatter.write_paragraph()
    formatter.write_text(say("term.short.more"))
    click.echo(formatter.getvalue().rstrip("\n"))


def _language(given: Sequence[str]) -> str:
    """Return the language of `--lang`, else of REGARD_LANG, else of the defaults; the option itself validates it."""
    lang = os.environ.get("REGARD_LANG", "")
    if not lang:
        with suppress(RegardError):  # reported when the defaults are read
            lang = str(next(iter(_defaults().values()), {}).get("lang", ""))
    for word, following in zip(given, [*given, ""][1:], strict=True):
        if word == "--lang" or word.startswith("--lang="):
            lang = following if word == "--lang" else word.partition("=")[2]
    return lang if is_language(lang) else "en"


EXAMPLES = (
    "regard audit",
    "regard audit ./my-model --data reviews.csv",
    "regard explain bilstm --text 'a quiet, moving film'",
    "regard capture minilm --text 'a quiet, moving film'",
)


_NO_PATH = (errno.ENAMETOOLONG, errno.ELOOP)
"""Errors of paths that no file system can hold, typed or stored."""


def _tell(error: BaseException, stopped: int = 130) -> int:
    """Print one line about an error; return its exit code, or `stopped` if the user or a signal ended the command."""
    if isinstance(error, RegardError):
        return _say(str(error), error.exit_code)
    if isinstance(error, click.ClickException):
        from regard.cli.usage_errors import usage_error

        context = getattr(error, "ctx", None)
        hint = f" ({say('term.see_help', command=context.command_path)})" if context else ""
        return _say(str(usage_error(error) or error.format_message()).rstrip(".") + hint, 2)
    if isinstance(error, click.Abort) and isinstance(error.__cause__, EOFError):
        error = error.__cause__  # click takes it for the end of a terminal's input; no command of ours asks for any
    if isinstance(error, click.Abort):
        return _say(error.remedy if isinstance(error, Interrupted) else say("term.interrupted"), stopped)
    if isinstance(error, BrokenPipeError):
        # whoever read our output has seen enough; the interpreter must not complain about it on the way out
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, OSError) and error.errno in _NO_PATH:
        path = str(error.filename or "")
        return _say(say("error.path", path=path if len(path) <= 80 else path[:77] + "...", problem=error.strerror), 2)
    # never 1: a crash must not look like a gate that failed
    from regard.foreign_code import described

    return _say(say("error.crash", owner=_whose(error), problem=in_words(described(error))), 4)


def _whose(error: BaseException) -> str:
    """Return the party that must fix an error: the machine's owner, the author of user code, or regard."""
    if isinstance(error, MemoryError | OSError) or "(os error " in str(error):  # the second: of safetensors
        return say("error.machine")
    package = Path(__file__).parents[1]
    libraries = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if file.is_relative_to(package):
            break
        if file.parent.parent.name == "models" and "transformers" in file.parts:
            return say("error.in_model", file=file.name, line=frame.lineno)
        if file.is_file() and not any(file.is_relative_to(place) for place in libraries):
            return say("error.in_file", file=file, line=frame.lineno)
    return say("error.internal")


def _say(message: str, code: int) -> int:
    echo("regard: " + " ".join(message.split()), error=True)
    return code


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--debug", is_flag=True)
@click.version_option(package_name="regard", message="regard %(version)s")
def root(debug: bool) -> None:
    """Run one of the commands."""
