"""Shared command-line options for models, data and columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click
from click.shell_completion import CompletionItem

from regard.cli.progress import duration
from regard.errors import InputError, phrase
from regard.files import exists
from regard.models.task_names import TASK_NAMES

if TYPE_CHECKING:
    from regard.datasets.examples import Examples
    from regard.models.read.text import Overflow
    from regard.protocols import Model

F = TypeVar("F", bound=Callable[..., Any])
DEFAULT_MODEL = "bilstm"
COLUMNS = ("text_column", "pair_column", "label_column")


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Model options of the command line."""

    source: str
    device: str = "auto"
    task: str | None = None
    overflow: Overflow = "windows"

    @staticmethod
    def of_command(source: str) -> ModelChoice:
        """Return the model with the options that `model_options` added to this command."""
        return ModelChoice(source, remembered("device"), remembered("task"), remembered("overflow"))

    @property
    def named(self) -> bool:
        """Return whether the source names one of regard's own models."""
        from regard.registry import named_model

        return not exists(self.source) and named_model(self.source) is not None

    @property
    def making(self) -> str:
        """Message with the training time of a named model, to print when it is first trained; "" if unknown."""
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
            rebuild=permitted("rebuild"),
            processor=remembered("processor"),
            words=remembered("words") or "characters",
            **placement_options(),
        )


def remembered(name: str) -> Any:
    """Return an option that `remember` stored for this command; None if the command has no such option."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(f"regard.{name}")


def placement_options() -> dict[str, Any]:
    """Return `--dtype`, `--device-map` and `--quantize` of this command; None if the command has no such option."""
    return {name: remembered(name) for name in ("dtype", "device_map", "quantize")}


def permitted(what: Literal["allow_code", "download", "rebuild"]) -> bool:
    """Return whether the user passed `--allow-code`, `--download` or `--rebuild` to this command."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(f"regard.{what}"))


def _permit(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    context.meta[f"regard.{parameter.name}"] = value


def allow_code_option(function: F) -> F:
    """Add `--allow-code`; query it with `permitted("allow_code")`."""
    return click.option("--allow-code", is_flag=True, expose_value=False, callback=_permit)(function)


def permission_options(function: F) -> F:
    """Add `--download` and `--allow-code`."""
    return click.option("--download", is_flag=True, expose_value=False, callback=_permit)(allow_code_option(function))


def model_options(function: F) -> F:
    """Add the options of opening a model, which `ModelChoice.of_command` applies."""
    function = permission_options(function)
    for option in (
        click.option("--rebuild", is_flag=True, expose_value=False, callback=_permit),
        click.option(
            "--words",
            type=click.Choice(["characters", "jieba"]),
            default="characters",
            show_default=True,
            expose_value=False,
            callback=remember,
        ),
        click.option("--processor", expose_value=False, callback=remember),
        click.option("--quantize", type=click.Choice(["4bit", "8bit"]), expose_value=False, callback=remember),
        click.option("--device-map", metavar="MAP", expose_value=False, callback=remember),
        click.option("--dtype", type=click.Choice(["fp32", "bf16", "fp16"]), expose_value=False, callback=remember),
        click.option(
            "--overflow",
            type=click.Choice(["windows", "cut", "error"]),
            default="windows",
            show_default=True,
            expose_value=False,
            callback=remember,
        ),
        click.option("--task", type=click.Choice(TASK_NAMES), metavar="TASK", expose_value=False, callback=remember),
        click.option(
            "--device", type=DeviceName(), default="auto", show_default=True, expose_value=False, callback=remember
        ),
    ):
        function = option(function)
    return function


class DeviceName(click.ParamType[str]):
    """A device by its type, with a number if a machine has several: cuda:1."""

    name = "device"
    kinds = ("auto", "cpu", "cuda", "mps")

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return f"[{'|'.join(self.kinds)}]"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(kind) for kind in self.kinds if kind.startswith(incomplete)]

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        kind, _, number = value.partition(":")
        if kind not in self.kinds or (number and not number.isdecimal()) or (number and kind in ("auto", "cpu")):
            raise InputError(
                phrase("errors.cli.option_name", name="'--device'"),
                expected=phrase("error.one_of", names=", ".join([*self.kinds, "cuda:1"])),
                got=repr(value),
            )
        return value


def device_option(function: F) -> F:
    """Add `--device`."""
    return click.option("--device", type=DeviceName(), default="auto", show_default=True)(function)


def training_device_option(function: F) -> F:
    """Add `--device` to a command that trains: on the CPU, unless the user names another."""
    return click.option("--device", type=DeviceName(), default="cpu", show_default=True)(function)


def class_labels_option(function: F) -> F:
    """Add `--labels` to a command that trains."""
    return click.option("--labels")(function)


def labels_option(function: F) -> F:
    """Add `--labels`, for commands that compare predictions with the labels of the data."""
    return click.option("--labels")(function)


def out_option(**how: Any) -> Callable[[F], F]:
    """Add `-o/--out`, a file or a directory to write."""
    return click.option("-o", "--out", type=click.Path(path_type=Path), **how)


