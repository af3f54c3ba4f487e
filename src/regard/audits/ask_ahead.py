"""Prefetching: removals that a metric needs for all explainers run through the model together.

A metric scores one explainer at a time, and its few removals make small batches of many lengths. Here every metric is
first called with a case that only records its first removal. The recorded removals of all explainers then run at once,
and the metric itself finds the answers in the cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NoReturn, cast

from regard.desk.case import DeskCase
from regard.desk.questions import Removed, removals
from regard.protocols import Case
from regard.records import Bools, Relevance, Spec
from regard.registry import build, entry


class _Heard(Exception):
    """Raised at a metric's first removal."""


class _Listening:
    """A case that records removals and answers none."""

    def __init__(self, case: DeskCase) -> None:
        self._case = case
        self.questions: list[Removed] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._case, name)

    def removed(self, drops: Sequence[Bools], operator: str | None = None) -> NoReturn:
        way, variants = removals(cast("Case", self._case), drops, operator)
        self.questions = [Removed(example, way, drop) for example, drop in variants if any(drop)]
        raise _Heard

    def _refused(self, *arguments: object, **keywords: object) -> NoReturn:
        raise _Heard

    ask = relevance = variant = _refused


def ask_ahead(pairs: Iterable[tuple[DeskCase, Relevance]], metrics: Sequence[Spec]) -> None:
    """Run the removals of all metrics of one name for these relevances; failures are left to the metrics.

    pairs: relevances with the cases of their examples, which share a desk.
    """
    questions: list[Removed] = []
    desk = None
    for case, relevance in pairs:
        desk = case.desk
        for metric in metrics:
            listening = _Listening(case)
            with suppress(Exception):  # most end in _Heard; a metric that fails reports it in its own turn
                build(metric)(cast("Case", listening), relevance)
            questions += listening.questions
    if desk is not None and questions:
        with suppress(Exception):  # one example may be guilty: the metrics are then asked example by example
            desk.ask(questions)


def removing(metrics: Sequence[Spec]) -> dict[str, list[Spec]]:
    """Group the metrics that remove units by name: those of one name differ in their setting.

    >>> [*removing([Spec("metric", "entropy"), Spec("metric", "aopc", {"bins": 5})])]
    ['aopc']
    """
    by_name: dict[str, list[Spec]] = {}
    for metric in metrics:
        if "removal" in cast("list[str]", entry(metric.kind, metric.name).facts.get("needs", ())):
            by_name.setdefault(metric.name, []).append(metric)
    return by_name
