"""`regard metrics`: every metric of a run, and additional ones on the stored relevances."""

from __future__ import annotations

from pathlib import Path

import click

from regard.cli.console import print_json, remarks, results
from regard.cli.model_options import allow_code_option, checked_names, listed, own_methods, permitted
from regard.cli.verb import verb
from regard.errors import phrase


@verb(
    "metrics",
    "regard metrics regard-runs/bilstm-reviews-quick-seed0",
    "regard metrics RUN --metric deletion_area,decision_flip",
    "regard metrics RUN --metric agreement:measure=rbo --json",
    "regard metrics RUN --no-classes",
)
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--metric")
@click.option("--operators", type=click.IntRange(1), default=2, show_default=True)
@click.option("--classes/--no-classes", default=True, show_default=True)
@allow_code_option
def command(run: Path, metric: str | None, operators: int, classes: bool, as_json: bool) -> None:
    metric_names = own_methods("metric", listed(metric))
    checked_names("metric", metric_names)
    from regard.audits.conclusions.rank_stability import stabilities
    from regard.audits.conclusions.run_facts import shown_summaries
    from regard.errors import Incomplete
    from regard.present.objective_scale import about_task
    from regard.present.terminal.metrics_view import metrics_json, metrics_view
    from regard.store.run import Run

    stored_run = Run(run)
    if metric_names:
        from regard.audits.more_metrics import judge_again
        from regard.present.messages.messages import render, say

        console = remarks()
        console.print(say("term.opening", source=stored_run.manifest["model"]["source"]), style="dim", markup=False)
        scores, summaries = judge_again(
            stored_run,
            metric_names,
            operators=operators,
            say=lambda sentence: console.print(render(sentence), style="dim", markup=False),
            allow_code=permitted("allow_code"),
        )
    else:
        scores, summaries = stored_run.scores(), shown_summaries(stored_run)
    if not any(s.n for s in summaries):
        remedy = "regard metrics RUN --metric NAME" if stored_run.methods() else phrase("errors.cli.continue_audit")
        raise Incomplete(
            phrase("errors.common.run_run", run=run),
            expected=phrase("errors.cli.at_least_one_number"),
            got=phrase("errors.common.none"),
            remedy=remedy,
        )
    clusters = {str(e["id"]): str(e["cluster"]) for e in stored_run.examples()}
    stable = stabilities(scores, summaries, clusters)
    rows = summaries if classes else [s for s in summaries if "class" not in s.where]
    if as_json:
        print_json({"run": str(run), **metrics_json(rows, stable)})
        return
    visible = [s for s in rows if "slice" not in s.where]
    out = results()
    with about_task(str(stored_run.manifest["model"].get("task") or "")):
        out.print(metrics_view(visible, stable, stored_run.methods(), width=out.width))
