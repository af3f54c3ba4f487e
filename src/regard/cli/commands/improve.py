"""`regard improve`: paired comparison of a model trained with and without a recipe."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.console import print_json, remarks, results
from regard.cli.model_options import (
    Columns,
    class_labels_option,
    column_options,
    out_option,
    skip_option,
    training_device_option,
)
from regard.cli.progress import bar
from regard.cli.root import Interrupted
from regard.cli.verb import verb
from regard.errors import InputError, phrase
from regard.files import slug
from regard.message import Message
from regard.present.messages.messages import columns, render, say
from regard.present.search_words import search_sentence
from regard.visible import shell_word

if TYPE_CHECKING:
    from regard.datasets.examples import Examples
    from regard.improve.before_after import Row
    from regard.improve.improve import Improvement
    from regard.records import Json
    from regard.training.train_one import Splits

MARKS = {"better": "better", "worse": "worse", "no significant change": "same", "too few examples": "few"}


@verb(
    "improve",
    "regard improve bilstm --with adversarial --out runs/sturdy",
    "regard improve runs/base --with noise --with attention-adversarial --data reviews.csv",
    "regard improve bilstm --with adversarial:how=freelb,epsilon=0.1 --seeds 3 --examples 100",
    "regard improve ./my-bert --data reviews.csv --with attention-regularised:toward=rationales --layers 0",
    "regard improve bilstm --with attention-effects --out runs/readable",
    "regard improve bilstm --search 10m --out runs/searched",
    "regard improve bilstm --with smoothness --out runs/sturdy",
)
@click.argument("model")
@click.option("--with", "recipes", multiple=True, metavar="RECIPE")
@click.option("--search", "search_budget", metavar="BUDGET")
@click.option("--data", metavar="DATA")
@out_option()
@click.option("--seeds", type=click.IntRange(1), default=5, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@training_device_option
@click.option(
    "--examples",
    type=click.IntRange(2),
    default=150,
    show_default=True,
)
@click.option("--budget", type=click.IntRange(1), default=60, show_default=True)
@click.option("--limit", type=click.IntRange(2))
@click.option("--layers", type=click.IntRange(0))
@column_options
@class_labels_option
@skip_option
@click.option(
    "--set",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
)
def command(
    model: str,
    recipes: tuple[str, ...],
    search_budget: str | None,
    data: str | None,
    out: Path | None,
    seeds: int,
    seed: int,
    device: str,
    examples: int,
    budget: int,
    limit: int | None,
    layers: int | None,
    labels: str | None,
    options: tuple[str, ...],
    as_json: bool,
) -> None:
    from regard.cli.model_options import checked_model, checked_names

    if not recipes and search_budget is None:
        raise InputError("--with", expected=phrase("errors.cli.recipe_or_search"), got="neither")
    checked_model(model)
    checked_names("recipe", [_underscored(recipe) for recipe in recipes])
    settings = _settings(options)
    folder = out or Path("regard-models") / f"{slug(model)}-improved"
    console, called = remarks(), click.get_current_context().obj
    console.print(say("term.opening_both"), style="dim", markup=False)
    from regard.improve.improve import improve

    splits = _splits(data, Columns.of_command(), labels)

    try:
        with bar(console) as progress_bar:
            outcome = improve(
                model,
                recipes,
                splits,
                out=folder,
                search_budget=search_budget,
                seeds=seeds,
                seed=seed,
                examples=examples,
                budget=budget,
                settings=settings,
                limit=limit,
                layers=layers,
                device=device,
                announce=lambda sentence: console.print(render(sentence), style="dim", markup=False),
                tell=lambda what, done, whole: progress_bar.show(
                    Message.of("term.improve.looking", what=what), done / whole, f"{done}/{whole}"
                ),
            )
    except KeyboardInterrupt:
        again = shlex.join([*called, *([] if out else ["--out", str(folder)])])
        raise Interrupted(say("term.interrupted_kept", folder=folder, again=again)) from None
    if as_json:
        print_json(outcome.to_json())
    else:
        _show(outcome)


def _splits(data: str | None, columns: Columns, labels: str | None) -> str | Splits | None:
    """Return the data by name, or read them now if columns or labels are named."""
    if columns == Columns() and labels is None:
        return data
    if data is None:
        raise InputError(
            "--text-column, --label-column, --labels, --skip-bad",
            expected="--data FILE",
            got=phrase("errors.cli.no_data"),
        )
    from regard.training.labels import relabelled
    from regard.training.train import read_splits

    def one_split(split: str) -> Examples:
        part = columns.read(data, split=split)
        return part if labels is None else relabelled(part, labels)

    return read_splits(data, one_split)


def _underscored(recipe: str) -> str:
    name, colon, rest = recipe.partition(":")
    return f"{name.replace('-', '_')}{colon}{rest}"


def _settings(options: Sequence[str]) -> dict[str, Json]:
    from regard.records import Spec
    from regard.training.loop import Settings
    from regard.training.train import settings_of

    settings: dict[str, Json] = {}
    for option in options:
        if "=" not in option:
            raise InputError(f"--set {option}", expected="name=value", got=option)
        settings |= Spec.parse("setting", f"set:{option}").params
    settings_of(Settings(), settings)  # a name or a number that cannot be is said before anything is opened
    return settings


def _show(found: Improvement) -> None:
    from regard.present.terminal.terminal import plain_table

    out = results()
    if found.again:
        out.print(say("term.improve.again", directory=found.directory), style="dim", markup=False)
    seeds = say("term.improve.seeds", n=len(found.seeds)) if len(found.seeds) > 1 else say("term.improve.one_seed")
    how = "term.improve.further" if found.further else "term.improve.scratch"
    out.print(say(how, model=found.model, data=found.data, seeds=seeds), markup=False)
    if found.search is not None:
        out.print("\n" + search_sentence(found.search.to_json()), markup=False, soft_wrap=True)
    for (arm, against), rows in found.comparisons.items():
        what = found.recipes[arm]
        key = "term.improve.before_plain" if against == "plain" else "term.improve.before_control"
        sentence = say(key, arm=arm, what=render(what), control=render(found.recipes.get(against, "")))
        out.print("\n" + sentence, markup=False, soft_wrap=True)
        table = [_cells(row) for row in rows]
        out.print(plain_table(columns("term.improve.columns"), table, right=(2, 3, 4, 6, 7, 8)))
    for line in _costs(found):
        out.print(line, style="dim", markup=False, soft_wrap=True)
    out.print(say("improvement.rule"), style="dim", markup=False, soft_wrap=True)
    if len(found.seeds) == 1:
        out.print(say("term.improve.one"), style="dim", markup=False)
    arms = [arm for arm, against in found.comparisons if against == "plain" and not arm.endswith("-control")]
    models = ", ".join(str(found.folder(arm)) for arm in arms)
    sentence = say("term.improve.models", models=models, first=shell_word(found.folder(arms[0])))
    out.print("\n" + sentence, markup=False, soft_wrap=True)


def _cells(row: Row) -> tuple[str, ...]:
    return (
        render(row.words),
        say(f"term.improve.{row.better}"),
        "-" if math.isnan(row.before) else f"{row.before:.3f}",
        "-" if math.isnan(row.after) else f"{row.after:.3f}",
        _signed(row.difference),
        say("term.improve.to", low=_signed(row.low), high=_signed(row.high)) if math.isfinite(row.low) else "-",
        f"{row.corrected:.3f}" if math.isfinite(row.low) else "-",
        say("term.improve.of", a=row.seeds_better, b=row.seeds),
        str(row.n),
        _verdict(row),
    )


def _verdict(row: Row) -> str:
    if row.seeds_differ:
        return say("term.improve.seeds_differ", p="-" if row.p_seeds is None else f"{row.p_seeds:.2f}")
    return say(f"term.improve.{MARKS[row.verdict]}")


def _signed(value: float) -> str:
    """Format with three decimals, or with an exponent where these would hide a non-zero value.

    >>> _signed(-0.0123), _signed(0.0), _signed(0.00004), _signed(math.nan)
    ('-0.012', '+0.000', '+4e-05', '-')
    """
    if math.isnan(value):
        return "-"
    return f"{value:+.0e}" if 0 < abs(value) < 0.0005 else f"{value:+.3f}"


def _costs(found: Improvement) -> list[str]:
    plain = found.costs.get("plain", {}).get("milliseconds_per_step")
    lines = []
    for arm, cost in found.costs.items():
        step = cost.get("milliseconds_per_step")
        if step is None:
            continue
        ratio = say("term.improve.ratio", x=f"{step / plain:.1f}") if plain and arm != "plain" else ""
        lines.append(say("term.improve.cost", arm=arm, step=f"{step:.0f}", ratio=ratio, epochs=f"{cost['epochs']:.1f}"))
    return lines
