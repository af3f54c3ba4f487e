"""Interfaces between packages. Implementations match by shape; none inherits from these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from regard.records import (
    Answers,
    Attention,
    Bools,
    Check,
    Edits,
    Example,
    Floats,
    Ints,
    Json,
    Mode,
    Relevance,
    Score,
    Site,
    Spec,
    Text,
    Units,
)

R = TypeVar("R")
WeightGradientKind = Literal["in_graph", "frozen"]
"""in_graph: edited weights of one layer change the attention of later layers. frozen: other attention is fixed."""
Target: TypeAlias = Json
"""Target of the objective: a class index, a token id, [start, end], a list of token ids, None for a scalar."""


@runtime_checkable
class Encoded(Protocol):
    """Example in the form its model reads; opaque above `models/` except for these members."""

    @property
    def units(self) -> Units: ...
    @property
    def length(self) -> int:
        """Number of positions the model computes; requests are batched by it."""
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
        """All weights, as a record."""
        ...


class Capture(Protocol):
    """Every attention of one forward pass. `reading_rows[i]` are the query rows that the objective reads."""

    @property
    def sites(self) -> Sequence[SiteAttention]: ...
    @property
    def rejected(self) -> Sequence[tuple[str, Text]]:
        """(place, reason) of every softmax that is not attention."""
        ...

    @property
    def checked(self) -> Text: ...
    @property
    def units(self) -> Sequence[Units]: ...
    @property
    def answers(self) -> Answers: ...


@dataclass(frozen=True, slots=True)
class Point:
    """Point at which to take a gradient: baseline + alpha (x - baseline) + noise, in the model's continuous inputs.

    detached: attention is held constant, so that no gradient flows through its computation.
    """

    alpha: float = 1.0
    baseline: str = "zero"
    noise: float = 0.0
    draw: int = 0
    detached: bool = False


@dataclass(frozen=True, slots=True)
class Slopes:
    """Gradients of the objective at some points, for one example.

    dot: (points, n) sum over features of gradient x (x - baseline). norm: (points, n) Euclidean norm of the gradient
    over features. value: (points,) the objective there. end_values: the objective at x and at the baseline (the mean
    over random baselines; NaN if no point lies on that path). lows: (points,) the objective at the baseline of each
    point where they differ.
    """

    dot: Floats
    norm: Floats
    value: Floats
    end_values: tuple[float, float]
    lows: Floats | None = None


@dataclass(frozen=True, slots=True)
class PropagatedRelevance:
    """Relevance of one example, propagated backwards through the operations of the model.

    units: (n,) relevance of each unit's difference from the baseline, 0 for special ones. special: relevance of special
    units and of entries that no unit owns. absorbed: the rest of the value, by account: bias, position (and other
    constants), softmax, baseline (value that units keep at the baseline), objective (its own nonlinearity); empty if
    the rule does not conserve relevance. value: the objective.
    """

    units: Floats
    special: float
    absorbed: Mapping[str, float]
    value: float


class InputFunction(Protocol):
    """The objective of one example as a differentiable function of its continuous inputs, in torch tensors.

    x: (1, ...) the inputs (embeddings for text, else the array). owner: of the shape of x, the unit that each entry
    belongs to, -1 for none. module: the native module that is run.
    """

    @property
    def x(self) -> Any: ...
    @property
    def owner(self) -> Any: ...
    @property
    def module(self) -> Any: ...
    def baseline(self, name: str) -> Any:
        """(1, ...) the inputs with every free unit removed."""
        ...

    def __call__(self, x: Any) -> Any:
        """(rows, ...) -> (rows,) the objective."""
        ...


class BatchFunction(Protocol):
    """Several examples of one shape as one differentiable function of their inputs, in torch tensors.

    x: (rows, ...) the inputs in the user's own space (embeddings for text), so that the model's own normalisation lies
    inside the function. free: of the shape of x, False for fixed entries. classes: their number. user: whether `back`
    can return an input of the user's own kind. exact: whether the function equals the model on that input; False where
    the model's processor rounds (it resizes bytes).
    """

    @property
    def x(self) -> Any: ...
    @property
    def free(self) -> Any: ...
    @property
    def owner(self) -> Any:
        """Unit that each entry of x belongs to, -1 for none; same shape as x."""
        ...

    @property
    def classes(self) -> int: ...
    @property
    def user(self) -> bool: ...
    @property
    def exact(self) -> bool: ...
    def logits(self, x: Any, rows: Sequence[int] | None = None) -> Any:
        """(k, ...) inputs in the places of these rows (default: all, in order) -> (k, classes)."""
        ...

    def back(self, row: int, x: Any) -> Example:
        """Return the example of this row with other inputs, in the form in which a user would pass it."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """Characters and words that a model's input vocabulary can encode.

    texts[i] is how token ids[i] is written, begins[i] whether it stands at the beginning of a word; vectors: (n, d)
    its embedding.
    """

    ids: Ints
    texts: tuple[str, ...]
    begins: Bools
    vectors: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class WeightSlopes:
    """Weights of one site for one example, and the gradient of the objective there: both (head, query, key)."""

    site: Site
    weights: NDArray[np.float32]
    gradient: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Norm:
    """Normalisation as a linear map, for a known spread: scale (v - mean v) / spread[query] + shift.

    scale, shift: (feature,). spread: (query,). centred: whether the mean is taken off (LayerNorm) or not (RMSNorm).
    """

    scale: Floats
    shift: Floats
    spread: Floats
    centred: bool


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Decomposition of one site's output for one example, by position and key.

    whole[q] = sum over h, k of weights[h, q, k] values[h, k] + own[q] + bias, up to `error` (relative, measured).
    weights: (head, query, key). values: (head, key, feature), behind the output projection. own: (query, feature), the
    residual stream (zero where there is none). bias: (feature,). whole: (query, feature), where attention and residual
    meet. norms: the normalisations that `whole` then goes through, in order; none where they come before attention.
    """

    site: Site
    weights: NDArray[np.float32]
    values: NDArray[np.float32]
    own: NDArray[np.float32]
    bias: NDArray[np.float32]
    whole: NDArray[np.float32]
    norms: tuple[Norm, ...]
    error: float


