"""`regard export`: a run as Parquet tables, or into MLflow."""

from __future__ import annotations

from pathlib import Path

import click

from regard.cli.console import print_json, results
from regard.cli.model_options import out_option
from regard.cli.verb import verb


@verb(
    "export",
    "regard export regard-runs/bilstm-reviews-quick-seed0 --out tables",
    "regard export RUN --out tables --json",
    "regard export RUN --mlflow",
)
@click.argument("run", type=click.Path(path_type=Path))
@out_option()
@click.option("--mlflow", is_flag=True)
def command(run: Path, out: Path | None, mlflow: bool, as_json: bool) -> None:
    from regard.audits.stored_summaries import checked_summaries
    from regard.store.export import export
    from regard.store.run import Run

    stored_run = Run(run)
    checked_summaries(stored_run)
    if mlflow:
        from regard.present.messages.messages import say

        name = stored_run.to_mlflow()
        if as_json:
            print_json({"mlflow_run": name})
        else:
            results().print(say("term.export.mlflow", name=name), markup=False)
        return
    files = export(stored_run, out)
    if as_json:
        print_json({name: str(path) for name, path in files.items()})
        return
    from regard.present.messages.messages import columns
    from regard.present.terminal.terminal import plain_table

    results().print(plain_table(columns("term.list.export"), [(name, str(path)) for name, path in files.items()]))
