"""`regard report`: the report of a run, written again, in any of its forms."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.console import clean, print_json, results
from regard.cli.root import SUMMARIES
from regard.cli.verb import verb
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.present.run_reader import RunReader

FORMS = ("html", "md", "json", "pdf")


@verb(
    "report",
    "regard report regard-runs/bilstm-reviews-quick-seed0",
    "regard report RUN --out elsewhere.html",
    "regard report RUN --format md                     for a pull request or a model card",
    "regard report RUN --format pdf --lang zh          printed, in Chinese",
    "regard report RUN --format json --out numbers.json",
    "regard report RUN --redact --out shared.html      every word replaced by a placeholder",
)
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="File to write (default: RUN/report.FORMAT).")
@click.option("--format", "form", type=click.Choice(FORMS), default="html", show_default=True)
@click.option("--redact", is_flag=True, help="Replace every word by a placeholder, the same one throughout.")
def command(run: Path, out: Path | None, form: str, redact: bool, as_json: bool) -> None:
    from regard.judge.verdicts import verdicts
    from regard.present.redacted import Redacted
    from regard.present.saying import say
    from regard.store.run import Run

    with suppress(RegardError):  # a run that is still going on, or may not be written to, keeps the verdicts it has
        verdicts(run, keep=True)  # by the rules of this version
    opened = Run(run)
    stem = "report-redacted" if redact else "report"
    path = out or run / f"{stem}.{form}"
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(Redacted(opened) if redact else opened, path, form)
    if as_json:
        print_json({"report": str(path), "status": opened.manifest["status"], "bytes": path.stat().st_size})
    else:
        results().print(say("words.report", path=path), markup=False, soft_wrap=True)


def _write(run: RunReader, path: Path, form: str) -> None:
    if form == "html":
        from regard.present.report import write_report

        write_report(run, path)
    elif form == "pdf":
        from regard.present.printing import write_pdf

        write_pdf(run, path)
    elif form == "md":
        from regard.present.as_markdown import run_markdown

        path.write_text(run_markdown(run), "utf-8")
    else:
        import json

        from regard.present.as_json import run_json

        path.write_text(json.dumps(clean(run_json(run)), indent=2, ensure_ascii=False) + "\n", "utf-8")


command.help = SUMMARIES["report"]