@dataclass(frozen=True, slots=True, eq=False)
class Zeroed:
    """Distance that the output of a site's layer moves when the value of one key is set to zero, for one example.

    distance: (query, key), 1 - cosine. error: how well the layer's output was reproduced with nothing changed.
    """

    site: Site
    distance: Floats
    error: float


class WeightFunction(Protocol):
    """Answer to one example as a differentiable function of the attention weights, in torch tensors."""

    def __call__(self, weights: Sequence[Any]) -> Any:
        """Return (rows, class) probabilities. weights: (rows, head, query, key) for each place."""
        ...


@dataclass(frozen=True, slots=True)
class Read:
    """Part of one site that the objective reads: some query rows of some heads (None: all heads)."""

    site: str
    queries: tuple[int, ...]
    heads: tuple[int, ...] | None = None


class Model(Protocol):
    """Adapter over a native model. Every other capability is a generic function in `models.ask`."""

    @property
    def name(self) -> str: ...
    @property
    def task(self) -> str: ...
    @property
    def modality(self) -> str:
        """The kind of input: text, image, audio, series, tabular."""
        ...

    @property
    def labels(self) -> tuple[str, ...]: ...
    @property
    def operators(self) -> tuple[str, ...]:
        """Removal operators, the preferred one first; at least two."""
        ...

    @property
    def baselines(self) -> tuple[str, ...]:
        """Values that `Point.baseline` may take, the preferred one first."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hash of architecture and weights."""
        ...

    @property
    def spec(self) -> Spec | None:
        """Spec that rebuilds this model in another process; None for a live module."""
        ...

    @property
    def notes(self) -> Sequence[Text]:
        """Notes about everything the model cut, windowed, guessed or replaced."""
        ...

    def encode(self, example: Example) -> Encoded: ...
    def windows(self, example: Example) -> list[Example]:
        """The example itself, or its overlapping windows if it is longer than the model reads."""
        ...

    def remove(self, encoded: Encoded, drop: Bools, operator: str, rng: np.random.Generator) -> Encoded:
        """The encoded example without the units marked in `drop`."""
        ...

    def predict(self, batch: Sequence[Encoded]) -> tuple[Answers, list[Target]]:
        """Run the model and choose the target of the objective: the predicted class, token, span or sequence."""
        ...

    def forward(self, batch: Sequence[Encoded], targets: Sequence[Target], edits: Edits = ()) -> Answers:
        """Compute the objective for the targets, one row each; optionally with edited attention.

        Edits hold for the whole batch, or there is a list of them for each row.
        """
        ...

    def capture(
        self, batch: Sequence[Encoded], targets: Sequence[Target], *, mode: Mode = "qk", check: Check = "first"
    ) -> Capture: ...


