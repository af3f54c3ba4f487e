"""Shard: some examples, one model and the methods give one page of results, with no other effect.

An example that makes a method fail is reported and left out of that method; everything else goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np

from regard.audits.ask_ahead import ask_ahead, removing
from regard.audits.kept_attention import facts_of
from regard.desk.batching import BATCH, TOKENS
from regard.desk.case import DeskCase, label, selected
from regard.desk.desk import Desk
from regard.desk.finite_answers import UnknownAnswer, unknown
from regard.desk.site_questions import Sites
from regard.errors import Unsupported, error_message, phrase
from regard.models.ask.answers_in_words import names_of_tokens
from regard.models.open.labels import named
from regard.protocols import Model, Target
from regard.records import Attention, Example, Json, Relevance, Score, Spec, Text
from regard.registry import build, entry
from regard.store.codec import fields_to_json, from_json
from regard.store.example_json import example_from_json, example_to_json
from regard.store.ledger import Problem
from regard.store.shard_result import ShardResult, joined_relevance, number, units_to_json

T = TypeVar("T")
PREDICTIONS = "predictions"
"""The stage that predicts examples and explains nothing (see `predict`)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Methods and settings applied to every example; serialises to JSON for workers.

    companions: a few examples of the same data that every shard has at hand, for experiments that take something from
    another example; the same for all shards, so that no number depends on how examples were shared out. sampled: how
    many of the explainers, from the last, are asked about a share of the examples only. audited: every explainer of the
    audit where these settings hold some of them only; names refer to it. headline: names of the explainers and
    metrics of the headline stage where they are not the usual ones. reruns: whether the sampled explainers get metrics
    of detail too, and those that run an explainer again on a share of its examples.
    """

    explainers: tuple[Spec, ...]
    metrics: tuple[Spec, ...] = ()
    seed: int = 0
    batch: int = BATCH
    tokens: int = TOKENS
    experiments: tuple[Spec, ...] = ()
    companions: tuple[Example, ...] = ()
    sampled: int = 0
    share: float = 1.0
    audited: tuple[Spec, ...] = ()
    headline: tuple[str, ...] = ()
    reruns: bool = True

    @property
    def everywhere(self) -> tuple[Spec, ...]:
        """Explainers that run on every example."""
        return self.explainers[: len(self.explainers) - self.sampled]

    @property
    def by_name(self) -> dict[str, Spec]:
        """Map names to the explainers of this audit; the first where several share a name."""
        return {spec.name: spec for spec in reversed(self.audited or self.explainers)}

    @property
    def labels(self) -> list[Json]:
        """Labels of the explainers in the results: the name where that is enough."""
        return [label(spec, self.by_name) for spec in self.explainers]

    def metrics_of(self, explainer: Spec) -> list[Spec]:
        """The metrics that score an explainer."""
        if self.reruns or not self.sampled or explainer in self.everywhere:
            return [*self.metrics]
        return [m for m in self.metrics if "share" not in m.params and not entry(m.kind, m.name).facts.get("detail")]

    def to_json(self) -> dict[str, Json]:
        names = ("explainers", "metrics", "seed", "batch", "tokens", "experiments")
        companions: list[Json] = [example_to_json(e) for e in self.companions]
        sampled = fields_to_json(self, "sampled", "share") if self.sampled else {}
        audited = fields_to_json(self, "audited") if self.audited else {}
        headline = fields_to_json(self, "headline") if self.headline else {}
        reruns = {} if self.reruns else fields_to_json(self, "reruns")
        return {**fields_to_json(self, *names), "companions": companions, **sampled, **audited, **headline, **reruns}

    def about(self) -> dict[str, Json]:
        """Describe the settings for the manifest: companions by name only."""
        return {**self.to_json(), "companions": [e.id for e in self.companions]}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Settings:
        companions = tuple(example_from_json(e) for e in value.get("companions", ()))
        return replace(from_json(Settings, {**value, "companions": []}), companions=companions)


@dataclass
class _Notes:
    """Problems so far."""

    problems: list[Problem] = field(default_factory=list)
    skipped: dict[str, Text] = field(default_factory=dict)

    def report(self, name: str, stage: str, error: Exception) -> None:
        self.problems.append(Problem(name, stage, error_message(error)))

    def healed(self, name: str, stage: str, error: Exception) -> None:
        """Report a model that returned NaN in a batch but numbers for single examples; the audit uses the latter."""
        if isinstance(error, UnknownAnswer):
            message = phrase("errors.audits.healed", place=error.subject, problem=error.got)
            self.problems.append(Problem(name, stage, message))


def compute(
    model: Model,
    examples: Sequence[Example],
    settings: Settings,
    *,
    keep: Sequence[str] = (),
    walk: Sequence[str] = (),
    known: Mapping[Spec, Relevance] | None = None,
) -> ShardResult:
    """Answers, relevances, scores, costs and problems of some examples; dense attention of those in `keep`.

    walk: those of them whose attention is also kept step by step (see `kept`). known: relevances that an earlier stage
    of the audit stored. The page then adds to that stage's: it repeats neither those nor the answers, and settings
    without explainers apply the metrics to the known ones.
    """
    desk = Desk(model, seed=settings.seed, batch=settings.batch, tokens=settings.tokens)
    try:
        return _page(desk, examples, settings, keep=keep, walk=walk, known=known)
    finally:
        desk.release()


def _page(
    desk: Desk,
    examples: Sequence[Example],
    settings: Settings,
    *,
    keep: Sequence[str],
    walk: Sequence[str],
    known: Mapping[Spec, Relevance] | None,
) -> ShardResult:
    notes = _Notes()
    case = _admitted(desk, examples, settings, notes)
    relevances: dict[Spec, Relevance] = {}
    earlier = _learned(case, known or {})
    everywhere, sample = set(settings.everywhere), _drawn(case, settings)
    for spec in settings.explainers:
        name = label(spec, settings.by_name)
        asked = case if spec in everywhere else sample
        parts = _isolated(asked, "explainer", name, partial(_explained, spec=spec), notes)
        if parts:
            relevances[spec] = joined_relevance(parts, {name: i for i, name in enumerate(case.ids)})
    scores: list[Score] = []
    # after all explainers, so that a metric finds every relevance that it compares with
    scored = {spec: (_part(case, r), r) for spec, r in (relevances if settings.explainers else earlier).items()}
    for name, same in removing(settings.metrics).items():
        with desk.charged_to("metric", name):
            ask_ahead([pair for spec, pair in scored.items() if same[0] in settings.metrics_of(spec)], same)
    for spec, (part, relevance) in scored.items():
        part.learn(spec, relevance)
        for metric in settings.metrics_of(spec):
            name = f"{metric.name} of {relevance.method}"
            with desk.charged_to("metric", metric.name):
                scores += _isolated(part, "metric", name, partial(_scored, spec=spec, metric=metric), notes)
    findings: list[Score] = []
    for spec in settings.experiments:
        if entry(spec.kind, spec.name).facts.get("scope") != "case":
            continue
        with desk.charged_to("experiment", spec.name):
            for scores_of_one in _isolated(case, "", f"experiment {spec.name}", partial(_tried, spec=spec), notes):
                findings += scores_of_one
    dense = {name: _dense(desk, name, notes) for name in case.ids if name in set(keep)}
    about = {name: facts_of(desk, case, i, walk=name in walk) for i, name in enumerate(case.ids) if dense.get(name)}
    rows = () if known is not None else tuple({**_row(desk, name), **about.get(name, {})} for name in case.ids)
    return ShardResult(
        rows=rows,
        relevances=tuple(relevances.values()),
        scores=tuple(scores),
        findings=tuple(findings),
        costs=desk.costs(),
        problems=tuple(notes.problems),
        skipped=notes.skipped,
        attentions={name: sites for name, sites in dense.items() if sites},
    )


def _learned(case: DeskCase, known: Mapping[Spec, Relevance]) -> dict[Spec, Relevance]:
    """Known relevances of the examples of this case, in its order; the case adopts those of all examples."""
    learned: dict[Spec, Relevance] = {}
    for spec, relevance in known.items():
        place = {name: i for i, name in enumerate(relevance.ids)}
        positions = [place[name] for name in case.ids if name in place]
        if positions:
            learned[spec] = selected(relevance, positions)
            case.learn(spec, learned[spec])
    return learned


def _part(case: DeskCase, relevance: Relevance) -> DeskCase:
    """Return the case of a relevance's examples."""
    return case if relevance.ids == case.ids else case.subset([case.ids.index(name) for name in relevance.ids])


