"""From the words of a command line to a model and to examples."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from regard.cli.progress import duration
from regard.errors import InputError
from regard.files import exists

if TYPE_CHECKING:
    from regard.datasets.examples import Examples
    from regard.models.read.text import Overflow
    from regard.protocols import Model
    from regard.records import Example

F = TypeVar("F", bound=Callable[..., Any])
DEFAULT_MODEL = "bilstm"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What the command line says about the model."""

    source: str
    device: str
    task: str | None
    overflow: Overflow

    @property
    def named(self) -> bool:
        """Whether it is one of the models that regard makes itself."""
        from regard.registry import named_model

        return not exists(self.source) and named_model(self.source) is not None

    @property
    def making(self) -> str:
        """What making the model costs, where its source says so; to be said when it is made, not when it is there."""
        from regard.present.messages.messages import say
        from regard.registry import entry, named_model

        spec = named_model(self.source) if self.named else None
        seconds = entry(spec.kind, spec.name).facts.get("seconds") if spec is not None else None
        if not isinstance(seconds, int | float):
            return ""
        return say("term.making", source=self.source, time=duration(float(seconds)))

    def open(self) -> Model:
        from regard.models.adapter import pick_device
        from regard.models.open.load import load

        pick_device(self.device)  # a factory may ignore it, a mistake is still a mistake
        return load(
            self.source,
            device=self.device,
            task=self.task,
            overflow=self.overflow,
            trust_remote_code=permitted("allow_code"),
            download=permitted("download"),
        )


def permitted(what: Literal["allow_code", "download"]) -> bool:
    """Whether the user typed `--allow-code` or `--download` in this command."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(f"regard.{what}"))


def _permit(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    context.meta[f"regard.{parameter.name}"] = value


def allow_code_option(function: F) -> F:
    """`--allow-code`; `permitted("allow_code")` says whether it was typed."""
    option = click.option(
        "--allow-code",
        is_flag=True,
        expose_value=False,
        callback=_permit,
        help="Run code that the model, the run or the Spec brings along; read it first.",
    )
    return option(function)


def permission_options(function: F) -> F:
    """`--download`, `--allow-code`."""
    option = click.option(
        "--download",
        is_flag=True,
        expose_value=False,
        callback=_permit,
        help="Fetch a Hugging Face model that is not in the local cache.",
    )
    return option(allow_code_option(function))


def model_options(function: F) -> F:
    """`--device`, `--task`, `--overflow`, `--download`, `--allow-code`."""
    function = permission_options(function)
    for option in (
        click.option(
            "--overflow",
            type=click.Choice(["windows", "cut", "error"]),
            default="windows",
            show_default=True,
            help="What to do with a text longer than the model reads.",
        ),
        click.option("--task", default=None, help="The model's task, where it cannot be told from the model."),
        click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or mps."),
    ):
        function = option(function)
    return function


def column_options(function: F) -> F:
    """`--text-column`, `--pair-column`, `--label-column`."""
    for option in (
        click.option("--label-column", help="Column with the label."),
        click.option("--pair-column", help="Column with the second text."),
        click.option("--text-column", help="Column with the text (default: guessed, and said)."),
    ):
        function = option(function)
    return function


def skip_option(function: F) -> F:
    """`--skip-bad`, which the error about an unreadable row names."""
    return click.option("--skip-bad", is_flag=True, help="Leave rows out that cannot be read, and say which.")(function)


@dataclass(frozen=True, slots=True)
class Columns:
    """What the command line says about the columns of a data file, and about rows that cannot be read."""

    text: str | None = None
    pair: str | None = None
    label: str | None = None
    skip_bad: bool = False


def named_columns(data: str | None, columns: Columns, limit: int | None, seed: int = 0) -> str | Examples | None:
    """The data as the command line names them; read now where it names columns, which no data of ours need."""
    if columns == Columns():
        return data
    if data is None:
        raise InputError("--text-column, --label-column, --skip-bad", expected="--data FILE", got="no data")
    from regard.datasets.read import read

    return read(
        data,
        text_column=columns.text,
        pair_column=columns.pair,
        label_column=columns.label,
        skip_bad=columns.skip_bad,
        limit=limit,
        seed=seed,
    )


def listed(text: str | None) -> list[str] | None:
    """Method names with their parameters, separated by commas.

    >>> listed("attention,rollout:residual=0.3,heads=max,random")
    ['attention', 'rollout:residual=0.3,heads=max', 'random']
    >>> listed("comprehensiveness:fractions=[0.5,1,0.1],sufficiency")
    ['comprehensiveness:fractions=[0.5,1,0.1]', 'sufficiency']
    """
    if text is None:
        return None
    # a comma between the brackets of a list separates its numbers, not methods
    return [part.strip() for part in re.split(r",(?![^\[]*\])(?=\s*\w+\s*(?:[:,]|$))", text) if part.strip()]


def checked_model(text: str) -> None:
    """Refuse an unknown parameter or value of a model by name now, before anything is made."""
    from regard.registry import arguments, named_model

    spec = named_model(text)
    if spec is not None:
        arguments(spec)


def checked_names(kind: str, texts: Sequence[str] | None) -> None:
    """Refuse unknown names, parameters and values now, before a model is opened."""
    from regard.records import Spec
    from regard.registry import arguments

    for text in texts or ():
        arguments(Spec.parse(kind, text))


def one_example(
    text: str | None,
    pair: str | None,
    data: str | None,
    row: int,
    columns: Columns = Columns(),  # noqa: B008 - frozen
) -> Example:
    """The example that a command is about: a text, or a row of a data set."""
    from regard.records import Example

    if data is not None:
        if text is not None:
            raise InputError("--text and --data", expected="one of them", got="both")
        from regard.datasets.read import read

        dataset = read(data, text_column=columns.text, pair_column=columns.pair, label_column=columns.label, limit=None)
        examples = list(dataset)
        if not 0 <= row < len(examples):
            raise InputError(f"--row {row}", expected=f"a row from 0 to {len(examples) - 1}", got=str(row))
        return examples[row]
    if columns != Columns():
        raise InputError("--text-column, --pair-column, --label-column", expected="--data FILE", got="no data")
    if text is None:
        raise InputError("input", expected="--text TEXT, or --data NAME and --row N", got="neither")
    if not text.strip():
        from regard.present.messages.messages import say

        raise InputError("--text", expected=say("error.a_text"), got=say("error.empty_text"))
    inputs = {"text": text} if pair is None else {"text": text, "text_pair": pair}
    return Example("input", inputs)
