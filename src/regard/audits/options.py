"""Every option of an audit, once: the command line, the Python API, the plan and the identity read this record.

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
"""Methods as a caller names them: functions too."""
Form = Literal["text", "switch", "methods", "repeated", "number or word"]


@dataclass(frozen=True, slots=True)
class Flag:
    """A field on the command line. name: as click takes it; "" stands for --the-name-of-the-field."""

    help: str
    name: str = ""
    form: Form = "text"
    at_least: int | None = None
    choices: tuple[str, ...] = ()
    metavar: str | None = None


def _flag(default: Any, help: str, **how: Any) -> Any:
    return field(default=default, metadata={"flag": Flag(help, **how)})


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """Options of an audit: its subject, methods and examples, and where it runs. Serialises to JSON."""

    profile: str | None = _flag(
        None,
        "quick (2 minutes), standard (15 minutes) or full (no limit); default: the methods of standard, 5 minutes.",
        choices=("quick", "standard", "full"),
    )
    budget: str | None = _flag(
        None,
        "Time or passes to spend: 90s, 10m, 5000-passes or none (default: by profile).",
        metavar="BUDGET",
    )
    seed: int = _flag(0, "Seed of every random choice.")
    keep: int = _flag(12, "Number of examples whose attention is stored.", at_least=0)
    limit: int | None = _flag(None, "Maximum number of examples (default: by budget and profile).", at_least=1)
    engine: str | None = _flag(None, "Engine that runs the shards: serial, processes:workers=4 (regard list engine).")
    workers: int = _flag(1, "Worker processes; short for --engine processes:workers=N.", at_least=1)
    every_row: str | None = _flag(
        None,
        "After the sample, go through every row in constant memory: predictions, or the scores of the named methods.",
        choices=("predictions", "scores"),
    )
    labels: str | Mapping[str, int] | None = _flag(None, "Labels of the data as classes of the model: neg=0,pos=1.")
    text_column: str | None = _flag(None, "Column with the text (default: guessed and reported).")
    pair_column: str | None = _flag(None, "Column with the second text.")
    label_column: str | None = _flag(None, "Column with the label.")
    group_column: str | None = _flag(None, "Column that names the patient, author, ...; intervals resample groups.")
    rationale_column: str | None = _flag(None, "Column with the decisive places.")
    id_column: str | None = _flag(None, "Column with a name for every example.")
    slices: tuple[str, ...] = _flag((), "Column to keep as a slice; repeatable.", name="--slice", form="repeated")
    skip_bad: bool = _flag(False, "Skip unreadable rows and list them.", form="switch")
    split: str | None = _flag(None, "Split of the data, if it has several.")
    explainers: Methods | None = _flag(
        None, "Names separated by commas, parameters as name:key=value; all: every explainer.", form="methods"
    )
    metrics: Methods | None = _flag(None, "Names separated by commas; parameters as name:key=value.", form="methods")
    experiments: Methods | None = _flag(
        None,
        "The same; default: those of the profile, none if the audit names explainers or metrics; "
        "with --task answer, changes of the prompt: reordered, paraphrased, injected.",
        form="methods",
    )
    references: tuple[str, ...] | None = _flag(
        None,
        "Rankings that attention is compared with: lrp, integrated_gradients, gradient, leave_one_out.",
        form="methods",
    )
    siblings: tuple[str, ...] = _flag(
        (), "Other models trained for the same task, or their family; repeatable.", form="repeated", metavar="DIR"
    )
    layers: str | int | None = _flag(
        None, "Layers of the audited attention: last (default), all, or the number of one.", form="number or word"
    )
    heads: str | int | None = _flag(
        None, "Heads of the audited attention: mean (default), max, or the number of one.", form="number or word"
    )
    shift: str | None = _flag(
        None, "Repeat the audit on these data and report which verdicts survive.", metavar="DATA2"
    )
    shift_labels: str | Mapping[str, int] | None = _flag(
        None, "Labels of DATA2 as classes of the model (default: as --labels)."
    )
    text: bool = _flag(True, "Keep every word of the data out of the run directory.", name="--no-text", form="switch")
    resume: bool = _flag(True, "Continue a run that exists.", name="--resume/--no-resume", form="switch")
    device: str = _flag("auto", "Device that runs the model.")
    dtype: str | None = _flag(
        None,
        "Precision of the weights: fp32, bf16 or fp16 (default: as stored).",
        choices=("fp32", "bf16", "fp16"),
    )
    device_map: str | None = _flag(
        None, "Spread a large model over devices and disk: auto, or modules and devices as JSON.", metavar="MAP"
    )
    quantize: str | None = _flag(None, "Quantize the weights (bitsandbytes): 4bit or 8bit.", choices=("4bit", "8bit"))
    task: str | None = _flag(
        None,
        "The model's task, if the model does not tell it; answer: judge citations (regard list citer); "
        "series, anomaly, tabular: read the data so, and train a model on them where none is named.",
        choices=(*TASK_NAMES, "answer", "series", "anomaly", "tabular"),
        metavar="TASK",
    )
    window: int | None = _flag(
        None, "Cut a recording (one row per step, --task series) into windows of so many steps.", at_least=2
    )
    horizon: int = _flag(1, "Values to forecast after a window, where the recording has no labels.", at_least=1)
    overflow: Literal["windows", "cut", "error"] = _flag(
        "windows", "How to read a text that is longer than the model's limit.", choices=("windows", "cut", "error")
    )
    download: bool = _flag(False, "Fetch a Hugging Face model that is not in the local cache.", form="switch")
    words: Literal["characters", "jieba"] = _flag(
        "characters", "How Chinese characters are gathered to words.", choices=("characters", "jieba")
    )
    processor: str | None = _flag(None, "Directory of the tokenizer of an ONNX graph (default: beside the graph).")
    rebuild: bool = _flag(False, "Rebuild an ONNX graph in its Hugging Face class, for gradients.", form="switch")
    allow_code: bool = _flag(
        False, "Run code that comes with the model, the run or the Spec; read it first.", form="switch"
    )
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
        """The profile whose methods the audit uses."""
        return self.profile or DEFAULT_PROFILE

    @property
    def limits(self) -> Budget:
        """The budget by its name, else that of the named profile, else the default."""
        own = PROFILES[self.profile].budget if self.profile and self.profile in PROFILES else DEFAULT
        return Budget.parse(self.budget or own)

    @property
    def narrowed(self) -> bool:
        """Return whether the user named explainers or metrics: the audit then adds no experiments."""
        return self.explainers is not None or self.metrics is not None

    @property
    def engine_spec(self) -> Spec:
        """The engine by name; `workers` decides where no engine is named."""
        if self.engine is not None:
            return Spec.parse("engine", self.engine)
        return Spec("engine", "processes", {"workers": self.workers}) if self.workers > 1 else Spec("engine", "serial")

    def to_json(self) -> dict[str, Json]:
        return fields_to_json(self, *(item.name for item in fields(self)))

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> AuditOptions:
        """The options that `to_json` wrote."""
        return AuditOptions().changed({name: _from_json(part) for name, part in value.items()})


def _from_json(value: Any) -> Any:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(Spec.from_json(part) if isinstance(part, Mapping) else part for part in value)
    return value