def _drawn(case: DeskCase, settings: Settings) -> DeskCase:
    """Draw the examples for costly explainers, each independently of its neighbours."""
    return case.subset([i for i in range(len(case.ids)) if case.rng(i, "shelf").random() < settings.share])


def predict(model: Model, examples: Sequence[Example], settings: Settings) -> ShardResult:
    """The predictions of some examples, and the problems of those that the model cannot read or answer."""
    desk = Desk(model, seed=settings.seed, batch=settings.batch, tokens=settings.tokens)
    notes = _Notes()
    case = _admitted(desk, examples, settings, notes)
    predictions = tuple({**_answer_row(desk, name), "length": desk.encoded(name).length} for name in case.ids)
    return ShardResult(predictions=predictions, costs=desk.costs(), problems=tuple(notes.problems))


def _admitted(desk: Desk, examples: Sequence[Example], settings: Settings, notes: _Notes) -> DeskCase:
    """Build the case of those examples that the model can read and answer."""
    readable = []
    for example in examples:
        try:
            if desk.admit(example).free.any():
                readable.append(example)
            else:
                notes.problems.append(Problem(example.id, "encode", phrase("errors.audits.nothing_removable")))
        except Exception as error:
            notes.report(example.id, "encode", error)
    case = DeskCase(desk, readable, settings.by_name, settings.companions)
    try:
        case.base()
        return case
    except Exception as error:  # the fault of some example: each is asked by itself
        first = error
    answered = [e for e in readable if _answers(desk, e, notes)]
    if len(answered) == len(readable):
        notes.healed(readable[0].id, "forward", first)
    return DeskCase(desk, answered, settings.by_name, settings.companions)


