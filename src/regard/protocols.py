"""The verbs. Rooms talk to each other through these; nobody inherits from anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from regard.records import (
    Answers,
    Attacked,
    Attention,
    Bools,
    Check,
    Edit,
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
    Threat,
    Units,
)

Change = Literal["weights", "labels", "head"]
"""How a model is spoilt for a check: weights permuted from the top, trained on shuffled labels, classes swapped."""
WeightGradientKind = Literal["in_graph", "frozen"]
"""in_graph: a change of one layer's weights changes what later layers attend to. frozen: other attention is fixed."""
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
    """Where a gradient is taken: baseline + alpha (x - baseline) + noise, in the model's continuous inputs.

    detached: every attention of the pass is held fixed, so that nothing flows through what computes it.
    """

    alpha: float = 1.0
    baseline: str = "zero"
    noise: float = 0.0
    draw: int = 0
    detached: bool = False


@dataclass(frozen=True, slots=True)
class Slopes:
    """Gradients of the objective at some points, for one example.

    dot: (points, n) sum over features of gradient x (x - baseline).
    norm: (points, n) Euclidean norm of the gradient over features.
    value: (points,) the objective there. end_values: the objective at x and at the baseline (the mean over baselines
    where they are drawn; NaN where no point lies on the way there). lows: (points,) the objective at the baseline of
    each point where they differ.
    """

    dot: Floats
    norm: Floats
    value: Floats
    end_values: tuple[float, float]
    lows: Floats | None = None


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
        """(1, ...) the inputs with every free unit away."""
        ...

    def __call__(self, x: Any) -> Any:
        """(rows, ...) -> (rows,) the objective."""
        ...


