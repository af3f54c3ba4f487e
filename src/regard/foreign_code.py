"""Run code that the user named or installed; attempts to end the program become one error.

`sys.exit` and other exceptions outside `Exception` would pass every handler and end a command with an exit code that
means something else. Prints of such code go to standard error: standard output belongs to the result.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from regard.errors import InputError, Message, RegardError, Stopped, Text, phrase, words_of


def described(error: BaseException) -> Text:
    """Describe an exception of foreign code in one line.

    >>> str(described(SystemExit(3))), described(ValueError("no")), described(EOFError())
    ('a call of sys.exit(3)', 'ValueError: no', 'EOFError')
    """
    if isinstance(error, SystemExit):
        return phrase("errors.foreign_code.call_sys_exit", code=_line(error.code))
    try:
        words = words_of(error)
        text = words if isinstance(words, Message) else " ".join(words.split())[:300]
    except Exception:  # __str__ is foreign code, too
        text = ""
    if isinstance(text, Message):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _line(code: object) -> str:
    return "" if code is None else repr(code)[:80]


@contextlib.contextmanager
def contained(
    subject: Text, *, expected: Text, remedy: Text = "", kind: type[RegardError] = InputError, crashes: bool = True
) -> Iterator[None]:
    """Turn exceptions raised inside the block into an error of `kind`.

    crashes: ordinary exceptions, too; without it they pass as they are, for `--debug` and the line they name.
    Ctrl-C and signals pass; another subclass of KeyboardInterrupt is neither.
    """
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except RegardError:
        raise
    except BaseException as error:
        if type(error) in (KeyboardInterrupt, Stopped) or (isinstance(error, Exception) and not crashes):
            raise
        raise kind(subject, expected=expected, got=described(error), remedy=remedy) from error


def load_file(path: Path) -> ModuleType:
    """Run a Python file that the user named in this command, and return it as a module."""
    if not path.is_file():
        raise InputError(
            phrase("errors.common.file_place", place=path),
            expected=phrase("errors.common.python_file"),
            got=phrase("errors.common.no_such_file"),
        )
    spec = importlib.util.spec_from_file_location(f"_own_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(
            phrase("errors.common.file_place", place=path),
            expected=phrase("errors.common.python_file"),
            got=phrase("errors.foreign_code.another_kind_file"),
        )
    module = importlib.util.module_from_spec(spec)
    with contained(phrase("errors.common.file_place", place=path), expected=phrase("errors.common.importable_file")):
        spec.loader.exec_module(module)
    return module
