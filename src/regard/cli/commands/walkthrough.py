"""`regard walkthrough`: one row of a real model's attention, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from regard.cli.console import print_json, remarks, results
from regard.cli.example_input import one_example, row_label, row_label_line, row_labels_option, row_options
from regard.cli.model_options import DEFAULT_MODEL, ModelChoice, model_options
from regard.cli.progress import bar
from regard.cli.shared_options import seed_option, seeded
from regard.cli.verb import verb
from regard.message import encoded

if TYPE_CHECKING:
    from regard.measures.walkthrough import Walkthrough


@verb(
    "walkthrough",
    "regard walkthrough 'a quiet, moving film'",
    "regard walkthrough 'a quiet, moving film' --model minilm --layer 5 --head 3 --query film",
    "regard walkthrough 'The capital of France is' --model smollm2 --layer 10 --head 4",
    "regard walkthrough --model digits --data digits --row 3 --layer 1 --json",
)
@click.argument("text", required=False)
@click.option("--model", default=DEFAULT_MODEL, show_default=True)
@click.option("--layer", type=int)
@click.option("--head", type=int, default=0, show_default=True)
@click.option("--query")
@click.option("--site")
@click.option("--features", type=click.IntRange(1), default=6, show_default=True)
@click.option("--keys", type=click.IntRange(1), default=8, show_default=True)
@click.option("--pair")
@click.option("--data")
@click.option("--row", type=int, default=0, show_default=True)
@row_options
@row_labels_option
@seed_option
@model_options
def command(
    text: str | None,
    model: str,
    layer: int | None,
    head: int,
    query: str | None,
    site: str | None,
    features: int,
    keys: int,
    pair: str | None,
    data: str | None,
    row: int,
    seed: int,
    as_json: bool,
) -> None:
    example = one_example(text, pair, data, row)
    from regard.models.walkthrough import walkthrough

    choice = ModelChoice.of_command(model)
    with bar(remarks(), making=choice.making):
        live = choice.open()
    label = row_label(live)
    with seeded(seed):
        steps = walkthrough(live, example, layer=layer, head=head, query=query, site=site)
    if as_json:
        print_json({**_as_json(steps), **({} if label is None else {"label": label})})
        return
    from regard.present.terminal.walkthrough_view import walkthrough_view

    for line in row_label_line(label):
        results().print(line, markup=False)
    results().print(walkthrough_view(steps, features=features, keys=keys))


def _as_json(found: Walkthrough) -> dict[str, Any]:
    steps = found.steps
    return {
        "model": found.model,
        "site": found.site,
        "layer": found.layer,
        "head": found.head,
        "heads": found.heads,
        "query": {"position": found.query_at, "name": found.query_name},
        "keys": list(found.key_names),
        "form": found.form,
        "factor": steps.factor,
        "sink": steps.sink,
        "notes": encoded(found.notes),
        "steps": {
            name: None if (value := getattr(steps, name)) is None else value.tolist()
            for name in (
                "query",
                "keys",
                "products",
                "dots",
                "scaled",
                "added",
                "scores",
                "exponentials",
                "weights",
                "values",
                "output",
            )
        },
        "captured": found.captured.tolist(),
        "check": {"difference": found.difference, "output_difference": found.output_difference, "agrees": found.agrees},
    }
