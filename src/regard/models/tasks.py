"""Table of tasks: target of each, and objective from the model's outputs.

classification        target: class index             value: log-odds of the class against the rest
multi_label           target: label index             value: its logit
regression            target: output index            value: the output
token_classification  target: [position, class]       value: log-odds of the class at that position
question_answering    target: [first, last]           value: log-odds of the span
next_token            target: token id                value: log-odds of the token at the last position
masked_token          target: [position, token id]    value: log-odds of the token at the mask
sequence_to_sequence  target: list of token ids       value: teacher-forced log-probability
answer                target: list of token ids       value: log-odds of these tokens of a given answer (`ANSWER`)
written_token         target: token id                value: log-odds of the token behind those written before
similarity            target: list of numbers         value: cosine with that embedding (of the second text)
forecasting           target: step of the forecast    value: the forecast of that step
forecast_direction    target: 0 (fall) or 1 (rise)    value: log-odds of that direction (`models.forecast_direction`)
anomaly_score         target: 0 (normal), 1 (anomaly) value: log-odds of a score (`models.anomaly_score`)
object_detection      target: [query, class]          value: log-odds of the class at that query (`DetectorModel`)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from regard.errors import InputError, Text, Unsupported, phrase
from regard.models import objective
from regard.models.chat.log_odds import differentiable_log_odds
from regard.models.objective import TensorAnswers
from regard.models.read.encoded import Item
from regard.protocols import Target

Outputs = Mapping[str, Tensor]
WRITTEN = "written"
"""Keys in the inputs of a step and beside its arrays: the tokens written before it, and its own."""


@dataclass(frozen=True, slots=True)
class Request:
    """The request of a forward pass: its items, its tensors, and the positions that have logits (None: all).

    forced: tokens of a target that the model did not choose.
    """

    items: Sequence[Item]
    tensors: Mapping[str, Tensor]
    positions: tuple[int, ...] | None = None
    forced: frozenset[int] = frozenset()

    def last(self, device: torch.device) -> Tensor:
        """(batch,): index of the last position of each item in the logits."""
        ends = [item.length - 1 for item in self.items]
        return torch.tensor([self.positions.index(e) if self.positions else e for e in ends], device=device)


class Runner(Protocol):
    """Interface of the adapter that a task uses to find targets."""

    def outputs(self, items: Sequence[Item], targets: Sequence[Target] | None) -> tuple[Outputs, Request]: ...
    def generate(self, items: Sequence[Item]) -> list[list[int]]: ...
    @property
    def quiet(self) -> frozenset[int]:
        """Class indices that mean "nothing here" (the O of token classification)."""
        ...

    @property
    def fill_in(self) -> int | None:
        """The id of the mask token."""
        ...


Read = Callable[[Outputs, Request, Sequence[Target]], TensorAnswers]
Decide = Callable[[Runner, Sequence[Item]], list[Target]]


@dataclass(frozen=True, slots=True)
class TaskRow:
    """Row of the table of tasks. endings: architecture names that imply it.

    loader: the transformers class, if not that of the first ending. placed: the target is a position, so a removal must
    not shift positions.
    """

    name: str
    modality: str
    decide: Decide
    read: Read
    endings: tuple[str, ...] = ()
    loader: str = ""
    placed: bool = False
    labelled: bool = True

    @property
    def auto(self) -> str:
        """Transformers class that loads it; "" if there is none."""
        return self.loader or (f"AutoModel{self.endings[0]}" if self.endings else "")


def _ints(values: Sequence[Any], like: Tensor) -> Tensor:
    return torch.tensor([int(v) for v in values], device=like.device, dtype=torch.long)


def _pairs(targets: Sequence[Target], what: Text) -> list[tuple[int, int]]:
    pairs = []
    for target in targets:
        if not isinstance(target, list) or len(target) != 2:
            raise InputError("target", expected=what, got=repr(target))
        first, second = target
        if not isinstance(first, int) or not isinstance(second, int):
            raise InputError("target", expected=what, got=repr(target))
        pairs.append((first, second))
    return pairs


def best_class(outputs: Outputs, request: Request) -> list[Target]:
    """Most probable class of each row."""
    logits = outputs["logits"]
    if logits.ndim != 2 or len(logits) != len(request.items):
        raise InputError(
            phrase("errors.models.output_module"),
            expected=phrase("errors.models.logits_shape_classes", n=len(request.items)),
            got=str(tuple(logits.shape)),
            remedy=phrase("errors.models.return_logits_alone_or_first"),
        )
    if logits.shape[-1] == 1:
        return [int(z > 0) for z in logits.squeeze(-1)]
    return [int(i) for i in logits.argmax(-1)]


def _decide_class(run: Runner, items: Sequence[Item]) -> list[Target]:
    return best_class(*run.outputs(items, None))


def decides_by_outputs(row: TaskRow) -> bool:
    """Return whether the logits of one pass determine the target."""
    return row.decide is _decide_class


def _decide_number(run: Runner, items: Sequence[Item]) -> list[Target]:
    return [0 for _ in items]


def _read_class(outputs: Outputs, request: Request, targets: Sequence[Target]) -> TensorAnswers:
    logits = objective.as_logits(outputs["logits"])
    return objective.one_of_many(logits, _ints(targets, logits))


def _read_labels(outputs: Outputs, request: Request, targets: Sequence[Target]) -> TensorAnswers:
    return objective.each_alone(outputs["logits"], _ints(targets, outputs["logits"]))


def forecasts(outputs: Outputs) -> Tensor:
    """(batch, steps): forecast of a model; the first of several channels."""
    numbers = outputs["logits"]
    if numbers.dim() == 3:
        return numbers[:, :, 0]
    return numbers[:, None] if numbers.dim() == 1 else numbers


def _read_number(outputs: Outputs, request: Request, targets: Sequence[Target]) -> TensorAnswers:
    numbers = forecasts(outputs)
    return objective.number(numbers, _ints(targets, numbers))


def _decide_token_class(run: Runner, items: Sequence[Item]) -> list[Target]:
    """Decide the most certain unit whose class is not "nothing here"; if there is none, the most certain unit."""
    outputs, _ = run.outputs(items, None)
    targets: list[Target] = []
    for i, item in enumerate(items):
        free = torch.from_numpy(np.flatnonzero(item.units.free)).to(outputs["logits"].device)
        probability, best = torch.softmax(objective.wide(outputs["logits"][i, free]), -1).max(-1)
        loud = torch.tensor([int(b) not in run.quiet for b in best], device=best.device)
        sure = torch.where(loud, probability + 2, probability) if bool(loud.any()) else probability
        at = int(sure.argmax())
        targets.append([int(free[at]), int(best[at])])
    return targets


def _read_token_class(outputs: Outputs, request: Request, targets: Sequence[Target]) -> TensorAnswers:
    logits = outputs["logits"]
    pairs = _pairs(targets, phrase("errors.models.position_class"))
    row = torch.arange(len(pairs), device=logits.device)
    rows = logits[row, _ints([p for p, _ in pairs], logits)]
    return objective.one_of_many(rows, _ints([c for _, c in pairs], logits))


def _readable(item: Item, like: Tensor) -> Tensor:
    """True where an answer may lie: the second text if there is one, and never on padding."""
    part, free = item.units.part, item.units.free
    allowed = free & (part == part[free].max()) if free.any() else free
    out = torch.zeros(like.shape[-1], dtype=torch.bool, device=like.device)
    out[: len(allowed)] = torch.from_numpy(np.array(allowed)).to(like.device)
    return out


def _decide_span(run: Runner, items: Sequence[Item]) -> list[Target]:
    outputs, _ = run.outputs(items, None)
    targets: list[Target] = []
    for i, item in enumerate(items):
        start, end = (objective.wide(outputs[k][i]) for k in ("start_logits", "end_logits"))
        allowed = _readable(item, start)
        start, end = (x.masked_fill(~allowed, float("-inf")) for x in (start, end))
        n = item.length
        # best end at or after each start, at most 30 positions on, without an n x n table
        ends = torch.stack([end[a : min(a + 30, n)].max() for a in range(n)])
        first = int((start[:n] + ends).argmax())
        targets.append([first, first + int(end[first : min(first + 30, n)].argmax())])
    return targets


def _read_span(outputs: Outputs, request: Request, targets: Sequence[Target]) -> TensorAnswers:
    start, end = (objective.wide(outputs[name]) for name in ("start_logits", "end_logits"))
    pairs = _pairs(targets, phrase("errors.models.first_last"))
    first, last = _ints([a for a, _ in pairs], start), _ints([b for _, b in pairs], start)
    # padding and units hidden by the attention mask are no answers; the target itself must stay readable
    hidden = request.tensors["attention_mask"] == 0
    lowest = torch.finfo(torch.float32).min
    start = start.masked_fill(hidden.scatter(1, first[:, None], False), lowest)
    end = end.masked_fill(hidden.scatter(1, last[:, None], False), lowest)
    return objective.span(start, end, first, last)


def _last_logits(outputs: Outputs, request: Request) -> Tensor:
    logits = outputs["logits"]
    row = torch.arange(len(request.items), device=logits.device)
    return logits[row, request.last(logits.device)]


def _decide_next(run: Runner, items: Sequence[Item]) -> list[Target]:
    return [int(i) for i in _last_logits(*run.outputs(items, None)).argmax(-1)]


def _read_next(outputs: Outputs, request: Request, targets: Sequence[Target]) -> TensorAnswers:
    logits = _last_logits(outputs, request)
    return objective.one_of_many(logits, _ints(targets, logits), classes=False)


def _decide_masked(run: Runner, items: Sequence[Item]) -> list[Target]:
    outputs, _ = run.outputs(items, None)
    targets: list[Target] = []
    for i, item in enumerate(items):
        holes = np.flatnonzero((item.arrays["input_ids"] == run.fill_in) & item.units.special)
        if not len(holes):
            raise InputError(
                "masked_token",
                expected=phrase("errors.models.text_with_mask_token"),
                got="".join(item.units.names)[:60],
                remedy=phrase("errors.models.write_tokenizer_mask_token_for_bert"),
            )
        targets.append([int(holes[0]), int(outputs["logits"][i, holes[0]].argmax())])
    return targets


def _read_masked(outputs: Outputs, request: Request, targets: Sequence[Target]) -> TensorAnswers:
    logits = outputs["logits"]
    pairs = _pairs(targets, phrase("errors.models.position_token_id"))
    row = torch.arange(len(pairs), device=logits.device)
    rows = logits[row, _ints([p for p, _ in pairs], logits)]
    return objective.one_of_many(rows, _ints([c for _, c in pairs], logits), classes=False)


def _decide_sequence(run: Runner, items: Sequence[Item]) -> list[Target]:
    return [list(ids) for ids in run.generate(items)]


def padded(targets: Sequence[Target], fill: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """(batch, longest) the target ids of sequences."""
    if not all(isinstance(t, list) and t for t in targets):
        raise InputError("target", expected=phrase("errors.models.list_token_ids"), got=repr(targets[0])[:60])
    rows = [t for t in targets if isinstance(t, list)]
    table = np.full((len(rows), max(map(len, rows))), fill, dtype=np.int64)
    for i, row in enumerate(rows):
        table[i, : len(row)] = np.array(row, dtype=np.int64)
    return table


def _read_sequence(outputs: Outputs, request: Request, targets: Sequence[Target]) -> TensorAnswers:
    logits = outputs["logits"]
    tokens = torch.from_numpy(padded(targets, -1)).to(logits.device)
    real = tokens >= 0
    for token in request.forced:
        real &= tokens != token
    return objective.sequence(logits[:, : tokens.shape[1]], tokens.clamp(min=0), real)


def _decide_written(run: Runner, items: Sequence[Item]) -> list[Target]:
    return [int(item.aside[WRITTEN][-1]) for item in items]


def _read_written(outputs: Outputs, request: Request, targets: Sequence[Target]) -> TensorAnswers:
    """Return two classes: another token, and this one."""
    logits = outputs["logits"]
    row = torch.arange(len(request.items), device=logits.device)
    last = _ints([len(item.aside[WRITTEN]) - 1 for item in request.items], logits)
    answers = objective.one_of_many(logits[row, last], _ints(targets, logits), classes=False)
    return answers._replace(distribution=torch.stack([1 - answers.probability, answers.probability], -1))


def scored_rows(item: Item) -> list[int]:
    """Rows of the answer's scored tokens, counted from the row that predicts its first token."""
    return [int(i) for i in np.flatnonzero(item.aside["scored"])]


