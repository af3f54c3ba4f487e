"""Further metrics for the relevances of a stored run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from regard.audits import plan
from regard.audits.default_methods import profile
from regard.audits.fold import fold
from regard.audits.shard import Settings
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.errors import InputError, RegardError, Text, Unsupported, phrase
from regard.protocols import Model
from regard.records import Example, Relevance, Score, Spec, Summary
from regard.registry import build
from regard.store.run import Run
from regard.trust import stored_methods

Say = Callable[[Text], None]


def judge_again(
    run: Run,
    metrics: Sequence[str | Spec],
    *,
    model: Model | None = None,
    operators: int = 2,
    say: Say | None = None,
    allow_code: bool = False,
) -> tuple[list[Score], list[Summary]]:
    """Compute scores and summaries of these metrics for every method of the run, without writing to the run.

    Reuses the stored relevances; only the passes of the metrics themselves are computed. Metrics that remove units run
    with the first `operators` operators. model: the run's model, if its name cannot open it. allow_code: permit the
    code that the run names as its model or in its methods; otherwise that raises an error.
    """
    manifest, tell = run.manifest, say or (lambda sentence: None)
    live = model or model_of(run, allow_code=allow_code)
    if live.fingerprint != manifest["model"]["fingerprint"]:
        raise InputError(
            phrase("errors.common.model_run", run=run.path),
            expected=phrase("errors.common.weights_that_run_about"),
            got=phrase("errors.common.other_weights"),
            remedy=phrase("errors.audits.audit_this_model_anew"),
        )
    settings = Settings.from_json({**manifest["settings"], "companions": []})
    base_profile = replace(profile("quick"), operators=operators)
    judging = plan.metric_specs(live, metrics, base_profile)
    for spec in judging:
        build(spec)
    specs = {str(name): spec for name, spec in zip(settings.labels, settings.explainers, strict=True)}
    rows = [row for row in run.examples() if row["units"] is not None]
    by_id = {row["id"]: example_of(run, row) for row in rows}
    scores = []
    # one desk for all, so that the forwards that several methods and metrics ask for are computed once
    desk = Desk(live, seed=settings.seed, batch=settings.batch, tokens=settings.tokens)
    with stored_methods(f"run {run.path}", typed=judging, allow_code=allow_code):
        for method in run.methods():
            relevance = run.relevance(method)
            case = DeskCase(desk, [by_id[name] for name in relevance.ids], settings.by_name)
            _check_lengths(run, case, relevance)
            case.learn(specs[method], relevance)
            for metric in judging:
                try:
                    score: Score = build(metric)(case, relevance)
                except Unsupported as reason:
                    tell(phrase("term.metrics.skipped", metric=metric.name, method=method, reason=reason))
                    continue
                scores.append(replace(score, method=method, where={**metric.params, **score.where}))
    classes = {row["id"]: str(row["predicted"]) for row in rows if row["predicted"] is not None}
    clusters = {row["id"]: str(row["cluster"]) for row in rows}
    return scores, fold(scores, clusters=clusters, classes=classes, seed=settings.seed, specs=specs)


def _check_lengths(run: Run, case: DeskCase, relevance: Relevance) -> None:
    """Refuse stored relevances that do not match the units that the model reads now."""
    for i, name in enumerate(relevance.ids):
        values, units = len(relevance[i]), len(case.units[i])
        if values != units:
            raise InputError(
                phrase("errors.common.run_run", run=run.path),
                expected=phrase(
                    "errors.audits.one_value_per_unit_example",
                    method=relevance.method,
                    name=repr(name),
                    all_units=units,
                ),
                got=str(values),
                remedy=phrase("errors.audits.audit_data_anew_text"),
            )


def model_of(run: Run, *, allow_code: bool = False) -> Model:
    """Open the model of a run again: the same files, and no code unless permitted."""
    facts = run.manifest["model"]
    if facts.get("spec") is None:
        raise InputError(
            phrase("errors.common.run_run", run=run.path),
            expected=phrase("errors.audits.model_opened_by_name"),
            got=phrase("errors.common.live_model"),
            remedy=phrase("errors.audits.give_judge_again_run_metrics_model"),
        )
    from regard.audits.worker import open_model
    from regard.models.open.stored_model import refuse_changed_files, stored_spec

    subject = phrase("errors.common.model_run", run=run.path)
    spec = stored_spec(Spec.from_json(facts["spec"]), subject, allow_code=allow_code)
    refuse_changed_files(spec, facts.get("files"), subject)
    try:
        return open_model({"model": spec.to_json(), "threads": _threads()})
    except RegardError as error:
        raise InputError(
            subject,
            expected=phrase("errors.audits.model_at_place"),
            got=str(error),
            remedy=phrase("errors.audits.put_back_or_audit_anew"),
        ) from error


def _threads() -> int:
    import torch

    return torch.get_num_threads()


def example_of(run: Run, row: dict[str, object]) -> Example:
    """Rebuild one of `Run.examples` as the model read it; a hand-marked rationale becomes its rationale."""
    inputs = {}
    raw_inputs = row["inputs"]
    for name, value in raw_inputs.items() if isinstance(raw_inputs, dict) else ():
        if isinstance(value, dict) and "blob" in value:
            inputs[name] = run.array(value)
        else:
            inputs[name] = _array(run, name, value) if isinstance(value, list) else value
    places = row.get("rationale")
    rationale = tuple(tuple(map(float, p)) for p in places) if isinstance(places, list) else None
    return Example(
        id=str(row["id"]),
        inputs=inputs,
        label=row["label"],  # type: ignore[arg-type]
        rationale=rationale,
        group=_text(row["group"]),
        parent=_text(row["parent"]),
    )


def _array(run: Run, name: str, value: list[object]) -> np.ndarray:
    try:
        return np.asarray(value, np.float32)
    except ValueError as error:
        raise InputError(
            phrase("errors.common.run_run", run=run.path),
            expected=phrase("errors.audits.whole_array_input", name=repr(name)),
            got=phrase("errors.audits.rows_different_lengths"),
        ) from error


def _text(value: object) -> str | None:
    return None if value is None else str(value)
