"""The one exception tree.

    RegardError                     exit code
    ├── InputError                  2   bad input or usage
    │   ├── UnknownModel            2   a model that a service does not serve
    │   ├── UnknownName             2   a name that is not in the phone book, with near misses
    │   └── UnknownAnswer           2   a model's answer that is not a finite number
    ├── CaptureError                2   the model computed attention that could not be captured or explained
    ├── Unsupported                 2   this model cannot do what was asked, with the reason
    ├── GateFailed                  1   a threshold was not met
    ├── Incomplete                  3   the run stopped early or cannot decide
    ├── Busy                        4   more is waiting than anyone will look at
    └── EnvironmentProblem          4   something is missing on this machine
        └── DeadlinePassed          4   an answer of a service that would come too late

Every error says what it is about, what was expected, what was found, and what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

EXIT_CODES = {
    0: "fine",
    1: "a gate failed",
    2: "bad input or usage",
    3: "inconclusive or incomplete",
    4: "environment problem (something is missing on this machine)",
    129: "the terminal went away (SIGHUP); the run can be resumed",
    130: "interrupted; the run can be resumed",
    143: "terminated (SIGTERM); the run can be resumed",
}


class Stopped(KeyboardInterrupt):
    """A signal asked this process to end."""


class RegardError(Exception):
    """An error that a person can act on.

    >>> print(InputError("column 'txt'", expected="one of text, label", got="no such column",
    ...                  remedy="pass --text-column text"))
    column 'txt': expected one of text, label; got no such column. Try: pass --text-column text
    """

    exit_code = 2

    def __init__(self, subject: str, *, expected: str = "", got: str = "", remedy: str = "") -> None:
        self.subject, self.expected, self.got, self.remedy = subject, expected, got, remedy
        super().__init__(subject, expected, got, remedy)

    def __str__(self) -> str:
        parts = []
        if self.expected:
            parts.append(f"expected {self.expected}")
        if self.got:
            parts.append(f"got {self.got}")
        said = self.subject + (": " + "; ".join(parts) if parts else "")
        return f"{said}. Try: {self.remedy}" if self.remedy else said

    def __reduce__(self) -> tuple[object, ...]:
        # keyword-only constructors do not survive a trip between processes by themselves
        return _rebuild, (type(self), self.subject, self.expected, self.got, self.remedy)


def _rebuild(kind: type[RegardError], subject: str, expected: str, got: str, remedy: str) -> RegardError:
    error = kind.__new__(kind)
    RegardError.__init__(error, subject, expected=expected, got=got, remedy=remedy)
    return error


class InputError(RegardError):
    """Bad input or usage."""


class UnknownName(InputError):
    """A name that nobody answers to; near misses are suggested.

    >>> print(UnknownName("explainer", "rolout", ["rollout", "random"]))
    explainer 'rolout': expected a known name; got no such explainer. Try: rollout
    """

    kind: str = ""
    known: Sequence[str] = ()
    near: Sequence[str] = ()

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.known = kind, (known := sorted(known))
        self.near = near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
        remedy = " or ".join(near) if near else f"one of {', '.join(known)}" if known else ""
        super().__init__(f"{kind} {name!r}", expected="a known name", got=f"no such {kind}", remedy=remedy)


class CaptureError(RegardError):
    """The model computed attention that was not captured, or a capture did not prove itself."""


class Unsupported(RegardError):
    """This model cannot do what was asked."""


class GateFailed(RegardError):
    exit_code = 1


class Incomplete(RegardError):
    exit_code = 3


class DamageWarning(UserWarning):
    """A file that is not as it was written; the work goes on without it, and the message says from where."""


class Busy(RegardError):
    """More is waiting than anyone will look at."""

    exit_code = 4


class EnvironmentProblem(RegardError):
    exit_code = 4
