"""What will be done: profiles -> methods with their parameters, examples -> shards, and which attention is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regard.audits import default_methods
from regard.audits.shard import Settings
from regard.desk.batching import BATCH, TOKENS
from regard.errors import InputError, UnknownName
from regard.measures.keyed_random import keyed_rng
from regard.protocols import Model
from regard.records import Example, Json, Spec
from regard.registry import build, entry

SHARD = 8
"""Examples in a shard: what is computed again at most after a kill."""
SHARD_TOKENS = 4096
"""Positions in a shard: what is remembered at once."""

EXPLAINERS = ("attention", "rollout", "input_x_gradient", "integrated_gradients", "leave_one_out", "random")
METRICS = default_methods.QUICK
COMPANIONS = 16
"""Examples that every shard has at hand (see `Settings`)."""


EXPERIMENTS: tuple[str, ...] = (
    "map_shape", "permutation", "uniform_weights", "random_weights", "route", "pointing", "top_word", "exclusive",
    "conicity", "single_heads",
)  # fmt: skip
"""What verdicts rest on, and what is printed beside them."""
STUDIES: tuple[str, ...] = (
    "uniform_control", "seed_variance", "frozen_diagnostic", "trained_adversary", "train_time_replacement",
    "deceptive_attention",
)  # fmt: skip
"""What trains the network again, for the full profile only."""
SUBSTITUTES: tuple[str, ...] = ("refitted",)
"""What stands in for training again where that cannot be done, marked as a lower bound."""
DEBATE: tuple[str, ...] = ("rank_agreement", "replacement", "erasure", "adversary:share=0.25")
"""The published protocols of the debate, as they were published but for the numbers of draws."""
SHORT_DEBATE: tuple[str, ...] = (
    "rank_agreement", "replacement:times=20", "erasure:steps=12", "adversary:share=0.1"
)  # fmt: skip
QUICK: tuple[str, ...] = (
    "map_shape", "permutation:times=8", "uniform_weights", "route", "pointing:sizes=[1]", "top_word", "exclusive",
    "single_heads",
)  # fmt: skip
QUICK_ROBUSTNESS: tuple[str, ...] = (
    "noise:noises=2", "explanation_drift:noises=1,share=0.2", "attack_success:attacks=2,budget=50,share=0.2"
)  # fmt: skip
"""Whether predictions and explanations hold under noise and attack: a look, in seconds."""
ROBUSTNESS: tuple[str, ...] = (
    "noise:noises=5", "explanation_drift:noises=3,severities=[1,3,5],share=0.15",
    "attack_success:attacks=3,budget=200", "certified:samples=200",
    'explanation_attack:explainers=["attention","input_x_gradient"],share=0.05',
)  # fmt: skip
WHOLE_ROBUSTNESS: tuple[str, ...] = (
    "noise:noises=20,severities=[1,2,3,4,5]", "explanation_drift:noises=6,severities=[1,3,5]",
    "attack_success:attacks=5,budget=1000,share=0.5", "explanation_attack:budget=200", "certified:samples=1000",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Profile:
    """How thorough an audit is: examples, points on a path of gradients, removal operators, experiments,
    metrics, the share of the examples about which explainers are asked again where a metric needs that, and the share
    about which every explainer of the shelf is asked (0: the usual ones only)."""

    examples: int
    steps: int
    operators: int
    experiments: tuple[str, ...] = ()
    metrics: tuple[str, ...] = METRICS
    share: float = 1.0
    shelf: float = 0.0


PROFILES: Mapping[str, Profile] = {
    "quick": Profile(examples=80, steps=8, operators=2, experiments=(*QUICK, *QUICK_ROBUSTNESS)),
    "standard": Profile(
        examples=200,
        steps=16,
        operators=2,
        experiments=(*EXPERIMENTS, *SHORT_DEBATE, *SUBSTITUTES, *ROBUSTNESS),
        metrics=default_methods.WHOLE,
        share=0.1,
        shelf=0.2,
    ),
    "full": Profile(
        examples=800,
        steps=64,
        operators=3,
        experiments=(*EXPERIMENTS, *DEBATE, *WHOLE_ROBUSTNESS, *STUDIES),
        metrics=default_methods.WHOLE,
        share=0.25,
        shelf=0.25,
    ),
}


def profile(name: str) -> Profile:
    if name not in PROFILES:
        raise UnknownName("profile", name, PROFILES)
    return PROFILES[name]


def settings(
    model: Model,
    chosen: Profile,
    *,
    explainers: Sequence[str | Spec] | None = None,
    metrics: Sequence[str | Spec] | None = None,
    experiments: Sequence[str | Spec] | None = None,
    siblings: Sequence[str] = (),
    layers: str | int | None = None,
    heads: str | int | None = None,
    companions: Sequence[Example] = (),
    rationales: bool = False,
    seed: int = 0,
    batch: int = BATCH,
    tokens: int = TOKENS,
) -> Settings:
    """The methods of an audit with their parameters; unknown names and parameters are refused now, not later.

    What the profile decides (steps, operators) is set where a method has such a parameter and nobody set it. The
    experiments of the profile are part of an audit unless explainers or metrics were named: who narrows an audit gets
    what was asked for. siblings: other models made for the same, which are asked too where experiments are made.
    layers, heads: of the attention that is audited, where a method has such a parameter and does not say it itself.
    rationales: whether the data say which places are decisive.
    """
    whole = explainers is None and metrics is None
    further = (
        default_methods.explainers([*EXPLAINERS, default_methods.ALL])[len(EXPLAINERS) :]
        if whole and chosen.shelf
        else []
    )
    tried = [_spec("experiment", e) for e in (experiments if experiments is not None else chosen.experiments * whole)]
    if siblings and tried and all(spec.name != "siblings" for spec in tried):
        tried.append(Spec("experiment", "siblings", {"folders": [*siblings]}))
    if further:  # experiments that ask explainers again ask the usual ones
        tried = [_with(spec, {"explainers": [*EXPLAINERS]}) for spec in tried]
    wanted = [*EXPLAINERS, *further] if explainers is None else default_methods.explainers(explainers)
    attributing = [_spec("explainer", e) for e in wanted]
    usual = (*chosen.metrics, *(default_methods.PLAUSIBILITY if rationales else ()))
    judging = [_with(_spec("metric", m), {"share": chosen.share}) for m in (usual if metrics is None else metrics)]
    which: dict[str, Json] = {"layers": layers, "heads": heads}
    tried = [_with(spec, which) for spec in tried]
    attributing = [_with(spec, which) if spec.name == "attention" else spec for spec in attributing]
    # the operator is written down, so that the report can say where a method is judged by its own operator
    attributing = [_with(spec, {"steps": chosen.steps, "operator": model.operators[0]}) for spec in attributing]
    operators = model.operators[: chosen.operators]
    judged = [
        _with(spec, {"operator": operator}) for spec in judging for operator in (operators if _open(spec) else (None,))
    ]
    if not attributing:
        raise InputError("explainers", expected="at least one", got="none")
    for spec in (*attributing, *judged, *tried):
        build(spec)
    beside = tuple(companions) if tried else ()
    methods = tuple(dict.fromkeys(attributing)), tuple(dict.fromkeys(judged))
    tests = tuple(dict.fromkeys(tried))
    return Settings(*methods, seed, batch, tokens, tests, beside, len(further), chosen.shelf if further else 1.0)


def companions(examples: Sequence[Example], seed: int) -> list[Example]:
    """A few of the examples, drawn by lot: the same for every shard of one audit."""
    drawn = keyed_rng(seed, "companions", len(examples)).permutation(len(examples))[:COMPANIONS]
    return [examples[int(i)] for i in sorted(drawn)]


def _spec(kind: str, given: str | Spec) -> Spec:
    return given if isinstance(given, Spec) else Spec.parse(kind, given)


def _parameters(spec: Spec) -> set[str]:
    return {p.name for p in entry(spec.kind, spec.name).parameters}


def _open(spec: Spec) -> bool:
    return "operator" in _parameters(spec) and "operator" not in spec.params


def _with(spec: Spec, wishes: Mapping[str, Json]) -> Spec:
    own = _parameters(spec)
    added = {k: v for k, v in wishes.items() if v is not None and k in own and k not in spec.params}
    return Spec(spec.kind, spec.name, {**spec.params, **added})


def shards(lengths: Mapping[str, int], *, size: int = SHARD, tokens: int = SHARD_TOKENS) -> list[list[str]]:
    """Example ids in groups of like length, the longest first: even work, and too little memory shows at once.

    >>> shards({"a": 5, "b": 9, "c": 4}, size=2)
    [['b', 'a'], ['c']]
    """
    found: list[list[str]] = []
    used = 0
    for name in sorted(lengths, key=lambda name: -lengths[name]):
        if found and len(found[-1]) < size and used + lengths[name] <= tokens:
            found[-1].append(name)
            used += lengths[name]
        else:
            found.append([name])
            used = lengths[name]
    return found


def kept(examples: Sequence[Example], number: int) -> list[str]:
    """Which examples keep their attention: the first ones of every label in turn.

    >>> kept([Example("a", {}, "x"), Example("b", {}, "x"), Example("c", {}, "y")], 2)
    ['a', 'c']
    """
    turns: dict[str, list[str]] = {}
    for example in examples:
        turns.setdefault(str(example.label), []).append(example.id)
    rounds = [name for i in range(len(examples)) for group in turns.values() for name in group[i : i + 1]]
    return rounds[:number]
