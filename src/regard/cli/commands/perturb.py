"""`regard perturb`: label-preserving noise on examples or under a model; behavioural tests; term swaps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli.behaviour import put_swaps, put_tests
from regard.cli.changed_examples import show_changed
from regard.cli.console import print_json, print_notes, remarks, results
from regard.cli.model_options import (
    Columns,
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
from regard.cli.shared_options import seed_option
from regard.cli.verb import verb
from regard.errors import InputError, phrase
from regard.present.messages.messages import columns as headed
from regard.present.messages.messages import id_words, method_words, say
from regard.visible import shell_word

if TYPE_CHECKING:
    from regard.datasets.examples import Examples


@verb(
    "perturb",
    "regard perturb 'a quiet, moving film' --noise keyboard --severity 3",
    "regard perturb reviews --noise keyboard,filler --limit 5",
    "regard perturb reviews.csv --noise ocr --severity 2 --seed 7 --out noisy.csv",
    "regard perturb bilstm --data reviews --noise all",
    "regard perturb bilstm --tests behaviour.toml",
    "regard perturb bilstm --data reviews --swaps names,pronouns",
    "regard perturb --list",
)
@click.argument("what", required=False, metavar="[TEXT | DATA | MODEL]")
@click.option("--data", metavar="DATA")
@click.option("--noise", metavar="NAMES")
@click.option("--severity", default=None, metavar="1..5")
@click.option("--model", "lender", metavar="MODEL")
@seed_option
@click.option("--limit", type=click.IntRange(1))
@out_option()
@click.option("--tests", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--swaps", metavar="NAMES|FILE")
@click.option("--method", default="attention", show_default=True)
@labels_option
@column_options
@split_option
@skip_option
@device_option
@permission_options
@click.option("--list", "as_list", is_flag=True)
def command(
    what: str | None,
    data: str | None,
    noise: str | None,
    severity: str | None,
    lender: str | None,
    seed: int,
    limit: int | None,
    out: Path | None,
    tests: Path | None,
    swaps: str | None,
    method: str,
    labels: str | None,
    device: str,
    as_list: bool,
    as_json: bool,
) -> None:
    if as_list:
        return _list(as_json)
    if what is None:
        raise InputError(
            "regard perturb",
            expected=phrase("errors.cli.text_data_set_or_model"),
            got=phrase("errors.common.none"),
            remedy="--list, --help",
        )
    names = own_methods("perturbation", listed(noise)) or []
    checked_names("perturbation", [name for name in names if name != "all"])
    columns = Columns.of_command()
    if tests is None and swaps is None and data is None:
        _no_model(what)
        severities = _severities(severity, (3,))
        lent = None if lender is None else ModelChoice(lender, device).open()
        return show_changed(
            what,
            names,
            severities=severities,
            seed=seed,
            limit=limit,
            out=out,
            columns=columns,
            model=lent,
            as_json=as_json,
        )
    if lender is not None:
        raise InputError(
            "--model",
            expected=phrase("errors.cli.data_or_text_change"),
            got=phrase("errors.cli.model_that_regard_queries_itself", what=what),
        )
    if out is not None:
        command = f"regard perturb {shell_word(data or 'DATA')} --out {shell_word(out)}"
        raise InputError(
            "--out",
            expected=phrase("errors.cli.data_or_text_change"),
            got=phrase("errors.cli.model_query", what=what),
            remedy=phrase("errors.cli.for_changed_examples_json_for_these", command=command),
        )
    if tests is not None and (data is not None or swaps is not None):
        other = "--data" if data is not None else "--swaps"
        raise InputError(
            "--tests",
            expected=phrase("errors.cli.no_templates_bring_their_own", other=other),
            got=phrase("errors.common.both"),
        )
    checked_model(what)
    choice = ModelChoice(what, device)
    if tests is not None:
        return put_tests(choice, tests, seed, as_json=as_json)
    if swaps is not None:
        read = named_columns(data, limit or 1000, seed)
        return put_swaps(choice, read, swaps=swaps, method=method, limit=limit or 1000, seed=seed, as_json=as_json)
    table = _severities(severity, (1, 2, 3, 4, 5))
    read = named_columns(data, limit or 300, seed)
    return _table(
        choice, read, names=names, severities=table, limit=limit or 300, seed=seed, labels=labels, as_json=as_json
    )


def _no_model(what: str) -> None:
    """Refuse a model name where a text or dataset is expected."""
    from regard.registry import named_model
    from regard.registry import names as known

    is_model = Path(what).is_dir() and any((Path(what) / file).is_file() for file in ("config.json", "regard.json"))
    if is_model or (
        what.partition(":")[0] not in known("dataset") and " " not in what and named_model(what) is not None
    ):
        raise InputError(
            phrase("errors.common.model_live", live=what),
            expected=phrase("errors.cli.text_or_data_or_model"),
            got=phrase("errors.cli.model_alone"),
            remedy=f"regard perturb {shell_word(what)} --data DATA",
        )


def _severities(given: str | None, default: tuple[int, ...]) -> tuple[int, ...]:
    if given is None:
        return default
    parts = [part.strip() for part in given.split(",")]
    if not all(part in ("1", "2", "3", "4", "5") for part in parts):
        raise InputError("--severity", expected=phrase("errors.cli.numbers_from_separated_by_commas"), got=given)
    return tuple(int(part) for part in parts)


def _list(as_json: bool) -> None:
    from regard.present.terminal.terminal import plain_table
    from regard.registry import entry, names

    entries = [entry("perturbation", name) for name in names("perturbation")]
    if as_json:
        return print_json([e.to_json() for e in entries])
    for modality in ("text", "image", "audio", "series", "table"):
        noises = sorted((e for e in entries if e.facts["modality"] == modality), key=lambda e: str(e.facts["family"]))
        rows = [
            (
                e.name,
                id_words("noise_family", str(e.facts["family"])),
                method_words("summary.perturbation", e.name, e.summary),
                method_words("scale.perturbation", e.name, e.facts["scale"]),
            )
            for e in noises
        ]
        results().print(plain_table((modality, *headed("term.perturb.columns")), rows))
        results().print()


def _table(
    choice: ModelChoice,
    data: str | Examples | None,
    names: list[str],
    severities: tuple[int, ...],
    limit: int,
    seed: int,
    labels: str | None,
    *,
    as_json: bool,
) -> None:
    from regard.audits import resolve
    from regard.audits.repeatability import warning
    from regard.surveys.noise_table import noise_table, specs_of

    with bar(remarks(), making=choice.making) as progress_bar:
        live = choice.open()
        read = resolve.open_data(data or resolve.default_data(choice.source), limit, seed)
        whole, notes = resolve.prepared(live, read, limit)
        examples, _ = resolve.matched(live, read, whole, labels)
        notes = [*[text for text in [warning(live, examples[0])] if text], *notes]
        rows = noise_table(
            live,
            examples,
            specs_of(examples[0], names),
            severities,
            seed=seed,
            progress=lambda what, done, total: progress_bar.show(what, done / max(1, total), f"{done}/{total}"),
        )
    if as_json:
        return print_json(
            {"model": live.name, "data": read.name, "seed": seed, "rows": [r.to_json() for r in rows], "notes": notes}
        )
    from regard.present import counts
    from regard.present.terminal.terminal import plain_table

    clean, out = rows[0], results()
    labelled = clean.accuracy == clean.accuracy
    number = clean.answer == "number"
    kind = say(f"term.perturb.{'accuracy' if labelled else clean.answer}")
    title = say(
        "term.perturb.title",
        model=live.name,
        n=clean.labelled if labelled else clean.n,
        data=read.name,
        kind=kind,
        seed=seed,
    )
    out.print(title, markup=False, style="bold")

    def cell(r: Any) -> str:
        value, low, high = (r.accuracy, r.low, r.high) if labelled else (r.flips, r.flips_low, r.flips_high)
        if number:
            value, low, high = r.change, r.change_low, r.change_high
        n, common = (r.labelled, clean.labelled) if labelled else (r.n, clean.n)
        own = counts.own((n, n), (common, common))
        return f"{value:.3f} [{low:.3f}, {high:.3f}]" + (f", {own}" if own else "")

    if labelled:
        out.print(say("term.perturb.clean", cell=cell(clean)), markup=False)
    by = {(r.noise, r.severity): r for r in rows[1:]}
    idle = sorted({r.noise for r in rows[1:]} - {r.noise for r in rows[1:] if r.changed})
    noises = [noise for noise in dict.fromkeys(r.noise for r in rows[1:]) if noise not in idle]
    lines = [(noise, *(cell(by[noise, s]) for s in severities)) for noise in noises]
    out.print(plain_table((say("term.perturb.noise"), *(say("term.perturb.severity", s=s) for s in severities)), lines))
    if idle:
        out.print(say("term.perturb.idle", noises=", ".join(idle)), markup=False)
    left = sum(r.left_out for r in rows)
    if left:
        out.print(say("term.perturb.left", n=left), markup=False)
    out.print(say("term.perturb.note"), markup=False, style="dim")
    print_notes([*notes, *read.notes])
