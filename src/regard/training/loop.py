"""The one training loop."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.errors import InputError, Message, Text, phrase
from regard.measures.keyed_random import keyed_rng
from regard.training.batches import Rows, bucketed
from regard.training.loss import Term, forward, total
from regard.training.progress import Report, listening, tell
from regard.training.resume_state import load_state, save_state
from regard.training.scoring import ACCURACY, Measure

NETWORK = Message("learner.network")


@dataclass(frozen=True, slots=True)
class Settings:
    """Training settings.

    epochs: maximum; fewer when the dev split has not improved for `patience` of them. earliest: first epoch that may be
    selected. rate: of AdamW, rising over the first `warmup` of all steps and falling linearly to `last` of itself (1:
    it stays). clip: the longest gradient. save_seconds: how often the state is saved within an epoch. threads: one is
    nearly as fast as two for small networks, gives the same weights whatever the number of cores, and does not collapse
    on a busy machine; 0 leaves torch as it is.
    """

    epochs: int = 10
    batch_size: int = 32
    rate: float = 1e-3
    weight_decay: float = 0.0
    warmup: float = 0.0
    last: float = 0.0
    clip: float = 1.0
    patience: int = 3
    earliest: int = 1
    seed: int = 0
    save_seconds: float = 20.0
    threads: int = 1


@dataclass(frozen=True, slots=True)
class Epoch:
    """The loss of one epoch, and the loss and the measure of the dev split after it."""

    loss: float
    dev_loss: float
    dev_metric: float


@dataclass(frozen=True, slots=True)
class Fitted:
    """Result of a training: every epoch, and the number (from 0) of the best one."""

    epochs: tuple[Epoch, ...]
    best: int

    @property
    def dev_metric(self) -> float:
        return self.epochs[self.best].dev_metric


@dataclass
class _Course:
    """Progress of a training: the state that is not tensors."""

    epoch: int = 0
    step: int = 0
    loss: float = 0.0
    history: list[Epoch] = field(default_factory=list)
    best: int = -1


def fit(
    network: nn.Module,
    train: Rows,
    dev: Rows,
    terms: Sequence[Term],
    settings: Settings,
    *,
    measure: Measure = ACCURACY,
    by_loss: bool = False,
    what: Text = NETWORK,
    state: Path | None = None,
) -> Fitted:
    """Train `network` in place and leave it, in eval mode, with the weights of its best epoch on the dev split.

    The best epoch has the best `measure` on dev, and the lowest dev loss among equals; with `by_loss` the lowest dev
    loss, for a loss that is not about labels. The same seed, data and number of threads give the same weights, bit by
    bit, also when the training was killed on the way and went on from `state` (a directory).
    Progress goes to the listener of `regard.training.progress`.
    """
    for name, part in (("train", train), ("dev", dev)):
        if not len(part.labels):
            raise InputError(
                phrase("errors.training.split_name", name=name, what=what),
                expected=phrase("errors.common.at_least_one_example"),
                got=phrase("errors.common.none"),
            )

    def worth(epoch: Epoch) -> tuple[float, float]:
        metric = epoch.dev_metric if measure.higher_is_better else -epoch.dev_metric
        return (0.0 if by_loss else metric, -epoch.dev_loss)

    learned = [p for p in network.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=settings.rate, weight_decay=settings.weight_decay, fused=True)
    recipe = _recipe(network, train, dev, terms, settings, choice=[measure.name, by_loss])
    course, best = _Course(), dict[str, Tensor]()
    if state is not None and (resumed := load_state(state, network, optimizer, recipe)):
        course, best = _course(resumed[0]), resumed[1]

    def save() -> None:
        if state is not None:
            save_state(state, network, optimizer, best, {"recipe": recipe, **_facts(course)})

    saved = time.monotonic()
    with seeded(settings.seed, "fit"), threads(settings.threads):
        while course.epoch < settings.epochs and not _hopeless(course, settings):
            batches = bucketed(train.lengths, settings.batch_size, keyed_rng(settings.seed, "order", course.epoch))
            network.train()
            for rows in batches[course.step :]:
                # every step has random numbers of its own: a killed training draws the same ones again
                rng = keyed_rng(settings.seed, "step", course.epoch, course.step)
                torch.manual_seed(int(rng.integers(2**62)))
                batch = train.batch(rows, rng)
                loss, parts = total(terms, forward(network, batch), batch)
                course.loss += _finite(loss, parts, what, course)
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(learned, settings.clip)
                for group in optimizer.param_groups:
                    group["lr"] = settings.rate * _slope(course, len(batches), settings)
                optimizer.step()
                course.step += 1
                if listening():
                    tell(_report(what, course, settings, len(batches), measure, parts=parts))
                if time.monotonic() - saved > settings.save_seconds:
                    save()
                    saved = time.monotonic()
            dev_scores = evaluate(network, dev, terms, measure, settings.batch_size)
            epoch = Epoch(course.loss / len(batches), *dev_scores)
            if not math.isfinite(epoch.dev_loss):
                raise _not_finite(
                    epoch.dev_loss, phrase("errors.training.on_dev_split_after_epoch", epoch=course.epoch + 1), what
                )
            late = course.epoch + 1 >= min(settings.earliest, settings.epochs)
            if late and (course.best < 0 or worth(epoch) > worth(course.history[course.best])):
                course.best = len(course.history)
                best = {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}
            course.history.append(epoch)
            course.epoch, course.step, course.loss = course.epoch + 1, 0, 0.0
            save()
            tell(_finished(what, course, settings, len(batches), measure))
    network.load_state_dict(best, strict=True)
    network.eval()
    return Fitted(tuple(course.history), course.best)


def evaluate(
    network: nn.Module, rows: Rows, terms: Sequence[Term], measure: Measure = ACCURACY, batch_size: int = 64
) -> tuple[float, float]:
    """Evaluate mean loss and measure of a split in eval mode; restore the mode."""
    before, loss, values, labels = network.training, 0.0, list[Tensor](), list[Tensor]()
    # what is only a way to learn would double the cost of judging and tell nothing about the split
    terms = [term for term in terms if not term.learning] or terms
    network.eval()
    with torch.no_grad():
        for numbers in bucketed(rows.lengths, batch_size):
            batch = rows.batch(numbers, None)
            outcome = forward(network, batch)
            loss += total(terms, outcome, batch)[0].item() * len(numbers)
            values.append(measure.function(outcome, batch))
            labels.append(batch.labels)
    network.train(before)
    if measure.whole is not None:
        return loss / len(rows.labels), measure.whole(torch.cat(values).numpy(), torch.cat(labels).numpy())
    return loss / len(rows.labels), sum(part.sum().item() for part in values) / len(rows.labels)


@contextmanager
def seeded(seed: int, *keys: object) -> Iterator[None]:
    """Seed torch's random numbers inside the block and restore their state after it.

    >>> with seeded(0, "weights"):
    ...     first = torch.rand(2)
    >>> with seeded(0, "weights"):
    ...     bool((torch.rand(2) == first).all())
    True
    """
    with torch.random.fork_rng(range(torch.cuda.device_count())):
        torch.manual_seed(int(keyed_rng(seed, *keys).integers(2**62)))
        yield


@contextmanager
def threads(number: int) -> Iterator[None]:
    """Set the number of torch threads inside the block; 0 changes nothing.

    >>> with threads(1):
    ...     torch.get_num_threads()
    1
    """
    before = torch.get_num_threads()
    torch.set_num_threads(number or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _finite(loss: Tensor, parts: dict[str, Tensor], what: Text, course: _Course) -> float:
    value = loss.item()
    if math.isfinite(value):
        return value
    broken = ", ".join(name for name, part in parts.items() if not math.isfinite(part.item())) or phrase(
        "errors.training.their_sum"
    )
    raise _not_finite(
        value,
        phrase("errors.training.at_step_epoch", step=course.step + 1, epoch=course.epoch + 1, broken=broken),
        what,
    )


def _not_finite(value: float, where: Text, what: Text) -> InputError:
    remedy = phrase("errors.training.look_for_nan_or_huge")
    return InputError(
        phrase("errors.training.training_what", what=what),
        expected=phrase("errors.training.finite_loss"),
        got=phrase("errors.training.value_in_place", value=str(value), place=where),
        remedy=remedy,
    )


def _hopeless(course: _Course, settings: Settings) -> bool:
    """Return whether patience is exhausted: the dev split has stopped improving."""
    return course.best >= 0 and len(course.history) - 1 - course.best >= settings.patience


def _slope(course: _Course, steps: int, settings: Settings) -> float:
    """Learning rate as a fraction of its peak: a pure function of the step, so training can resume."""
    progress = (course.epoch * steps + course.step) / (settings.epochs * steps)
    if progress < settings.warmup:
        return min(1.0, (progress + 1e-3) / settings.warmup)
    return (1 - settings.last) * (1 - progress) / (1 - settings.warmup) + settings.last


def _report(
    what: Text, course: _Course, settings: Settings, steps: int, measure: Measure, parts: dict[str, Tensor]
) -> Report:
    last = course.history[-1] if course.history else None
    return Report(
        what,
        course.epoch + 1,
        settings.epochs,
        course.step,
        steps,
        loss=course.loss / max(1, course.step),
        terms={name: part.item() for name, part in parts.items()},
        dev_loss=last.dev_loss if last else None,
        dev_metric=last.dev_metric if last else None,
        metric=measure.shown,
    )


def _finished(what: Text, course: _Course, settings: Settings, steps: int, measure: Measure) -> Report:
    last = course.history[-1]
    return Report(
        what,
        course.epoch,
        settings.epochs,
        steps,
        steps,
        loss=last.loss,
        dev_loss=last.dev_loss,
        dev_metric=last.dev_metric,
        metric=measure.shown,
        epoch_is_over=True,
        best=course.best == len(course.history) - 1,
    )


def _recipe(
    network: nn.Module, train: Rows, dev: Rows, terms: Sequence[Term], settings: Settings, *, choice: list[Any]
) -> str:
    """Fingerprint of a training that a saved state must match."""
    rows = [hashlib.blake2b(np.ascontiguousarray(x).tobytes()).hexdigest() for r in (train, dev) for x in _columns(r)]
    shapes = [(name, list(tensor.shape)) for name, tensor in network.state_dict().items()]
    text = json.dumps([shapes, rows, [(t.name, t.weight) for t in terms], asdict(settings), choice])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _columns(rows: Rows) -> tuple[Any, Any]:
    return rows.labels, rows.lengths


def _facts(course: _Course) -> dict[str, Any]:
    return asdict(course)


def _course(facts: dict[str, Any]) -> _Course:
    history = [Epoch(**e) for e in facts["history"]]
    return _Course(facts["epoch"], facts["step"], facts["loss"], history, facts["best"])
