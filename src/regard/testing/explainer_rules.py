"""Rules for explainers: shapes, zeros, finite values, honest declarations, order independence."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from regard.errors import RegardError, Unsupported
from regard.records import Relevance
from regard.registry import describe
from regard.testing.toy import ToyCase

Explainer = Callable[..., Any]
Cases = Callable[[Sequence[int], int], Any]
"""(positions, seed) -> a case with these of its examples. The first example alone must be a fair test."""

TOLERANCE = 1e-6
_NEEDS = {"attention": "attention", "slopes": "gradient", "removed": "removal"}


def toy_cases(flavour: Literal["pooling", "layers", "windowed", "none"]) -> Cases:
    def make(positions: Sequence[int], seed: int) -> ToyCase:
        return ToyCase(seed=seed, flavour=flavour).subset(positions)

    return make


TOYS: Mapping[str, Cases] = {
    "the toy case with pooling attention": toy_cases("pooling"),
    "the toy case with two self-attention layers": toy_cases("layers"),
    "the toy case whose attention does not fit its units": toy_cases("windowed"),
    "the toy case without attention": toy_cases("none"),
}


def explainer_problems(function: Explainer, cases: Mapping[str, Cases], size: int) -> Iterator[str]:
    """Yield the rules that an explainer breaks. It may refuse a case with `Unsupported`, but not all of them."""
    refusals = []
    for name, make in cases.items():
        try:
            function(make(range(size), 0))
        except Unsupported as reason:
            refusals.append(f"{name}: {reason}")
            continue
        except Exception as error:
            yield f"on {name}, {failure(error, 'the case gave it')}"
            continue
        for rule in (_shape, _honesty, _repeats, _any_order, _parameters):
            try:
                violations = list(rule(function, make, size))
            except Exception as error:
                violations = [failure(error, "the case gave it")]
            yield from (f"on {name}, {problem}" for problem in violations)
            if violations and rule is _shape:
                break  # the other rules take a well-formed relevance for granted
    if len(refusals) == len(cases):
        yield "it refuses every case: " + "; ".join(refusals)


def failure(error: Exception, given: str) -> str:
    """Describe the failure of a method."""
    if isinstance(error, ValueError) and "read-only" in str(error):
        return f"it changes what {given}"
    return f"it fails: {error}" if isinstance(error, RegardError) else f"it fails with {error!r}"


def _shape(function: Explainer, make: Cases, size: int) -> Iterator[str]:
    case = make(range(size), 0)
    relevance = function(case)
    if not isinstance(relevance, Relevance):
        yield f"it returns {type(relevance).__name__}, not a Relevance"
        return
    if relevance.method != function.__name__:
        yield f"its relevance is called {relevance.method!r}, not {function.__name__!r}"
    sizes, unit_counts = np.diff(relevance.offsets).tolist(), [len(units) for units in case.units]
    if relevance.ids != case.ids or sizes != unit_counts:
        yield f"it gives {sizes} values where the examples have {unit_counts} units"
        return
    if not np.isfinite(relevance.values).all():
        yield "some values are not finite"
    for row, units in zip(relevance, case.units, strict=True):
        if row[units.special].any():
            yield f"special units must be exactly 0, got {row[units.special].tolist()}"
            break
    for name, extra in relevance.extras.items():
        if len(extra) not in (len(relevance.ids), len(relevance.values)):
            yield f"extra {name!r} has {len(extra)} entries, neither one per example nor one per unit"


def _honesty(function: Explainer, make: Cases, size: int) -> Iterator[str]:
    case, facts = make(range(size), 0), describe(function).facts
    relevance = function(case)
    if relevance.signed != facts["signed"]:
        yield f"it is declared signed={facts['signed']} but its relevance says signed={relevance.signed}"
    needs = facts["needs"]
    for request, need in _NEEDS.items():
        if isinstance(case, ToyCase) and case.calls[request] and isinstance(needs, list) and need not in needs:
            yield f"it asks for {request} but does not declare needs={need!r}"


def _repeats(function: Explainer, make: Cases, size: int) -> Iterator[str]:
    once = function(make(range(size), 0))
    legacy, state = np.random.get_state(), random.getstate()
    case = make(range(size), 0)
    again = function(case)
    untouched = all(np.array_equal(a, b) for a, b in zip(legacy, np.random.get_state(), strict=True))
    if not untouched or state != random.getstate():
        yield "it draws from global random numbers; use case.rng(i, ...)"
    if not np.array_equal(once.values, again.values):
        yield "the same case gives other values the second time"
    uses_random = isinstance(case, ToyCase) and case.calls["rng"]
    if uses_random and np.array_equal(once.values, function(make(range(size), 1)).values):
        yield "it draws random numbers but another seed gives the same values"


def _any_order(function: Explainer, make: Cases, size: int) -> Iterator[str]:
    whole = function(make(range(size), 0))
    backwards = function(make(range(size)[::-1], 0))
    for i in range(size):
        alone = function(make([i], 0))
        if not np.allclose(whole[i], alone[0], rtol=0, atol=TOLERANCE):
            yield f"example {i} alone gets other values than in company"
            return
        if not np.allclose(whole[i], backwards[size - 1 - i], rtol=0, atol=TOLERANCE):
            yield "the order of the examples changes their values"
            return


def _parameters(function: Explainer, make: Cases, size: int) -> Iterator[str]:
    parameters = describe(function).parameters
    defaults = {p.name: tuple(p.default) if isinstance(p.default, list) else p.default for p in parameters}
    if not np.array_equal(function(make(range(size), 0)).values, function(make(range(size), 0), **defaults).values):
        yield "giving the defaults explicitly changes the values"
    for parameter in parameters:
        for choice in parameter.choices:
            relevance = function(make(range(size), 0), **{parameter.name: choice})
            if not np.isfinite(relevance.values).all():
                yield f"{parameter.name}={choice!r} gives values that are not finite"
