"""Facts that the decorators of methods state (`regard.registry`): one record for each kind of method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from regard.message import Json


@dataclass(frozen=True, slots=True)
class InProfile:
    """Place of a method in default audits. rank: its position. params: as in name:key=value,key=value.

    In the profile "headline", params replace those of the audit's profile, whose own setting then runs later.
    """

    profiles: tuple[str, ...]
    rank: int = 1000
    params: str = ""


HEADLINE = ("headline",)
"""Answers a headline question, or costs next to nothing beside a method that does: computed in the first stage of an
audit with a budget."""
EVERY = ("headline", "quick", "standard", "full")
THOROUGH = ("standard", "full")
Profiles = tuple[str | InProfile, ...]
"""The profiles (quick, standard, full) whose audits use a method: by name, or with a place and parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explainer:
    """Facts about an explainer: `def NAME(case, *, own parameters) -> Relevance`.

    needs: "attention", "gradient", "removal". role: "method" or "baseline". misleads: when not to trust it.
    cost: its passes, in words. passes_per: how they grow: "none" (no pass), per "input", "layer", "unit", or as a
    "setting" of the method says; the app computes the cheap ones first.

    formula: f is the objective, x the input, r_j the relevance of unit j, a_ij a weight from row i to key j.
    adapter: it brings in results that somebody else computed, and is never part of `all`.
    """

    needs: tuple[str, ...] = ()
    signed: bool = False
    cite: str = ""
    formula: str = ""
    cost: str = ""
    passes_per: Literal["none", "input", "layer", "unit", "setting"] = "unit"
    misleads: str = ""
    role: str = "method"
    adapter: bool = False
    profile: Profiles = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """Facts about a metric: `def NAME(case, relevance, *, own parameters) -> Score`.

    better: "higher", "lower" or "none". family: "faithfulness", "agreement", "plausibility" (only where the data
    name decisive places), "robustness", "randomisation", "polarity" or "complexity". baseline, ceiling: names of
    explainers at the ends of the scale, or words.
    """

    better: str
    needs: tuple[str, ...] = ()
    cite: str = ""
    formula: str = ""
    baseline: str = "random"
    ceiling: str = ""
    cost: str = ""
    misleads: str = ""
    family: str = "faithfulness"
    profile: Profiles = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """role: the name of a head that does this more than its baseline; "" for a plain description.

    positional: it is about places, so a head that always looks at one place is no baseline for it. probe: causal
    models are asked on generated sequences of repeated tokens. resting: where attention lies when a head has nothing
    to do; a head that also does something else is called by that.
    """

    formula: str
    role: str = ""
    positional: bool = False
    probe: bool = False
    resting: bool = False
    cite: str = ""
    baseline: str = "the same rows with their weights shuffled among the allowed keys"


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """question: in plain words. needs: "attention", "gradient", "removal", "training".

    scope: "case" is `def NAME(case, *, own parameters) -> Findings`, asked shard by shard; "study" is
    `def NAME(study, *, own parameters) -> Findings`, asked once about all examples (it trains, or needs them all).
    trainings: networks that it trains for each of its `seeds` (and each of its `weights`). gives: quantities with one
    value per example about one attention, which questions of the judge look up by name.
    """

    question: str
    needs: tuple[str, ...] = ()
    scope: str = "case"
    cite: str = ""
    formula: str = ""
    cost: str = ""
    misleads: str = ""
    trainings: int = 0
    gives: tuple[str, ...] = ()
    profile: Profiles = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Perturbation:
    """A noise that keeps the label: `def NAME(example, severity, rng, *, own parameters) -> Perturbed`.

    modality: "text", "image", "audio", "series" or "table". family: the kind of noise ("character", "word", "blur").
    scale: the meaning of severities 1 to 5, in words. needs: ("model",) takes the model as a fourth argument.
    """

    modality: str
    family: str
    scale: str
    needs: tuple[str, ...] = ()
    cite: str = ""
    misleads: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """access: "black box" (answers alone), "white box" (gradients, the vocabulary) or "none" (asks once, does not
    search). modality: "text", "image", "series", "tabular", or "embeddings" of a text. goal: "prediction",
    "explanation" (the prediction stays), or "same prediction". role: "method" or "baseline" (noise of the same size).
    scope: "example", each by itself, or "case", one change for all of them.
    """

    access: str
    modality: tuple[str, ...]
    goal: str = "prediction"
    role: str = "method"
    scope: str = "example"
    cite: str = ""
    formula: str = ""
    cost: str = ""
    misleads: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citer:
    """Facts about a method that scores the sources of a prompt: `def NAME(case, *, own parameters)` -> (spans, sources)
    scores.

    needs: "deletion" (of sources, the prompt rendered again), "rows" (the answer computed again from the cache),
    "gradient", "attention". unit: "nats" (drops of log-odds), "mass" (shares of attention) or "rank" (only the order
    has a meaning). role: "method", "picture" (shown, never a citation by itself), "reference" (the exact effects that
    the others are judged by) or "baseline".
    """

    unit: str
    needs: tuple[str, ...] = ()
    role: str = "method"
    cite: str = ""
    formula: str = ""
    cost: str = ""
    misleads: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """`def NAME(*, own parameters) -> Executor`. in_process: it takes the open model as its one argument.

    remote: its workers may be other machines, so a model in a Python file of the user needs `--allow-code`.
    """

    in_process: bool = False
    remote: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreFunction:
    """`def NAME(query, key) -> Tensor`, (..., q, d) and (..., k, d') -> (..., q, k).

    sizes: it has weights: `def NAME(query_size, key_size, hidden) -> Module` that computes the same. imposed: the
    module takes the attention weights as a third argument.
    """

    sizes: bool = False
    imposed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question of the judge: `def NAME(evidence) -> Draft | None`, asked in its docstring's first line.

    rank: its place. family: "first" (they decide the reading), "map" and "further" are ours, pre-registered and
    corrected together. A question of another package is judged beside them and corrected among such questions; it
    brings its rule, the claims it does not make, and its margins, fixed before looking.
    """

    rank: int = 1000
    family: str = ""
    rule: str = ""
    not_claimed: str = ""
    margins: Mapping[str, Json] = field(default_factory=dict)