def _answers(desk: Desk, example: Example, notes: _Notes) -> bool:
    try:
        desk.base([example.id])  # an answer that is no number is an error
    except Exception as error:
        notes.report(example.id, "forward", error)
        return False
    return True


def _isolated(case: DeskCase, kind: str, name: str, call: Callable[[DeskCase], T], notes: _Notes) -> list[T]:
    """Call the function for the case; after a failure, for every example alone, to skip only the failing one.

    A capability that the model lacks for all examples is skipped with the reason, once; it is not a problem of the
    examples.
    """
    if not case.ids:
        return []
    try:
        return [call(case)]
    except Exception as error:
        first, failures = error, [(case.ids[0], error)]
    results = []
    if len(case.ids) > 1:
        failures = []
        for i in range(len(case.ids)):
            try:
                results.append(call(case.subset([i])))
            except Exception as error:
                failures.append((case.ids[i], error))
    if results and not failures:
        notes.healed(case.ids[0], f"{kind} {name}".strip(), first)
    if not results and all(isinstance(error, Unsupported) for _, error in failures):
        notes.skipped[name] = error_message(failures[0][1])
    else:
        for guilty, reason in failures:
            notes.report(guilty, f"{kind} {name}".strip(), reason)
    return results


def _explained(case: DeskCase, spec: Spec) -> Relevance:
    return case.relevance(spec)


def _scored(case: DeskCase, spec: Spec, metric: Spec) -> Score:
    relevance = case.relevance(spec)
    score = cast("Score", build(metric)(case, relevance))
    # the setting is part of the number's name: what the metric does not say itself is added from its Spec
    where = {**metric.params, **score.where}
    return replace(score, method=relevance.method, where=where)


def _tried(case: DeskCase, spec: Spec) -> list[Score]:
    return named_findings(build(spec)(case), spec)


def named_findings(found: Sequence[Score], spec: Spec) -> list[Score]:
    """Return the findings of an experiment, with its name and its setting in `where`."""
    return [replace(score, where={"experiment": spec.name, **spec.params, **score.where}) for score in found]


def _dense(desk: Desk, name: str, notes: _Notes) -> list[Attention]:
    try:
        with desk.charged_to("model", "kept attention"):
            sites = [site.dense() for site in desk.ask([Sites(name)])[0]]
        bad = sum(not np.isfinite(site.weights).all() for site in sites)
        if bad:  # no picture is drawn of what is not known
            raise unknown(phrase("errors.common.attention_model", model=desk.model.name), bad, len(sites))
        return sites
    except Exception as error:
        notes.report(name, "kept attention", error)
        return []


def _row(desk: Desk, name: str) -> dict[str, Json]:
    return {**_answer_row(desk, name), "units": units_to_json(desk.units(name))}


def _answer_row(desk: Desk, name: str) -> dict[str, Json]:
    (answer_row,) = desk.base([name])
    (target,) = desk.targets([name])
    rows, answer = answer_row.distribution, desk.answer(name)
    return {
        "id": name,
        "predicted": answer,
        "target": target,
        **_text_answer(desk.model, target, answer),
        "probability": number(answer_row.probability),
        "value": number(answer_row.value),
        "distribution": None if rows is None else [number(p) for p in rows],
    }


def _text_answer(model: Model, target: Target, answer: Json) -> dict[str, Json]:
    """Return the tokens of an answer that is a text; empty for a class name."""
    if answer == target or named(target, model.labels) == answer:
        return {}
    tokens = names_of_tokens(model, target)
    return {"written": [str(answer)] if tokens is None else list(tokens)}
