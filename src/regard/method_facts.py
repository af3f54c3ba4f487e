"""Facts that the decorators of methods state (`regard.registry`): one record for each kind of method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from regard.message import Json


@dataclass(frozen=True, slots=True)
class InProfile:
    """Place of a method in default audits. rank: its position. params: in the form key=value,key=value.

    In the profile "headline", params replace those of the audit's profile, whose own setting then runs later.
    """

    profiles: tuple[str, ...]
    rank: int = 1000
    params: str = ""


HEADLINE = ("headline",)
"""Stage of methods that answer a headline question, or cost next to nothing beside one: an audit runs it first."""
EVERY = ("headline", "quick", "standard", "full")
THOROUGH = ("standard", "full")
Profiles = tuple[str | InProfile, ...]
"""The profiles (quick, standard, full) whose audits use a method: by name, or with a place and parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explainer:
    """Facts about an explainer: `def NAME(case, *, own parameters) -> Relevance`.

    needs: "attention", "gradient", "removal". role: "method" or "baseline". misleads: when not to trust it. cost: its
    passes, in words. passes_per: how they grow: "none" (no pass), per "input", "layer", "unit", or by a "setting" of
    the method; the app computes the cheap ones first.

    formula: f is the objective, x the input, r_j the relevance of unit j, a_ij a weight from row i to key j.
    differs: how its numbers differ, on purpose, from those of code that its authors or other libraries released.
    adapter: it brings in results that somebody else computed, and is never part of `all`.
    """

    needs: tuple[str, ...] = ()
    signed: bool = False
    cite: str = ""
    formula: str = ""
    cost: str = ""
    passes_per: Literal["none", "input", "layer", "unit", "setting"] = "unit"
    misleads: str = ""
    differs: str = ""
    role: str = "method"
    adapter: bool = False
    profile: Profiles = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """Facts about a metric: `def NAME(case, relevance, *, own parameters) -> Score`.

    better: "higher", "lower" or "none". family: "faithfulness", "agreement", "plausibility" (only where the data
    name decisive places), "robustness", "randomisation", "polarity" or "complexity". baseline, ceiling: names of
    explainers at the ends of the scale, or words. amount: neither its values nor their interval can be negative.
    differs: as for an explainer.
    detail: it removes units many times, and no verdict rests on it; audits with few passes ask it by one removal
    operator, and not about explainers that see a sample of the examples.
    """

    better: str
    amount: bool = False
    needs: tuple[str, ...] = ()
    cite: str = ""
    formula: str = ""
    baseline: str = "random"
    ceiling: str = ""
    cost: str = ""
    misleads: str = ""
    differs: str = ""
    family: str = "faithfulness"
    detail: bool = False
    profile: Profiles = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Facts about a head score. role: name of a head that scores above its baseline; "" for a plain description.

    positional: it measures positions, so a head that always attends to one position is no baseline for it. probe:
    causal models run on generated sequences of repeated tokens. resting: position that attention falls back to when a
    head is idle; a head that also has another role is named by that.
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
    """Facts about an experiment. question: in plain words. needs: "attention", "gradient", "removal", "training".

    scope: "case" is `def NAME(case, *, own parameters) -> Findings`, run shard by shard; "study" is `def NAME(study, *,
    own parameters) -> Findings`, run once on all examples (it trains, or needs them all). trainings: networks that it
    trains for each of its `seeds` (and each of its `weights`). gives: quantities with one value per example about one
    attention, which questions of the judge look up by name.
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
    """Facts about a label-preserving noise: `def NAME(example, severity, rng, *, own parameters) -> Perturbed`.

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
    """Facts about an attack. access: "black box" (predictions alone), "white box" (gradients) or "none" (no search).

    modality: "text", "image", "series", "tabular", or "embeddings" of a text. goal: "prediction", "explanation" (the
    prediction stays), or "same prediction". role: "method" or "baseline" (noise of the same size). scope: "example",
    each by itself, or "case", one change for all of them.
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
    differs: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citer:
    """Facts about a method that scores the sources of a prompt: `def NAME(case, *, own parameters)`.

    Returns (spans, sources) scores. needs: "deletion" (of sources, the prompt rendered again), "rows" (the answer
    computed again from the cache), "gradient", "attention". unit: "nats" (drops of log-odds), "mass" (shares of
    attention) or "rank" (only the order has a meaning). role: "method", "picture" (shown, never a citation by itself),
    "reference" (the exact effects that judge the others) or "baseline".
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
    """Facts about an engine: `def NAME(*, own parameters) -> Executor`. in_process: its argument is the open model.

    remote: its workers may be other machines, so a model in a Python file of the user needs `--allow-code`.
    """

    in_process: bool = False
    remote: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreFunction:
    """Facts about a score function: `def NAME(query, key) -> Tensor`, (..., q, d) and (..., k, d') -> (..., q, k).

    sizes: it has weights: `def NAME(query_size, key_size, hidden) -> Module` that computes the same. imposed: the
    module takes the attention weights as a third argument.
    """

    sizes: bool = False
    imposed: bool = False


FAMILIES = ("first", "map", "further")
"""Families of the judge's own questions, in the order in which it asks them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question of the judge: `def NAME(evidence) -> Draft | None`, worded in the first line of its docstring.

    rank: its place. family: "first" (they decide the reading), "map" and "further" are ours, pre-registered and
    corrected together; a question in `regard.judge` needs one. A question of another package is judged beside them and
    corrected among such questions; it brings its rule, the claims it does not make, and its margins, fixed before
    looking.
    """

    rank: int = 1000
    family: str = ""
    rule: str = ""
    not_claimed: str = ""
    margins: Mapping[str, Json] = field(default_factory=dict)
