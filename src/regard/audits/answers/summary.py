"""Verdicts, estimates and a headline from measured prompts; needs no model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np

from regard.audits.answers.evidence import PromptEvidence, first_source
from regard.judge.citation_trust import MethodVerdict, Share, UseVerdict, method_verdict, settled, use_verdict
from regard.measures.intervals import ClusterSums, bootstrap, wilson
from regard.measures.source_metrics import (
    aopc,
    areas,
    comprehensiveness,
    counting_lds,
    lds,
    polarity_violations,
    ranking,
    soft_scores,
)
from regard.records import Message, Spec, Text
from regard.registry import entry, owner

METRICS: Mapping[str, str] = {
    "top_1_drop": "higher",
    "top_1_share": "higher",
    "aopc_comprehensiveness": "higher",
    "aopc_sufficiency": "lower",
    "deletion_area": "lower",
    "insertion_area": "higher",
    "soft_comprehensiveness": "higher",
    "soft_sufficiency": "higher",
    "polarity_violations": "lower",
    "lds": "higher",
}
"""Metric -> better direction."""
CLOSE = 0.05
"""Methods whose share of hits is within this distance of the best one's compete on cost."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Mean of a metric over the prompts that use their sources, with a bootstrap interval (NaN below two prompts)."""

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class MethodTrust:
    """Verdict on one method ("yes", "no", "not_settled", "nothing_to_cite", "reference" or "skipped") and its numbers.

    share: prompts in which its first source carries the answer. truth: prompts in which its first source is a true one,
    where the data name true sources. passes: mean cost. reason: why it was skipped.
    """

    method: str
    role: str
    unit: str
    answer: str
    share: Share | None
    truth: Share | None
    passes: float
    metrics: Mapping[str, Estimate]
    reason: Text = ""


@dataclass(frozen=True, slots=True)
class Robustness:
    """Scores of one method under one change of the prompt, on the prompts that use their sources.

    same: its first source stays the same. injected: it names the injected source first. agreement: Spearman correlation
    of its scores before and after.
    """

    method: str
    change: str
    same: Share
    injected: Share | None
    agreement: Estimate


@dataclass(frozen=True, slots=True)
class Trust:
    """Every verdict of one look. counting_lds: the baseline reported beside every `lds`."""

    use: UseVerdict
    methods: tuple[MethodTrust, ...]
    counting_lds: Estimate | None
    settled: bool
    headline: Message
    recommended: str | None
    robustness: tuple[Robustness, ...] = ()


def conclude(prompts: Sequence[PromptEvidence], methods: Sequence[str], looks: Sequence[int], *, seed: int) -> Trust:
    """Judge every method on the prompts so far. looks: the planned looks."""
    effects = [prompt.effects for prompt in prompts]
    use = use_verdict(effects, looks)
    verdicts: dict[str, MethodVerdict] = {}
    for name in methods:
        own = [(e, np.array(p.scores[name])) for e, p in zip(effects, prompts, strict=True) if name in p.scores]
        if own:
            verdicts[name] = method_verdict([e for e, _ in own], [scores for _, scores in own], looks)
    used = list(compress(prompts, (e.used for e in effects)))
    awaited = [name for name in verdicts if _facts(name)["role"] in ("method", "picture")]
    trusts = tuple(_trust(name, verdicts.get(name), use, prompts, used, seed) for name in methods)
    recommended = _recommended(trusts)
    return Trust(
        use=use,
        methods=trusts,
        counting_lds=_estimate(used, _counting, seed),
        settled=settled(use, verdicts, awaited),
        headline=_headline(use, trusts, recommended),
        recommended=recommended,
        robustness=tuple(_robustness(used, seed)),
    )


