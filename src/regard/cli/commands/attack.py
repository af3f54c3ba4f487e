"""`regard attack`: search for small input changes that flip the prediction."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.console import print_json, print_notes, remarks, results
from regard.cli.model_options import (
    ModelChoice,
    checked_model,
    checked_names,
    column_options,
    device_option,
    labels_option,
    listed,
    named_columns,
    out_option,
    own_methods,
    permission_options,
    skip_option,
    split_option,
)
from regard.cli.progress import bar
from regard.cli.root import Interrupted
from regard.cli.shared_options import seed_option
from regard.cli.verb import verb
from regard.errors import InputError, phrase
from regard.present.messages.messages import columns, id_words, render, say

if TYPE_CHECKING:
    from rich.console import Console

    from regard.records import Attacked, Example
    from regard.surveys.attack import AttackRun
    from regard.surveys.attack_table import AttackRow

MOST_PRINTED = 3
"""Worst examples to print for each attack."""


@verb(
    "attack",
    "regard attack bilstm --attack greedy_word,hotflip --budget 500 --n 100",
    "regard attack ./my-model --data reviews.csv --attack greedy_char --max-share 0.1 --out attacks/mine",
    "regard attack digits --attack pgd:eps=0.05,square:eps=0.05",
    "regard attack bilstm --attack hotflip --transfer minilm",
)
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option("--data", metavar="DATA")
@click.option("--attack", "attacks", default=None, metavar="NAMES")
@click.option("--n", "--limit", "n", type=click.IntRange(1), default=100, show_default=True)
@click.option("--budget", type=click.IntRange(1), default=500, show_default=True)
@click.option("--target", metavar="CLASS")
@click.option("--max-share", type=float, default=0.25, show_default=True)
@click.option("--max-edits", type=click.IntRange(1))
@click.option("--min-similarity", type=click.FloatRange(0, 1), default=0.0, show_default=True)
@click.option("--stop-words", is_flag=True)
@click.option("--keep", metavar="WORDS")
@click.option("--transfer", is_flag=True)
@click.option("--watch", default="attention", show_default=True, metavar="EXPLAINER")
@click.option("--sanity/--no-sanity", default=True, show_default=True)
@out_option()
@labels_option
@column_options
@split_option
@skip_option
@seed_option
@device_option
@permission_options
def command(
    models: tuple[str, ...],
    data: str | None,
    attacks: str | None,
    n: int,
    budget: int,
    target: str | None,
    max_share: float,
    max_edits: int | None,
    min_similarity: float,
    stop_words: bool,
    keep: str | None,
    transfer: bool,
    watch: str,
    sanity: bool,
    out: Path | None,
    labels: str | None,
    seed: int,
    device: str,
    as_json: bool,
) -> None:
    from regard.records import Threat

    if transfer != (len(models) > 1):
        raise InputError(
            "attack",
            expected=phrase("errors.cli.one_model_or_several_with_transfer"),
            got=phrase("errors.cli.transfer_and_model", n=len(models))
            if transfer
            else phrase("errors.cli.models_without_transfer", n=len(models)),
        )
    threat = Threat(
        goal="untargeted" if target is None else "targeted",
        target=target,
        budget=budget,
        max_share=max_share,
        max_edits=max_edits,
        min_similarity=min_similarity,
        stop_words=stop_words,
        keep=tuple(w.strip() for w in (keep or "").split(",") if w.strip()),
    )
    attack_names = own_methods("attack", listed(attacks))
    checked_names("attack", attack_names)
    if watch != "none":
        checked_names("explainer", [watch])
    for model in models:
        checked_model(model)
    from regard.surveys.attack import attack

    choice = ModelChoice(models[0], device)
    read = named_columns(data, n, seed)
    try:
        with bar(remarks(), making=choice.making) as progress_bar:
            run = attack(
                models[0],
                read,
                attack_names,
                threat=threat,
                n=n,
                seed=seed,
                out=out,
                to=models[1:],
                watch=None if watch == "none" else watch,
                check=sanity,
                device=device,
                labels=labels,
                progress=lambda what, done, total: progress_bar.show(what, done / max(1, total), f"{done}/{total}"),
            )
    except KeyboardInterrupt:
        if out is None:
            raise
        again = shlex.join(click.get_current_context().obj)
        raise Interrupted(say("term.interrupted_kept", folder=out, again=again)) from None
    if as_json:
        print_json(run.to_json())
    else:
        show(results(), run)


def show(console: Console, run: AttackRun) -> None:
    from regard.present.terminal.terminal import plain_table

    right = "" if run.accuracy is None else say("term.attack.right", share=f"{run.accuracy:.1%}")
    title = say("term.attack.on", model=run.model, n=len(run.examples), data=run.data)
    console.print(title + right, markup=False, style="bold")
    text = "text" in run.examples[0].inputs
    threat = say("term.attack.threat", words=render(run.threat.words(text=text)), seed=run.seed)
    console.print(threat, markup=False)
    size = say("term.attack.words_changed" if text else "term.attack.size")
    head = say("term.attack.columns", size=size).split("|")
    console.print(plain_table(head, [_row(r) for r in run.rows], right=(2, 4, 5, 6, 7)))
    names = {r.similarity_is for r in run.rows if r.similarity_is}
    console.print(
        say(
            "term.attack.legend",
            size=size,
            similarity="; ".join(id_words("similarity", name) for name in sorted(names)) or "-",
        ),
        markup=False,
        style="dim",
    )
    for r in (r for r in run.rows if r.attack in run.found):
        for line in _details(r):
            console.print(line, markup=False, style="dim")
    for name, attacked in run.found.items():
        _worst(console, run, name, attacked)
    if run.transfers:
        _transfers(console, run)
    for check in run.checks:
        mark, style = {
            "passed": (say("term.attack.ok"), ""),
            "failed": (say("term.attack.warn"), "yellow"),
            "open": (say("term.attack.open"), "yellow"),
            "skipped": ("-   ", "dim"),
        }[check.result]
        console.print(f"{mark} {render(check.name)}: {render(check.sentence)}", markup=False, style=style or None)
    print_notes(run.notes)
    if run.path is not None:
        console.print(say("term.written", path=run.path), markup=False, soft_wrap=True)


def _row(r: AttackRow) -> tuple[str, ...]:
    from regard.surveys.attack_table import WORST

    def share(value: float) -> str:
        return "-" if value != value else f"{value:.0%}"

    return (
        say("term.attack.worst_case") if r.attack == WORST else r.attack,
        id_words("attack.access", r.access),
        f"{r.successes}/{r.attacked} {share(r.rate)}",
        say("term.attack.to", low=share(r.low), high=share(r.high)),
        share(r.holds),
        "-" if r.queries != r.queries else f"{r.queries:.0f}",
        _short(r.perturbed),
        "-" if r.similarity != r.similarity else f"{r.similarity:.2f}",
    )


def _short(value: float) -> str:
    return "-" if value != value else f"{value:.1%}"


def _details(r: AttackRow) -> list[str]:
    lines = []
    left = [say("term.attack.reason", n=n, why=id_words("attack.skipped", why)) for why, n in r.skipped.items()]
    if left:
        lines.append(say("term.attack.skipped", attack=r.attack, left=say("listed").join(left)))
    if r.budget:
        curve = ", ".join(f"{q}: {share:.0%}" for q, share in r.budget)
        lines.append(say("term.attack.by_query", attack=r.attack, curve=curve))
    if r.extras:
        extras = ", ".join(f"{k} {v:.2f}" for k, v in r.extras.items())
        lines.append(say("term.attack.extras", attack=r.attack, extras=extras))
    return lines + [say("term.attack.times", attack=r.attack, note=render(note), n=n) for note, n in r.notes]


def _worst(console: Console, run: AttackRun, name: str, found: tuple[Attacked, ...]) -> None:
    """Print the successes with the smallest changes, before and after."""
    pairs = [(one, e) for one, e in zip(found, run.examples, strict=True) if one.status == "success"]
    if not pairs or "text" not in run.examples[0].inputs or all(one.example is None for one, _ in pairs):
        return
    console.print("\n" + say("term.attack.least", attack=name), markup=False, style="bold")
    for one, example in sorted(pairs, key=lambda p: (p[0].perturbed, -p[0].similarity))[:MOST_PRINTED]:
        if one.example is None:
            continue
        before, after = _said(run, one.before, one.said_before), _said(run, one.after, one.said_after)
        console.print(f"  {example.inputs['text']}", markup=False)
        console.print(f"  {_marked(one, example)}", markup=False)
        console.print(
            f"  {say('term.attack.queries', before=before, after=after, n=one.queries)}\n", markup=False, style="dim"
        )


def _said(run: AttackRun, at: int | None, said: tuple[float, ...]) -> str:
    if at is None:
        return "-"
    label = run.labels[at] if at < len(run.labels) else str(at)
    return f"{label} {said[at]:.2f}" if at < len(said) else label


def _marked(one: Attacked, example: Example) -> str:
    """Return the changed text with changed words in brackets."""
    old = {word.casefold() for word in str(example.inputs["text"]).split()}
    assert one.example is not None
    return " ".join(w if w.casefold() in old else f"[{w}]" for w in str(one.example.inputs["text"]).split())


def _transfers(console: Console, run: AttackRun) -> None:
    from regard.present.terminal.terminal import plain_table
    from regard.surveys.transfer import CAVEAT

    console.print("\n" + say("term.attack.transfer"), markup=False, style="bold")
    targets = list(dict.fromkeys(t.target for t in run.transfers))
    rows = []
    for attack, source in dict.fromkeys((t.attack, t.source) for t in run.transfers):
        by_target = {t.target: t for t in run.transfers if (t.attack, t.source) == (attack, source)}
        cells = [
            f"{t.fooled}/{t.n} ({t.low:.0%}-{t.high:.0%})" if t.n else "0/0"
            for t in (by_target[name] for name in targets)
        ]
        rows.append((attack, source, *cells))
    console.print(
        plain_table((*columns("term.attack.transfer_columns"), *targets), rows, right=tuple(range(2, 2 + len(targets))))
    )
    console.print(render(CAVEAT), markup=False, style="dim")
