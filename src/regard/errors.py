"""The one exception tree.

    RegardError                     exit code
    ├── InputError                  2   bad input or usage
    │   ├── UnknownModel            2   a model that a service does not serve
    │   ├── UnknownName             2   an unknown name, with suggestions of similar ones
    │   ├── NoExamples              2   data, or a split of it, without one usable example
    │   └── UnknownAnswer           2   a model's answer that is not a finite number
    ├── CaptureError                2   the model computed attention that could not be captured or explained
    ├── Unsupported                 2   this model lacks a capability, with the reason
    ├── GateFailed                  1   a threshold was not met
    ├── Incomplete                  3   the run stopped early or cannot decide
    ├── Busy                        4   too many jobs are queued
    └── EnvironmentProblem          4   something is missing on this machine
        └── DeadlinePassed          4   an answer of a service that would come too late

Every error names its subject, what it expected, what it got, and a remedy. The parts are keys of the message catalogues
(`phrase`); `str(error)` renders them in the current language.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from regard.message import Message as Message
from regard.message import Text as Text

EXIT_CODES = (0, 1, 2, 3, 4, 129, 130, 143)
"""Exit codes of the command; `term.help.code_N` of the catalogues describes each."""


class Stopped(KeyboardInterrupt):
    """Request to end this process by a signal."""


def phrase(key: str, /, **params: object) -> Message:
    """Part of an error, as a key of the message catalogues with its values.

    A value that JSON does not hold (a path, an exception, a shape) becomes text, so that an error can be stored and
    sent to another process. An error of ours stays a message and is rendered in the language of the reader.

    >>> phrase("errors.common.no_such_file").key
    'errors.common.no_such_file'
    """
    return Message(key, {name: _plain(value) for name, value in params.items()})


def _plain(value: object) -> object:
    if isinstance(value, BaseException):
        return words_of(value)
    if isinstance(value, str | int | float | Message):
        return value
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    single = getattr(value, "item", None) if getattr(value, "shape", None) == () else None
    return single() if callable(single) else str(value)  # a number of numpy or torch, anything else


class RegardError(Exception):
    """An error that a person can act on. Its parts are messages (`phrase`), names or foreign words.

    >>> print(InputError("column 'txt'", expected="one of text, label", got="no such column",
    ...                  remedy="pass --text-column text"))
    column 'txt': expected one of text, label; got no such column. Try: pass --text-column text
    """

    exit_code = 2

    def __init__(self, subject: Text, *, expected: Text = "", got: Text = "", remedy: Text = "") -> None:
        self.subject, self.expected, self.got, self.remedy = subject, expected, got, remedy
        super().__init__(subject, expected, got, remedy)

    @property
    def message(self) -> Text:
        """The whole error as one message."""
        message: Text = self.subject
        if self.expected and self.got:
            message = Message.of("error.expected_got", subject=self.subject, expected=self.expected, got=self.got)
        elif self.expected:
            message = Message.of("error.expected", subject=self.subject, expected=self.expected)
        elif self.got:
            message = Message.of("error.got", subject=self.subject, got=self.got)
        return Message.of("error.try", error=message, remedy=self.remedy) if self.remedy else message

    def __str__(self) -> str:
        """The error in the current language."""
        return in_words(self.message)

    def __reduce__(self) -> tuple[object, ...]:
        # keyword-only constructors do not survive a trip between processes by themselves
        return _rebuild, (type(self), self.subject, self.expected, self.got, self.remedy)


def in_words(text: Text) -> str:
    """Render a part of an error in the current language; a message that no catalogue holds shows its key."""
    from regard.registry import upstairs

    if isinstance(text, str):
        return text
    try:
        return str(upstairs("render")(text))
    except (LookupError, ValueError, TypeError):  # a wrong key must not hide the error itself
        return repr(text)


def words_of(error: BaseException) -> Text:
    """Return the message that an exception carries, or its own words.

    A function that knows no subject raises `ValueError(phrase(...))`; its caller makes an error of ours of it.

    >>> words_of(ValueError(phrase("errors.common.none"))).key, words_of(ValueError("odd"))
    ('errors.common.none', 'odd')
    """
    if isinstance(error, RegardError):
        return error.message
    carried = error.args[0] if len(error.args) == 1 else None
    return carried if isinstance(carried, Message) else str(error)


def error_message(error: BaseException) -> Text:
    """Return an error as one text to store: an error of ours as its message, a foreign one by its class and words.

    >>> error_message(InputError(phrase("errors.common.none"))).key, error_message(ValueError("odd"))
    ('errors.common.none', 'ValueError: odd')
    """
    words = words_of(error)
    return words if isinstance(error, RegardError) or not isinstance(words, str) else f"{type(error).__name__}: {words}"


def _rebuild(kind: type[RegardError], subject: Text, expected: Text, got: Text, remedy: Text) -> RegardError:
    error = kind.__new__(kind)
    RegardError.__init__(error, subject, expected=expected, got=got, remedy=remedy)
    return error


class InputError(RegardError):
    """Bad input or usage."""


class UnknownName(InputError):
    """An unknown name, with suggestions of similar ones.

    kind: a message, or one word for which the catalogues may hold `errors.noun.WORD`.

    >>> print(UnknownName("explainer", "rolout", ["rollout", "random"]))
    explainer 'rolout': expected a known name; got no such explainer. Try: rollout
    """

    kind: Text = ""
    known: Sequence[str] = ()
    near: Sequence[str] = ()

    def __init__(self, kind: Text, name: str, known: Iterable[str]) -> None:
        self.kind, self.known = kind, (known := sorted(known))
        self.near = near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
        one_of = phrase("error.one_of", names=", ".join(known)) if known else ""
        super().__init__(
            phrase("error.named", noun=kind, name=repr(name)),
            expected=phrase("error.known_name"),
            got=phrase("error.no_such", noun=kind),
            remedy=either(near) if near else one_of,
        )


def either(parts: Sequence[Text]) -> Text:
    """Join the parts with "or".

    >>> in_words(either(["a", "b", "c"]))
    'a or b or c'
    """
    first, *others = parts
    return phrase("error.either", first=first, second=either(others)) if others else first


def listing(parts: Sequence[Text]) -> Text:
    """Join the parts with semicolons; "" for none.

    >>> in_words(listing(["a", "b", "c"]))
    'a; b; c'
    """
    if not parts:
        return ""
    first, *others = parts
    return phrase("error.also", first=first, second=listing(others)) if others else first


class NoExamples(InputError):
    """Data, or a split of it, without one usable example."""


class CaptureError(RegardError):
    """Attention that could not be captured, or a capture that failed its own check."""


class Unsupported(RegardError):
    """A capability that this model lacks."""


class GateFailed(RegardError):
    exit_code = 1


class Incomplete(RegardError):
    exit_code = 3


class DamageWarning(UserWarning):
    """Warning about a damaged file; the work continues without it."""


class Busy(RegardError):
    """Too many jobs in the queue."""

    exit_code = 4


class EnvironmentProblem(RegardError):
    exit_code = 4
