"""The verbs. Rooms talk to each other through these; nobody inherits from anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from regard.records import (
    Answers,
    Attention,
    Bools,
    Edit,
    Example,
    Floats,
    Json,
    Relevance,
    Score,
    Site,
    Spec,
    Units,
)

Mode = Literal["qk", "weights"]
Check = Literal["first", "always", "never"]
Target: TypeAlias = Json
"""What the objective is about: a class index, a token id, [start, end], a list of token ids, None for a scalar."""


@runtime_checkable
class Encoded(Protocol):
    """An example in the form its model reads; opaque above `models/` but for these."""

    @property
    def units(self) -> Units: ...
    @property
    def length(self) -> int:
        """Positions the model will compute; requests are batched by it."""
        ...


class SiteAttention(Protocol):
    """The attention of one site for one batch; may be lazy (queries and keys with the row log-sum-exp)."""

    @property
    def site(self) -> Site: ...
    @property
    def shape(self) -> tuple[int, int, int, int]: ...
    def rows(self, example: int, queries: Sequence[int], heads: Sequence[int] | None = None) -> NDArray[np.float32]:
        """(head, query, key) weights, without computing any other row."""
        ...

    def dense(self) -> Attention:
        """All of it, as a record."""
        ...


class Capture(Protocol):
    """Every attention of one forward pass. `reading_rows[i]` are the query rows that the objective reads."""

    @property
    def sites(self) -> Sequence[SiteAttention]: ...
    @property
    def rejected(self) -> Sequence[tuple[str, str]]:
        """(place, reason) of every softmax that is not attention."""
        ...

    @property
    def checked(self) -> str: ...
    @property
    def units(self) -> Sequence[Units]: ...
    @property
    def answers(self) -> Answers: ...


@dataclass(frozen=True, slots=True)
class Point:
    """Where a gradient is taken: baseline + alpha (x - baseline) + noise, in the model's continuous inputs."""

    alpha: float = 1.0
    baseline: str = "zero"
    noise: float = 0.0
    draw: int = 0


@dataclass(frozen=True, slots=True)
class Slopes:
    """Gradients of the objective at some points, for one example.

    dot: (points, n) sum over features of gradient x (x - baseline).
    norm: (points, n) Euclidean norm of the gradient over features.
    value: (points,) the objective there. end_values: the objective at x and at the baseline.
    """

    dot: Floats
    norm: Floats
    value: Floats
    end_values: tuple[float, float]


class Model(Protocol):
    """An adapter over a native model. Never assumes a modality above itself."""

    @property
    def name(self) -> str: ...
    @property
    def task(self) -> str: ...
    @property
    def labels(self) -> tuple[str, ...]: ...
    @property
    def operators(self) -> tuple[str, ...]:
        """How units are removed, the preferred one first; at least two."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hash of architecture and weights."""
        ...

    @property
    def spec(self) -> Spec | None:
        """Rebuilds this model in another process; None for a live module."""
        ...

    def encode(self, example: Example) -> Encoded: ...
    def windows(self, example: Example) -> list[Example]:
        """The example itself, or its overlapping windows if it is longer than the model reads."""
        ...

    def remove(self, encoded: Encoded, drop: Bools, operator: str, rng: np.random.Generator) -> Encoded:
        """The encoded example without the units marked in `drop`."""
        ...

    def decide(self, batch: Sequence[Encoded]) -> tuple[Answers, list[Target]]:
        """Run, and choose what the objective is about: the predicted class, token, span, sequence."""
        ...

    def forward(self, batch: Sequence[Encoded], targets: Sequence[Target], edits: Sequence[Edit] = ()) -> Answers:
        """The objective for given targets, one row each; optionally with edited attention."""
        ...

    def capture(
        self, batch: Sequence[Encoded], targets: Sequence[Target], *, mode: Mode = "qk", check: Check = "first"
    ) -> Capture: ...

    def slopes(self, batch: Sequence[Encoded], targets: Sequence[Target], points: Sequence[Point]) -> list[Slopes]: ...

    def reading(self, encoded: Encoded, target: Target, site: Site) -> tuple[int, ...]:
        """The query rows of `site` that the objective reads (class token, last token, all of a pooling)."""
        ...


class Case(Protocol):
    """A few examples, one model, one objective, and a desk that answers requests about them.

    A repeated request is answered from memory, whoever asks; requests are batched by length.
    """

    @property
    def ids(self) -> tuple[str, ...]: ...
    @property
    def examples(self) -> tuple[Example, ...]: ...
    @property
    def units(self) -> tuple[Units, ...]: ...
    @property
    def targets(self) -> tuple[Target, ...]: ...
    @property
    def operators(self) -> tuple[str, ...]: ...
    @property
    def seed(self) -> int: ...
    def base(self) -> Answers:
        """One row per example: the model undisturbed."""
        ...

    def removed(self, drops: Sequence[Bools], operator: str | None = None) -> Answers:
        """drops[i] is (variants, n_i); one row per variant, example after example."""
        ...

    def slopes(self, points: Sequence[Point]) -> list[Slopes]: ...
    def attention(self, i: int) -> Sequence[SiteAttention]:
        """The sites of example i alone: each of shape (1, head, query, key)."""
        ...

    def reading(self, i: int, site: Site) -> tuple[int, ...]: ...
    def edited(self, edits: Sequence[Sequence[Edit]]) -> Answers:
        """edits[i] is applied to example i; one row per example."""
        ...

    def relevance(self, method: str | Spec) -> Relevance:
        """What another explainer says about this case, computed once."""
        ...

    def rng(self, i: int, *keys: object) -> np.random.Generator:
        """Random numbers keyed by (seed, example id, keys): independent of order, batch and worker."""
        ...


class ExplainerFunction(Protocol):
    """`def method(case, *, own parameters) -> Relevance`."""

    def __call__(self, case: Case, /, **params: Any) -> Relevance: ...


class MetricFunction(Protocol):
    """`def metric(case, relevance, *, own parameters) -> Score`."""

    def __call__(self, case: Case, relevance: Relevance, /, **params: Any) -> Score: ...


class Dataset(Protocol):
    """Examples in a fixed order, with where they came from."""

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def labels(self) -> tuple[str, ...]:
        """Label names where the data has them; () where it has none."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What was guessed, cut, dropped or sampled, in words; shown to the user and in the report."""
        ...

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Example]: ...


@dataclass(frozen=True, slots=True)
class Task:
    """A unit of work for an executor: JSON in, so that it can travel."""

    key: str
    payload: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a task: its result, or why there is none."""

    key: str
    status: Literal["ok", "error", "dead"]
    result: Any = None
    message: str = ""


class Executor(Protocol):
    """Runs tasks somewhere. `work` is "package.module:function" and is called as work(state, payload) with
    state = setup(setup_payload), made once per worker."""

    def run(
        self, setup: str, setup_payload: Mapping[str, Json], work: str, tasks: Iterable[Task], *, retries: int = 1
    ) -> Iterator[Outcome]: ...
