"""`regard audit`: model and data -> table, run directory, report."""

from __future__ import annotations

import shlex
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli.audit_flags import audit_flags, options_from
from regard.cli.console import print_json, remarks, results, verbosity, warn_without_font
from regard.cli.every_row_view import print_every_row
from regard.cli.model_options import DEFAULT_MODEL, ModelChoice, out_option
from regard.cli.progress import Bar, bar
from regard.cli.root import Interrupted
from regard.cli.verb import verb
from regard.errors import Incomplete, InputError, listing, phrase
from regard.present.messages.messages import say
from regard.store.manifest import broken_model
from regard.visible import shell_word

if TYPE_CHECKING:
    from rich.console import Console

    from regard.audits.options import AuditOptions
    from regard.audits.resolve import Subject
    from regard.present.run_reader import Material
    from regard.records import Message, Text
    from regard.store.run import Run


@verb(
    "audit",
    "regard audit",
    "regard audit --budget 90s",
    "regard audit --profile quick",
    "regard audit --budget 20000-passes",
    "regard audit minilm",
    "regard audit ./model --data reviews.csv --text-column review --labels neg=0,pos=1",
    "regard audit digits --explainers attention,leave_one_out,random --metrics comprehensiveness",
    "regard audit minilm --explainers all",
    "regard audit bilstm --shift tweets",
    "regard audit runs/mine/seed-0 --siblings runs/mine",
    "regard audit ./model --data notes.csv --group-column patient --no-text",
    "regard audit ./model --data d.jsonl --out runs/a",
    "regard audit --plan plan.json --out runs/planned",
    "regard audit ./model --data d.parquet --engine ray:address=auto,workers=16,gpus=1",
    "regard audit smollm2 --data rag.jsonl --task answer",
    "regard audit --task series --data ecg.csv --window 64",
    "regard audit --task anomaly --data pump.csv --window 64",
    "regard audit --task tabular --data loans.csv --label-column defaulted",
)
@click.argument("model", required=False)
@click.option("--model", "model_option", metavar="MODEL")
@click.option("--data", metavar="DATA")
@out_option()
@click.option("--plan", "plan_file", type=click.Path(path_type=Path))
@audit_flags
def command(
    model: str | None,
    model_option: str | None,
    data: str | None,
    out: Path | None,
    plan_file: Path | None,
    as_json: bool,
    **values: Any,
) -> None:
    if model and model_option and model != model_option:
        raise InputError(
            "model",
            expected=phrase("errors.cli.one_model"),
            got=phrase("errors.common.and_model", model=model, model_option=model_option),
        )
    source, options = model or model_option or DEFAULT_MODEL, options_from(values)
    plan = None if plan_file is None else _planned(plan_file, model or model_option, data, options)
    if plan is not None:
        from regard.audits.preregistration import planned_options

        source, data, options = plan["model"]["source"], plan["data"]["source"], planned_options(plan, options)
    if options.task == "answer":
        _answers(source, data, out, options, as_json=as_json)
        return
    if options.task in ("series", "anomaly", "tabular"):
        _file_audit(options.task, model or model_option, data, out, options, as_json=as_json)
        return
    _audited(source, data, out, options, as_json=as_json, plan=plan)


def _file_audit(
    task: str, model: str | None, data: str | None, out: Path | None, options: AuditOptions, *, as_json: bool
) -> None:
    """Audit a model on a recording or a table; without a model, one is trained on the train split first."""
    from regard.audits.resolve import run_folder
    from regard.audits.trained_from_file import FILE_TASKS, file_examples, trained_from_file

    kind = next(name for name in FILE_TASKS if name == task)
    if data is None:
        raise InputError(f"--task {task}", expected="--data FILE", got=phrase("errors.cli.no_data"))
    plain = options.changed({"task": None, "window": None, "horizon": 1, "label_column": None})
    if model is not None:
        _audited(model, file_examples(kind, data, options), out, plain, as_json=as_json)
        return
    folder = out or run_folder(task, data, options)
    source, test = trained_from_file(kind, data, folder, options, partial(_announced, remarks(), None))
    _audited(source, test, folder / "run", plain, as_json=as_json)


