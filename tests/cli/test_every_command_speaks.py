"""`--lang zh` (or REGARD_LANG) reaches whatever a command prints: tables, notes, help, errors."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Callable

import pytest
from click import Option
from click.testing import Result

from regard.cli.commands.doctor import OPTIONAL
from regard.cli.help_text import option_key
from regard.cli.root import COMMANDS, root
from regard.errors import EXIT_CODES
from regard.present.messages.messages import catalogue, known

SENTENCE = re.compile(r"(?:\b[A-Za-z]{2,} ){3,}[A-Za-z]{2,}")
"""Four words of English in a row."""
CALLS = (
    "explain mine.py:make --text 文",
    "explain mine.py:make --text 文 --method attention,leave_one_out --compare",
    "capture mine.py:make --text 文",
    "walkthrough 文 --model mine.py:make",
    "list",
    "explain no_such_model --text 文",
    "explain mine.py:make --text ''",
    "new explainer",
)


@pytest.mark.parametrize("words", CALLS)
def test_no_english_sentence_of_ours(words: str, regard: Callable[..., Result]) -> None:
    given = [word.strip("'").replace("文", "quiet film") for word in words.split()]
    said = regard(*given, "--lang", "zh").output
    assert re.search(r"[\u4e00-\u9fff]", said), said
    assert not SENTENCE.findall(said.replace("Jain & Wallace", "").replace("Wiegreffe & Pinter", "")), said


def test_the_environment_chooses_too(regard: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_LANG", "zh")
    assert "命令" in regard("--help").output
    assert catalogue("zh")["term.help.heads"][:8] in regard("heads", "--help").output
    assert "kind" in regard("list", "--lang", "en").output  # what stands on the line wins


def test_another_language_is_refused(regard: Callable[..., Result]) -> None:
    result = regard("list", "--lang", "fr")
    assert (result.exit_code, "got 'fr'" in result.output) == (2, True)


def test_exit_codes_are_those_of_the_catalogue() -> None:
    told = {key for key in catalogue("en") if key.startswith("term.help.code_")}
    assert {f"term.help.code_{code}" for code in EXIT_CODES} == told


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_the_option(name: str) -> None:
    command = root.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None
    assert "--lang" in {option for parameter in command.params for option in parameter.opts}


def test_the_catalogue_describes_every_option_and_no_other() -> None:
    used = {"option.shared.help", "option.regard.version"}
    for name in COMMANDS:
        command = root.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        options = {option.name: option_key(name, option) for option in command.params if isinstance(option, Option)}
        assert [option for option, key in options.items() if not key] == [], name
        used |= set(options.values())
    assert sorted({key for key in catalogue("en") if key.startswith("option.")} - used) == []


def test_doctor_knows_every_optional_package() -> None:
    extras: dict[str, str] = {}
    for line in importlib.metadata.requires("regard") or ():
        extra = re.search(r'extra == "(\w+)"', line.replace("'", '"'))
        if extra and extra[1] != "dev":
            extras[re.split(r"[<>=!~; \[]", line)[0]] = extra[1]
    assert {name: OPTIONAL.get(name) for name in extras} == extras
    assert all(known(f"term.optional.{name}") for name in OPTIONAL)
