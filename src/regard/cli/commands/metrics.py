"""`regard metrics`: every metric of every method of a run, and further ones on the same relevances."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from regard.cli.console import print_json, remarks, results
from regard.cli.model_options import allow_code_option, checked_names, listed, permitted
from regard.cli.verb import verb


@verb(
    "metrics",
    "regard metrics regard-runs/bilstm-reviews-quick-seed0",
    "regard metrics RUN --metric deletion_area,decision_flip     computed now, on the relevances of the run",
    "regard metrics RUN --metric agreement:measure=rbo --json",
    "regard metrics RUN --no-classes                             without a column for every predicted class",
)
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--metric", help="Further metrics, separated by commas; parameters as name:key=value.")
@click.option("--operators", type=click.IntRange(1), default=2, show_default=True, help="Removal operators of further "
              "metrics, the model's preferred ones first.")  # fmt: skip
@click.option("--classes/--no-classes", default=True, show_default=True, help="A column for every predicted class.")
@allow_code_option
def command(run: Path, metric: str | None, operators: int, classes: bool, as_json: bool) -> None:
    asked = listed(metric)
    checked_names("metric", asked)
    from regard.audits.conclusions.rank_stability import stabilities
    from regard.audits.conclusions.run_facts import shown_summaries
    from regard.errors import Incomplete
    from regard.present.objective_scale import about_task
    from regard.present.terminal.metrics_view import metrics_json, metrics_view
    from regard.store.run import Run

    opened = Run(run)
    if asked:
        from regard.audits.more_metrics import judge_again
        from regard.present.messages.messages import say

        said = remarks()
        said.print(say("term.opening", source=opened.manifest["model"]["source"]), style="dim", markup=False)
        tell = partial(said.print, style="dim", markup=False)
        scores, summaries = judge_again(
            opened, asked, operators=operators, say=tell, allow_code=permitted("allow_code")
        )
    else:
        scores, summaries = opened.scores(), shown_summaries(opened)
    if not any(s.n for s in summaries):
        remedy = "regard metrics RUN --metric NAME" if opened.methods() else "go on with the audit"
        raise Incomplete(f"run {run}", expected="at least one number", got="none", remedy=remedy)
    clusters = {str(e["id"]): str(e["cluster"]) for e in opened.examples()}
    stable = stabilities(scores, summaries, clusters)
    shown = summaries if classes else [s for s in summaries if "class" not in s.where]
    if as_json:
        print_json({"run": str(run), **metrics_json(shown, stable)})
        return
    visible = [s for s in shown if "slice" not in s.where]
    out = results()
    with about_task(str(opened.manifest["model"].get("task") or "")):
        out.print(metrics_view(visible, stable, opened.methods(), width=out.width))