def _audited(
    source: str,
    data: Any,
    out: Path | None,
    options: AuditOptions,
    *,
    as_json: bool,
    plan: dict[str, Any] | None = None,
) -> None:
    """Audit, judge and show; `plan`: the plan that this audit follows."""
    started = time.monotonic()  # before the imports, which take seconds
    from regard.audits.audit import audit
    from regard.audits.plan import check

    check(options)
    console, typed = remarks(), click.get_current_context().obj
    console.print(say("term.opening", source=source), style="dim", markup=False)
    making = ModelChoice(source, options.device, options.task, options.overflow).making
    try:
        with bar(console, making=making) as progress:
            run = audit(
                source,
                data,
                out=out,
                options=options,
                progress=progress.examples if options.limits.unlimited else progress.passes,
                announce=partial(_announced, console, progress),
                resolved=partial(_resolved, console),
                watch=progress.workers,
                command_line=typed,
                started=started,
            )
    except KeyboardInterrupt:
        from regard.audits.resolve import run_folder

        folder = out or run_folder(source, data, options)
        _report_unfinished(folder)
        again = shlex.join([*typed, *([] if out else ["--out", str(folder)])])
        raise Interrupted(say("term.interrupted_kept", folder=folder, again=again)) from None
    if plan is not None:
        from regard.store.judgements import keep_plan
        from regard.store.run import Run

        keep_plan(run.path, plan, run.identity)
        run = Run(run.path)
    page = _show(run, run.path, as_json=as_json)
    _judge(run, page, asked=options.explainers is not None)


def _planned(path: Path, model: str | None, data: str | None, options: AuditOptions) -> dict[str, Any]:
    """Read a plan; it fixes model, data and settings, so refuse them beside it."""
    from dataclasses import replace

    from regard.audits.options import AuditOptions
    from regard.audits.preregistration import MACHINE, read_plan

    plan, usual = read_plan(path), AuditOptions()
    if model or data or replace(options, **{name: getattr(usual, name) for name in MACHINE}) != usual:
        raise InputError(
            "--plan",
            expected=phrase("errors.cli.no_model_data_or_settings"),
            got=phrase("errors.common.others"),
            remedy="regard plan",
        )
    return plan


def _answers(source: str, data: str | None, out: Path | None, options: AuditOptions, *, as_json: bool) -> None:
    """Audit methods that rank the sources of an answer (`--task answer`)."""
    from regard.audits.answers.answer_audit import answer_audit, answer_folder, effort_of
    from regard.present.messages.messages import render
    from regard.present.terminal.answer_audit_view import answer_audit_view

    effort_of(options)
    console, typed = remarks(), click.get_current_context().obj
    console.print(say("term.opening", source=source), style="dim", markup=False)
    folder = out or answer_folder(source, data or "prompts", options)
    try:
        with bar(console, making=ModelChoice(source, options.device, None, options.overflow).making) as progress:
            result = answer_audit(
                source,
                data,
                out=folder,
                options=options,
                progress=progress.examples,
                announce=lambda text: console.print(render(text), style="dim", markup=False),
                command_line=typed,
            )
    except KeyboardInterrupt:
        again = shlex.join([*typed, *([] if out else ["--out", str(folder)])])
        raise Interrupted(say("term.interrupted_kept", folder=folder, again=again)) from None
    page = result.save(folder / "report.html")
    if as_json:
        print_json({**result.to_json(), "report": str(page)})
    else:
        results().print(answer_audit_view(result.to_json()))
        results().print("\n" + say("words.report", path=page), markup=False, soft_wrap=True)


def _report_unfinished(folder: Path) -> None:
    """Write the report of a stopped run, if it has verdicts."""
    from regard.present.report.report import write_report
    from regard.store.run import Run

    with suppress(Exception):  # the interruption is what the user must hear of
        run = Run(folder)
        if run.manifest["judgements"]:
            write_report(run, folder / "report.html")


