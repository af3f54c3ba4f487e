"""Tiny random models of many architectures: test cases of the tap and source of `docs/support.md`.

    for row in ARCHITECTURES:
        model, inputs = row.build(), row.inputs()
        model(**inputs)

Every row of `architectures.toml` names its `transformers` classes, the settings that make the model small, its inputs
(padded where the model takes an attention mask), the attention sites expected of that configuration with the sum in
words, and facts about the weights that the model itself reports. Nothing is downloaded.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

from regard.errors import UnknownName
from regard.testing import architecture_inputs
from regard.testing.architecture import Architecture


def _row(facts: dict[str, Any]) -> Architecture:
    """Convert one table of the file to a record."""
    for name in facts.pop("null", ()):
        facts["settings"][name] = None
    facts["inputs"] = getattr(architecture_inputs, facts["inputs"])
    for name in {"own", "inert"} & facts.keys():
        facts[name] = tuple(map(_frozen, facts[name]))
    return Architecture(**facts)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


ARCHITECTURES: tuple[Architecture, ...] = tuple(
    _row(facts)
    for facts in tomllib.loads(files("regard.testing").joinpath("architectures.toml").read_text("utf-8"))[
        "architecture"
    ]
)


def find(name: str) -> Architecture:
    """Row of that name.

    >>> find("BERT").count
    2
    """
    by_name = {row.name: row for row in ARCHITECTURES}
    if name not in by_name:
        raise UnknownName("architecture", name, by_name)
    return by_name[name]
