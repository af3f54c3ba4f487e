"""Translate click's usage errors into the language of the user, from the facts in its exceptions."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import click

from regard.errors import InputError, RegardError, Text, either, phrase


def usage_error(error: click.ClickException) -> RegardError | None:
    """Return a usage error as one of ours; None for a message without facts."""
    context = getattr(error, "ctx", None)
    if isinstance(error, click.NoSuchOption):
        near = [repr(name) for name in sorted(error.possibilities or ())]
        return InputError(
            phrase("errors.cli.option_name", name=repr(error.option_name)),
            expected=phrase("errors.cli.option_of_command"),
            got=phrase("errors.cli.no_such_option"),
            remedy=either(near) if near else "",
        )
    if isinstance(error, click.MissingParameter) and error.param is not None:
        choice = _expected(error.param) if isinstance(error.param.type, click.Choice) else phrase("errors.cli.a_value")
        return InputError(_subject(error.param, context), expected=choice, got=phrase("errors.common.none"))
    if isinstance(error, click.BadOptionUsage):
        flag = any(getattr(p, "is_flag", False) and error.option_name in p.opts for p in _parameters(context))
        value = phrase("errors.cli.no_value") if flag else phrase("errors.cli.a_value")
        return InputError(phrase("errors.cli.option_name", name=repr(error.option_name)), expected=value)
    if isinstance(error, click.BadParameter) and error.param is not None and (expected := _expected(error.param)):
        values, _ = _typed(context)
        got = repr(values[error.param.name]) if values.get(error.param.name or "") is not None else ""
        return InputError(_subject(error.param, context), expected=expected, got=got)
    if type(error) is click.UsageError and (extra := _typed(context)[1]):
        return InputError(phrase("errors.cli.arguments"), expected=phrase("errors.cli.no_more"), got=" ".join(extra))
    return None


def _subject(parameter: click.Parameter, context: click.Context | None) -> Text:
    if isinstance(parameter, click.Argument):
        return phrase("errors.cli.argument_name", name=parameter.make_metavar(context) if context else parameter.name)
    return phrase("errors.cli.option_name", name=repr(max(parameter.opts, key=len)))


def _expected(parameter: click.Parameter) -> Text:
    """Describe the values of a parameter by its type; "" for a type that describes them itself."""
    kind: Any = parameter.type
    if isinstance(kind, click.Choice):
        return phrase("error.one_of", names=", ".join(map(str, kind.choices)))
    if isinstance(kind, click.IntRange | click.FloatRange):
        whole = isinstance(kind, click.IntRange)
        if kind.max is None:
            return (
                phrase("errors.cli.whole_number_at_least", low=kind.min)
                if whole
                else phrase("errors.cli.number_at_least", low=kind.min)
            )
        return (
            phrase("errors.cli.whole_number_between", low=kind.min, high=kind.max)
            if whole
            else phrase("errors.cli.number_between", low=kind.min, high=kind.max)
        )
    if isinstance(kind, click.Path):
        if kind.exists and not kind.file_okay:
            return phrase("errors.cli.existing_directory")
        return phrase("errors.cli.existing_file") if kind.exists else phrase("errors.cli.path")
    words = {
        "integer": phrase("errors.cli.whole_number"),
        "float": phrase("errors.cli.number"),
        "text": phrase("errors.cli.a_value"),
    }
    return words.get(kind.name, "")


def _parameters(context: click.Context | None) -> list[click.Parameter]:
    return context.command.params if context is not None else []


def _typed(context: click.Context | None) -> tuple[dict[str, Any], list[str]]:
    """Return the values by parameter as the user typed them, and the arguments that match no parameter."""
    words = list(context.find_root().obj or ()) if context is not None else []
    if context is None or context.info_name not in words:
        return {}, []
    with suppress(click.ClickException):
        values, extra, _ = context.command.make_parser(context).parse_args(words[words.index(context.info_name) + 1 :])
        return dict(values), extra
    return {}, []
