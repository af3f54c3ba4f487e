"""Tests of behaviour (`perturb --tests`) and lists of sensitive terms (`perturb --swaps`)."""

from __future__ import annotations

import tomllib
from pathlib import Path
from random import Random

from benchmarks.fuzz import mutations, toml
from benchmarks.fuzz.case import Case, evil_module
from benchmarks.fuzz.materials import SWAPS, TESTS, Materials

NOISE = (
    '\n[[test]]\nname = "typing"\nkind = "invariance"\ntemplate = "a {good} film"\nnoise = "keyboard"\nseverity = 2\n'
)


def case(rng: Random, originals: Materials, folder: Path) -> Case:
    evil_module(folder)
    swaps = rng.random() < 0.25
    text = SWAPS if swaps else TESTS + (NOISE if rng.random() < 0.3 else "")
    if rng.random() < 0.65:
        content = toml.dumps(mutations.json_value(tomllib.loads(text), rng)).encode("utf-8", "surrogatepass")
    else:
        content = mutations.data(text.encode(), rng)
    file = folder / "templates.toml"
    file.write_bytes(content)
    words = ["perturb", str(originals.network)]
    if swaps:
        return Case(
            [[*words, "--data", str(originals.csv), "--swaps", str(file), "--limit", "4"]], frozenset({0, 1, 2, 3})
        )
    return Case([[*words, "--tests", str(file)]], frozenset({0, 1, 2, 3}))
