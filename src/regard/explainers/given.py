"""User-supplied relevances: from a file, a function, or the example's rationale."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from regard.datasets.cells import shown
from regard.datasets.formats.arrays import read_npz
from regard.datasets.read import open_table
from regard.errors import InputError, UnknownName, Unsupported, phrase
from regard.files import parse_json
from regard.foreign_code import contained, load_file
from regard.measures.plausibility import inside
from regard.protocols import Case
from regard.records import Example, Floats, Relevance, Units
from regard.registry import explainer, names_code


@names_code("function")
@explainer(
    signed=True,
    cost="none",
    passes_per="none",
    role="method",
    misleads="if they were computed for other units than this model's",
    formula="r_j as given",
    adapter=True,
)
def given(case: Case, *, file: str = "", function: str = "") -> Relevance:
    """Relevances computed elsewhere, from a file, a function or the rationale.

    Returns one signed value per unit as given, special units 0; values for all units or for the free ones only.
    file: .npz (one array per example, named by its id), or .jsonl, .csv, .parquet: either one row per example with
    columns `id` and `relevance` (a list), or one row per unit with `id`, `unit` (its number among the free units, from
    0) and `relevance`; units that are not listed get 0.
    function: "package.module:name" or "file.py:name", called as name(example, units); you name it, so it is run.
    Neither: the example's own rationale, 1 on the units it marks.

    >>> from regard.testing.toy import ToyCase
    >>> given(ToyCase(("wonderful film",)))[0].tolist()
    [0.0, 1.0, 0.0]
    """
    if file and function:
        raise InputError(
            "given", expected=phrase("errors.explainers.file_or_function"), got=phrase("errors.common.both")
        )
    tell = _from_file(file) if file else _from_function(function) if function else _rationale
    rows = [_fitted(example, u, tell(example, u)) for example, u in zip(case.examples, case.units, strict=True)]
    return Relevance.of("given", case.ids, rows, signed=True)


def _fitted(example: Example, units: Units, values: Any) -> Floats:
    try:
        row = np.asarray(values, np.float64)
    except (TypeError, ValueError) as problem:
        raise InputError(
            phrase("errors.explainers.given_relevance", example=repr(example.id)),
            expected=phrase("errors.common.numbers"),
            got=str(problem),
        ) from problem
    n, free = len(units), int(units.free.sum())
    if row.shape not in ((n,), (free,)):
        unit_names = ", ".join(units.names[:8]) + (", ..." if n > 8 else "")
        raise InputError(
            phrase("errors.explainers.given_relevance", example=repr(example.id)),
            expected=phrase("errors.explainers.values_one_per_free_unit", free=free, n=n),
            got=phrase("errors.common.array_shape", shape=row.shape),
            remedy=phrase("errors.explainers.units_unit_names", unit_names=unit_names),
        )
    whole = np.zeros(n)
    whole[units.free] = row[units.free] if len(row) == n else row
    return whole


def _rationale(example: Example, units: Units) -> Floats:
    if example.rationale is None:
        raise Unsupported(
            phrase("errors.explainers.given_relevance", example=repr(example.id)),
            expected=phrase("errors.explainers.file_function_or_example_with_rationale"),
            got=phrase("errors.common.none_them"),
            remedy="given:file=relevances.jsonl",
        )
    return np.asarray(inside(units.places, example.rationale) & (units.part == 0), np.float64)


Tell = Callable[[Example, Units], Any]


def _from_file(file: str) -> Tell:
    path = Path(file).expanduser()
    if not path.is_file():
        raise InputError(
            phrase("errors.common.file_place", place=file),
            expected=phrase("errors.explainers.npz_jsonl_csv_or_parquet"),
            got=phrase("errors.common.no_such_file"),
        )
    table = _table(str(path), path.stat().st_mtime_ns)

    def tell(example: Example, units: Units) -> Any:
        if example.id not in table:
            raise UnknownName(
                phrase("errors.explainers.example_in_path", path=path.name), example.id, list(table)[:1000]
            )
        entry = table[example.id]
        if isinstance(entry, dict):
            row = np.zeros(int(units.free.sum()))
            bad = [unit for unit in entry if not 0 <= unit < len(row)]
            if bad:
                problem = phrase("errors.common.unit_bad", bad=bad[0])
                raise InputError(
                    phrase("errors.explainers.example_path", path=path.name, example=repr(example.id)),
                    expected=phrase("errors.explainers.units_below", n=len(row)),
                    got=problem,
                )
            row[list(entry)] = list(entry.values())
            return row
        return entry

    return tell


@lru_cache(maxsize=4)
def _table(file: str, stamp: int) -> dict[str, Any]:
    """Read relevances by example id: an array, or {unit: value}. `stamp`, the file's mtime, invalidates the cache."""
    if file.endswith(".npz"):
        return read_npz(Path(file))
    table = open_table(Path(file))
    missing = {"id", "relevance"} - set(table.columns)
    if missing:
        raise InputError(
            phrase("errors.common.file_place", place=file),
            expected=phrase("errors.explainers.columns_id_relevance_and_perhaps"),
            got=", ".join(table.columns),
        )
    relevances: dict[str, Any] = {}
    for row in table.walk(None):
        if row.problem:
            raise InputError(
                f"{Path(file).name}, {table.counted} {row.number}",
                expected=phrase("errors.explainers.row"),
                got=row.problem,
            )
        name = str(row.values.get("id"))
        value: Any = row.values.get("relevance")
        try:
            if "unit" in table.columns:
                relevances.setdefault(name, {})[int(row.values.get("unit", ""))] = float(value)
            else:
                relevances[name] = parse_json(value) if isinstance(value, str) else value
        except (TypeError, ValueError, OverflowError) as problem:
            where = f"{Path(file).name}, {table.counted} {row.number}"
            raise InputError(
                where, expected=phrase("errors.explainers.number_or_list_numbers"), got=shown(value)
            ) from problem
    return relevances


def _from_function(spec: str) -> Tell:
    home, _, name = spec.rpartition(":")
    if not home or not name:
        raise InputError(
            phrase("errors.common.function_spec", spec=repr(spec)),
            expected=phrase("errors.explainers.package_module_name_or_file"),
            got=repr(spec),
        )
    with contained(
        phrase("errors.common.function_spec", spec=repr(spec)),
        expected=phrase("errors.explainers.importable_module"),
    ):
        module = load_file(Path(home)) if home.endswith(".py") else importlib.import_module(home)
    called = getattr(module, name, None)
    if not callable(called):
        raise UnknownName(
            phrase("errors.explainers.function_in_home", home=home),
            name,
            [k for k, v in vars(module).items() if callable(v)],
        )

    def tell(example: Example, units: Units) -> Any:
        with contained(
            phrase("errors.common.function_spec", spec=repr(spec)),
            expected=phrase("errors.explainers.relevances_of_example", example=repr(example.id)),
            crashes=False,
        ):
            return called(example, units)

    return tell
