"""What a report needs of a run, and the same read once. `store.run.Run` is one; a test may bring another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from regard.audits.stored_summaries import checked_summaries
from regard.present.answer_text import shown_answer
from regard.records import Attention, Floats, Relevance, Score, Summary
from regard.store.manifest import broken_model
from regard.store.run import Run


class RunReader(Protocol):
    @property
    def manifest(self) -> Mapping[str, Any]: ...
    def examples(self) -> list[dict[str, Any]]: ...
    def methods(self) -> list[str]: ...
    def relevance(self, method: str) -> Relevance: ...
    def scores(self) -> list[Score]: ...
    def findings(self) -> list[Score]: ...
    def summaries(self) -> list[Summary]: ...
    def problems(self) -> list[dict[str, Any]]: ...
    def costs(self) -> list[dict[str, Any]]: ...
    def kept(self) -> list[str]: ...
    def capture(self, example_id: str) -> Sequence[Attention]: ...


def shown_summaries(run: RunReader) -> list[Summary]:
    """The summaries of a run that may be shown: those of a stored run must follow from its tables."""
    return checked_summaries(run) if isinstance(run, Run) else run.summaries()


class Material:
    """Everything a report shows, each part read from the run at most once."""

    def __init__(self, run: RunReader) -> None:
        self.run = run

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        return self.run.manifest

    @cached_property
    def broken(self) -> str:
        """What is wrong with the model, so that no claim may be made; "" for a sound one."""
        return broken_model(self.manifest)

    @cached_property
    def examples(self) -> list[dict[str, Any]]:
        """The examples that the model was asked about."""
        return [e for e in self.run.examples() if e.get("units")]

    @cached_property
    def by_id(self) -> dict[str, dict[str, Any]]:
        return {e["id"]: e for e in self.examples}

    @cached_property
    def methods(self) -> list[str]:
        return self.run.methods()

    @cached_property
    def own_operators(self) -> dict[str, str]:
        """The operator by which a method removes units itself, where it does."""
        specs = self.manifest.get("settings", {}).get("explainers", [])
        called = self.manifest.get("methods") or [s["name"] for s in specs]
        pairs = zip(called, specs, strict=False)  # no settings, no operators
        return {str(name): str(s["params"]["operator"]) for name, s in pairs if "operator" in s.get("params", {})}

    @cached_property
    def scores(self) -> list[Score]:
        return self.run.scores()

    @cached_property
    def findings(self) -> list[Score]:
        """What the experiments left."""
        return self.run.findings()

    @cached_property
    def summaries(self) -> list[Summary]:
        return shown_summaries(self.run)

    @cached_property
    def relevances(self) -> dict[str, Relevance]:
        return {method: self.run.relevance(method) for method in self.methods}

    @cached_property
    def _places(self) -> dict[str, dict[str, int]]:
        return {m: {name: i for i, name in enumerate(r.ids)} for m, r in self.relevances.items()}

    def relevance_of(self, method: str, example_id: str) -> Floats | None:
        """(units,) what a method says about one example; None where it says nothing."""
        place = self._places[method].get(example_id)
        return None if place is None else self.relevances[method][place]

    def cluster(self, example_id: str) -> str:
        """What counts as one independent draw (see `Example.cluster`)."""
        example = self.by_id.get(example_id, {})
        return str(example.get("group") or example.get("parent") or example_id)

    @property
    def task(self) -> str:
        """The task of the model; "" where a run does not know it."""
        return str(self.manifest["model"].get("task") or "")

    def answer(self, value: Any) -> str:
        """A prediction as it is shown: a class by its name, a text that the model wrote in quotation marks."""
        return shown_answer(value, self.task) if isinstance(value, str) else self.label(value)

    def label(self, value: Any) -> str:
        """The name of a class, where the value is the number of one."""
        labels = self.manifest["model"].get("labels") or []
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(labels):
            return str(labels[value])
        return "none" if value is None else str(value)
