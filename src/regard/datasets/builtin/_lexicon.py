"""Word tables of the generated data sets, one TOML file beside each."""

from __future__ import annotations

import importlib.resources
import tomllib
from types import SimpleNamespace


def lexicon(name: str) -> SimpleNamespace:
    """Return the tables of a data set's TOML file as attributes."""
    text = importlib.resources.files("regard.datasets.builtin").joinpath(f"{name}.toml").read_text("utf-8")
    return SimpleNamespace(**tomllib.loads(text))
