"""Values as TOML: enough to write damaged policies and templates."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.fuzz.mutations import BARE_NAN, DEEP, HUGE


def dumps(table: Any) -> str:
    """Write a table as TOML; any other value is written as is, which no reader may accept.

    >>> dumps({"a": 1, "b": [{"c": True}]})
    'a = 1\\nb = [{"c" = true}]\\n'
    """
    if not isinstance(table, dict):
        return _value(table)
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in table.items())


def _key(key: Any) -> str:
    text = str(key)
    return text if text.replace("_", "").isalnum() and text.isascii() else json.dumps(text)


def _value(value: Any) -> str:
    if value is None:
        return '""'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {_value(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str):
        special = {HUGE: "9" * 5000, DEEP: "[" * 5000 + "]" * 5000, BARE_NAN: "nan"}
        return special.get(value) or json.dumps(value)
    return str(value)
