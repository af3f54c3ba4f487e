"""Redacted run: placeholders replace its words, for `--redact`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from regard.audits.conclusions.run_facts import RunReader, shown_summaries
from regard.records import Attention, Relevance, Score, Summary
from regard.store.redaction import Redactor


class Redacted:
    """Run with every word of every text replaced (implements `RunReader`).

    Pictures, series and rows stay, and so do ids, slices and the names of classes and columns.
    """

    def __init__(self, run: RunReader) -> None:
        self._run = run

    @cached_property
    def _redactor(self) -> Redactor:
        return Redactor.over(self._run.examples())

    @property
    def manifest(self) -> Mapping[str, Any]:
        return {"veil": "redacted", **self._run.manifest}

    def examples(self) -> list[dict[str, Any]]:
        return [self._redactor.example(row) for row in self._run.examples()]

    def predictions(self) -> list[dict[str, Any]]:
        return [self._redactor.example(row) for row in self._run.predictions()]

    def problems(self) -> list[dict[str, Any]]:
        return [{**p, "message": self._redactor.words(str(p["message"]))} for p in self._run.problems()]

    def methods(self) -> list[str]:
        return self._run.methods()

    def relevance(self, method: str) -> Relevance:
        return self._run.relevance(method)

    def scores(self) -> list[Score]:
        return self._run.scores()

    def findings(self) -> list[Score]:
        # what experiments keep to be shown are texts
        return [self._redactor.finding(found) for found in self._run.findings()]

    def summaries(self) -> list[Summary]:
        return shown_summaries(self._run)

    def costs(self) -> list[dict[str, Any]]:
        return self._run.costs()

    def kept(self) -> list[str]:
        return self._run.kept()

    def capture(self, example_id: str) -> Sequence[Attention]:
        return self._run.capture(example_id)