class BatchFunction(Protocol):
    """Several examples of one shape as one differentiable function of their inputs, in torch tensors.

    x: (rows, ...) the inputs in the space in which the user gave them (embeddings for text), so that the model's own
    normalisation lies inside the function. free: of the shape of x, False on what may not be changed. classes: how
    many. user: whether `back` can give an input of the user's own kind.
    """

    @property
    def x(self) -> Any: ...
    @property
    def free(self) -> Any: ...
    @property
    def owner(self) -> Any:
        """Of the shape of x: the unit that each entry belongs to, -1 for none."""
        ...

    @property
    def classes(self) -> int: ...
    @property
    def user(self) -> bool: ...
    def logits(self, x: Any, rows: Sequence[int] | None = None) -> Any:
        """(k, ...) inputs in the places of these rows (default: all, in order) -> (k, classes)."""
        ...

    def back(self, row: int, x: Any) -> Example:
        """The example of this row with other inputs, as the user would give it."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """What a model's input vocabulary can be written with.

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
    """A normalisation as the map that it is once its spread is known: scale (v - mean v) / spread[query] + shift.

    scale, shift: (feature,). spread: (query,). centred: whether the mean is taken off (LayerNorm) or not (RMSNorm).
    """

    scale: Floats
    shift: Floats
    spread: Floats
    centred: bool


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """What the attention of one site added to each position of one example, taken apart.

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
    """How far the output of the layer around one site moves when the value of one key is zero, for one example.

    distance: (query, key), 1 - cosine. error: how well the layer's output was reproduced with nothing changed.
    """

    site: Site
    distance: Floats
    error: float


class WeightFunction(Protocol):
    """The answer to one example as a differentiable function of attention weights that are put in, in torch tensors."""

    def __call__(self, weights: Sequence[Any]) -> Any:
        """weights: (rows, head, query, key) for each place -> (rows, class) probabilities."""
        ...


@dataclass(frozen=True, slots=True)
class Read:
    """The part of one site that is read: some query rows of some heads (None: of all)."""

    site: str
    queries: tuple[int, ...]
    heads: tuple[int, ...] | None = None


class Model(Protocol):
    """An adapter over a native model. Everything else that a model can do is a generic function in `models.ask`."""

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
        """How units are removed, the preferred one first; at least two."""
        ...

    @property
    def baselines(self) -> tuple[str, ...]:
        """What `Point.baseline` may be, the preferred one first."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hash of architecture and weights."""
        ...

    @property
    def spec(self) -> Spec | None:
        """Rebuilds this model in another process; None for a live module."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """Everything that was cut, windowed, guessed or replaced, in words."""
        ...

    def encode(self, example: Example) -> Encoded: ...
    def windows(self, example: Example) -> list[Example]:
        """The example itself, or its overlapping windows if it is longer than the model reads."""
        ...

    def remove(self, encoded: Encoded, drop: Bools, operator: str, rng: np.random.Generator) -> Encoded:
        """The encoded example without the units marked in `drop`."""
        ...

    def predict(self, batch: Sequence[Encoded]) -> tuple[Answers, list[Target]]:
        """Run, and choose what the objective is about: the predicted class, token, span, sequence."""
        ...

    def forward(self, batch: Sequence[Encoded], targets: Sequence[Target], edits: Edits = ()) -> Answers:
        """The objective for given targets, one row each; optionally with edited attention.

        Edits hold for the whole batch, or there is a list of them for each row.
        """
        ...

    def capture(
        self, batch: Sequence[Encoded], targets: Sequence[Target], *, mode: Mode = "qk", check: Check = "first"
    ) -> Capture: ...


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
    def labels(self) -> tuple[str, ...]:
        """The classes of the model by name, as labels of examples name them; () where it has none."""
        ...

    @property
    def explainers(self) -> tuple[str, ...]:
        """The explainers of the audit by name, those first that were named first."""
        ...

    @property
    def operators(self) -> tuple[str, ...]: ...
    @property
    def baselines(self) -> tuple[str, ...]: ...
    @property
    def seed(self) -> int: ...
    def base(self) -> Answers:
        """One row per example: the model undisturbed."""
        ...

    def removed(self, drops: Sequence[Bools], operator: str | None = None) -> Answers:
        """drops[i] is (variants, n_i); one row per variant, example after example."""
        ...

    def nearly_removed(self, drops: Sequence[Bools], schedule: Sequence[float], operator: str | None = None) -> Answers:
        """`removed`, nearly: only the share `schedule` of the positions is recomputed, from the first layer on."""
        ...

    def slopes(self, points: Sequence[Point]) -> list[Slopes]: ...
    def continuous(self, i: int) -> InputFunction:
        """The objective of example i as a function of its continuous inputs; every call is counted."""
        ...

    def attention(self, i: int) -> Sequence[SiteAttention]:
        """The sites of example i alone: each of shape (1, head, query, key)."""
        ...

    def weight_slopes(self, i: int, kind: WeightGradientKind = "in_graph") -> Sequence[WeightSlopes]:
        """Gradients with respect to the attention weights of every site of example i, in the order of the pass."""
        ...

    def parts(self, i: int, keys: Sequence[str]) -> Sequence[Parts]:
        """What the attention of these sites (their keys) of example i is made of."""
        ...

    def zeroed(self, i: int, keys: Sequence[str]) -> Sequence[Zeroed]:
        """What the layers around these sites give out for example i when the value of one key is zero."""
        ...

    def reading(self, i: int, site: Site) -> tuple[int, ...]: ...
    def edited(self, edits: Sequence[Sequence[Edit]]) -> Answers:
        """edits[i] is applied to example i; one row per example."""
        ...

    def variants(self, edits: Sequence[Sequence[Sequence[Edit]]]) -> Answers:
        """edits[i] holds variants of example i, each a list of edits; one row per variant, example after example."""
        ...

    def swept(self, edits: Sequence[Sequence[Edit]]) -> Answers:
        """`variants` of many attentions as arrays: edits[i] holds one `replace` per site of example i, whose values are
        (attention, head, query, key); one row per attention, example after example. Nothing is remembered."""
        ...

    def steered(self, i: int, places: Sequence[Edit]) -> WeightFunction:
        """The answer to example i as a function of the weights in these places; every call is counted."""
        ...

    def relevance(self, method: str | Spec) -> Relevance:
        """What another explainer says about this case, computed once."""
        ...

    def rng(self, i: int, *keys: object) -> np.random.Generator:
        """Random numbers keyed by (seed, example id, keys): independent of order, batch and worker."""
        ...

    def subset(self, positions: Sequence[int]) -> Case:
        """The same case with some of its examples, in that order."""
        ...

    @property
    def moved(self) -> Floats:
        """(examples,) how far the continuous inputs were moved, as a share of their norm; 0 in the case itself."""
        ...

    @property
    def companions(self) -> Case:
        """A few other examples of the same data, the same for every shard; none where there are no others."""
        ...

    def routed(self, i: int, reads: Sequence[Read], donors: Sequence[tuple[int, Sequence[Read]]]) -> Answers:
        """Example i with the attention output of companions (position, their rows) instead of its own; a row each."""
        ...

    @property
    def orders(self) -> tuple[Ints, ...]:
        """(n_i,) for each example: which unit of the original stands in each place; 0, 1, 2... in the case itself."""
        ...

    def shuffled(self, draw: int = 0) -> Case:
        """The same examples with their free units in another order, asked about the same targets."""
        ...

    def noisy(self, noise: float, draw: int = 0) -> Case:
        """The same examples with noise in their continuous inputs (`models.ask.add_noise`) and the same targets."""
        ...

    def asked(self, candidates: Sequence[Sequence[Example]]) -> Answers:
        """Other inputs in the place of each example, about its target; one row per candidate, example after example.
        Nothing is remembered; a candidate that the model cannot read has NaN everywhere."""
        ...

    def instead(self, examples: Sequence[Example], targets: Sequence[Target] | None = None) -> Case:
        """Other examples, one for each, asked about the same targets (or these); what is learnt goes with the case."""
        ...

    def input_gradients(self) -> list[NDArray[np.float32]]:
        """One array per example; see `models.ask.gradients`."""
        ...

    def read(self, example: Example) -> Ints:
        """(units,) the ids that a text is read as; the model is not asked anything."""
        ...

    def lexicon(self) -> Lexicon: ...
    def together(self, positions: Sequence[int]) -> BatchFunction:
        """Examples of one shape as one function of their inputs; every row is counted."""
        ...

    def attacked(self, method: str | Spec, threat: Threat | None = None) -> Sequence[Attacked]:
        """What becomes of every example under an attack; computed once."""
        ...

    @property
    def origins(self) -> tuple[Ints, ...]:
        """(n_i,) for each example: the unit of the original that each unit comes from, -1 for none (an inserted word);
        0, 1, 2... in the case itself. See `evaluate.origins` for pieces of words; sums over `groups` are exact."""
        ...

    def changed(self, noise: str | Spec, severity: int) -> Case:
        """The same examples under a named noise (kind "perturbation", severity 1 to 5), asked about the same targets.
        `examples` are the changed ones, with ids and labels as before; `origins` says what each unit comes from."""
        ...

    def randomised(self, change: Change, share: float = 1.0, draw: int = 0) -> Case:
        """The same examples and targets in front of a spoilt copy of the model; with "head" the same model asked about
        another class. Unsupported where the model cannot be spoilt like that."""
        ...


class ExplainerFunction(Protocol):
    """`def method(case, *, own parameters) -> Relevance`."""

    def __call__(self, case: Case, /, **params: Any) -> Relevance: ...


class MetricFunction(Protocol):
    """`def metric(case, relevance, *, own parameters) -> Score`."""

    def __call__(self, case: Case, relevance: Relevance, /, **params: Any) -> Score: ...


class AttackFunction(Protocol):
    """`def attack(case, threat, *, own parameters) -> Sequence[Attacked]`, one for each example, in order."""

    def __call__(self, case: Case, threat: Threat, /, **params: Any) -> Sequence[Attacked]: ...


Findings: TypeAlias = Sequence[Score]
"""What an experiment found, as scores: `metric` is the quantity, `method` what it is about (a ranking, "attention"),
`where` the setting (operator), one value per example, curves over sizes. No table machinery of its own."""


class ExperimentFunction(Protocol):
    """`def experiment(case, *, own parameters) -> Findings`."""

    def __call__(self, case: Case, /, **params: Any) -> Findings: ...


class Study(Protocol):
    """A whole audit in front of an experiment that is asked once: what trains, or needs all examples together."""

    @property
    def model(self) -> Model: ...
    @property
    def examples(self) -> tuple[Example, ...]: ...
    @property
    def seed(self) -> int: ...
    @property
    def folder(self) -> Path:
        """Where it may keep what it trains: what was finished before a stop is found again there."""
        ...


class StudyFunction(Protocol):
    """`def experiment(study, *, own parameters) -> Findings`. Rows may be seeds instead of examples."""

    def __call__(self, study: Study, /, **params: Any) -> Findings: ...


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