def metric_values(prompt: PromptEvidence, method: str) -> dict[str, float]:
    """Compute every metric of a method on one prompt that the stored measurements allow."""
    table, scores = prompt.table, np.array(prompt.scores[method])
    order, effects = ranking(scores), table.effects
    values = {
        "top_1_drop": comprehensiveness(table, order),
        "top_1_share": float(np.clip(effects[order[0]] / effects.max(), 0, 1)) if effects.max() > 0 else float("nan"),
    }
    if _facts(method)["unit"] == "nats":
        values["polarity_violations"] = polarity_violations(scores, effects)
    if prompt.depth != 0:
        depth = prompt.count if prompt.depth is None else prompt.depth
        values["aopc_comprehensiveness"], values["aopc_sufficiency"] = aopc(table, order, depth)
    if prompt.depth is None:
        values["deletion_area"], values["insertion_area"] = areas(table, order)
    if method in prompt.soft:
        every = frozenset(range(prompt.count))
        sufficient = [frozenset(deleted) for deleted in prompt.soft[method]]
        soft = soft_scores(table, sufficient, [every - deleted for deleted in sufficient])
        values["soft_comprehensiveness"], values["soft_sufficiency"] = soft
    if prompt.subsets:
        values["lds"] = lds(scores, *prompt.kept)
    return values


def prompt_rows(prompts: Sequence[PromptEvidence]) -> Iterator[dict[str, Any]]:
    """Build one row per prompt: its size, the exact effects that matter, and its cost."""
    for prompt in prompts:
        effects = prompt.effects
        yield {
            "prompt": prompt.id,
            "sources": prompt.count,
            "tokens": prompt.tokens,
            "answer_tokens": prompt.answer_tokens,
            "generated": prompt.generated,
            "best_effect": float(effects.alone.max()),
            "best_source": first_source(tuple(effects.alone)),
            "whole_effect": effects.whole,
            "used": effects.used,
            "passes": prompt.cost,
        }


def score_rows(prompts: Sequence[PromptEvidence]) -> Iterator[dict[str, Any]]:
    """Build one row per prompt, method and source."""
    for prompt in prompts:
        effects = prompt.effects
        for method, scores in prompt.scores.items():
            order = ranking(np.array(scores))
            for source, score in enumerate(scores):
                yield {
                    "prompt": prompt.id,
                    "method": method,
                    "source": source,
                    "score": score,
                    "rank": order.index(source) + 1,
                    "exact": float(effects.alone[source]),
                    "truth": None if prompt.truth is None else source in prompt.truth,
                }


def metric_rows(prompts: Sequence[PromptEvidence]) -> Iterator[dict[str, Any]]:
    """Build one row per prompt, method and metric."""
    for prompt in prompts:
        for method in prompt.scores:
            for metric, value in metric_values(prompt, method).items():
                row = {"prompt": prompt.id, "method": method, "metric": metric, "value": value}
                yield {**row, "better": METRICS[metric], "used": prompt.effects.used}


def change_rows(prompts: Sequence[PromptEvidence]) -> Iterator[dict[str, Any]]:
    """Build one row per prompt, change and method."""
    for prompt in prompts:
        for change, methods in prompt.changes.items():
            for method, after in methods.items():
                row = {"prompt": prompt.id, "change": change, "method": method, "same": after.same}
                yield {**row, "injected": after.injected, "agreement": after.agreement, "used": prompt.effects.used}


def _robustness(used: Sequence[PromptEvidence], seed: int) -> Iterator[Robustness]:
    pairs = dict.fromkeys((c, m) for prompt in used for c, methods in prompt.changes.items() for m in methods)
    for change, method in pairs:
        own = {p.id: p.changes[change][method] for p in used if method in p.changes.get(change, {})}
        yield Robustness(
            method=method,
            change=change,
            same=_wilson([after.same for after in own.values()]),
            injected=_wilson([after.injected for after in own.values()]) if change == "injected" else None,
            agreement=_mean({name: after.agreement for name, after in own.items()}, seed),
        )


