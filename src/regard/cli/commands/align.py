"""`regard align`: which source word, or which second of a sound, every written word comes from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.console import echo, print_json, print_notes, remarks, results
from regard.cli.example_input import one_example, row_options, sound_option
from regard.cli.model_options import Columns, ModelChoice, device_option
from regard.cli.progress import bar
from regard.cli.shared_options import seed_option
from regard.cli.verb import verb
from regard.errors import InputError, phrase

if TYPE_CHECKING:
    from regard.records import Example

SHOWN = 5
"""Maximum examples on a screen; `--json` and `--html` have all of them."""


@verb(
    "align",
    "regard align whisper --audio speech.wav",
    "regard align whisper --audio speech.wav --html words.html",
    "regard align ./translator --text 'sixteen thousand three hundred'",
    "regard align ./translator --data pairs.csv --limit 100",
)
@click.argument("model")
@click.option("--text")
@sound_option
@click.option("--data")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True)
@click.option("--alignment-column")
@click.option("--head", "head_name", metavar="SITE:N")
@click.option("--written", is_flag=True)
@click.option("-o", "--out", "--html", "html", type=click.Path(path_type=Path))
@seed_option
@row_options
@device_option
def command(
    model: str,
    text: str | None,
    audio: Path | None,
    data: str | None,
    limit: int,
    alignment_column: str | None,
    head_name: str | None,
    written: bool,
    html: Path | None,
    seed: int,
    device: str,
    as_json: bool,
) -> None:
    examples = _examples(text, audio, data, alignment_column, limit=limit, seed=seed)
    from regard.surveys.align import align

    head = None
    if head_name is not None:
        site, _, number = head_name.rpartition(":")
        if not site or not (number.isdecimal() or number == "mean"):
            raise InputError("--head", expected=phrase("errors.cli.site_or_site_mean"), got=head_name)
        head = (site, None if number == "mean" else int(number))
    choice = ModelChoice(model, device)
    with bar(remarks(), making=choice.making):
        result = align(choice.open(), examples, head=head, use_labels=not written, seed=seed)
    from regard.present.messages.messages import say

    if html is not None:
        result.save(html, examples)
    if as_json:
        print_json(result.to_json())
        return
    from regard.present.terminal.alignment_view import alignment_view

    results().print(alignment_view(result.to_json(), most=SHOWN))
    results().print(say("align.caveat"), markup=False, style="dim")
    print_notes(result.notes)
    if html is not None:
        echo(say("term.written", path=html))


def _examples(
    text: str | None, audio: Path | None, data: str | None, column: str | None, *, limit: int, seed: int
) -> list[Example]:
    if data is None or text is not None or audio is not None:
        if column is not None:
            raise InputError("--alignment-column", expected="--data FILE", got=phrase("errors.cli.no_data"))
        return [one_example(text, None, data, 0, audio=audio)]
    return list(Columns.of_command().read(data, limit=limit, seed=seed, alignment_column=column))
