"""`regard report`: rewrite the report of a run in any format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.console import clean, print_json, results, warn_without_font
from regard.cli.model_options import out_option
from regard.cli.verb import verb
from regard.errors import EnvironmentProblem, InputError, RegardError

if TYPE_CHECKING:
    from regard.audits.conclusions.run_facts import RunReader
    from regard.store.run import Run

FORMS = ("html", "md", "json", "pdf")


@verb(
    "report",
    "regard report regard-runs/bilstm-reviews-quick-seed0",
    "regard report RUN --out elsewhere.html",
    "regard report RUN --format md                     for a pull request or a model card",
    "regard report RUN --format pdf --lang zh          printed, in Chinese",
    "regard report RUN --format pdf --appendix         every table, unfolded",
    "regard report RUN --format json --out numbers.json",
    "regard report RUN --redact --out shared.html      every word replaced by a placeholder",
)
@click.argument("run", type=click.Path(path_type=Path))
@out_option(help="File to write (default: RUN/report.FORMAT).")
@click.option("--format", "form", type=click.Choice(FORMS), default="html", show_default=True)
@click.option("--appendix", is_flag=True, help="Print every section of a PDF, unfolded (default: at most 6 pages).")
@click.option("--redact", is_flag=True, help="Replace each word with a consistent placeholder.")
def command(run: Path, out: Path | None, form: str, appendix: bool, redact: bool, as_json: bool) -> None:
    from regard.present.messages.messages import say
    from regard.present.report.redaction import Redacted

    if appendix and form != "pdf":
        raise InputError("--appendix", expected="--format pdf", got=f"--format {form}")
    from regard.audits.answers.answer_audit import LINES

    if (run / LINES).is_file():
        _report_answers(run, out, form, redact=redact, as_json=as_json)
        return
    stored_run = _judged(run)
    stem = "report-redacted" if redact else "report"
    path = out or run / f"{stem}.{form}"
    _write(Redacted(stored_run) if redact else stored_run, path, form, appendix=appendix)
    if form in ("html", "pdf"):
        warn_without_font()
    if as_json:
        print_json({"report": str(path), "status": stored_run.manifest["status"], "bytes": path.stat().st_size})
    else:
        results().print(say("words.report", path=path), markup=False, soft_wrap=True)


def _report_answers(run: Path, out: Path | None, form: str, *, redact: bool, as_json: bool) -> None:
    """Write the report of an answer audit."""
    from regard.audits.answers.answer_audit import read_answer_audit
    from regard.present.messages.messages import say

    if form not in ("html", "json"):
        raise InputError("--format", expected="html or json for an answer audit", got=form)
    result = read_answer_audit(run)
    path = out or run / f"{'report-redacted' if redact else 'report'}.{form}"
    (result.redacted() if redact else result).save(path)
    if as_json:
        print_json({"report": str(path), "status": result.status, "bytes": path.stat().st_size})
    else:
        results().print(say("words.report", path=path), markup=False, soft_wrap=True)


def _judged(path: Path) -> Run:
    """Return the run with verdicts by the current rules, stored in it if possible."""
    from regard.judge.verdicts import verdicts
    from regard.store.run import Run

    stored_run = Run(path)
    try:
        verdicts(stored_run, keep=True)
    except EnvironmentProblem:  # nobody can write there: they are computed for this report alone
        return stored_run.with_judgements(verdicts(stored_run))
    except RegardError:  # a run that is still going on keeps the verdicts it has
        return stored_run
    return Run(path)


def _write(run: RunReader, path: Path, form: str, *, appendix: bool) -> None:
    from regard.store.blobs import write_output

    if form == "html":
        from regard.present.report.report import write_report

        write_report(run, path)
    elif form == "pdf":
        from regard.present.report.printing import write_pdf

        write_pdf(run, path, appendix=appendix)
    elif form == "md":
        from regard.present.report.as_markdown import run_markdown

        write_output(path, run_markdown(run).encode())
    else:
        import json

        from regard.present.report.as_json import run_json

        write_output(path, (json.dumps(clean(run_json(run)), indent=2, ensure_ascii=False) + "\n").encode())