class Question(Generic[R]):
    """Request about one example, as a frozen value; `regard.desk.questions` defines all of them."""


class Change:
    """Change that makes a variant of a case; `regard.desk.changes` defines all of them."""


class Case(Protocol):
    """A few examples, one model, one objective, and a desk that answers questions about them.

    A repeated question is answered from the cache, whoever asks; questions are batched by length.
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
    def labels(self) -> tuple[str, ...]:
        """Class names of the model, as labels of examples use them; () if it has none."""
        ...

    @property
    def explainers(self) -> tuple[str, ...]:
        """Explainers of the audit by name, in the order of the request."""
        ...

    @property
    def operators(self) -> tuple[str, ...]: ...
    @property
    def baselines(self) -> tuple[str, ...]: ...
    @property
    def companions(self) -> Case:
        """Other examples of the same data, the same for every shard; may be empty."""
        ...

    def base(self) -> Answers:
        """Answers to the unchanged examples, one row each."""
        ...

    def removed(self, drops: Sequence[Bools], operator: str | None = None) -> Answers:
        """drops[i] is (variants, n_i); one row per variant, example after example."""
        ...

    def attention(self, i: int) -> Sequence[SiteAttention]:
        """The sites of example i alone: each of shape (1, head, query, key)."""
        ...

    def relevance(self, method: str | Spec) -> Relevance:
        """Return the relevance by another explainer; computed once."""
        ...

    def rng(self, i: int | None, *keys: object) -> np.random.Generator:
        """Random numbers keyed by (seed, example id, keys): independent of order, batch and worker.

        i=None: the same numbers for every example.
        """
        ...

    def subset(self, positions: Sequence[int]) -> Case:
        """Return the case restricted to some of its examples, in that order."""
        ...

    def variant(self, change: Change) -> Case:
        """Return the same examples under a change of inputs, model or class, with the same targets."""
        ...

    def ask(self, questions: Sequence[Question[R]]) -> list[R]:
        """Answer each question, cached and batched by length."""
        ...


Findings: TypeAlias = Sequence[Score]
"""Results of an experiment, as scores with one value per example and curves over sizes.

`metric` is the quantity, `method` its subject (a ranking, "attention"), `where` the setting (operator).
"""


class Study(Protocol):
    """Whole audit, for an experiment that runs once because it trains or needs all examples together."""

    @property
    def model(self) -> Model: ...
    @property
    def examples(self) -> tuple[Example, ...]: ...
    @property
    def seed(self) -> int: ...
    @property
    def folder(self) -> Path:
        """Directory for trained models; an interrupted experiment finds its finished ones there."""
        ...


class Dataset(Protocol):
    """Examples in a fixed order, with their origin."""

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def labels(self) -> tuple[str, ...]:
        """Label names; () for data without labels."""
        ...

    @property
    def notes(self) -> tuple[Text, ...]:
        """Notes about everything the reader guessed, cut, dropped or sampled; shown to the user and in the report."""
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
    """Outcome of a task: its result, or the reason why there is none.

    worker: HOST:PID that computed it. seconds: how long it took there.
    """

    key: str
    status: Literal["ok", "error", "dead"]
    result: Any = None
    message: Text = ""
    worker: str = ""
    seconds: float = 0.0


class Executor(Protocol):
    """Runner of tasks.

    `work` is "package.module:function", called as work(state, payload) with state = setup(setup_payload), made once per
    worker.
    """

    def run(
        self, setup: str, setup_payload: Mapping[str, Json], work: str, tasks: Iterable[Task], *, retries: int = 1
    ) -> Iterator[Outcome]: ...
