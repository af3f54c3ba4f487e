"""`regard prune`: remove heads from a model and audit the result."""

from __future__ import annotations

from pathlib import Path

import click

from regard.cli.console import print_json, remarks, results
from regard.cli.example_input import row_options
from regard.cli.model_options import ModelChoice, device_option, labels_option, named_columns, out_option
from regard.cli.progress import bar
from regard.cli.shared_options import seed_option
from regard.cli.verb import verb
from regard.errors import InputError, phrase


@verb(
    "prune",
    "regard prune minilm --heads L0H1,L3H7 --out minilm-pruned",
    "regard prune ./model --fraction 0.3 --data reviews.csv --out model-pruned",
)
@click.argument("model")
@click.option("--heads")
@click.option("--fraction", type=float)
@out_option(required=True)
@click.option("--data", metavar="DATA")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True)
@seed_option
@labels_option
@row_options
@device_option
def command(
    model: str,
    heads: str | None,
    fraction: float | None,
    out: Path,
    data: str | None,
    limit: int,
    seed: int,
    labels: str | None,
    device: str,
    as_json: bool,
) -> None:
    if (heads is None) == (fraction is None):
        raise InputError(
            "prune",
            expected=phrase("errors.cli.heads_or_fraction"),
            got=phrase("errors.common.both") if heads is not None else phrase("errors.common.neither"),
        )
    from regard.surveys.prune import prune

    choice = ModelChoice(model, device)
    dataset = None if data is None else named_columns(data, limit, seed)
    with bar(remarks(), making=choice.making):
        pruned = prune(
            model,
            heads=heads,
            fraction=fraction,
            out=out,
            data=dataset,
            limit=limit,
            seed=seed,
            device=device,
            labels=labels,
        )
    if as_json:
        print_json(pruned.to_json())
        return
    from regard.present.messages.messages import render, say
    from regard.present.terminal.heads_view import pruned_table

    console = results()
    console.print(
        say(
            "term.prune.title",
            model=pruned.model,
            n=len(pruned.heads),
            of=pruned.of,
            how=say(f"prune.{pruned.how}"),
            heads=", ".join(pruned.heads[:12]) + (", ..." if len(pruned.heads) > 12 else ""),
        ),
        markup=False,
        style="bold",
    )
    if pruned.why:
        console.print(say("term.prune.silenced", why=render(pruned.why)), markup=False)
    console.print(pruned_table(pruned.to_json()))
    console.print(
        say("term.prune.checked", n=pruned.n, data=pruned.data, seed=pruned.seed, error=f"{pruned.error:.1e}"),
        markup=False,
        style="dim",
    )
    for note in pruned.notes:
        console.print(say("term.note", text=render(note)), markup=False, style="yellow")
    console.print(say("term.written", path=pruned.path), markup=False, soft_wrap=True)
