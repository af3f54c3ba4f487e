"""Every option of an audit, once: the command line, the Python API, the plan and the identity use this record.

A new option is one field here, and one keyword of `regard.audit`. Its flag of `regard audit` is generated from
the field (see `cli.audit_flags`).
"""

# ruff: noqa: RUF009 - `_flag` is `dataclasses.field`
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from regard.audits.budget import DEFAULT, Budget
from regard.audits.default_methods import DEFAULT_PROFILE, PROFILES
from regard.desk.batching import BATCH
from regard.errors import InputError, UnknownName, phrase
from regard.models.task_names import TASK_NAMES
from regard.records import Json, Spec
from regard.registry import method_spec
from regard.store.codec import fields_to_json

Methods = tuple[str | Spec, ...]
MethodNames = Sequence[str | Spec | Callable[..., Any]]
"""Methods as a caller names them, including functions."""
Form = Literal["text", "switch", "methods", "repeated", "number or word"]


@dataclass(frozen=True, slots=True)
class Flag:
    """A field on the command line; the catalogue describes it under `option.audit`.

    name: click's spelling; "" stands for --the-name-of-the-field.
    """

    name: str = ""
    form: Form = "text"
    at_least: int | None = None
    above: float | None = None
    choices: tuple[str, ...] = ()
    metavar: str | None = None


def _flag(default: Any, **how: Any) -> Any:
    return field(default=default, metadata={"flag": Flag(**how)})


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """Options of an audit: its subject, methods and examples, and where it runs. Serialises to JSON."""

    profile: str | None = _flag(None, choices=("quick", "standard", "full"))
    budget: str | None = _flag(None, metavar="BUDGET")
    seed: int = _flag(0)
    keep: int = _flag(12, at_least=0)
    limit: int | None = _flag(None, at_least=1)
    engine: str | None = _flag(None)
    workers: int = _flag(1, at_least=1)
    every_row: str | None = _flag(None, choices=("predictions", "scores"))
    labels: str | Mapping[str, int] | None = _flag(None)
    text_column: str | None = _flag(None)
    pair_column: str | None = _flag(None)
    label_column: str | None = _flag(None)
    group_column: str | None = _flag(None)
    rationale_column: str | None = _flag(None)
    id_column: str | None = _flag(None)
    slices: tuple[str, ...] = _flag((), name="--slice", form="repeated")
    skip_bad: bool = _flag(False, form="switch")
    split: str | None = _flag(None)
    explainers: Methods | None = _flag(None, form="methods")
    metrics: Methods | None = _flag(None, form="methods")
    experiments: Methods | None = _flag(None, form="methods")
    references: tuple[str, ...] | None = _flag(None, form="methods")
    siblings: tuple[str, ...] = _flag((), form="repeated", metavar="DIR")
    layers: str | int | None = _flag(None, form="number or word")
    heads: str | int | None = _flag(None, form="number or word")
    shift: str | None = _flag(None, metavar="DATA2")
    shift_labels: str | Mapping[str, int] | None = _flag(None)
    text: bool = _flag(True, name="--no-text", form="switch")
    resume: bool = _flag(True, name="--resume/--no-resume", form="switch")
    device: str = _flag("auto")
    dtype: str | None = _flag(None, choices=("fp32", "bf16", "fp16"))
    device_map: str | None = _flag(None, metavar="MAP")
    quantize: str | None = _flag(None, choices=("4bit", "8bit"))
    task: str | None = _flag(None, choices=(*TASK_NAMES, "answer", "series", "anomaly", "tabular"), metavar="TASK")
    window: int | None = _flag(None, at_least=2)
    horizon: int = _flag(1, at_least=1)
    overflow: Literal["windows", "cut", "error"] = _flag("windows", choices=("windows", "cut", "error"))
    download: bool = _flag(False, form="switch")
    words: Literal["characters", "jieba"] = _flag("characters", choices=("characters", "jieba"))
    segment: float | None = _flag(None, above=0.0, metavar="SECONDS")
    processor: str | None = _flag(None)
    rebuild: bool = _flag(False, form="switch")
    allow_code: bool = _flag(False, form="switch")
    batch: int = BATCH

    def __post_init__(self) -> None:
        for name in ("explainers", "metrics", "experiments", "references", "siblings", "slices"):
            value = getattr(self, name)
            if isinstance(value, str):
                raise InputError(
                    name, expected=phrase("errors.common.list_names"), got=repr(value), remedy=f"[{value!r}]"
                )
            if value is not None:
                object.__setattr__(self, name, tuple(method_spec(v) if callable(v) else v for v in value))
        if self.every_row == "scores" and not self.narrowed:
            remedy = phrase("errors.audits.explainers_and_metrics_or_every")
            raise InputError(
                "--every-row scores",
                expected=phrase("errors.audits.named_explainers_and_metrics"),
                got=phrase("errors.common.none"),
                remedy=remedy,
            )
        for name, least in (("workers", 1), ("batch", 1), ("keep", 0)):
            if getattr(self, name) < least:
                raise InputError(
                    name, expected=phrase("errors.audits.at_least", least=least), got=str(getattr(self, name))
                )

    def changed(self, changes: Mapping[str, Any]) -> AuditOptions:
        """Return these options with some changed; an unknown name is an error that lists near misses."""
        names = [item.name for item in fields(self)]
        for name in changes:
            if name not in names:
                raise UnknownName(phrase("errors.audits.option_audit"), name, names)
        return replace(self, **changes)

    @property
    def profile_name(self) -> str:
        """Profile whose methods the audit uses."""
        return self.profile or DEFAULT_PROFILE

    @property
    def limits(self) -> Budget:
        """Named budget, else that of the named profile, else the default."""
        own = PROFILES[self.profile].budget if self.profile and self.profile in PROFILES else DEFAULT
        return Budget.parse(self.budget or own)

    @property
    def narrowed(self) -> bool:
        """Return whether the user named explainers or metrics: the audit then adds no experiments."""
        return self.explainers is not None or self.metrics is not None

    @property
    def engine_spec(self) -> Spec:
        """Engine by name; `workers` decides if no engine is named."""
        if self.engine is not None:
            return Spec.parse("engine", self.engine)
        return Spec("engine", "processes", {"workers": self.workers}) if self.workers > 1 else Spec("engine", "serial")

    def to_json(self) -> dict[str, Json]:
        return fields_to_json(self, *(item.name for item in fields(self)))

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> AuditOptions:
        """Read the options that `to_json` wrote."""
        return AuditOptions().changed({name: _from_json(part) for name, part in value.items()})


def _from_json(value: Any) -> Any:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(Spec.from_json(part) if isinstance(part, Mapping) else part for part in value)
    return value
