"""The adapter: a torch module, a reader of its modality, and a row of the task table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from regard.cards import Card, HasCard
from regard.errors import EnvironmentProblem, InputError, UnknownName, phrase
from regard.models.ask.answer_names import answer_name, written_names
from regard.models.ask.prefix_sharing import PrefixCache
from regard.models.captured import Captured
from regard.models.class_row import TASKS, ClassRow
from regard.models.model_cards import model_card
from regard.models.objective import TensorAnswers
from regard.models.open import fingerprint as identity
from regard.models.open.module_output import named_outputs
from regard.models.open.placement import input_device, is_placed, pick_dtype
from regard.models.passes import EditedRuns, run_captured
from regard.models.read.encoded import Item, Reader
from regard.models.read.length_groups import like_lengths
from regard.models.read.noise import shifted
from regard.models.tasks import ANSWER, Outputs, Request, TaskRow, first_row, padded, scored_rows
from regard.protocols import Encoded, Target
from regard.records import Answers, Bools, Check, Edits, Example, Json, Mode, Spec, Text
from regard.tap.editing import per_row

Pooling = Literal["auto", "class", "mean", "last"]
Call = Callable[[nn.Module, Mapping[str, Tensor]], Any]
Write = Callable[[nn.Module, Mapping[str, Tensor], int], list[list[int]]]

T = TypeVar("T")


def pick_device(device: str) -> torch.device:
    """Resolve a device name; "auto" takes the GPU if there is one."""
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if device == "auto":
        return torch.device(next(name for name, is_there in available.items() if is_there))
    kind = device.partition(":")[0]
    if kind not in available:
        raise UnknownName("device", device, ["auto", *available])
    if not available[kind]:
        raise EnvironmentProblem(
            phrase("errors.models.device_device", device=device),
            expected=phrase("errors.models.machine_with_it"),
            got=phrase("errors.common.none"),
            remedy="--device cpu",
        )
    return torch.device(device)


def call_by_name(module: nn.Module, tensors: Mapping[str, Tensor]) -> Any:
    return module(**tensors)


@dataclass(frozen=True, slots=True)
class Traits:
    """Facts about a native model beyond its module.

    pads: batches of different lengths may be padded (the module gets a mask). kept_logits: it takes `logits_to_keep`.
    shares: its keys and values can be shared between variants with a common prefix. write: (module, tensors, most
    tokens) -> the greedy continuations; None: as in transformers. tokenizer: the Hugging Face tokenizer of a text
    model, for its chat template and its character offsets. forced: tokens that a generating model receives instead of
    choosing (language, task); the objective ignores them. ends: tokens that end its output, if no generation config
    names them.
    """

    pads: bool = True
    kept_logits: bool = False
    shares: bool = False
    encoder_decoder: bool = False
    pooling: Pooling = "auto"
    class_id: int | None = None
    mask_id: int | None = None
    pad_id: int = 0
    quiet: frozenset[int] = frozenset()
    config: Mapping[str, Json] = field(default_factory=dict)
    new_tokens: int = 32
    write: Write | None = None
    tokenizer: Any = field(default=None, compare=False)
    forced: frozenset[int] = frozenset()
    ends: frozenset[int] = frozenset()


class TorchModel(HasCard):
    """Implements `protocols.Model` for every modality and task."""

    def __init__(
        self,
        module: nn.Module,
        reader: Reader,
        row: TaskRow,
        *,
        name: str,
        labels: Sequence[str] = (),
        device: str = "auto",
        dtype: str | torch.dtype | None = None,
        traits: Traits = Traits(),  # noqa: B008 - frozen
        embedding: nn.Module | None = None,
        call: Call = call_by_name,
        spec: Spec | None = None,
        notes: Iterable[Text] = (),
    ) -> None:
        self.device = pick_device(device)
        if is_placed(module):
            self.device = input_device(module, self.device)
            self.module = module.eval()
        else:
            self.module = module.to(device=self.device, dtype=pick_dtype(dtype)).eval()
        identity.refuse_nan(self.module, name)
        self.reader, self.row, self.traits, self.embedding = reader, row, traits, embedding
        self.name, self.labels, self.spec = name, tuple(labels), spec
        self.call, self._notes = call, list(notes)
        self._prefix = PrefixCache() if traits.shares else None
        self._edits = EditedRuns()
        by_class = row.name in TASKS and traits.pooling in ("auto", "class") and not traits.encoder_decoder
        self._class_row = ClassRow() if by_class else None
        self._memory: dict[object, Any] = {}

    # ------------------------------------------------------------------ what it is

    @property
    def task(self) -> str:
        return self.row.name

    @property
    def modality(self) -> str:
        return self.reader.modality

    @property
    def operators(self) -> tuple[str, ...]:
        return self.reader.operators

    @property
    def baselines(self) -> tuple[str, ...]:
        """Allowed values of `Point.baseline`, the preferred one first."""
        return self.reader.baselines

    @property
    def notes(self) -> list[Text]:
        """Notes on truncated, windowed, guessed or replaced inputs."""
        return [*self._notes, *self.reader.notes()]

    @cached_property
    def fingerprint(self) -> str:
        return identity.fingerprint(self.module, {**self.traits.config, "task": self.task})

    @property
    def dtype(self) -> torch.dtype:
        return next((p.dtype for p in self.module.parameters() if p.is_floating_point()), torch.float32)

    @property
    def quiet(self) -> frozenset[int]:
        return self.traits.quiet

    @property
    def fill_in(self) -> int | None:
        return self.traits.mask_id

    def _card(self) -> Card:
        return model_card(self)

    # ------------------------------------------------------------------ inputs

    def encode(self, example: Example) -> Item:
        return self.reader.encode(example)

    def windows(self, example: Example) -> list[Example]:
        return self.reader.windows(example)

    def remove(self, encoded: Encoded, drop: Bools, operator: str, rng: np.random.Generator) -> Item:
        return self.reader.remove(own(encoded), drop, operator, rng)

    def tensors(self, items: Sequence[Item], targets: Sequence[Target] | None) -> tuple[dict[str, Tensor], Request]:
        """Collate the inputs of the module, and the request that they belong to."""
        tensors = self.reader.collate(list(items), self.device, self.dtype)
        columns: tuple[int, ...] | None = None
        if self.row.name == "sequence_to_sequence" and targets is not None:
            tensors["labels"] = torch.from_numpy(padded(targets, -100)).to(self.device)
        if self.row.name == "next_token" and self.traits.kept_logits:
            columns = tuple(sorted({item.length - 1 for item in items}))
        if self.row is ANSWER and self.traits.encoder_decoder:
            tensors["labels"] = torch.from_numpy(padded([i.aside["answer"].tolist() for i in items], -100)).to(
                self.device
            )
        elif self.row is ANSWER and self.traits.kept_logits:
            columns = tuple(sorted({first_row(item) + row for item in items for row in scored_rows(item)}))
        return tensors, Request(items, tensors, columns, self.traits.forced)

    # ------------------------------------------------------------------ running

    def run_read(self, tensors: Mapping[str, Tensor], request: Request, *, tapped: bool = False) -> Outputs:
        """`run` for the answer alone: layers above the last attention may skip positions that it does not read.

        tapped: attention is changed during this pass, so that it shows nothing about the layers.
        """
        if self._class_row is None:
            return self.run(tensors, request)
        if tapped:
            with self._class_row.only(len(request.items)):
                return self.run(tensors, request)
        return self._class_row.outputs(self.module, len(request.items), lambda: self.run(tensors, request))

    def run(self, tensors: Mapping[str, Tensor], request: Request) -> Outputs:
        """Call the module once; return its outputs by name."""
        if self.module.training:
            self.module.eval()
        extra = (
            {} if request.positions is None else {"logits_to_keep": torch.tensor(request.positions, device=self.device)}
        )
        with shifted(tensors, request.items, main=self.reader.main, embedding=self.embedding):
            return named_outputs(self.call(self.module, {**tensors, **extra}))

    def outputs(self, items: Sequence[Item], targets: Sequence[Target] | None) -> tuple[Outputs, Request]:
        tensors, request = self.tensors(items, targets)
        plain = all(item.shift is None for item in items)
        if self._prefix is not None and plain and torch.is_inference_mode_enabled():
            shared = self._prefix.logits(self.module, tensors, [item.length for item in items])
            if shared is not None:
                return {"logits": shared[:, None]}, Request(_ends(items), tensors, None)
        return self.run_read(tensors, request), request

    def generate(self, items: Sequence[Item]) -> list[list[int]]:
        """Return the greedy continuation, without the start token, up to and including the end token."""
        tensors, _ = self.tensors(items, None)
        if self.traits.write is not None:
            return self.traits.write(self.module, tensors, self.traits.new_tokens)
        module: Any = self.module
        sequences = module.generate(**tensors, max_new_tokens=self.traits.new_tokens, do_sample=False, num_beams=1)
        end = module.generation_config.eos_token_id
        ends = set(end if isinstance(end, list) else [end])
        rows = []
        for row in sequences[:, 1:].tolist():
            stop = next((i + 1 for i, token in enumerate(row) if token in ends), len(row))
            rows.append(row[: max(stop, 1)])
        return rows

    def _read(self, items: Sequence[Item], targets: Sequence[Target]) -> TensorAnswers:
        return self.row.read(*self.outputs(items, targets), targets)

    def predict(self, batch: Sequence[Encoded]) -> tuple[Answers, list[Target]]:
        items = [own(encoded) for encoded in batch]
        targets: list[Target] = [None] * len(items)
        parts: list[tuple[list[int], TensorAnswers]] = []
        with torch.inference_mode():
            for group in self.pieces(items):
                group_items = [items[i] for i in group]
                once = OneForward(self)
                predictions = self.row.decide(once, group_items)
                for i, target in zip(group, predictions, strict=True):
                    targets[i] = target
                answers = (
                    self.row.read(*once.last, predictions)
                    if once.serves(group_items)
                    else self._read(group_items, predictions)
                )
                parts.append((group, answers))
        return as_answers(len(items), parts), targets

    def forward(self, batch: Sequence[Encoded], targets: Sequence[Target], edits: Edits = ()) -> Answers:
        items = [own(encoded) for encoded in batch]
        parts: list[tuple[list[int], TensorAnswers]] = []
        if edits:
            each = per_row(edits)
            # the same edits of the same batch again compute nothing below them: such a batch stays together
            for group in self.groups(items) if each is None else self.pieces(items):
                group_items = [items[i] for i in group]
                group_edits: Edits = edits if each is None else [each[i] for i in group]
                parts.append((group, self._edits.answers(self, group_items, [targets[i] for i in group], group_edits)))
            return as_answers(len(items), parts)
        with torch.inference_mode():
            for group in self.pieces(items):
                parts.append((group, self._read([items[i] for i in group], [targets[i] for i in group])))
        return as_answers(len(items), parts)

    def capture(
        self, batch: Sequence[Encoded], targets: Sequence[Target], *, mode: Mode = "qk", check: Check = "first"
    ) -> Captured:
        items = [own(encoded) for encoded in batch]
        tapped = run_captured(self, items, targets, mode=mode, check=check)
        answers = as_answers(len(items), [(list(range(len(items))), tapped.answers)])
        units = [item.units for item in items]
        return Captured(
            sites=tapped.sites,
            rejected=tapped.rejected,
            checked=tapped.checked,
            units=units,
            answers=answers,
            model=self.name,
            labels=self.labels,
            targets=tuple(targets),
            task=self.task,
            names=tuple(
                answer_name(self.task, t, self.labels, self.reader, i) for t, i in zip(targets, items, strict=True)
            ),
            written=tuple(written_names(self.task, t, self.reader) for t in targets),
        )

    def once(self, key: object, make: Callable[[], T]) -> T:
        """Return the first result of `make` for this capability, cached for the life of the model."""
        if key not in self._memory:
            self._memory[key] = make()
        cached: T = self._memory[key]
        return cached

    def groups(self, items: Sequence[Item]) -> list[list[int]]:
        """Indices that may share a batch: all of them, or those of one shape if padding is not allowed."""
        if self.traits.pads and self.reader.modality == "text":
            return [list(range(len(items)))] if items else []
        groups: dict[tuple[int, ...], list[int]] = {}
        for i, item in enumerate(items):
            groups.setdefault(item.arrays[self.reader.main].shape, []).append(i)
        return list(groups.values())

    def pieces(self, items: Sequence[Item]) -> list[list[int]]:
        """Groups, cut into equal parts that fit the processor's cache; a GPU takes them whole.

        A module that is `alone` gets one input at a time, without padding.
        """
        if getattr(self.module, "alone", False):
            return [[i] for i in range(len(items))]
        if self.device.type != "cpu":
            return self.groups(items)
        return [
            [group[k] for k in piece]
            for group in self.groups(items)
            for piece in like_lengths([items[i].length for i in group])
        ]

    def backward_allowed(self) -> Any:
        """Disable cuDNN for backward passes of an LSTM in eval mode, which it does not support."""
        return torch.backends.cudnn.flags(enabled=False) if self.device.type == "cuda" else nullcontext()


class OneForward:
    """Runner that caches its last outputs, so that predicting and reading cost one forward."""

    def __init__(self, model: TorchModel) -> None:
        self._model = model
        self._items: Sequence[Item] = ()
        self.last: tuple[Outputs, Request]

    def outputs(self, items: Sequence[Item], targets: Sequence[Target] | None) -> tuple[Outputs, Request]:
        self._items, self.last = items, self._model.outputs(items, targets)
        return self.last

    def serves(self, items: Sequence[Item]) -> bool:
        return len(items) == len(self._items) and all(a is b for a, b in zip(items, self._items, strict=True))

    def generate(self, items: Sequence[Item]) -> list[list[int]]:
        return self._model.generate(items)

    @property
    def quiet(self) -> frozenset[int]:
        return self._model.quiet

    @property
    def fill_in(self) -> int | None:
        return self._model.fill_in


def own(encoded: Encoded) -> Item:
    if not isinstance(encoded, Item):
        raise InputError(
            phrase("errors.models.encoded_example"),
            expected=phrase("errors.models.example_encoded_by_this_model"),
            got=type(encoded).__name__,
        )
    return encoded


def _ends(items: Sequence[Item]) -> list[Item]:
    """Keep the last position only: prefix sharing computes no other logits."""
    return [Item(item.units, item.arrays, item.owner, 1) for item in items]


def as_answers(n: int, parts: Sequence[tuple[list[int], TensorAnswers]]) -> Answers:
    """Gather the rows of a batch from its parts, each with its row numbers."""
    value, probability = np.zeros(n), np.zeros(n)
    table: np.ndarray[Any, np.dtype[np.float64]] | None = None
    for group, answers in parts:
        value[group] = answers.value.detach().double().cpu().numpy()
        probability[group] = answers.probability.detach().double().cpu().numpy()
        if answers.distribution is not None:
            rows = answers.distribution.detach().double().cpu().numpy()
            table = np.zeros((n, rows.shape[1])) if table is None else table
            table[group] = rows
    return Answers(np.arange(n + 1), value, probability, table)
