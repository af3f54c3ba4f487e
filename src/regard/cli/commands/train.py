"""`regard train`: train a network, or a family, that every other command can open."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from regard.cli.progress import Bar, bar, measure
from regard.cli.root import Interrupted
from regard.cli.verb import verb
from regard.errors import InputError, UnknownName, phrase
from regard.files import slug
from regard.present.messages.messages import render, say
from regard.visible import shell_word

if TYPE_CHECKING:
    from rich.console import Console

    from regard.records import Json, Spec
    from regard.training.progress import Report
    from regard.training.train import Trained

ENCODERS = ("bilstm", "cnn", "average", "transformer", "recurrent")
DIRECTORY = "pretrained"
"""Learner behind --from-directory."""


@verb(
    "train",
    "regard train classifier --data reviews --encoder bilstm --attention additive --seeds 5 --out runs/base",
    "regard train classifier --data reviews.csv --text-column review --label-column stars --out runs/mine",
    "regard train vision --data digits --out runs/digits",
    "regard train classifier --data reviews --encoder average --attention frozen --from runs/base --out runs/probe",
    "regard train classifier --data reviews --term prediction_distance=1 --term attention_distance=-0.001 "
    "--from runs/base --out runs/adversary",
    "regard train classifier --data reviews --from-directory ./MiniLM --out runs/minilm",
)
@click.argument("kind")
@click.option("--data", required=True, metavar="DATA")
@out_option()
@click.option("--encoder", type=click.Choice(ENCODERS))
@click.option("--attention")
@click.option("--set", "options", multiple=True, metavar="NAME=VALUE")
@click.option("--from-directory", type=click.Path(path_type=Path))
@click.option("--seeds", type=click.IntRange(1), default=1, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@training_device_option
@click.option("--term", "terms", multiple=True, metavar="NAME=WEIGHT")
@click.option("--class-weights", default="balanced", show_default=True)
@click.option("--from", "reference", metavar="RUN")
@click.option("--hide", multiple=True, metavar="WORD")
@click.option("--epochs", type=click.IntRange(1))
@click.option("--patience", type=click.IntRange(1))
@click.option("--batch-size", type=click.IntRange(1))
@click.option("--rate", type=float)
@click.option("--weight-decay", type=float)
@column_options
@class_labels_option
@click.option("--group-column")
@click.option("--rationale-column")
@click.option("--id-column")
@skip_option
def command(
    kind: str,
    data: str,
    out: Path | None,
    encoder: str | None,
    attention: str | None,
    options: tuple[str, ...],
    from_directory: Path | None,
    seeds: int,
    seed: int,
    device: str,
    terms: tuple[str, ...],
    class_weights: str,
    reference: str | None,
    hide: tuple[str, ...],
    epochs: int | None,
    patience: int | None,
    batch_size: int | None,
    rate: float | None,
    weight_decay: float | None,
    labels: str | None,
    group_column: str | None,
    rationale_column: str | None,
    id_column: str | None,
    as_json: bool,
) -> None:
    architecture = {"encoder": encoder, "attention": attention}
    learner = _learner(kind, {k: v for k, v in architecture.items() if v is not None}, options, from_directory)
    requested = {
        "epochs": epochs,
        "patience": patience,
        "batch_size": batch_size,
        "rate": rate,
        "weight_decay": weight_decay,
    }
    settings: dict[str, Json] = {name: value for name, value in requested.items() if value is not None}
    folder = out or Path("regard-models") / f"{slug(kind)}-{slug(data)}"
    console, called = remarks(), click.get_current_context().obj
    console.print(say("term.train.reading", data=data), style="dim", markup=False)
    from regard.training.labels import relabelled
    from regard.training.loss import parse_terms
    from regard.training.progress import reporting
    from regard.training.train import read_splits, train

    columns = Columns.of_command()

    def one_split(split: str) -> Any:
        part = columns.read(
            data, group_column=group_column, rationale_column=rationale_column, id_column=id_column, split=split
        )
        return part if labels is None else relabelled(part, labels)

    weighted = parse_terms(terms) if terms else None
    splits = read_splits(data, one_split)
    for note in dict.fromkeys(note for part in (splits.train, splits.dev, splits.test) for note in part.notes):
        console.print(say("term.train.data", note=render(note)), style="dim", markup=False)
    try:
        with bar(console) as progress_bar, reporting(_Epochs(progress_bar, console)):
            trained = train(
                learner,
                splits,
                out=folder,
                seeds=seeds,
                seed=seed,
                settings=settings,
                terms=weighted,
                class_weights=_weights(class_weights, splits.train),
                reference=reference,
                hide=hide,
                device=device,
                announce=lambda sentence: console.print(render(sentence), style="dim", markup=False),
            )
    except KeyboardInterrupt:
        again = shlex.join([*called, *([] if out else ["--out", str(folder)])])
        raise Interrupted(say("term.train.interrupted", folder=folder, again=again)) from None
    if as_json:
        print_json(_json(trained))
    else:
        _show(trained, data)


class _Epochs:
    """A progress bar with one permanent line per epoch."""

    def __init__(self, shown: Bar, said: Console) -> None:
        self.shown, self.said = shown, said

    def __call__(self, report: Report) -> None:
        if not report.epoch_is_over:
            self.shown.training(report)
            return
        line = say(
            "term.train.epoch",
            epoch=report.epoch,
            epochs=report.epochs,
            loss=f"{report.loss:.4f}",
            dev_loss=f"{report.dev_loss:.4f}",
            metric=measure(report.metric),
            dev=f"{report.dev_metric:.4f}",
            kept=say("term.train.best") if report.best else "",
        )
        self.said.print(line, markup=False)


def _learner(kind: str, given: Mapping[str, str], options: Sequence[str], directory: Path | None) -> Spec:
    from regard.records import Spec
    from regard.registry import arguments, names

    kinds = [name for name in names("learner") if name != DIRECTORY]
    kind, _, own_options = kind.partition(":")
    if kind not in kinds:
        raise UnknownName(phrase("errors.cli.kind_network"), kind, kinds)
    if directory is not None and kind != "classifier":
        raise InputError("--from-directory", expected="regard train classifier", got=f"regard train {kind}")
    params: dict[str, Json] = dict(given)
    for option in (own_options, *options) if own_options else options:
        params |= Spec.parse("learner", f"{kind}:{option}").params
    if directory is not None:
        params["directory"] = str(directory)
    spec = Spec("learner", DIRECTORY if directory is not None else kind, params)
    arguments(spec)
    return spec


def _weights(text: str, data: Any) -> str | list[float]:
    """Parse `balanced`, `none`, or a weight per class name."""
    if "=" not in text:
        return text
    from regard.training.labels import label_names

    names, weights = label_names(data), dict[str, float]()
    for part in text.split(","):
        name, _, number = part.rpartition("=")
        if name not in names:
            raise UnknownName("class", name, names)
        try:
            weights[name] = float(number)
        except ValueError:
            raise InputError(f"--class-weights {part}", expected="name=number", got=repr(number)) from None
    if len(weights) < len(names):
        missing = ", ".join(name for name in names if name not in weights)
        raise InputError(
            "--class-weights",
            expected=phrase("errors.cli.number_for_every_class"),
            got=phrase("errors.cli.none_for_missing", missing=missing),
        )
    return [weights[name] for name in names]


def _json(trained: Trained) -> dict[str, Any]:
    return {
        "directory": str(trained.directory),
        "metric": trained.metric,
        "trained_before": trained.again,
        "dev": trained.spread("dev"),
        "test": trained.spread("test"),
        "members": list(trained.members),
    }


def _show(trained: Trained, data: str) -> None:
    from regard.present.terminal.terminal import plain_table

    out, metric = results(), trained.metric
    title = measure(metric)
    rows = [
        [
            str(m["settings"]["seed"]),
            say("term.train.of", a=m["best_epoch"], b=len(m["epochs"])),
            f"{m[f'dev_{metric}']:.4f}",
            f"{m[f'test_{metric}']:.4f}",
            _aligned(m),
        ]
        for m in trained.members
    ]
    columns = say("term.train.columns", metric=title).split("|")
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    if trained.again:
        out.print(say("term.train.again", directory=trained.directory), style="dim", markup=False)
    out.print(plain_table(columns, rows, right=range(len(columns))))
    first, test = trained.members[0], trained.spread("test")
    n = first["test_examples"]
    if len(trained.members) > 1:
        numbers = {name: f"{test[name]:.4f}" for name in ("mean", "sd", "low", "high")}
        out.print(say("term.train.spread", metric=title, seeds=test["n"], n=n, **numbers))
    elif first["test_interval"] is not None:
        low, high = first["test_interval"]
        numbers = {"mean": f"{test['mean']:.4f}", "low": f"{low:.4f}", "high": f"{high:.4f}"}
        out.print(say("term.train.interval", metric=title, n=n, **numbers))
    else:
        out.print(say("term.train.plain", metric=title, mean=f"{test['mean']:.4f}", n=n))
    out.print(say("term.train.chosen"), style="dim")
    line = say("term.train.next", directory=shell_word(trained.directory), data=shell_word(data))
    out.print("\n" + line, markup=False, soft_wrap=True)


def _aligned(member: Mapping[str, Any]) -> str:
    alignment = member.get("alignment")
    return (
        ""
        if alignment is None
        else say("term.train.diagonal", rate=f"{alignment['error_rate']:.3f}", diagonal=f"{alignment['diagonal']:.3f}")
    )
