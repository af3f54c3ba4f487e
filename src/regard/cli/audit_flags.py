"""Command-line flags generated from the fields of `AuditOptions`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any

import click

from regard.audits.options import AuditOptions, Flag
from regard.cli.model_options import DeviceName, F, listed, own_methods
from regard.files import exists


def _flags() -> dict[str, tuple[Field[Any], Flag]]:
    return {item.name: (item, item.metadata["flag"]) for item in fields(AuditOptions) if "flag" in item.metadata}


def audit_flags(function: F) -> F:
    """Add one command-line option per `AuditOptions` field with a flag."""
    for item, flag in reversed([*_flags().values()]):
        function = _option(item, flag)(function)
    return function


def _option(item: Field[Any], flag: Flag) -> Any:
    name = flag.name or f"--{item.name.replace('_', '-')}"
    how: dict[str, Any] = {"metavar": flag.metavar}
    if flag.form == "repeated":
        how["multiple"] = True
    elif flag.form == "switch":
        negative = name.startswith("--no-")
        how |= {"is_flag": True, "default": not item.default if negative else item.default, "show_default": "/" in name}
    else:
        how |= {"default": item.default, "show_default": item.default is not None}
    if flag.at_least is not None:
        how["type"] = click.IntRange(flag.at_least)
    elif flag.above is not None:
        how["type"] = click.FloatRange(flag.above, min_open=True)
    elif flag.choices:
        how["type"] = click.Choice(flag.choices)
    elif item.name == "device":
        how["type"] = DeviceName()
    return click.option(name, item.name, **how)


def options_from(values: Mapping[str, Any]) -> AuditOptions:
    """Build `AuditOptions` from the parsed options."""
    return AuditOptions(**{name: _value(name, flag, values[name]) for name, (_, flag) in _flags().items()})


KINDS = {"explainers": "explainer", "metrics": "metric", "experiments": "experiment"}
"""Options that name methods; they accept file.py:function."""


def _value(name: str, flag: Flag, value: Any) -> Any:
    if flag.form == "methods":
        return own_methods(KINDS[name], listed(value)) if name in KINDS else listed(value)
    if flag.form == "repeated" and flag.metavar == "DIR":  # directories may be separated by commas, too
        return [part for text in value for part in ([text] if exists(text) or ":" in text else text.split(",")) if part]
    if flag.form == "number or word":
        return int(value) if value is not None and value.isdecimal() else value
    return not value if flag.name.startswith("--no-") else value