def first_row(item: Item) -> int:
    """First position of a causal model that predicts the answer; its rows are the last ones."""
    return item.length - len(item.aside["answer"])


def _decide_answer(run: Runner, items: Sequence[Item]) -> list[Target]:
    return [[int(i) for i in item.aside["answer"][scored_rows(item)]] for item in items]


def _read_answer(outputs: Outputs, request: Request, targets: Sequence[Target]) -> TensorAnswers:
    logits = outputs["logits"]
    rows, owners = [], []
    for i, item in enumerate(request.items):
        start = 0 if "labels" in request.tensors else first_row(item)
        places = [start + row for row in scored_rows(item)]
        places = [request.positions.index(place) for place in places] if request.positions else places
        rows.append(logits[i, places])
        owners += [i] * len(places)
    ids = _ints([token for target in targets if isinstance(target, list) for token in target], logits)
    spans = torch.tensor(owners, device=logits.device)
    log_odds, log_p = differentiable_log_odds(torch.cat(rows), ids, spans, len(request.items))
    plain = torch.tensor([bool(item.aside["plain"]) for item in request.items], device=logits.device)
    each = torch.exp(log_p / torch.bincount(spans, minlength=len(request.items)))
    return TensorAnswers(torch.where(plain, log_p, log_odds), each)


