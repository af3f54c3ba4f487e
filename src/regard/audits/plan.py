"""Second step of an audit: options and profile -> methods with parameters, shards, stored attention, identity."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from regard.audits.brief_protocol import brief_protocol
from regard.audits.budget import Budget
from regard.audits.default_methods import ALL, Profile, expanded, profile
from regard.audits.further import named, own_headline
from regard.audits.kept_attention import WALKED
from regard.audits.memory import batch_tokens
from regard.audits.options import AuditOptions
from regard.audits.resolve import Subject, beside, digest
from regard.audits.shard import Settings
from regard.desk.batching import TOKENS
from regard.errors import InputError, UnknownName, phrase
from regard.explainers._references import REFERENCES
from regard.measures.bounded_mean import FEWEST_CLUSTERS
from regard.measures.keyed_random import keyed_rng
from regard.protocols import Model, Task
from regard.records import Example, Json, Spec
from regard.registry import arguments, build, entry
from regard.store.example_json import example_to_json
from regard.store.manifest import identity

SHARD = 8
"""Examples per shard: the most that a kill makes the audit repeat."""
SHARD_TOKENS = 4096
"""Positions per shard: the most that is held in memory at once."""

COMPANIONS = 16
"""Examples available to every shard (see `Settings`)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of an audit: every example of the subject under the same settings; `identity` distinguishes plans."""

    subject: Subject
    settings: Settings
    keep: Sequence[str]
    identity: Mapping[str, Json]

    @property
    def specs(self) -> list[Spec]:
        """Every method with its parameters."""
        return [*self.settings.explainers, *self.settings.metrics, *self.settings.experiments]

    def task(self, key: str, shard: Sequence[str], alone: bool) -> Task:
        """Return the task of a shard. alone: use no other examples, since one of them may kill the worker."""
        return Task(key, self.payload(shard, self.settings, alone=alone))

    def payload(self, shard: Sequence[str], settings: Settings, *, alone: bool) -> dict[str, Json]:
        """Payload of a shard under these settings (see `task`)."""
        inside = set(shard)
        own = replace(settings, companions=()) if alone else settings
        return {
            "examples": [example_to_json(e) for e in self.subject.in_order(shard)],
            "settings": own.to_json(),
            "keep": [name for name in self.keep if name in inside],
            "walk": [name for name in self.keep[:WALKED] if name in inside],
        }

    def middling_first(self) -> list[Example]:
        """The examples, those of middling length first."""
        middle = statistics.median(self.subject.lengths.values() or [0])
        return sorted(self.subject.examples, key=lambda e: abs(self.subject.lengths[e.id] - middle))

    def spread_by_length(self) -> list[Example]:
        """The examples: one of middling length, the longest and the shortest first."""
        ordered = self.middling_first()
        ends = [pick(ordered[1:], key=lambda e: self.subject.lengths[e.id]) for pick in (max, min) if len(ordered) > 2]
        first = {example.id: example for example in (*ordered[:1], *ends)}
        return [*first.values(), *(example for example in ordered if example.id not in first)]


def make_plan(subject: Subject, options: AuditOptions) -> Plan:
    """Choose methods and examples. Equal plans have equal identities, and equal identities give equal numbers."""
    settings = settings_of(subject, options)
    optional: dict[str, Json] = {} if options.text else {"text": False}
    if not options.limits.unlimited:
        optional["budget"] = options.limits.text
    if settings.sampled:
        optional["sampled"] = f"{settings.sampled} at {settings.share}" + ("" if settings.reruns else ", once")
    if settings.tokens != TOKENS:
        optional["tokens"] = settings.tokens
    if settings.headline:
        optional["headline"] = [*settings.headline]
    identified = identity(
        model=subject.about_model,
        data=subject.about_data,
        seed=options.seed,
        specs=[*settings.explainers, *settings.metrics, *settings.experiments],
        examples=digest(subject.examples),
        keep=options.keep,
        batch=options.batch,
        shard=[SHARD, SHARD_TOKENS],
        **optional,
    )
    return Plan(subject, settings, stored_attention(subject.examples, options.keep), identified)


def check(options: AuditOptions) -> None:
    """Refuse unknown names, parameters and values before a model is opened."""
    profile(options.profile_name)
    Budget.parse(options.limits.text)
    arguments(options.engine_spec)
    for name in options.references or ():
        if name not in REFERENCES:
            raise UnknownName("reference", name, REFERENCES)
    explainers = () if options.explainers is None else expanded(options.explainers)
    groups = {"explainer": explainers, "metric": options.metrics, "experiment": options.experiments}
    for kind, methods in groups.items():
        for method in methods or ():
            arguments(_spec(kind, method))


def settings_of(subject: Subject, options: AuditOptions) -> Settings:
    """Return the methods of an audit with their parameters; refuse unknown names and parameters early.

    The profile sets `steps`, `operator` and, where an input is longer than that, `most` of methods that have such
    parameters and do not set them; those of the brief protocol come first. The experiments of the profile
    are part of an audit that names neither explainers nor metrics. Siblings take part where there are experiments; by
    default those that lie beside a member of a family. `layers` and `heads` choose the audited attention for methods
    that do not choose it themselves.
    """
    base_profile, model = profile(options.profile_name), subject.model
    usual = [] if options.narrowed else base_profile.explainers
    further = expanded([*usual, ALL])[len(usual) :] if usual and base_profile.shelf else []
    names = (
        options.experiments if options.experiments is not None else () if options.narrowed else base_profile.experiments
    )
    experiments = [_spec("experiment", name) for name in names]
    if not options.limits.unlimited and not named(options):
        experiments = _with_headline(experiments, usual)
    siblings = [*(options.siblings or beside(subject.about_model))]
    if siblings and experiments and all(spec.name != "siblings" for spec in experiments):
        experiments.append(Spec("experiment", "siblings", {"folders": [*siblings]}))
    if further:  # experiments that ask explainers again ask the usual ones
        experiments = [_with(spec, {"explainers": [*usual]}) for spec in experiments]
    which: dict[str, Json] = {"layers": options.layers, "heads": options.heads}
    long = max(subject.lengths.values(), default=0) > (base_profile.most or 0)
    references: list[Json] | None = None if options.references is None else [*options.references]
    screening: dict[str, Json] = {"most": base_profile.most if long else None, "references": references}
    brief = None if named(options) else brief_protocol(subject, options)
    if brief is not None:
        own = {} if references is None else {"references": references}
        experiments = [_with(spec, {**brief.experiment(spec.name), **own}) for spec in experiments]
    experiments = [_with(spec, {**which, **screening}) for spec in experiments]
    explainer_names = (
        [*base_profile.explainers, *further] if options.explainers is None else expanded(options.explainers)
    )
    explainers = [_spec("explainer", name) for name in explainer_names]
    explainers = [_with(spec, which) if spec.name == "attention" else spec for spec in explainers]
    # the operator is written down, so that the report can say where a method is judged by its own operator
    common: dict[str, Json] = {"steps": base_profile.steps, "operator": model.operators[0], **screening}
    if brief is not None:
        explainers = [_with(spec, brief.explainer(spec.name)) for spec in explainers]
    explainers = [_with(spec, common) for spec in explainers]
    if not explainers:
        raise InputError("explainers", expected=phrase("errors.audits.at_least_one"), got=phrase("errors.common.none"))
    metrics = base_profile.metrics(rationales=subject.rationales) if options.metrics is None else options.metrics
    judging = metric_specs(model, metrics, base_profile)
    if brief is not None:
        judging = list(dict.fromkeys(_with(spec, brief.metric) for spec in judging))
    for spec in (*explainers, *judging, *experiments):
        build(spec)
    # a share of the share of the examples on which sampled explainers run: too few for an interval cost passes only
    scored_again = len(subject.examples) * base_profile.shelf * base_profile.share
    return Settings(
        explainers=tuple(dict.fromkeys(explainers)),
        metrics=tuple(judging),
        seed=options.seed,
        batch=options.batch,
        tokens=batch_tokens(model),
        experiments=tuple(dict.fromkeys(experiments)),
        companions=tuple(companions(subject.examples, options.seed)) if experiments else (),
        sampled=len(further),
        share=base_profile.shelf if further else 1.0,
        headline=() if brief is None else brief.headline,
        reruns=not further or scored_again >= FEWEST_CLUSTERS,
    )


def _with_headline(experiments: Sequence[Spec], usual: Sequence[str]) -> list[Spec]:
    """The experiments of the profile, and those that have parameters of their own in the headline stage before them.

    The profile's setting then skips the explainers that the headline stage has already run.
    """
    own = [_spec("experiment", name) for name in own_headline()]
    explainers_of = {spec.name: spec.params.get("explainers") for spec in own}
    rest = []
    for spec in experiments:
        already = explainers_of.get(spec.name)
        others = [name for name in usual if isinstance(already, list | tuple) and name not in already]
        rest.append(_with(spec, {"explainers": [*others]}) if others else spec)
    return [*own, *rest]


def metric_specs(model: Model, metrics: Sequence[str | Spec], chosen: Profile) -> list[Spec]:
    """The metrics with their parameters, once for each removal operator of the profile where they remove units."""
    specs = [_with(_spec("metric", metric), {"share": chosen.share}) for metric in metrics]
    once = [
        _with(spec, {"operator": operator})
        for spec in specs
        for operator in (model.operators[: _operators(spec, chosen)] if _open(spec) else (None,))
    ]
    return list(dict.fromkeys(once))


def _operators(metric: Spec, chosen: Profile) -> int:
    """The number of removal operators by which a profile asks a metric."""
    detail = entry(metric.kind, metric.name).facts.get("detail")
    return chosen.operators if chosen.detailed is None or not detail else chosen.detailed


def companions(examples: Sequence[Example], seed: int) -> list[Example]:
    """Draw a few examples at random: the same for every shard of one audit."""
    picks = keyed_rng(seed, "companions", len(examples)).permutation(len(examples))[:COMPANIONS]
    return [examples[int(i)] for i in sorted(picks)]


def _spec(kind: str, given: str | Spec) -> Spec:
    return given if isinstance(given, Spec) else Spec.parse(kind, given)


def _parameters(spec: Spec) -> set[str]:
    return {p.name for p in entry(spec.kind, spec.name).parameters}


def _open(spec: Spec) -> bool:
    """Return whether the profile chooses the operator: a method with a default of its own keeps it."""
    defaults = {p.name: p.default for p in entry(spec.kind, spec.name).parameters}
    return "operator" in defaults and defaults["operator"] is None and "operator" not in spec.params


def _with(spec: Spec, wishes: Mapping[str, Json]) -> Spec:
    own = _parameters(spec)
    added = {k: v for k, v in wishes.items() if v is not None and k in own and k not in spec.params}
    return Spec(spec.kind, spec.name, {**spec.params, **added})


def shards(lengths: Mapping[str, int], *, size: int = SHARD, tokens: int = SHARD_TOKENS) -> list[list[str]]:
    """Group example ids by similar length, longest first: even work, and a memory shortage shows at once.

    >>> shards({"a": 5, "b": 9, "c": 4}, size=2)
    [['b', 'a'], ['c']]
    """
    groups: list[list[str]] = []
    size_used = 0
    for name in sorted(lengths, key=lambda name: -lengths[name]):
        if groups and len(groups[-1]) < size and size_used + lengths[name] <= tokens:
            groups[-1].append(name)
            size_used += lengths[name]
        else:
            groups.append([name])
            size_used = lengths[name]
    return groups


def stored_attention(examples: Sequence[Example], number: int) -> list[str]:
    """Examples whose attention is stored: the first ones of every label in turn.

    >>> stored_attention([Example("a", {}, "x"), Example("b", {}, "x"), Example("c", {}, "y")], 2)
    ['a', 'c']
    """
    turns: dict[str, list[str]] = {}
    for example in examples:
        turns.setdefault(str(example.label), []).append(example.id)
    rounds = [name for i in range(len(examples)) for group in turns.values() for name in group[i : i + 1]]
    return rounds[:number]
