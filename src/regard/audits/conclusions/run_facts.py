"""The parts of a run that conclusions and reports use, each read at most once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from regard.audits.stored_summaries import checked_summaries
from regard.measures.bounded_mean import cluster_interval
from regard.measures.intervals import ClusterSums, Interval
from regard.records import Attention, Floats, Relevance, Score, Summary, Text
from regard.store.manifest import broken_model
from regard.store.run import Run


class RunReader(Protocol):
    """Read access to a run: `store.run.Run`, one with its words replaced, or one made by a test."""

    @property
    def manifest(self) -> Mapping[str, Any]: ...
    def examples(self) -> list[dict[str, Any]]: ...
    def predictions(self) -> list[dict[str, Any]]: ...
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
    """Summaries of a run that may be shown; those of a stored run must follow from its tables."""
    return checked_summaries(run) if isinstance(run, Run) else run.summaries()


class RunFacts:
    """Examples, methods, scores and findings of a run. `summaries`: freshly computed ones, which need no check."""

    def __init__(self, run: RunReader, summaries: Sequence[Summary] | None = None) -> None:
        self.run = run
        self._summaries = summaries

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        return self.run.manifest

    @cached_property
    def broken(self) -> Text:
        """Fault of the model that forbids any claim; "" for a sound one."""
        return broken_model(self.manifest)

    @property
    def seed(self) -> int:
        return int(self.manifest.get("seed", 0))

    @cached_property
    def examples(self) -> list[dict[str, Any]]:
        """Explained examples."""
        return [e for e in self.run.examples() if e.get("units")]

    @cached_property
    def by_id(self) -> dict[str, dict[str, Any]]:
        return {e["id"]: e for e in self.examples}

    @cached_property
    def methods(self) -> list[str]:
        return self.run.methods()

    @cached_property
    def own_operators(self) -> dict[str, str]:
        """Operator that a method uses itself to remove units, if any."""
        specs = self.manifest.get("settings", {}).get("explainers", [])
        called = self.manifest.get("methods") or [s["name"] for s in specs]
        pairs = zip(called, specs, strict=False)  # no settings, no operators
        return {str(name): str(s["params"]["operator"]) for name, s in pairs if "operator" in s.get("params", {})}

    @cached_property
    def scores(self) -> list[Score]:
        return self.run.scores()

    @cached_property
    def findings(self) -> list[Score]:
        """Per-example results of the experiments."""
        return self.run.findings()

    @cached_property
    def summaries(self) -> Sequence[Summary]:
        return shown_summaries(self.run) if self._summaries is None else self._summaries

    @cached_property
    def baselines(self) -> set[str]:
        """Methods that are the baseline of a metric."""
        return {s.method for s in self.summaries if s.role == "baseline"}

    @cached_property
    def relevances(self) -> dict[str, Relevance]:
        return {method: self.run.relevance(method) for method in self.methods}

    @cached_property
    def _places(self) -> dict[str, dict[str, int]]:
        return {m: {name: i for i, name in enumerate(r.ids)} for m, r in self.relevances.items()}

    def relevance_of(self, method: str, example_id: str) -> Floats | None:
        """(units,): relevance of one example by a method; None if it has none."""
        place = self._places[method].get(example_id)
        return None if place is None else self.relevances[method][place]

    def cluster(self, example_id: str) -> str:
        """The independent draw that an example belongs to (see `Example.cluster`)."""
        example = self.by_id.get(example_id, {})
        return str(example.get("group") or example.get("parent") or example_id)

    def clusters(self, ids: Iterable[str]) -> list[str]:
        return [self.cluster(name) for name in ids]

    def label(self, value: Any) -> str:
        """Name of a class, if the value is a class index."""
        labels = self.manifest["model"].get("labels") or []
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(labels):
            return str(labels[value])
        return "none" if value is None else str(value)

    @cached_property
    def predictions(self) -> list[dict[str, Any]]:
        """Predictions of every example, explained or not."""
        return self.run.predictions()

    @cached_property
    def right_answers(self) -> dict[str, bool]:
        """Map each explained example to whether its prediction equals its label; only for labels that are classes."""
        return self._right(self.examples)

    @cached_property
    def right_predictions(self) -> dict[str, bool]:
        """Map every predicted example to whether its prediction equals its label."""
        return self._right(self.predictions)

    def _right(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, bool]:
        classes = {str(name) for name in self.manifest["model"].get("labels") or []}
        labelled = [row for row in rows if row.get("label") is not None and self.label(row["label"]) in classes]
        return {str(row["id"]): self.label(row["label"]) == self.label(row.get("predicted")) for row in labelled}

    def mean(self, score: Score) -> Interval:
        """The mean of a score over all examples, with its interval over clusters."""
        return cluster_interval(ClusterSums.of(score.values, self.clusters(score.ids)))