def _embedding(outputs: Outputs, request: Request) -> Tensor:
    if "sentence_embedding" in outputs:
        return outputs["sentence_embedding"]
    if "last_hidden_state" not in outputs:
        raise Unsupported("similarity", expected=phrase("errors.models.model_that_returns"), got=", ".join(outputs))
    return objective.mean_pool(outputs["last_hidden_state"], request.tensors["attention_mask"])


def _decide_likeness(run: Runner, items: Sequence[Item]) -> list[Target]:
    """The embedding of the second text; without one, the text's own (then `own` marks the list)."""
    others = [Item(i.units, i.aside, i.owner, len(i.aside["input_ids"])) if i.aside else i for i in items]
    targets = _embedding(*run.outputs(others, None))
    vectors = [[float(x) for x in row] for row in objective.wide(targets).tolist()]
    return [list(v) if i.aside else {"own": list(v)} for v, i in zip(vectors, items, strict=True)]


def _read_likeness(outputs: Outputs, request: Request, targets: Sequence[Target]) -> TensorAnswers:
    embedding = _embedding(outputs, request)
    own = [isinstance(t, dict) for t in targets]
    other = torch.tensor([t["own"] if isinstance(t, dict) else t for t in targets], device=embedding.device)
    return objective.likeness(
        embedding, other.to(objective.wide(embedding).dtype), torch.tensor(own, device=embedding.device)
    )


