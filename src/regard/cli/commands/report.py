"""`regard report`: the report of a run, written again."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from regard.cli.console import clean, print_json, results
from regard.cli.root import SUMMARIES
from regard.cli.verb import verb
from regard.errors import RegardError


@verb(
    "report",
    "regard report regard-runs/bilstm-reviews-quick-seed0",
    "regard report RUN --out elsewhere.html",
    "regard report RUN --format json --out numbers.json",
)
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="File to write (default: RUN/report.html or .json).")
@click.option("--format", "form", type=click.Choice(["html", "json"]), default="html", show_default=True)
def command(run: Path, out: Path | None, form: str, as_json: bool) -> None:
    from regard.judge.verdicts import verdicts
    from regard.present.report import write_report
    from regard.store.run import Run

    with suppress(RegardError):  # a run that is still going on, or may not be written to, keeps the verdicts it has
        verdicts(run, keep=True)  # by the rules of this version
    opened = Run(run)
    if form == "html":
        path = write_report(opened, out or run / "report.html")
    else:
        import json

        from regard.present.as_json import run_json

        path = out or run / "report.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(clean(run_json(opened)), indent=2, ensure_ascii=False) + "\n", "utf-8")
    if as_json:
        print_json({"report": str(path), "status": opened.manifest["status"]})
    else:
        results().print(f"report: {path}", markup=False, soft_wrap=True)


command.help = SUMMARIES["report"]
