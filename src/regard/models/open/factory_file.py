"""A model from a function of a Python file: `file.py:factory`."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from regard.errors import InputError, UnknownName, phrase
from regard.foreign_code import contained, load_file


def factory_product(path: Path, name: str) -> Any:
    """Run a file that the user named, and return what its function `name` makes; nothing else is ever executed."""
    module = load_file(path)
    public = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
    if name not in public:
        raise UnknownName(phrase("errors.models.factory_in_path", path=path.name), name, public)
    make = getattr(module, name)
    try:
        inspect.signature(make).bind()
    except (TypeError, ValueError) as problem:
        raise InputError(
            phrase("errors.models.factory_name", name=name),
            expected=phrase("errors.models.one_that_needs_no_arguments"),
            got=str(problem),
        ) from problem
    with contained(
        phrase("errors.models.factory_of_file", name=name, path=path.name),
        expected=phrase("errors.common.model"),
        crashes=False,
    ):
        return make()
