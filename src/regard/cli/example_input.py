"""One input of a command: a text, a picture, a sound, or a row of a dataset with its label."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from regard.cli.model_options import Columns, column_options, remember, remembered, split_option
from regard.errors import InputError, phrase

if TYPE_CHECKING:
    from regard.protocols import Model
    from regard.records import Example

F = TypeVar("F", bound=Callable[..., Any])


def row_options(function: F) -> F:
    """Add the column options and `--split` to a command that reads one row of a dataset."""
    return split_option(column_options(function))


def row_labels_option(function: F) -> F:
    """Add `--labels` to a command that reads one row; `row_label` applies it."""
    return click.option("--labels", expose_value=False, callback=remember)(function)


def row_label(model: Model) -> str | None:
    """Return the label of the row that `one_example` read as a class of the model; None for an input without one."""
    labels, read_row = remembered("labels"), remembered("row")
    if read_row is None:
        if labels is not None:
            raise InputError("--labels", expected="--data FILE", got=phrase("errors.cli.no_data"))
        return None
    from regard.audits.resolve import matched

    dataset, row = read_row
    try:
        examples, table = matched(model, dataset, list(dataset), labels)
    except InputError:
        if labels is not None:
            raise
        return None  # nobody asked to compare the label
    label = examples[row].label if table else None
    return None if label is None else str(label)


def row_label_line(label: str | None) -> list[str]:
    """Return the line that states the label of a row, as a list; empty without a label."""
    from regard.present.messages.messages import say

    return [] if label is None else [say("term.row_label", label=label)]


def image_option(function: F) -> F:
    """Add `--image`, a picture file, for models that read pictures."""
    return click.option("--image", type=click.Path(path_type=Path))(function)


def picture_example(file: Path) -> Example:
    """A picture file as an example named after it."""
    from regard.datasets.picture_decoder import decoded
    from regard.files import kind_of
    from regard.records import Example

    kind = kind_of(file)
    if kind != "file":
        got = phrase("errors.common.no_such_file") if kind == "nothing" else phrase("errors.common.directory")
        raise InputError(
            phrase("errors.common.picture_file", file=file),
            expected=phrase("errors.cli.picture_file"),
            got=got,
            remedy=phrase("errors.cli.data_dir_for_directory"),
        )
    return Example(file.name, {"image": decoded(file, phrase("errors.common.picture_file", file=file))[0]})


def sound_option(function: F) -> F:
    """Add `--audio`, a .wav file."""
    return click.option("--audio", type=click.Path(path_type=Path, dir_okay=False))(function)


def input_options(function: F) -> F:
    """Add the options of `one_example`: `--text`, `--image`, `--audio`, `--pair`, `--data` and `--row`."""
    for option in (
        click.option("--row", type=int, default=0, show_default=True),
        click.option("--data"),
        click.option("--pair"),
        sound_option,
        image_option,
        click.option("--text"),
    ):
        function = option(function)
    return function


def one_example(
    text: str | None,
    pair: str | None,
    data: str | None,
    row: int,
    *,
    image: Path | None = None,
    audio: Path | None = None,
) -> Example:
    """Return the input of a command: a text, a picture file, a sound file, or a row of a dataset."""
    from regard.records import Example

    columns = Columns.of_command()
    if image is not None:
        if text is not None or data is not None or audio is not None:
            raise InputError(
                "--image", expected=phrase("errors.cli.no_text_audio_or_data"), got=phrase("errors.common.both")
            )
        return picture_example(image)
    if audio is not None:
        if text is not None or data is not None:
            raise InputError(
                "--audio", expected=phrase("errors.cli.no_text_and_no_data"), got=phrase("errors.common.both")
            )
        from regard.datasets.formats.sounds import wav_inputs

        return Example(audio.name, wav_inputs(audio))
    if data is not None:
        if text is not None:
            raise InputError(
                phrase("errors.cli.text_and_data"),
                expected=phrase("errors.cli.one_them"),
                got=phrase("errors.common.both"),
            )
        dataset = columns.read(data)
        examples = list(dataset)
        click.get_current_context().meta["regard.row"] = dataset, row
        if not 0 <= row < len(examples):
            raise InputError(
                f"--row {row}", expected=phrase("errors.cli.row_in_range", n=len(examples) - 1), got=str(row)
            )
        return examples[row]
    if columns != Columns():
        raise InputError(
            "--text-column, --pair-column, --label-column, --split",
            expected="--data FILE",
            got=phrase("errors.cli.no_data"),
        )
    if text is None:
        expected = phrase("errors.cli.text_text_image_file_audio")
        raise InputError("input", expected=expected, got=phrase("errors.common.none_them"))
    if not text.strip():
        from regard.present.messages.messages import say

        raise InputError("--text", expected=say("error.a_text"), got=say("error.empty_text"))
    inputs = {"text": text} if pair is None else {"text": text, "text_pair": pair}
    return Example("input", inputs)
