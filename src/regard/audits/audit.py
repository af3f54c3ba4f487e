"""The audit: model and data -> a run directory. Plan, shards through an engine, one writer, fold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from regard.audits import plan, resolve
from regard.audits.engines.processes import Processes
from regard.audits.engines.serial import Serial
from regard.audits.estimate import CaptureCheck, Estimate, check_capture
from regard.audits.preconditions import of_run
from regard.audits.repeatability import RepeatCheck, current_fingerprint, worse
from regard.audits.scheduler import Job, Progress, run_shards
from regard.audits.stored_summaries import summaries_from_tables
from regard.audits.studies import cost_in_words, run_studies
from regard.audits.torch_threads import recorded_threads
from regard.desk.batching import BATCH
from regard.desk.encoding import encoded_once
from regard.errors import CaptureError, InputError, RegardError
from regard.measures.keyed_random import keyed_rng
from regard.models.adapter import TorchModel
from regard.models.ask.flops import flops_per_position, machine_flops
from regard.protocols import Dataset, Executor, Model
from regard.records import Example, Json, Spec
from regard.store.export import export
from regard.store.ledger import Ledger
from regard.store.manifest import command, data_facts, identity, model_facts, now, versions
from regard.store.run import Run, RunWriter
from regard.tap.pass_history import forget_passes

Say = Callable[[str], None]
MOST_NOTES = 8
MOST_PROBES = 20
"""Examples that are tried before the audit starts without a check of its capture."""


def audit(
    model: str | Model,
    data: str | Dataset | list[Example] | tuple[Example, ...] | None = None,
    *,
    out: str | Path,
    profile: str = "standard",
    seed: int = 0,
    keep: int = 12,
    limit: int | None = None,
    labels: str | Mapping[str, int] | None = None,
    workers: int = 1,
    device: str = "auto",
    progress: Progress | None = None,
    announce: Say | None = None,
    explainers: Sequence[str | Spec] | None = None,
    metrics: Sequence[str | Spec] | None = None,
    experiments: Sequence[str | Spec] | None = None,
    siblings: Sequence[str] = (),
    layers: str | int | None = None,
    heads: str | int | None = None,
    resume: bool = True,
    text: bool = True,
    batch: int = BATCH,
    command_line: Sequence[str] | None = None,
) -> Run:
    """Ask every explainer about every example, judge them by every metric, and keep it all in `out`.

    An audit that was stopped, however it was stopped, goes on when it is called again with the same arguments.
    `limit` overrides the number of examples of the profile; `labels` ("neg=0,pos=1") says which class of the model
    a label of the data stands for, where names do not. `siblings`: directories of other models made for the same, or of
    their family; by default those that a model trained with several seeds has beside it. `announce` gets sentences for
    a person: what was guessed, what it will cost, what is skipped. `text=False` keeps every word out of the directory:
    placeholders stand in their place, and nothing but the data themselves can give the words back.
    """
    path, say = Path(out), announce or _silent
    chosen = plan.profile(profile)
    if not resume and Ledger.exists(path):
        raise InputError(f"--out {path}", expected="a new directory", got="a run", remedy="resume it, or another --out")
    wanted = resolve.default_data(model) if data is None else data
    live = resolve.open_model(model, device)
    read = resolve.open_data(wanted, limit or chosen.examples, seed)
    whole, notes = resolve.prepared(live, read, limit)
    examples, label_table = resolve.matched(live, read, whole, labels)
    current_fingerprint(live)  # a live model may have been trained on since it was opened
    about_model = model_facts(live, model if isinstance(model, str) else live.spec.name if live.spec else "live")
    about_model |= resolve.siblings(live) | resolve.improved(live) | resolve.files(live)
    settings = plan.settings(
        live, chosen, siblings=siblings or resolve.beside(about_model), explainers=explainers, metrics=metrics,
        experiments=experiments, layers=layers, heads=heads,
        companions=plan.companions(examples, seed), rationales=any(e.rationale for e in examples), seed=seed,
        batch=batch,
    )  # fmt: skip
    job = Job.of(live, examples, settings, plan.kept(examples, keep))
    told = resolve.said_by(live) or notes  # after every example was read once
    told += resolve.unknown_words(live, examples)
    about_data = data_facts(read, wanted if isinstance(wanted, str) else read.name, told)
    specs = [*settings.explainers, *settings.metrics, *settings.experiments]
    who = identity(
        model=about_model, data=about_data, seed=seed, specs=specs, examples=resolve.digest(examples), keep=keep,
        batch=batch, shard=[plan.SHARD, plan.SHARD_TOKENS], **({} if text else {"text": False}),
        **({"sampled": f"{settings.sampled} at {settings.share}"} if settings.sampled else {}),
    )  # fmt: skip
    with RunWriter(path, who, text=text) as writer, recorded_threads(writer, live, workers) as threads:
        forget_passes()
        seen = _probed(job)
        for sentence in (*_sentences(about_data), cost_in_words(settings)):
            if sentence:
                say(sentence)
        manifest: dict[str, Json] = {
            "model": about_model, "data": about_data, "seed": seed, "profile": profile, "keep": keep,
            "specs": [spec.to_json() for spec in specs], "methods": settings.labels, "settings": settings.about(),
            "versions": versions(), "created": now(), "command": [*command_line] if command_line else command(),
            "limit": _limit(job),
            "labelled": any(e.label is not None for e in examples),
            "label_table": label_table, "checked": seen.checked,
            "rejected": [[*pair] for pair in seen.rejected],
            **({} if text else {"veil": "no text"}),
        }  # fmt: skip
        writer.open(manifest, examples)
        try:
            check = _repeat_check(writer, job, say)
            engine, setup = _engine(live, workers, threads, say)

            def forecast(cost: Estimate) -> None:
                writer.note_estimate(cost.to_json())
                say(cost.sentence(workers))

            run_shards(writer, job, engine, setup, progress=progress, forecast=forecast)
            run_studies(writer, live, examples, settings, say)
            found = Run(path)
            _finish_check(check, writer, found, say)
            if "preconditions" not in found.manifest:
                # after the shards: an example that ends a process has been found out by then
                forget_passes()
                tested = of_run(live, examples, found.examples(), seed=seed)
                writer.note_preconditions(tested.to_json())
                for sentence in tested.sentences():
                    say(sentence)
            writer.close("complete", summaries=summaries_from_tables(found))
            run = Run(path)
            export(run)
        except BaseException:
            with suppress(RegardError):  # a full disk must not hide what happened first
                writer.close("interrupted")
            raise
    for method, reason in run.skipped.items():
        say(f"skipped {method}: {reason}")
    return run


def _silent(sentence: str) -> None:
    """Nobody listens."""


def _middling(job: Job) -> list[Example]:
    """The examples, those of middling length first."""
    middle = float(np.median([*job.lengths.values()]))
    return sorted(job.examples, key=lambda e: abs(job.lengths[e.id] - middle))


def _spread(job: Job) -> list[Example]:
    """The examples: one of middling length, the longest and the shortest first."""
    middling = _middling(job)
    ends = [pick(middling[1:], key=lambda e: job.lengths[e.id]) for pick in (max, min) if len(middling) > 2]
    first = {example.id: example for example in (*middling[:1], *ends)}
    return [*first.values(), *(example for example in middling if example.id not in first)]


def _repeat_check(writer: RunWriter, job: Job, say: Say) -> RepeatCheck | None:
    """Ask the model the same inputs twice before the audit; None where the run holds the answer already."""
    stored = writer.repeatability()
    if stored is not None and stored.get("finished"):
        return None
    check = RepeatCheck(job.model, _spread(job), fingerprint=job.model.fingerprint)
    seen = check.start()
    if not seen.repeats:  # at once: whatever stops this session, the next one must know
        writer.note_repeatability({**worse(stored, seen), "finished": False})
        say(" ".join(seen.sentences))
    return check


def _finish_check(check: RepeatCheck | None, writer: RunWriter, found: Run, say: Say) -> None:
    """Ask them again after the audit, and store what came of it."""
    if check is None:
        return
    stored = writer.repeatability()
    seen = check.end(found.examples())
    writer.note_repeatability({**worse(stored, seen), "finished": True})
    if not seen.repeats and stored is None:
        say(" ".join(seen.sentences))


def _probed(job: Job) -> CaptureCheck:
    """A capture of an example of middling length; an empty check where none can be read."""
    for example in _middling(job)[:MOST_PROBES]:
        try:
            encoded = encoded_once(job.model, example)
            if encoded.units.free.any():
                return check_capture(job.model, encoded, keyed_rng(job.settings.seed, example.id, "probe"))
        except CaptureError:  # about the model, not about this example
            raise
        except Exception:  # a bad example is reported when its turn comes
            continue
    return CaptureCheck()


def _limit(job: Job) -> dict[str, Json] | None:
    """What the costs of the methods can be held against: arithmetic of a forward pass, and the best of this machine."""
    if not isinstance(job.model, TorchModel) or not job.lengths:
        return None
    middle = float(np.mean([*job.lengths.values()]))
    return {"forward_flops": middle * flops_per_position(job.model.module), "machine_flops": machine_flops()}


def _sentences(data: Mapping[str, Json]) -> list[str]:
    notes = data["notes"] if isinstance(data["notes"], list) else []
    said = [f"data {data['name']}: {note}" for note in notes[:MOST_NOTES]]
    if len(notes) > MOST_NOTES:
        said.append(f"data {data['name']}: and {len(notes) - MOST_NOTES} more notes, all in the manifest")
    return said


def _engine(model: Model, workers: int, threads: int, say: Say) -> tuple[Executor, dict[str, Json]]:
    """Worker processes where a Spec can rebuild the model, else this process."""
    if workers < 1:
        raise InputError("workers", expected="at least 1", got=str(workers))
    if workers == 1:
        return Serial(model), {}
    if model.spec is None:
        say(f"model {model.name} is a live module that no other process can rebuild: it runs in this process alone")
        return Serial(model), {}
    return Processes(workers), {"model": model.spec.to_json(), "threads": threads}
