"""Accuracy by noise and severity with intervals, the table of `regard perturb MODEL`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from regard.desk.answers import finite
from regard.desk.case import DeskCase
from regard.desk.changes import PerturbedBy
from regard.desk.desk import Desk
from regard.errors import InputError, Unsupported, phrase
from regard.measures.answer_change import Answered, Kind, answered
from regard.measures.mean_interval import mean_interval
from regard.perturbations.apply import USUAL, modality_of, noises
from regard.protocols import Model
from regard.records import Example, Json, Spec
from regard.registry import method_spec

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class NoiseRow:
    """Result of one noise at one severity ("none" at 0). accuracy: NaN without labels. flips: changed predictions.

    change: mean change of the answers (see `Answered.change`). answer: "classes", "labels" or "number"; only classes
    have an accuracy. left_out: examples that the model could not read under the noise (too long, nothing left).
    changed: share of the inputs that the noise could change. labelled: examples behind the accuracy.
    """

    noise: str
    severity: int
    accuracy: float
    low: float
    high: float
    flips: float
    flips_low: float
    flips_high: float
    n: int
    left_out: int
    change: float = 0.0
    change_low: float = 0.0
    change_high: float = 0.0
    answer: Kind = "classes"
    changed: float = 1.0
    labelled: int = 0

    def to_json(self) -> dict[str, Json]:
        return {k: None if isinstance(v, float) and np.isnan(v) else v for k, v in asdict(self).items()}


def specs_of(example: Example, names: Sequence[str | Callable[..., Any]]) -> list[Spec]:
    """Noises by name, or functions decorated with `@perturbation`; "all" is every one for this modality.

    Without any name, the usual one for it; for a Chinese text one that changes Chinese characters.
    """
    is_chinese = any("\u4e00" <= char <= "\u9fff" for char in str(example.inputs.get("text", "")))
    usual = ("homophones",) if is_chinese else USUAL.get(modality_of(example), ())[:1]
    names = names or usual
    specs = [
        method_spec(name) if callable(name) else Spec.parse("perturbation", name) for name in names if name != "all"
    ]
    return [*specs, *(s for s in (noises(modality_of(example)) if "all" in names else ()) if s not in specs)]


def noise_table(
    model: Model,
    examples: Sequence[Example],
    specs: Sequence[Spec],
    severities: Sequence[int],
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[NoiseRow]:
    """Build a row for the unchanged examples, then one for each noise and severity.

    Intervals: Wilson's over the examples (one draw each, however many noises are tried on it).
    """
    if not examples:
        raise InputError(
            "examples", expected=phrase("errors.surveys.at_least_one_that_model"), got=phrase("errors.common.none")
        )
    case = DeskCase(Desk(model, seed=seed), examples, companions=examples)
    clean = answered(case.base(), None, phrase("errors.surveys.answers_under_noise"))
    finite(clean.rows, model.name)
    table = [_row("none", 0, case=case, said=clean, clean=clean, seed=seed, gone=0)]
    total = len(specs) * len(severities)
    for i, spec in enumerate(specs):
        for j, severity in enumerate(severities):
            if progress is not None:
                progress(f"{spec.name} {severity}", i * len(severities) + j, total)
            readable, variant = _changed(case, spec, severity)
            noisy, same = clean.like(variant.base()), replace(clean, rows=clean.rows[readable])
            row = _row(
                str(spec), severity, case=variant, said=noisy, clean=same, seed=seed, gone=len(examples) - len(readable)
            )
            table.append(replace(row, changed=_changed_share([examples[k] for k in readable], variant.examples)))
    return table


def _changed(case: DeskCase, spec: Spec, severity: int) -> tuple[list[int], DeskCase]:
    """Return the case under a noise, without examples that become unreadable."""
    try:
        return list(range(len(case.ids))), case.variant(PerturbedBy(spec, severity))
    except Unsupported:
        raise
    except InputError:
        readable = []
        for i in range(len(case.ids)):
            try:
                case.subset([i]).variant(PerturbedBy(spec, severity))
            except InputError:
                continue
            readable.append(i)
        if not readable:
            raise
        return readable, case.subset(readable).variant(PerturbedBy(spec, severity))


def _changed_share(before: Sequence[Example], after: Sequence[Example]) -> float:
    """Return the share of inputs that the noise could change: a Chinese noise finds nothing in English."""
    same = [all(np.array_equal(a.inputs[k], b.inputs[k]) for k in a.inputs) for a, b in zip(before, after, strict=True)]
    return 1 - float(np.mean(same)) if same else 0.0


def _row(noise: str, severity: int, case: DeskCase, said: Answered, clean: Answered, seed: int, gone: int) -> NoiseRow:
    places = {label: i for i, label in enumerate(case.labels)}
    truth = [e.label if isinstance(e.label, int) else places.get(str(e.label)) for e in case.examples]
    classes = np.array([np.nan if t is None or said.kind != "classes" else t for t in truth], np.float64)
    right = np.where(np.isnan(classes), np.nan, said.rows.argmax(-1) == classes)
    clusters = [e.cluster for e in case.examples]
    hits = mean_interval(right, clusters)
    flips = mean_interval((~clean.same(said)).astype(np.float64), clusters)
    change = mean_interval(clean.change(said), clusters, kind="amount")
    return NoiseRow(
        noise=noise,
        severity=severity,
        accuracy=hits.estimate,
        low=hits.low,
        high=hits.high,
        flips=flips.estimate,
        flips_low=flips.low,
        flips_high=flips.high,
        n=len(right),
        left_out=gone,
        change=change.estimate,
        change_low=change.low,
        change_high=change.high,
        answer=said.kind,
        labelled=int((~np.isnan(right)).sum()),
    )
