"""Which methods an audit takes from the shelf: a few that are cheap, or all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from regard.errors import UnknownName
from regard.records import Spec
from regard.registry import names

METRICS = ("comprehensiveness", "sufficiency", "log_odds", "agreement", "entropy")
"""Of the quick profile: what costs few forwards, and shares them."""

ASKED_AGAIN = ("max_sensitivity", "local_lipschitz", "weight_randomisation", "label_randomisation:by=head")
"""Metrics that run the explainer again: a part of the examples is enough to tell."""

WHOLE = (
    *METRICS,
    "aopc",
    "deletion_area",
    "insertion_area",
    "decision_flip",
    "monotonicity",
    "infidelity",
    "completeness_error",
    *(f"agreement:measure={measure}" for measure in ("spearman", "weighted_kendall", "top_k", "rbo")),
    "effective_units",
    "gini",
    *ASKED_AGAIN,
)

PLAUSIBILITY = ("token_f1", "iou_f1", "auprc")
"""Only where the data say which places are decisive."""

ALL = "all"
ADAPTERS = ("captum", "given")
"""Explainers that bring in what somebody else computed: never part of `all`."""


EXPLAINERS = ("attention", "rollout", "input_x_gradient", "integrated_gradients", "leave_one_out", "random")


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

    def metrics_for(self, rationales: bool) -> tuple[str, ...]:
        """The metrics of this profile; those of plausibility only where the data name decisive places."""
        return (*self.metrics, *(PLAUSIBILITY if rationales else ()))


PROFILES: Mapping[str, Profile] = {
    "quick": Profile(examples=80, steps=8, operators=2, experiments=(*QUICK, *QUICK_ROBUSTNESS)),
    "standard": Profile(
        examples=200,
        steps=16,
        operators=2,
        experiments=(*EXPERIMENTS, *SHORT_DEBATE, *SUBSTITUTES, *ROBUSTNESS),
        metrics=WHOLE,
        share=0.1,
        shelf=0.2,
    ),
    "full": Profile(
        examples=800,
        steps=64,
        operators=3,
        experiments=(*EXPERIMENTS, *DEBATE, *WHOLE_ROBUSTNESS, *STUDIES),
        metrics=WHOLE,
        share=0.25,
        shelf=0.25,
    ),
}


def profile(name: str) -> Profile:
    if name not in PROFILES:
        raise UnknownName("profile", name, PROFILES)
    return PROFILES[name]


def usual_explainers() -> list[str]:
    """The explainers of an audit that names none, asked about every example."""
    return [*EXPLAINERS]


Named = TypeVar("Named", str, str | Spec)


def expanded(explainers: Sequence[Named]) -> list[Named]:
    """These explainers, with `all` replaced by every explainer that is not named beside it.

    >>> expanded(["rollout", "random"])
    ['rollout', 'random']
    >>> methods = expanded(["lime:samples=20", "all"])
    >>> methods[0], "lime" in methods, "alti" in methods, "given" in methods
    ('lime:samples=20', False, True, False)
    """
    if ALL not in explainers:
        return list(explainers)
    methods: list[Named] = [name for name in explainers if name != ALL]
    excluded = {str(name).partition(":")[0] for name in methods} | set(ADAPTERS)
    methods.extend(name for name in names("explainer") if name not in excluded)
    return methods