def remember(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Store an option for `remembered` instead of passing it to the function of the command."""
    context.meta[f"regard.{parameter.name}"] = value


def split_option(function: F) -> F:
    """Add `--split`, which `named_columns` and `one_example` apply."""
    return click.option("--split", expose_value=False, callback=remember)(function)


def column_options(function: F) -> F:
    """Add `--text-column`, `--pair-column` and `--label-column`, which `Columns.of_command` applies."""
    for name in reversed(COLUMNS):
        option = f"--{name.replace('_', '-')}"
        function = click.option(option, name, expose_value=False, callback=remember)(function)
    return function


def recording_options(function: F) -> F:
    """Add `--window`, `--horizon` and `--slice` for recordings and tables, which `Columns.of_command` applies."""
    for option in (
        click.option("--slice", "slices", multiple=True, expose_value=False, callback=remember),
        click.option("--horizon", type=click.IntRange(1), expose_value=False, callback=remember),
        click.option("--window", type=click.IntRange(2), expose_value=False, callback=remember),
    ):
        function = option(function)
    return function


def skip_option(function: F) -> F:
    """Add `--skip-bad`, which the error for an unreadable row recommends."""
    return click.option("--skip-bad", is_flag=True, expose_value=False, callback=_permit)(function)


@dataclass(frozen=True, slots=True)
class Columns:
    """Column options of a data file, and whether to skip unreadable rows."""

    text: str | None = None
    pair: str | None = None
    label: str | None = None
    skip_bad: bool = False
    split: str | None = None
    window: int | None = None
    horizon: int = 1
    slices: tuple[str, ...] = ()

    @staticmethod
    def of_command() -> Columns:
        """Return the columns of this command's options."""
        text, pair, label = (remembered(name) for name in COLUMNS)
        return Columns(
            text,
            pair,
            label,
            skip_bad=bool(remembered("skip_bad")),
            split=remembered("split"),
            window=remembered("window"),
            horizon=remembered("horizon") or 1,
            slices=tuple(remembered("slices") or ()),
        )

    def read(self, data: str, *, limit: int | None = None, **options: Any) -> Examples:
        """Read a data set by these columns; options: further ones of `read`, which win over these."""
        from regard.datasets.read import read

        columns = {
            "text_column": self.text,
            "pair_column": self.pair,
            "label_column": self.label,
            "skip_bad": self.skip_bad,
            "split": self.split,
            "window": self.window,
            "horizon": self.horizon,
            "slice_columns": self.slices,
        }
        return read(data, limit=limit, **{**columns, **options})


def named_columns(data: str | None, limit: int | None, seed: int = 0) -> str | Examples | None:
    """Return the data; read them now if column options or a split are set, which built-in data rarely need."""
    columns = Columns.of_command()
    if columns == Columns():
        return data
    if data is None:
        raise InputError(
            "--text-column, --label-column, --split, --skip-bad",
            expected="--data FILE",
            got=phrase("errors.cli.no_data"),
        )
    return columns.read(data, limit=limit, seed=seed)


def listed(text: str | None) -> list[str] | None:
    """Split comma-separated method names with parameters.

    >>> listed("attention,rollout:residual=0.3,heads=max,random")
    ['attention', 'rollout:residual=0.3,heads=max', 'random']
    >>> listed("comprehensiveness:fractions=[0.5,1,0.1],sufficiency")
    ['comprehensiveness:fractions=[0.5,1,0.1]', 'sufficiency']
    """
    if text is None:
        return None
    # a comma between the brackets of a list separates its numbers, not methods
    return [part.strip() for part in re.split(r",(?![^\[]*\])(?=\s*[\w./~-]+\s*(?:[:,]|$))", text) if part.strip()]


def own_methods(kind: str, texts: Sequence[str] | None) -> list[str] | None:
    """Load the methods that the user names as file.py:function, and replace them by their registered names."""
    if texts is None:
        return None
    return [_own_method(kind, text) for text in texts]


def _own_method(kind: str, text: str) -> str:
    # `given:function=file.py:name` is a method with a parameter, not a file
    match = re.fullmatch(r"(?!\w+:\w+=)(?P<file>.+\.py):(?P<name>\w+)(?P<rest>:.*)?", text)
    if match is None:
        return text
    from regard.errors import UnknownName
    from regard.foreign_code import load_file
    from regard.registry import marked_kind, method_spec

    module = load_file(Path(match["file"]))
    methods = {name: value for name, value in vars(module).items() if marked_kind(value) == kind}
    if match["name"] not in methods:
        raise UnknownName(phrase("errors.cli.in_noun", noun=kind, file=match["file"]), match["name"], methods)
    return method_spec(methods[match["name"]]).name + (match["rest"] or "")


def checked_model(text: str) -> None:
    """Validate the parameters of a named model before training or loading it."""
    from regard.registry import arguments, named_model

    spec = named_model(text)
    if spec is not None:
        arguments(spec)


def checked_names(kind: str, texts: Sequence[str] | None) -> None:
    """Validate names, parameters and values before opening a model."""
    from regard.records import Spec
    from regard.registry import arguments

    for text in texts or ():
        arguments(Spec.parse(kind, text))
