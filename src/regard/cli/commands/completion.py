"""`regard completion`: completion of commands and options in a shell."""

from __future__ import annotations

import os
from pathlib import Path

import click

from regard.cli.console import echo, print_json, results
from regard.cli.verb import verb
from regard.errors import InputError, phrase
from regard.visible import shell_word

SHELLS = ("bash", "zsh", "fish")
MARK = "# regard completion"
"""Ends the line that `--install` adds to a start-up file, so that it is added once."""


@verb("completion", "regard completion --install", "regard completion zsh")
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.option("--install", is_flag=True)
def command(shell: str | None, install: bool, as_json: bool) -> None:
    name = shell or _own_shell()
    script = _script(name)
    files = _install(name, script) if install else []
    if as_json:
        print_json({"shell": name, "script": script, "written": [str(path) for path in files]})
    elif install:
        from regard.present.messages.messages import say

        for path in files:
            results().print(say("term.written", path=path), markup=False, soft_wrap=True)
    else:
        echo(script)


def _own_shell() -> str:
    name = Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise InputError(
            "shell",
            expected=", ".join(SHELLS),
            got=name or phrase("errors.cli.no_shell"),
            remedy="regard completion bash",
        )
    return name


def _script(shell: str) -> str:
    from click.shell_completion import get_completion_class

    from regard.cli.root import COMPLETION, root

    maker = get_completion_class(shell)
    if maker is None:  # click has all three
        raise InputError("shell", expected=", ".join(SHELLS), got=shell)
    completion = maker(root, {}, "regard", COMPLETION)
    return str(completion.source_template % completion.source_vars())


def _install(shell: str, script: str) -> list[Path]:
    """Write the script where the shell, or a line in its start-up file, loads it; return the files that changed."""
    from regard.store.blobs import write_output

    if shell == "fish":
        path = _folder("XDG_CONFIG_HOME", ".config") / "fish" / "completions" / "regard.fish"
        write_output(path, script.encode())
        return [path]
    path = _folder("XDG_DATA_HOME", ".local/share") / "regard" / f"completion.{shell}"
    write_output(path, script.encode())
    start = Path.home() / f".{shell}rc"
    text = start.read_text("utf-8") if start.is_file() else ""
    if MARK in text:
        return [path]
    with start.open("a", encoding="utf-8") as file:  # the file may be a link to somebody's collection
        file.write(f"{'' if not text or text.endswith(chr(10)) else chr(10)}. {shell_word(path)}  {MARK}{chr(10)}")
    return [path, start]


def _folder(variable: str, usual: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / usual)
