"""`regard walkthrough`: one row of a real model's attention, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from regard.cli.console import print_json, remarks, results
from regard.cli.model_options import DEFAULT_MODEL, ModelChoice, model_options, one_example
from regard.cli.progress import bar
from regard.cli.verb import verb

if TYPE_CHECKING:
    from regard.measures.walkthrough import Walkthrough
    from regard.models.read.text import Overflow


@verb(
    "walkthrough",
    "regard walkthrough 'a quiet, moving film'",
    "regard walkthrough 'a quiet, moving film' --model minilm --layer 5 --head 3 --query film",
    "regard walkthrough 'The capital of France is' --model smollm2 --layer 10 --head 4",
    "regard walkthrough --model digits --data digits --row 3 --layer 1 --json",
)
@click.argument("text", required=False)
@click.option("--model", default=DEFAULT_MODEL, show_default=True, help="Name, directory, or file.py:factory.")
@click.option("--layer", type=int, help="Layer (default: the last).")
@click.option("--head", type=int, default=0, show_default=True, help="Head.")
@click.option("--query", help="Unit that looks, by name or position (default: where the answer is read).")
@click.option("--site", help="Site by name, where a layer has several (see regard capture).")
@click.option("--features", type=click.IntRange(1), default=6, show_default=True, help="Features to show.")
@click.option("--keys", type=click.IntRange(1), default=8, show_default=True, help="Keys to show.")
@click.option("--pair", help="The second text, for models that read two.")
@click.option("--data", help="Take the input from a data set instead.")
@click.option("--row", type=int, default=0, show_default=True, help="Which row of the data set.")
@model_options
def command(
    text: str | None, model: str, layer: int | None, head: int, query: str | None, site: str | None, features: int,
    keys: int, pair: str | None, data: str | None, row: int, device: str, task: str | None, overflow: Overflow,
    as_json: bool,
) -> None:  # fmt: skip
    example = one_example(text, pair, data, row)
    from regard.models.walkthrough import walkthrough

    choice = ModelChoice(model, device, task, overflow)
    with bar(remarks(), making=choice.making):
        live = choice.open()
    found = walkthrough(live, example, layer=layer, head=head, query=query, site=site)
    if as_json:
        print_json(_as_json(found))
        return
    from regard.present.terminal.walkthrough_view import walkthrough_view

    results().print(walkthrough_view(found, features=features, keys=keys))


def _as_json(found: Walkthrough) -> dict[str, Any]:
    steps = found.steps
    return {
        "model": found.model, "site": found.site, "layer": found.layer, "head": found.head, "heads": found.heads,
        "query": {"position": found.query_at, "name": found.query_name}, "keys": list(found.key_names),
        "form": found.form, "factor": steps.factor, "sink": steps.sink, "notes": list(found.notes),
        "steps": {
            name: None if (value := getattr(steps, name)) is None else value.tolist()
            for name in ("query", "keys", "products", "dots", "scaled", "added", "scores", "exponentials", "weights",
                         "values", "output")
        },
        "captured": found.captured.tolist(),
        "check": {"difference": found.difference, "output_difference": found.output_difference, "agrees": found.agrees},
    }  # fmt: skip
