"""Make control and hidden characters visible: one sanitiser for terminal output and Markdown.

Texts, labels, file names and error messages come from data, models and runs that somebody else may have written. An
escape sequence in them could rewrite the screen or the clipboard; a bidirectional override could reverse a sentence.
"""

from __future__ import annotations

import re
import shlex

_C0 = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"}
_C1 = dict.fromkeys(range(0x80, 0xA0), "\N{REPLACEMENT CHARACTER}")
_DIRECTION = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_LINES = (0x2028, 0x2029)
_NAMED = {code: f"<U+{code:04X}>" for code in (*_DIRECTION, *_LINES)}
_TABLE = {**_C0, 0x7F: "\N{SYMBOL FOR DELETE}", **_C1, **_NAMED}
_UNSAFE = re.compile(
    "[" + "".join(re.escape(chr(code)) for code in _TABLE) + "\ud800-\udfff\U000e0000-\U000e007f" + "]"
)


def visible(text: str) -> str:
    """Replace control characters, direction overrides and lone surrogates by visible signs.

    Tabs and line feeds stay. Every replacement is safe itself, so a second call changes nothing.

    >>> visible("plain, with äöü, 中文 and 👩‍🔬")
    'plain, with äöü, 中文 and 👩‍🔬'
    >>> visible("\\x1b]0;owned\\x07 \\x9b2J \\u202etxt.exe")
    '␛]0;owned␇ �2J <U+202E>txt.exe'
    """
    return _UNSAFE.sub(lambda match: _shown(match[0]), text)


def as_references(markup: str) -> str:
    """Write such characters as numeric XML references: the same document, safe to print in a terminal.

    >>> as_references("<text>a \x9b2J \u202eb</text>")
    '<text>a &#x9B;2J &#x202E;b</text>'
    """
    return _UNSAFE.sub(lambda match: f"&#x{ord(match[0]):X};", markup)


def shell_word(text: object) -> str:
    """Quote a name as one word of a shell command.

    >>> print(shell_word("runs/a"), shell_word("$(reboot).csv"))
    runs/a '$(reboot).csv'
    """
    return shlex.quote(visible(str(text)).replace("\n", "\N{SYMBOL FOR LINE FEED}"))


def _shown(character: str) -> str:
    return _TABLE.get(ord(character), "\N{REPLACEMENT CHARACTER}")


def hyphenated(method: str) -> str:
    """A method as recipes are typed on the command line: hyphens in its name, parameters as they are.

    >>> hyphenated("attention_effects:toward=few_words")
    'attention-effects:toward=few_words'
    """
    name, colon, parameters = method.partition(":")
    return f"{name.replace('_', '-')}{colon}{parameters}"