def _by_its_model(*_: Any) -> Any:
    """Placeholder for the functions of model classes that know more (`DetectorModel`, `DirectionModel`, ...)."""
    expected = phrase("errors.models.detector_or_forecast")
    raise Unsupported("task", expected=expected, got=phrase("errors.tap.another_model"))


_SEQUENCE, _SEQ2SEQ = "AutoModelForSequenceClassification", "AutoModelForSeq2SeqLM"
_TOKEN = ("ForTokenClassification",)
_SPAN = ("ForQuestionAnswering", "ForQuestionAnsweringSimple")
_CAUSAL = ("ForCausalLM", "LMHeadModel")
_MASKED = ("ForMaskedLM", "ForPreTraining")
_WRITING = ("ForConditionalGeneration", "MTModel")
_IMAGE = ("ForImageClassification", "ForImageClassificationWithTeacher")
TASKS: Mapping[str, TaskRow] = {
    row.name: row
    for row in (
        TaskRow("classification", "text", _decide_class, _read_class, ("ForSequenceClassification",)),
        TaskRow("multi_label", "text", _decide_class, _read_labels, loader=_SEQUENCE),
        TaskRow("regression", "text", _decide_number, _read_number, loader=_SEQUENCE, labelled=False),
        TaskRow("token_classification", "text", _decide_token_class, _read_token_class, _TOKEN, placed=True),
        TaskRow("question_answering", "text", _decide_span, _read_span, _SPAN, placed=True, labelled=False),
        TaskRow("next_token", "text", _decide_next, _read_next, _CAUSAL, labelled=False),
        TaskRow("masked_token", "text", _decide_masked, _read_masked, _MASKED, placed=True, labelled=False),
        TaskRow(
            "sequence_to_sequence", "text", _decide_sequence, _read_sequence, _WRITING, loader=_SEQ2SEQ, labelled=False
        ),
        TaskRow("written_token", "text", _decide_written, _read_written, labelled=False),
        TaskRow("similarity", "text", _decide_likeness, _read_likeness, ("Model",), loader="AutoModel", labelled=False),
        TaskRow("image_classification", "image", _decide_class, _read_class, _IMAGE),
        TaskRow("object_detection", "image", _by_its_model, _by_its_model, ("ForObjectDetection",)),
        TaskRow("audio_classification", "audio", _decide_class, _read_class, ("ForAudioClassification",)),
        TaskRow("series_classification", "series", _decide_class, _read_class, ("ForClassification",)),
        TaskRow("forecasting", "series", _decide_number, _read_number, ("ForPrediction",), labelled=False),
        TaskRow("forecast_direction", "series", _by_its_model, _by_its_model),
        TaskRow("anomaly_score", "series", _by_its_model, _by_its_model),
        TaskRow("tabular_classification", "tabular", _decide_class, _read_class),
    )
}
"""Tasks by name. The first whose ending fits the architecture is inferred; `task=` overrides it."""

ANSWER = TaskRow("answer", "text", _decide_answer, _read_answer, labelled=False)
"""Task of a model with a given answer (`models.chat.answer_model`); no architecture implies it."""