SHORT_METHODS, SHORT_SENTENCES = 3, 5
"""Numbers of methods and remarks above which an audit without verdicts prints its short form."""
DETAILS = ("data.sentences", "data.split_text", "estimate.skipped", "estimate.study", "estimate.study_trains")
"""Keys of remarks for `--verbose`; the report has them, too."""


def _announced(console: Console, progress: Bar | None, sentence: str) -> None:
    key = getattr(sentence, "key", "")
    if progress is not None:
        progress.announced(key)
    if verbosity() == "verbose" or key not in DETAILS:
        console.print(str(sentence), style="dim", markup=False)


def _resolved(console: Console, subject: Subject, other: Subject | None) -> None:
    """Show which class each label of the data stands for, before anything is computed."""
    from regard.present.report.sections.settings import label_cells
    from regard.present.terminal.terminal import plain_table

    if other is not None:
        names = say("term.audit.shift", first=subject.data.name, second=other.data.name)
        console.print(names, style="dim", markup=False)
    for side in (subject, other):
        rows = [row for row in (side.label_table if side else ()) if isinstance(row, dict)]
        if not rows:
            continue
        head, cells = label_cells(rows)
        if verbosity() == "verbose":
            console.print(plain_table(head, cells, title=say("term.audit.labels")))
        else:
            words = say("listed").join(say("term.audit.label", label=row[0], name=row[2], by=row[3]) for row in cells)
            console.print(f"{say('term.audit.labels')}: {words}", style="dim", markup=False)


def _show(run: Run, folder: Path, *, as_json: bool) -> Path:
    from regard.audits.every_row import EveryRow
    from regard.present.report.as_json import run_json
    from regard.present.report.report import write_report

    page = write_report(run, folder / "report.html")
    warn_without_font()
    if as_json:
        every_row = EveryRow.read(folder)
        extra = {} if every_row is None else {"every_row": every_row.to_json()}
        print_json({"run": str(folder), "report": str(page), **run_json(run), **extra})
        return page
    from regard.present.run_reader import Material

    out, material = results(), Material(run)
    _warnings(out, material)
    if verbosity() == "verbose" or not material.manifest["judgements"] or material.broken:
        _everything(out, material, run, short=verbosity() != "verbose" and not material.broken)
    else:
        _first_page(out, material, run)
    print_every_row(out, folder)
    out.print("\n" + say("words.report", path=page), markup=False, soft_wrap=True)
    return page


def _warnings(out: Console, material: Material) -> None:
    """Print the warnings that precede every number."""
    from regard.present.messages.messages import render
    from regard.present.model_warning import model_warning
    from regard.present.prediction_facts import lines_beside
    from regard.present.report.sections.plan_followed import plan_lines

    sentence, deviations = plan_lines(material) or ("", [])
    if deviations:
        out.print(say("words.plan", sentence=sentence), markup=False, style="bold yellow")
        for part, planned, actual in deviations:
            words = say("term.verify.deviation", part=part, planned=planned, actual=actual)
            out.print(words, markup=False, soft_wrap=True)
        out.print()
    if material.broken:
        out.print(render(material.broken), markup=False, style="bold red")
        out.print()
    if warning := model_warning(material):
        out.print(warning, markup=False, style="bold yellow")
        out.print()
    for line in lines_beside(warning, material, verbose=verbosity() == "verbose"):
        out.print(line, markup=False, style="dim")
    for defect in (material.manifest.get("preconditions") or {}).get("defects", []):
        words = say("preconditions.before", sentence=render(defect["sentence"]))
        out.print(words, markup=False, style="bold yellow")


