"""The conformance battery: the checks for every method of every kind, built-in or external.

    from regard.testing.battery import check_explainer
    from my_package.my_method import my_method

    def test_my_method() -> None:
        check_explainer(my_method)

A method that breaks rules raises one AssertionError that lists all of them.
"""

from __future__ import annotations

import importlib
import inspect
import json
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from regard.errors import RegardError
from regard.records import Example, Spec
from regard.registry import GATHERED, ROOMS, describe
from regard.testing.attack_rules import attack_problems
from regard.testing.explainer_rules import TOYS, Cases, explainer_problems
from regard.testing.metric_rules import metric_problems
from regard.testing.perturbation_rules import perturbation_problems
from regard.testing.question_rules import question_problems
from regard.testing.toy import TEXTS

POSITIONAL: Mapping[str, tuple[int, str]] = {
    "explainer": (1, "(case, *, own parameters)"),
    "metric": (2, "(case, relevance, *, own parameters)"),
    "head": (1, "(view, *, own parameters)"),
    "experiment": (1, "(case or study, *, own parameters)"),
    "attack": (2, "(case, threat, *, own parameters)"),
    "citer": (1, "(case, *, own parameters)"),
    "learner": (1, "(train, *, own parameters)"),
    "term": (2, "(outcome, batch, *, own parameters)"),
    "perturbation": (3, "(example, severity, rng, *, own parameters)"),
    "recipe": (1, "(modality, *, own parameters)"),
}
MOST_PARAMETERS = 6
OWN_SIGNATURES = ("engine", "language", "question", "score")
"""Kinds of functions with a signature of their own, which the engine calls."""


def check_explainer(function: Callable[..., Any], *, cases: Mapping[str, Cases] = TOYS, size: int = len(TEXTS)) -> None:
    """Raise an AssertionError that lists every broken rule.

    cases: name -> function (positions, seed) -> a Case holding these of `size` examples; the toy cases by default.
    """
    _verdict(function, [*_general(function, "explainer"), *explainer_problems(function, cases, size)])


def check_metric(function: Callable[..., Any]) -> None:
    """Raise an AssertionError that lists every broken rule."""
    _verdict(function, [*_general(function, "metric"), *metric_problems(function)])


def check_dataset(function: Callable[..., Any]) -> None:
    """Raise an AssertionError that lists every broken rule; EnvironmentProblem if its package is missing."""
    _verdict(function, [*_general(function, "dataset"), *_dataset_problems(function)])


def check_perturbation(function: Callable[..., Any], *, model: Any = None) -> None:
    """Raise an AssertionError that lists every broken rule. model: for a noise that needs one."""
    _verdict(function, [*_general(function, "perturbation"), *perturbation_problems(function, model)])


def check_attack(function: Callable[..., Any]) -> None:
    """Raise an AssertionError that lists every broken rule."""
    _verdict(function, [*_general(function, "attack"), *attack_problems(function)])


def check_question(function: Callable[..., Any]) -> None:
    """Raise an AssertionError that lists every broken rule. For questions of your own; ours are judged by `truth`."""
    _verdict(function, [*_general(function, "question"), *question_problems(function)])


def check(function: Callable[..., Any], kind: str) -> None:
    """Run the check for a kind; sources and engines are inspected, not started."""
    special = {
        "explainer": check_explainer,
        "metric": check_metric,
        "dataset": check_dataset,
        "perturbation": check_perturbation,
        "attack": check_attack,
    }
    if kind in special:
        special[kind](function)
    else:
        _verdict(function, _general(function, kind))


def _general(function: Callable[..., Any], kind: str) -> list[str]:
    violations = list(problems(function, kind))
    try:
        declared = describe(function).kind
    except RegardError:
        declared = ""
    if declared != kind:
        _verdict(function, violations)  # nothing more can be asked of it
    return violations


def problems(function: Callable[..., Any], kind: str) -> Iterator[str]:
    """Yield broken rules for methods of any kind: marked, named, documented, JSON parameters with defaults."""
    try:
        entry = describe(function)
    except RegardError as error:
        yield str(error)
        return
    if kind not in ROOMS or entry.kind != kind:
        yield f"it is decorated as {entry.kind}, not {kind}"
    if kind in (*OWN_SIGNATURES, *GATHERED):
        pass
    elif function.__module__.rsplit(".", 1)[-1] not in (entry.name, "__main__"):
        yield f"file name = function name: {entry.name} lives in {function.__module__}"
    elif function.__module__ != "__main__":
        home = importlib.import_module(function.__module__)
        if getattr(home, entry.name, None) is not function:
            yield f"{function.__module__}.{entry.name} is something else"
    if not entry.summary.endswith((".", "?", "!")) or len(entry.summary) > 120:
        yield f"the docstring starts with one sentence of at most 120 characters, got {entry.summary!r}"
    if kind in POSITIONAL and kind != "learner" and len(entry.parameters) > MOST_PARAMETERS:
        yield f"at most {MOST_PARAMETERS} parameters of its own, got {len(entry.parameters)}"
    if kind not in OWN_SIGNATURES:
        yield from _signature_problems(function, kind)
    try:
        spec = Spec(kind, entry.name, {p.name: p.default for p in entry.parameters})
        json.dumps(dict(entry.facts))
        if Spec.from_json(json.loads(json.dumps(spec.to_json()))) != spec:
            yield "its defaults do not survive a trip through JSON"
    except TypeError as error:
        yield f"defaults and facts must be JSON: {error}"


def _signature_problems(function: Callable[..., Any], kind: str) -> Iterator[str]:
    signature = inspect.signature(function)
    positional = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    if any(p.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD) for p in positional):
        yield "no *args and no **kwargs"
    count, expected = POSITIONAL.get(kind, (0, "(*, own parameters)"))
    if kind == "perturbation" and "model" in typing.cast("list[str]", describe(function).facts["needs"]):
        count, expected = 4, "(example, severity, rng, model, *, own parameters)"
    if len(positional) != count:
        yield f"expected {expected}, got {signature}"
    if signature.return_annotation is inspect.Signature.empty:
        yield "its return type is not annotated"


def _dataset_problems(function: Callable[..., Any]) -> Iterator[str]:
    data = function()
    rows: Sequence[Example] = list(data)
    if not rows or len(rows) != len(data):
        yield f"len() says {len(data)}, iteration gives {len(rows)}"
        return
    if len({e.id for e in rows}) != len(rows):
        yield "example ids repeat"
    again = function()
    if data.fingerprint != again.fingerprint or [e.id for e in rows] != [e.id for e in again]:
        yield "calling it twice gives two different data sets"


def _verdict(function: Callable[..., Any], found: Sequence[str]) -> None:
    if found:
        listed = "\n".join(f"  - {problem}" for problem in dict.fromkeys(found))
        raise AssertionError(f"{getattr(function, '__name__', function)} breaks the rules:\n{listed}")
