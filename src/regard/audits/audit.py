"""The audit: model and data -> a run with numbers, verdicts and tables. `audit` lists the steps in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from regard.audits import plan as planning
from regard.audits.accounts import accounts
from regard.audits.answers.answer_audit import answer_audit
from regard.audits.answers.result import AnswerAudit
from regard.audits.budget import Budget
from regard.audits.conclude import store_conclusions
from regard.audits.estimate import CaptureCheck, Estimate, check_capture
from regard.audits.every_row_run import run_every_row
from regard.audits.generator_data import kept_data
from regard.audits.memory import announced_memory
from regard.audits.options import AuditOptions, MethodNames
from regard.audits.plan import Plan, make_plan
from regard.audits.preconditions import of_run
from regard.audits.repeatability import RepeatCheck, worse
from regard.audits.resolve import Source, Subject, default_data, resolve, run_folder, shifted
from regard.audits.scheduler import Progress, Workshop, engine_of, kept_workers, run_shards, worker_count
from regard.audits.session import Say, Session, rendered, silent
from regard.audits.stages import Listeners, Stages
from regard.audits.stored_summaries import summaries_from_tables
from regard.audits.studies import cost_in_words, run_studies, without_studies
from regard.audits.torch_threads import recorded_threads
from regard.desk.batching import BATCH
from regard.desk.encoding import encoded_once
from regard.errors import CaptureError, InputError, RegardError, phrase
from regard.judge.shift import FOLDER as SHIFT
from regard.judge.shift import shift_of
from regard.judge.verdicts import further_awaited, headline_settled, verdicts
from regard.measures.keyed_random import keyed_rng
from regard.models.ask.flops import flops_per_position, machine_flops
from regard.models.ask.torch_module import torch_module
from regard.protocols import Model
from regard.records import Example, Json, Message, encoded, joined
from regard.store.export import export
from regard.store.ledger import Ledger
from regard.store.manifest import command, now, versions
from regard.store.run import Run
from regard.store.run_writer import RunWriter
from regard.tap.pass_history import forget_passes

LISTENERS = ("progress", "announce", "resolved", "watch", "command_line", "started")
"""Keywords of `audit` that are not options: its listeners."""
MOST_NOTES, MOST_PROBES = 8, 20
"""Notes to announce; examples to try before the audit starts without a capture check."""


@overload
def audit(  # type: ignore[overload-overlap]  # a task of the model is any other word
    model: str | Model,
    data: str | Path | Sequence[Any],
    *,
    task: Literal["answer"],
    out: str | Path | None = None,
    options: AuditOptions | None = None,
    progress: Progress | None = None,
    announce: Callable[[str], None] | None = None,
    command_line: Sequence[str] | None = None,
    started: float | None = None,
    **changes: Any,
) -> AnswerAudit: ...


@overload
def audit(
    model: str | Model,
    data: Source | None = None,
    *,
    out: str | Path | None = None,
    profile: str | None = None,
    budget: str | None = None,
    seed: int = 0,
    keep: int = 12,
    limit: int | None = None,
    engine: str | None = None,
    workers: int = 1,
    every_row: str | None = None,
    labels: str | Mapping[str, int] | None = None,
    text_column: str | None = None,
    pair_column: str | None = None,
    label_column: str | None = None,
    group_column: str | None = None,
    rationale_column: str | None = None,
    id_column: str | None = None,
    slices: Sequence[str] = (),
    skip_bad: bool = False,
    split: str | None = None,
    explainers: MethodNames | None = None,
    metrics: MethodNames | None = None,
    experiments: MethodNames | None = None,
    references: Sequence[str] | None = None,
    siblings: Sequence[str] = (),
    layers: str | int | None = None,
    heads: str | int | None = None,
    shift: str | None = None,
    shift_labels: str | Mapping[str, int] | None = None,
    text: bool = True,
    resume: bool = True,
    device: str = "auto",
    dtype: str | None = None,
    device_map: str | None = None,
    quantize: str | None = None,
    overflow: Literal["windows", "cut", "error"] = "windows",
    window: int | None = None,
    horizon: int = 1,
    processor: str | None = None,
    rebuild: bool = False,
    words: Literal["characters", "jieba"] = "characters",
    segment: float | None = None,
    download: bool = False,
    allow_code: bool = False,
    batch: int = BATCH,
    task: str | None = None,
    options: AuditOptions | None = None,
    progress: Progress | None = None,
    announce: Callable[[str], None] | None = None,
    resolved: Callable[[Subject, Subject | None], None] | None = None,
    watch: Callable[[dict[str, Json]], None] | None = None,
    command_line: Sequence[str] | None = None,
    started: float | None = None,
) -> Run: ...


def audit(model: str | Model, data: Any = None, *, out: str | Path | None = None, **options: Any) -> Run | AnswerAudit:
    """Judge how far the attention of a model explains its predictions.

        run = regard.audit("bilstm", "reviews", profile="quick")
        run = regard.audit(my_model, data_frame, out="runs/mine", limit=200)
        run                   # verdict, gauge and next step; run.to_pandas() has the numbers

    model: a name, a directory, or an open model. data: a name, a file, a DataFrame, a `datasets.Dataset`, a list or
    generator of texts, dicts or (text, label) pairs; default: the model's own. out: the directory of the run (default:
    regard-runs/...). The same call continues a run that was stopped; a generator is written into the run first, so a
    resumed run need not repeat it. Options are keywords: profile, budget, limit (a sample), seed, explainers, metrics,
    labels, text_column, ... (`regard.audits.options.AuditOptions` lists all; editors complete them). task="answer"
    judges citations of language models instead. announce receives sentences for a person, progress (done, all, seconds
    left), resolved the opened model and data, watch the rate of every worker; a budget in time counts from `started`
    (`time.monotonic()`; default: from this call).
    """
    listeners = {name: options.pop(name) for name in LISTENERS if name in options}
    base = options.pop("options", None) or AuditOptions()
    return _audit(model, data, out, base.changed(options), **listeners)


def _audit(
    model: str | Model,
    data: Any,
    out: str | Path | None,
    options: AuditOptions,
    *,
    progress: Progress | None = None,
    announce: Callable[[str], None] | None = None,
    resolved: Callable[[Subject, Subject | None], None] | None = None,
    watch: Callable[[dict[str, Json]], None] | None = None,
    command_line: Sequence[str] | None = None,
    started: float | None = None,
) -> Run | AnswerAudit:
    """Run the audit with its options in one record."""
    started = time.monotonic() if started is None else started
    say = rendered(announce) if announce else silent
    if options.task == "answer":
        return answer_audit(
            model, data, out=out, options=options, progress=progress, announce=say, command_line=command_line
        )
    planning.check(options)
    most_workers = announced_memory(model, options, say)
    if isinstance(data, Iterator):
        out = Path(out or run_folder(model, data, options))
        data = kept_data(data, out, options)
    subject, other = resolve(model, data, options)
    path = Path(out or run_folder(model, data, options))
    if resolved is not None:
        resolved(subject, other)
    session = Session(say=say, progress=progress, watch=watch, command_line=command_line, most_workers=most_workers)
    plan = make_plan(subject, options)
    limits = options.limits.less(time.monotonic() - started)
    budget = limits if other is None else limits.halved()
    _run(path, plan, options, session, budget)
    if options.every_row is not None:
        run_every_row(path, plan, default_data(model) if data is None else data, options, session)
    if other is not None:
        elsewhere = shifted(options)
        _run(path / SHIFT, without_studies(make_plan(other, elsewhere)), elsewhere, session, budget)
        shift_of(path, keep=True)
    return Run(path)


def _run(path: Path, plan: Plan, options: AuditOptions, session: Session, budget: Budget) -> None:
    """Run the steps on one data set: shards, studies, fold, conclude, judge, export."""
    if not options.resume and Ledger.exists(path):
        raise InputError(
            f"--out {path}",
            expected=phrase("errors.audits.new_directory"),
            got=phrase("errors.common.run"),
            remedy=phrase("errors.audits.resume_or_another_out"),
        )
    workers, subject, say = worker_count(options), plan.subject, session.say
    started = time.monotonic()
    writer = RunWriter(path, plan.identity, text=options.text)
    try:
        with writer, recorded_threads(writer, subject.model, workers) as threads:
            forget_passes()
            check_of_capture = _capture_check(plan)
            for sentence in (*_sentences(subject.about_data), cost_in_words(plan.settings)):
                if sentence:
                    say(sentence)
            writer.open(_manifest(plan, options, session, check_of_capture), subject.examples)
            with _marked_interrupted(writer):
                check = _repeat_check(writer, plan, say)
                engine, setup = engine_of(subject.model, options, threads, say, most=session.most_workers)
                session, rates = session.watched(writer)
                with kept_workers(engine) as kept_engine:
                    workshop = Workshop(writer, kept_engine, setup, rates)
                    if budget.unlimited:
                        _run_everything(workshop, plan, workers, session)
                    else:
                        # the checks before the stages are repeated after them
                        _run_stages(workshop, plan, options, budget.less(2 * (time.monotonic() - started)), session)
                rates.store()
                run_studies(writer, subject.model, _studied(path, plan, budget), plan.settings, say)
                _finish_check(check, writer, Run(path), say)
                _check_preconditions(writer, plan, say)
                writer.close("complete", summaries=summaries_from_tables(Run(path)))
                store_conclusions(writer)
    except KeyboardInterrupt:
        if not budget.unlimited:
            _judge_unfinished(path, plan.identity)
        raise
    verdicts(path, keep=True)
    run = Run(path)
    export(run)
    for method, reason in run.skipped.items():
        say(Message.of("estimate.skipped", name=method, reason=reason))
    if not budget.unlimited:
        for sentence in accounts(run):
            say(sentence)


def _run_everything(workshop: Workshop, plan: Plan, workers: int, session: Session) -> None:
    """Run every method on every example: an audit without a budget."""

    def forecast(cost: Estimate) -> None:
        workshop.writer.note_estimate(cost.to_json())
        session.say(cost.sentence(workers))

    run_shards(workshop, plan, progress=session.progress, forecast=forecast)


def _run_stages(workshop: Workshop, plan: Plan, options: AuditOptions, budget: Budget, session: Session) -> None:
    """Run stages within a budget; check the attention for defects after the pilot, so that later rounds know them."""
    writer = workshop.writer

    def piloted(plan: Plan) -> None:
        _check_preconditions(writer, plan, session.say)

    def is_settled() -> bool:
        return headline_settled(verdicts(writer.path))

    def is_awaited() -> bool:
        return further_awaited(verdicts(writer.path), len(plan.subject.examples))

    listeners = Listeners(session.say, session.progress, piloted, is_settled, is_awaited)
    stages = Stages(workshop, plan, options, budget, listeners, worker_count(options))
    stages.run()


def _studied(path: Path, plan: Plan, budget: Budget) -> Sequence[Example]:
    """Examples that studies use: all of them, or those that the budget explained."""
    if budget.unlimited:
        return plan.subject.examples
    explained = {str(row["id"]) for row in Run(path).examples() if row["units"] is not None}
    return [example for example in plan.subject.examples if example.id in explained]


def _judge_unfinished(path: Path, identity: Mapping[str, Json]) -> None:
    """Store verdicts, conclusions and tables of the finished part of a stopped run."""
    with suppress(Exception):  # the interruption is what the caller must hear of
        with RunWriter(path, identity) as writer:
            writer.identity = dict(Run(path)._facts["identity"])
            writer.close("interrupted", summaries=summaries_from_tables(Run(path)))
            store_conclusions(writer)
        verdicts(path, keep=True)
        export(Run(path))


@contextmanager
def _marked_interrupted(writer: RunWriter) -> Iterator[None]:
    """Mark the run as interrupted, so that it can continue, if an exception ends the block."""
    try:
        yield
    except BaseException:
        with suppress(RegardError):  # a full disk must not hide the first error
            writer.close("interrupted")
        raise


def _manifest(plan: Plan, options: AuditOptions, session: Session, capture: CaptureCheck) -> dict[str, Json]:
    subject = plan.subject
    return {
        "model": subject.about_model,
        "data": subject.about_data,
        "seed": options.seed,
        "profile": options.profile_name,
        "keep": options.keep,
        "specs": [spec.to_json() for spec in plan.specs],
        "methods": plan.settings.labels,
        "settings": plan.settings.about(),
        "versions": versions(),
        "created": now(),
        "command": [*session.command_line] if session.command_line else command(),
        "limit": _limit(plan),
        "labelled": any(example.label is not None for example in subject.examples),
        "label_table": subject.label_table,
        "checked": encoded(capture.checked),
        "rejected": encoded([[*pair] for pair in capture.rejected]),
        **({} if options.text else {"veil": "no text"}),
    }


def _check_preconditions(writer: RunWriter, plan: Plan, say: Say) -> None:
    """Look for defects of the attention after the shards, which have already isolated examples that end a process."""
    run = Run(writer.path)
    if "preconditions" in run.manifest:
        return
    forget_passes()
    defects = of_run(plan.subject.model, plan.subject.examples, run.examples(), seed=plan.settings.seed)
    writer.note_preconditions(defects.to_json())
    for sentence in defects.sentences():
        say(sentence)


def _repeat_check(writer: RunWriter, plan: Plan, say: Say) -> RepeatCheck | None:
    """Run the model twice on the same inputs before the audit; None where the run already holds the result."""
    stored = writer.repeatability()
    if stored is not None and stored.get("finished"):
        return None
    check = RepeatCheck(plan.subject.model, plan.spread_by_length(), fingerprint=plan.subject.model.fingerprint)
    noise = check.start()
    if not noise.repeats:  # at once: whatever stops this session, the next one must know
        writer.note_repeatability({**worse(stored, noise), "finished": False})
        say(joined(noise.sentences))
    return check


def _finish_check(check: RepeatCheck | None, writer: RunWriter, found: Run, say: Say) -> None:
    """Repeat the same inputs after the audit, and store the result."""
    if check is None:
        return
    stored = writer.repeatability()
    noise = check.end([*found.predictions(), *found.examples()])
    writer.note_repeatability({**worse(stored, noise), "finished": True})
    if not noise.repeats and stored is None:
        say(joined(noise.sentences))


def _capture_check(plan: Plan) -> CaptureCheck:
    """Capture an example of medium length; return an empty check if no example is readable."""
    for example in plan.middling_first()[:MOST_PROBES]:
        try:
            encoded = encoded_once(plan.subject.model, example)
            if encoded.units.free.any():
                return check_capture(plan.subject.model, encoded, keyed_rng(plan.settings.seed, example.id, "probe"))
        except CaptureError:  # about the model, not about this example
            raise
        except Exception:  # a bad example is reported when its turn comes
            continue
    return CaptureCheck()


def _limit(plan: Plan) -> dict[str, Json] | None:
    """Return reference costs: the arithmetic of a forward pass, and the best rate of this machine."""
    model = plan.subject.model
    if not torch_module.supports(model) or not plan.subject.lengths:
        return None
    middle = float(np.mean([*plan.subject.lengths.values()]))
    return {"forward_flops": middle * flops_per_position(torch_module(model)), "machine_flops": machine_flops()}


def _sentences(data: Mapping[str, Json]) -> list[Message]:
    notes = data["notes"] if isinstance(data["notes"], list) else []
    sentences = [Message.of("data.note", name=data["name"], note=note) for note in notes[:MOST_NOTES]]
    if len(notes) > MOST_NOTES:
        sentences.append(Message.of("data.more_notes", name=data["name"], n=len(notes) - MOST_NOTES))
    return sentences