def _trust(
    name: str,
    verdict: MethodVerdict | None,
    use: UseVerdict,
    prompts: Sequence[PromptEvidence],
    used: Sequence[PromptEvidence],
    seed: int,
) -> MethodTrust:
    facts = _facts(name)
    measured = [prompt for prompt in prompts if name in prompt.scores]
    if verdict is None or not measured:
        reasons = [prompt.skipped[name] for prompt in prompts if name in prompt.skipped]
        return MethodTrust(
            method=name,
            role=str(facts["role"]),
            unit=str(facts["unit"]),
            answer="skipped",
            share=None,
            truth=None,
            passes=float("nan"),
            metrics={},
            reason=reasons[0] if reasons else "",
        )
    answer: str = verdict.answer
    if facts["role"] == "reference":
        answer = "reference"
    elif use.answer == "no":
        answer = "nothing_to_cite"
    with_truth = [prompt for prompt in measured if prompt.truth]
    hits = [first_source(prompt.scores[name]) in (prompt.truth or ()) for prompt in with_truth]
    values = {prompt.id: metric_values(prompt, name) for prompt in used if name in prompt.scores}
    metrics = {}
    for metric in METRICS:
        own = {prompt: by_metric[metric] for prompt, by_metric in values.items() if metric in by_metric}
        if own:
            metrics[metric] = _mean(own, seed)
    return MethodTrust(
        method=name,
        role=str(facts["role"]),
        unit=str(facts["unit"]),
        answer=answer,
        share=verdict.share,
        truth=_wilson(hits) if with_truth else None,
        passes=float(np.mean([prompt.passes[name] for prompt in measured])),
        metrics=metrics,
    )


def _recommended(methods: Sequence[MethodTrust]) -> str | None:
    """Cheapest trusted method that is about as good as the best; measured effects take precedence over gradients."""
    trusted = [(m, m.share) for m in methods if m.role == "method" and m.answer == "yes" and m.share is not None]
    if not trusted:
        return None
    best = max(share.estimate for _, share in trusted)
    close = [m for m, share in trusted if share.estimate >= best - CLOSE]
    return min(close, key=lambda m: ("gradient" in _facts(m.method)["needs"], m.passes)).method


def _headline(use: UseVerdict, methods: Sequence[MethodTrust], recommended: str | None) -> Message:
    if use.answer == "no":
        return Message.of("answers.headline.unused", k=use.share.k, n=use.share.n)
    picture = next((m for m in methods if m.role == "picture" and m.share is not None and m.share.n), None)
    beside = Message("answers.headline.no_picture")
    if picture is not None and picture.share is not None:
        share = picture.share
        beside = Message.of("answers.headline.picture", share=share.estimate, low=share.low, high=share.high)
    if recommended is None:
        rated = [m for m in methods if m.role == "method" and m.share is not None]
        fails = bool(rated) and all(m.answer == "no" for m in rated)
        key = "answers.headline.none_right" if fails else "answers.headline.open"
        return Message.of(key, beside=beside)
    return Message.of("answers.headline.cite_by", method=method_name(recommended), beside=beside)


def method_name(method: str) -> Text:
    """Display name of a method; the raw name for a plug-in."""
    name = Spec.parse("citer", method).name
    return method if owner("citer", name) or method != name else Message(f"answers.method.{name}")


def _counting(prompt: PromptEvidence) -> float:
    return counting_lds(*prompt.kept) if prompt.subsets else float("nan")


def _estimate(
    prompts: Sequence[PromptEvidence], value: Callable[[PromptEvidence], float], seed: int
) -> Estimate | None:
    values = {prompt.id: value(prompt) for prompt in prompts}
    mean = _mean(values, seed)
    return mean if mean.n else None


def _mean(values: Mapping[str, float], seed: int) -> Estimate:
    sums = ClusterSums.of(list(values.values()), list(values))
    interval = bootstrap(sums, seed=seed)
    return Estimate(interval.estimate, interval.low, interval.high, sums.n)


def _wilson(hits: Sequence[bool]) -> Share:
    low, high = wilson(sum(hits), len(hits))
    return Share(sum(hits), len(hits), float(low), float(high))


def _facts(name: str) -> Mapping[str, Any]:
    return entry("citer", Spec.parse("citer", name).name).facts
