"""`regard heads`: roles of a model's attention heads on a corpus, against baselines."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.console import clean, print_json, remarks, results
from regard.cli.example_input import row_options
from regard.cli.model_options import ModelChoice, labels_option, model_options, named_columns, out_option
from regard.cli.progress import bar
from regard.cli.shared_options import seed_option
from regard.cli.verb import verb

if TYPE_CHECKING:
    from regard.message import Text
    from regard.surveys.heads.findings import HeadSurvey


@verb(
    "heads",
    "regard heads minilm",
    "regard heads ./model --data reviews.csv --limit 200 --out heads",
    "regard heads smollm2 --data reviews --limit 20 --ablate 0",
)
@click.argument("model")
@click.option("--data", metavar="DATA")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True)
@click.option("--ablate", type=click.IntRange(0), default=32, show_default=True)
@seed_option
@out_option()
@click.option("--all", "everything", is_flag=True)
@labels_option
@row_options
@model_options
def command(
    model: str,
    data: str | None,
    limit: int,
    ablate: int,
    seed: int,
    out: Path | None,
    everything: bool,
    labels: str | None,
    as_json: bool,
) -> None:
    from regard.audits.resolve import default_data
    from regard.surveys.heads.survey import heads

    choice = ModelChoice.of_command(model)
    dataset = named_columns(data or default_data(model), limit, seed)
    with bar(remarks(), making=choice.making) as progress_bar:
        live = choice.open()

        def progress(what: Text, done: int, total: int) -> None:
            progress_bar.show(what, done / max(1, total), f"{done}/{total}")

        survey = heads(live, dataset, limit=limit, ablate=ablate, seed=seed, labels=labels, progress=progress)
    if out is not None:
        _write(survey, out)
    if as_json:
        print_json(survey.to_json())
    else:
        _show(survey, everything, out)


def _write(found: HeadSurvey, out: Path) -> None:
    from regard.store.blobs import write_output

    rows, file = found.records(), io.StringIO(newline="")
    writer = csv.DictWriter(file, list(rows[0]) if rows else ["head"])
    writer.writeheader()
    writer.writerows(rows)
    write_output(out / "heads.csv", file.getvalue().encode())
    text = json.dumps(clean(found.to_json()), indent=1, ensure_ascii=False, allow_nan=False)
    write_output(out / "heads.json", (text + "\n").encode())


def _show(found: HeadSurvey, everything: bool, out: Path | None) -> None:
    from regard.present.messages.messages import render, say
    from regard.present.terminal import heads_view as view
    from regard.present.terminal.terminal import bullets

    console, survey = results(), found.to_json()
    table, hidden = view.heads_table(survey, everything=everything)
    console.print(table)
    for line in view.roles_told(survey, hidden):
        console.print(line, markup=False)
    console.print()
    console.print(bullets(view.legend(survey)), style="dim")
    console.print("\n" + say("term.heads.same"), style="bold")
    console.print(bullets(view.groups_told(survey)))
    curve = view.curve_table(survey)
    if curve is not None:
        console.print()
        console.print(curve)
    copying = view.retrieval_told(survey)
    if copying:
        console.print("\n" + say("term.heads.retrieval"), style="bold")
        console.print(bullets(copying))
    console.print()
    console.print(view.health_table(survey))
    console.print(say("term.heads.health_legend"), markup=False, style="dim")
    for warning in found.health.warnings:
        console.print(say("term.heads.warning", text=render(warning)), markup=False, style="yellow")
    for note in (*found.notes, *found.health.notes):
        console.print(say("term.note", text=render(note)), markup=False, style="yellow")
    console.print("\n" + say("term.heads.caveat"), markup=False, style="dim")
    if out is not None:
        console.print(
            say("term.written", path=f"{out / 'heads.csv'}, {out / 'heads.json'}"), markup=False, soft_wrap=True
        )