def _first_page(out: Console, material: Material, run: Run) -> None:
    """Print headline, gauge, six answers, the recommendation and the next command."""
    from regard.present.objective_scale import about_task
    from regard.present.terminal.overview_view import overview_view
    from regard.present.terminal.shift_view import shift_table

    with about_task(material.task):
        page = overview_view(material, width=out.width)
    if page is not None:
        out.print(page, soft_wrap=False)
    if material.manifest.get("shift"):
        out.print()
        out.print(shift_table(material.manifest["shift"]))
    _left_out(out, run)
    out.print(say("term.audit.more", run=shell_word(run.path)), markup=False, style="dim", soft_wrap=True)


def _left_out(out: Console, run: Run) -> None:
    """Print how many methods and examples have no number, if any."""
    from regard.present.messages.messages import count

    if run.skipped or run.problems():
        sizes = {"method": len(run.skipped), "problem": len(run.problems())}
        listed_counts = say("listed").join(count(size, noun) for noun, size in sizes.items() if size)
        out.print("\n" + say("term.audit.left_out", counts=listed_counts), markup=False, style="dim")


def _everything(out: Console, material: Material, run: Run, *, short: bool) -> None:
    """Print every verdict, the table of methods, and a summary in words; short: only the first of each."""
    from regard.present.judge_error_rate import covers
    from regard.present.messages.messages import count
    from regard.present.objective_scale import about_task
    from regard.present.summary import limits, reading
    from regard.present.terminal.results import evidence_table
    from regard.present.terminal.shift_view import shift_table
    from regard.present.terminal.terminal import bullets
    from regard.present.verdict_words import verdict_table

    if material.manifest["judgements"]:
        covered = covers(material.task, material.examples)
        out.print(verdict_table(material.manifest["judgements"], covered=covered))
    if material.manifest.get("shift"):
        out.print(shift_table(material.manifest["shift"]))
    with about_task(material.task):
        sentences = reading(material)
        short = short and (len(run.methods()) > SHORT_METHODS or len(sentences) > SHORT_SENTENCES)
        out.print(evidence_table(material, width=out.width, most=SHORT_METHODS if short else None))
        out.print()
    if short:
        out.print(bullets([*dict.fromkeys([*sentences[:1], *limits(material)]), say("caveat")]))
        hidden = len(run.methods()) > SHORT_METHODS
        rest = (
            say("term.audit.rest", rows=SHORT_METHODS, n=len(run.methods())) if hidden else say("term.audit.more_words")
        )
        out.print(rest, markup=False, style="dim")
        _left_out(out, run)
        return
    sentences += [say("caveat")]
    sentences += [say("words.skipped", name=name, reason=reason) for name, reason in run.skipped.items()]
    if run.problems():
        sentences.append(say("words.problems", count=count(len(run.problems()), "problem")))
    out.print(bullets(sentences))


def _judge(run: Run, page: Path, *, asked: bool) -> None:
    """Raise if the model is broken, or if the audit or a requested method gave no number."""
    from regard.present.messages.messages import render

    problems = run.problems()
    broken = broken_model(run.manifest)
    if broken:
        raise Incomplete(
            phrase("errors.common.model_run", run=run.path),
            expected=phrase("errors.common.same_answer_same_input"),
            got=render(broken).rstrip("."),
            remedy=phrase("errors.cli.fix_model_evaluation_mode_fixed", page=page),
        )
    if not any(s.n for s in run.summaries()):
        first = next((p["message"] for p in problems), phrase("errors.cli.no_example_judged"))
        raise _without_numbers(run, page, phrase("errors.cli.at_least_one_number"), first)
    present = {*run.methods(), *run.skipped}
    why = {p["stage"].removeprefix("explainer "): p["message"] for p in problems if p["stage"].startswith("explainer ")}
    failed = [phrase("errors.cli.failed_everywhere", name=name, why=why[name]) for name in why if name not in present]
    if asked and failed:
        raise _without_numbers(run, page, phrase("errors.cli.numbers_every_explainer_asked"), listing(failed))


def _without_numbers(run: Run, page: Path, expected: Message, got: Text) -> Incomplete:
    subject, remedy = phrase("errors.common.run_run", run=run.path), phrase("errors.cli.see_page", page=page)
    return Incomplete(subject, expected=expected, got=got, remedy=remedy)
