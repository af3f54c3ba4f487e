"""Error rate of the judge: its record on the sealed half of the planted models, as `make truth` measured it."""

from __future__ import annotations

import ast
import hashlib
import io
import json
import tokenize
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from regard.present.decimals import at_most
from regard.present.messages.messages import say

ANSWERS = ("holds", "fails", "mixed", "uninformative")
EXPERIMENTS = ("map_shape", "permutation", "route", "pointing", "top_word", "exclusive")
"""Experiments that a rule with a planted truth uses."""


@cache
def track_record() -> dict[str, Any] | None:
    """Counts and figures with their intervals; None while it has not been measured."""
    place = files("regard").joinpath("judge", "sealed.json")
    return dict(json.loads(place.read_text("utf-8"))) if place.is_file() else None


@cache
def sources() -> str:
    """Fingerprint of the code that the record measured: the judge, and the experiments that its rules use."""
    package = files("regard")
    judge = [f for f in package.joinpath("judge").iterdir() if f.name.endswith(".py")]
    experiments = [package.joinpath("experiments", f"{name}.py") for name in ("_map", "_rankings", *EXPERIMENTS)]
    return fingerprint({f"{f.name}": f.read_text("utf-8") for f in (*judge, *experiments)})


def fingerprint(texts: Mapping[str, str]) -> str:
    """Return the same string for the same code, in any order and with any comments and docstrings.

    >>> fingerprint({"a": "x = 1", "b": "y"}) == fingerprint({"b": "y  # why", "a": "'About x.'\\nx = 1"})
    True
    >>> fingerprint({"a": "x = 1"}) == fingerprint({"a": "x = 2"})
    False
    """
    code = {name: without_remarks(text) for name, text in texts.items()}
    return hashlib.sha256(json.dumps(code, sort_keys=True).encode()).hexdigest()[:16]


def without_remarks(source: str) -> str:
    """Return Python source without comments, docstrings and blank lines, none of which changes behaviour."""
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            end = node.end_lineno or node.lineno
            lines[node.lineno - 1 : end] = [""] * (end - node.lineno + 1)
    return "\n".join(line.rstrip() for line in lines if line.strip())


def covers(task: str, examples: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the record is about such a model: every planted model classifies texts.

    >>> text, image = {"units": {"place_kind": "span"}}, {"units": {"place_kind": "box"}}
    >>> covers("classification", [text]), covers("classification", [image]), covers("sequence_to_sequence", [text])
    (True, False, False)
    """
    widths = {example["units"]["place_kind"] for example in examples if example.get("units")}
    return task in ("", "classification") and widths <= {"span"}


def in_a_sentence(record: dict[str, Any] | None, *, covered: bool = True) -> str:
    """Return the two figures, the models they were measured on, and the questions that have planted models.

    covered: whether the record is about models of this kind (`covers`); if not, the sentence has no figures.
    """
    if record is None:
        return say("errs.not_measured")
    if not covered:
        return say("errs.other_kind")
    wrong, power = record["wrong"], record["power"]
    figures = say(
        "errs.sentence",
        models=record["models"],
        count=wrong["count"],
        n=wrong["n"],
        high=at_most(wrong["high"]),
        power=f"{power['share']:.0%}",
        power_low=f"{power['low']:.0%}",
        power_high=f"{power['high']:.0%}",
    )
    parts = [figures, say("errs.kinds"), say("errs.covers")]
    if record.get("sources") != sources():
        parts.append(say("errs.changed", commit=record["commit"]))
    return say("joint").join(parts)
