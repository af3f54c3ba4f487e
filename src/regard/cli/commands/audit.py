"""`regard audit`: model and data -> table, run directory, report."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.audits import default_methods
from regard.cli.console import print_json, remarks, results
from regard.cli.model_options import (
    DEFAULT_MODEL,
    ModelChoice,
    checked_model,
    checked_names,
    column_options,
    listed,
    model_options,
    slug,
)
from regard.cli.progress import bar
from regard.cli.root import SUMMARIES, Interrupted
from regard.cli.verb import verb
from regard.errors import Incomplete, InputError
from regard.files import exists
from regard.present.messages.messages import say
from regard.registry import entry, named_model
from regard.store.manifest import broken_model

if TYPE_CHECKING:
    from rich.console import Console

    from regard.datasets.examples import Examples
    from regard.models.read.text import Overflow
    from regard.protocols import Model
    from regard.store.run import Run

SHIFT = "shift"
"""The run on other data, inside the run."""


@verb(
    "audit",
    "regard audit                                      the embedded default: bilstm on reviews",
    "regard audit --profile quick                      80 examples instead of 200",
    "regard audit minilm                               a real MiniLM with a fitted head",
    "regard audit ./model --data reviews.csv --text-column review --labels neg=0,pos=1",
    "regard audit digits --explainers attention,leave_one_out,random --metrics comprehensiveness",
    "regard audit minilm --explainers all              every explainer on every example, every metric; no experiments",
    "regard audit bilstm --shift tweets                the same verdicts on another domain: which survive?",
    "regard audit runs/mine/seed-0 --siblings runs/mine    beside the other members of its family",
    "regard audit ./model --data notes.csv --group-column patient --no-text    no word of the data is kept",
    "regard audit ./model --data d.jsonl --out runs/a  and the same again after an interruption goes on",
)
@click.argument("model", required=False)
@click.option("--model", "model_option", metavar="MODEL", help="The same as the argument.")
@click.option("--data", metavar="DATA", help="Built-in name, csv, jsonl, parquet, or a datasets directory.")
@click.option("--out", type=click.Path(path_type=Path), help="Run directory (default: regard-runs/MODEL-DATA-...).")
@click.option("--profile", default="standard", show_default=True, help="quick, standard or full.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--keep", type=click.IntRange(0), default=12, show_default=True, help="Examples whose attention is kept.")
@click.option("--limit", type=click.IntRange(1), help="Examples at most (default: by profile).")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Worker processes.")
@click.option("--labels", help="Labels of the data as classes of the model: neg=0,pos=1.")
@column_options
@click.option("--group-column", help="Column that names the patient, author, ...; intervals resample these.")
@click.option("--rationale-column", help="Column with the decisive places.")
@click.option("--id-column", help="Column with a name for every example.")
@click.option("--slice", "slices", multiple=True, help="Column to keep as a slice; may be repeated.")
@click.option("--skip-bad", is_flag=True, help="Leave rows out that cannot be read, and say which.")
@click.option("--split", help="Split of the data, where it has several.")
@click.option("--explainers", help="Names separated by commas, parameters as name:key=value; all: the whole shelf.")
@click.option("--metrics", help="Names separated by commas; parameters as name:key=value.")
@click.option("--experiments", help="The same; default: those of the profile, none if the audit is narrowed by others.")
@click.option(
    "--siblings", multiple=True, metavar="DIR", help="Other models made for the same, or their family; repeat."
)
@click.option("--layers", help="Which attention is meant: last (default), all, or the number of a layer.")
@click.option("--heads", help="Its heads: mean (default), max, or the number of one.")
@click.option("--shift", metavar="DATA2", help="Repeat the verdicts on these data, and say which survive.")
@click.option("--shift-labels", help="Labels of DATA2 as classes of the model (default: as --labels).")
@click.option("--no-text", is_flag=True, help="Keep every word of the data out of the run directory.")
@click.option("--resume/--no-resume", default=True, show_default=True, help="Go on with a run that is there.")
@model_options
def command(
    model: str | None, model_option: str | None, data: str | None, out: Path | None, profile: str, seed: int, keep: int,
    limit: int | None, workers: int, labels: str | None, text_column: str | None, pair_column: str | None,
    label_column: str | None, group_column: str | None, rationale_column: str | None, slices: tuple[str, ...],
    id_column: str | None, skip_bad: bool, split: str | None, explainers: str | None, metrics: str | None,
    experiments: str | None, siblings: tuple[str, ...], layers: str | None, heads: str | None,
    shift: str | None, shift_labels: str | None,
    no_text: bool, resume: bool, device: str, task: str | None, overflow: Overflow, as_json: bool,
) -> None:  # fmt: skip
    if model and model_option and model != model_option:
        raise InputError("model", expected="one model", got=f"{model} and {model_option}")
    source = model or model_option or DEFAULT_MODEL
    asked, judged, tried = listed(explainers), listed(metrics), listed(experiments)
    asked = None if asked is None else default_methods.explainers(asked)
    checked_names("explainer", asked)
    checked_names("metric", judged)
    checked_names("experiment", tried)
    from regard.audits.audit import audit
    from regard.audits.plan import profile as known_profile
    from regard.audits.resolve import default_data

    chosen, choice = known_profile(profile), ModelChoice(source, device, task, overflow)
    said, called = remarks(), click.get_current_context().obj
    said.print(say("term.opening", source=source), style="dim", markup=False)
    if choice.named:
        checked_model(source)  # it may have to be made, which takes long: the data are checked before
    else:
        live = choice.open()  # if the model is not there, that is what has to be said first
    for sibling in _each(siblings):
        if not exists(Path(sibling).expanduser()) and named_model(sibling) is None:
            raise InputError(
                f"--siblings {sibling}", expected="the directory of a model or of a family", got="nothing there"
            )
    wanted = data or default_data(source)
    folder = out or Path("regard-runs") / f"{slug(source)}-{slug(wanted)}-{profile}-seed{seed}"
    from regard.datasets.read import read

    read_data = read(
        wanted, text_column=text_column, pair_column=pair_column, label_column=label_column,
        group_column=group_column, rationale_column=rationale_column, id_column=id_column,
        slice_columns=slices, split=split,
        limit=limit or chosen.examples, seed=seed, skip_bad=skip_bad,
    )  # fmt: skip
    elsewhere = None
    if shift is not None:
        elsewhere = read(
            shift, text_column=text_column, pair_column=pair_column, label_column=label_column,
            group_column=group_column, limit=limit or chosen.examples, seed=seed, skip_bad=skip_bad,
        )  # fmt: skip
        said.print(say("term.audit.shift", first=read_data.name, second=elsewhere.name), style="dim", markup=False)
    try:
        with bar(said, making=choice.making) as shown:
            live = choice.open() if choice.named else live
            _labels(live, read_data, labels, said)
            announce = partial(_announced, said)
            run = audit(
                live, read_data, out=folder, profile=profile, seed=seed, keep=keep, limit=limit, labels=labels,
                workers=workers, device=device, progress=shown.examples, announce=announce,
                explainers=asked, metrics=judged, experiments=tried, siblings=_each(siblings), resume=resume,
                text=not no_text, layers=_number(layers), heads=_number(heads), command_line=called,
            )  # fmt: skip
            if elsewhere is not None:
                _labels(live, elsewhere, shift_labels or labels, said)
                audit(
                    live, elsewhere, out=folder / SHIFT, profile=profile, seed=seed, keep=0, limit=limit,
                    labels=shift_labels or labels, workers=workers, device=device, progress=shown.examples,
                    announce=announce, explainers=asked, metrics=judged, siblings=_each(siblings), resume=resume,
                    experiments=_of_every_example(tried, chosen.experiments, narrowed=bool(asked or judged)),
                    text=not no_text, layers=_number(layers), heads=_number(heads), command_line=called,
                )  # fmt: skip
    except KeyboardInterrupt:
        again = shlex.join([*called, *([] if out else ["--out", str(folder)])])
        raise Interrupted(say("term.interrupted_kept", folder=folder, again=again)) from None
    page = _show(_with_verdicts(run), folder, as_json=as_json)
    _judge(run, page, asked=asked is not None)


def _announced(said: Console, sentence: str) -> None:
    from regard.present.retelling import retold

    said.print(retold(sentence), style="dim", markup=False)


def _number(text: str | None) -> str | int | None:
    return int(text) if text is not None and text.isdecimal() else text


def _each(given: tuple[str, ...]) -> list[str]:
    """Directories, repeated or separated by commas."""
    return [part for one in given for part in ([one] if exists(one) or ":" in one else one.split(",")) if part]


def _of_every_example(tried: list[str] | None, usual: tuple[str, ...], *, narrowed: bool) -> list[str]:
    """The experiments without those that train: they are about the network, not about the data."""
    asked = tried if tried is not None else [] if narrowed else [*usual]
    return [e for e in asked if entry("experiment", e.partition(":")[0]).facts.get("scope") == "case"]


def _with_verdicts(run: Run) -> Run:
    """The run with its verdicts in its book, and what became of them on other data where that was asked."""
    from regard.judge.shift import shift_of
    from regard.judge.verdicts import verdicts
    from regard.store.run import Run as Opened

    verdicts(run, keep=True)
    if (run.path / SHIFT).is_dir():
        verdicts(Opened(run.path / SHIFT), keep=True)
        shift_of(Opened(run.path), keep=True)
    return Opened(run.path)


def _labels(model: Model, data: Examples, labels: str | None, said: Console) -> None:
    """Show which class each label of the data stands for, before anything is computed."""
    from regard.audits.resolve import matched
    from regard.present.terminal.terminal import plain_table

    _, table = matched(model, data, list(data), labels)
    if table:
        rows = [row for row in table if isinstance(row, dict)]
        said.print(
            plain_table(
                [*rows[0]], [[str(value) for value in row.values()] for row in rows], title=say("term.audit.labels")
            )
        )


def _show(run: Run, folder: Path, *, as_json: bool) -> Path:
    from regard.present.report.as_json import run_json
    from regard.present.report.report import write_report

    page = write_report(run, folder / "report.html")
    if as_json:
        print_json({"run": str(folder), "report": str(page), **run_json(run)})
    else:
        from regard.present.messages.messages import count
        from regard.present.objective_scale import about_task
        from regard.present.retelling import retold
        from regard.present.run_reader import Material
        from regard.present.summary import reading
        from regard.present.terminal.results import evidence_table
        from regard.present.terminal.shift_view import shift_table
        from regard.present.terminal.terminal import bullets
        from regard.present.verdict_words import verdict_table

        out, material = results(), Material(run)
        if material.broken:
            out.print(retold(material.broken), markup=False, style="bold red")
            out.print()
        if material.manifest["judgements"]:
            out.print(verdict_table(material.manifest["judgements"]))
        if material.manifest.get("shift"):
            out.print(shift_table(material.manifest["shift"]))
        for defect in (material.manifest.get("preconditions") or {}).get("defects", []):
            words = say("preconditions.before", sentence=retold(defect["sentence"]))
            out.print(words, markup=False, style="bold yellow")
        with about_task(material.task):
            out.print(evidence_table(material, width=out.width))
            out.print()
            sentences = [*reading(material), say("caveat")]
        sentences += [say("words.skipped", name=name, reason=reason) for name, reason in run.skipped.items()]
        if run.problems():
            sentences.append(say("words.problems", count=count(len(run.problems()), "problem")))
        out.print(bullets(sentences))
        out.print("\n" + say("words.report", path=page), markup=False, soft_wrap=True)
    return page


def _judge(run: Run, page: Path, *, asked: bool) -> None:
    """An error where the model is broken, where there is no number at all, or none of a method asked for by name."""
    problems = run.problems()
    broken = broken_model(run.manifest)
    if broken:
        raise Incomplete(
            f"model of run {run.path}", expected="the same answer to the same input", got=broken.rstrip("."),
            remedy=f"fix the model (evaluation mode, fixed seeds, no state) and audit it anew; tables: {page}",
        )  # fmt: skip
    if not any(s.n for s in run.summaries()):
        first = next((p["message"] for p in problems), "no example could be judged")
        raise Incomplete(f"run {run.path}", expected="at least one number", got=first, remedy=f"see {page}")
    there = {*run.methods(), *run.skipped}
    why = {p["stage"].removeprefix("explainer "): p["message"] for p in problems if p["stage"].startswith("explainer ")}
    failed = [f"{name} failed on every example ({why[name]})" for name in why if name not in there]
    if asked and failed:
        raise Incomplete(
            f"run {run.path}", expected="numbers of every explainer asked for", got="; ".join(failed),
            remedy=f"see {page}",
        )  # fmt: skip


command.help = SUMMARIES["audit"]
