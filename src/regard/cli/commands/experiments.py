"""`regard experiments`: results of a stored run's experiments."""

from __future__ import annotations

from pathlib import Path

import click

from regard.cli.console import print_json, results
from regard.cli.verb import verb
from regard.errors import Incomplete, UnknownName, phrase


@verb(
    "experiments",
    "regard experiments regard-runs/bilstm-reviews-5m-seed0",
    "regard experiments RUN --only adversary",
    "regard experiments RUN --json",
)
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--only")
def command(run: Path, only: str | None, as_json: bool) -> None:
    from regard.audits.conclusions.finding_summaries import finding_summaries
    from regard.present.terminal.findings_view import findings_view
    from regard.store.run import Run, summary_to_json

    stored_run = Run(run)
    stored = dict.fromkeys(str(s.where.get("experiment")) for s in stored_run.findings())
    if only is not None and only not in stored:
        raise UnknownName(phrase("errors.cli.experiment_this_run"), only, list(stored))
    summaries = finding_summaries(stored_run, experiment=only or "")
    if not summaries:
        raise Incomplete(
            phrase("errors.common.run_run", run=run),
            expected=phrase("errors.cli.findings_experiments"),
            got=phrase("errors.cli.run_without_experiments"),
            remedy=phrase("errors.cli.audit_without_explainers"),
        )
    if as_json:
        print_json([summary_to_json(summary) for summary in summaries])
    else:
        results().print(findings_view(summaries))
