"""Monitoring of attention: in a running service (`watch`), and in training (`AttentionHealth`)."""

from __future__ import annotations

import functools
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from torch import nn

from regard.errors import InputError, Message, Text, phrase
from regard.tap.capture_plan import is_compiled
from regard.tap.monitor.sample import Glimpse, PassGlimpse, collapse_warnings

KEPT = 1000
"""Maximum samples, and problems, to store."""


class Writer(Protocol):
    """Destination of numbers: a log, TensorBoard, MLflow (see `writers`)."""

    def write(self, step: int, values: Mapping[str, float]) -> None: ...


class _Attached:
    """Replacement for the forward of a module that samples some passes.

    One attribute of the module is set and taken back; hooks would be seen by passes of other threads.
    """

    def __init__(self, module: nn.Module, wanted: Callable[[], int | None], note: Callable[..., None]) -> None:
        self.module, self._wanted, self._note = module, wanted, note
        self._own: Any = None
        self._ours: Any = None
        self._inside = threading.local()

    def attach(self) -> None:
        original = self.module.forward
        self._own = self.module.__dict__.get("forward")

        @functools.wraps(original)
        def forward(*args: Any, **keywords: Any) -> Any:
            if getattr(self._inside, "busy", False):  # a module that calls itself is one pass
                return original(*args, **keywords)
            self._inside.busy = True
            try:
                return self._passed(original, args, keywords)
            finally:
                self._inside.busy = False

        self._ours = forward
        self.module.__dict__["forward"] = forward

    def detach(self) -> None:
        if self.module.__dict__.get("forward") is self._ours:
            if self._own is None:
                del self.module.__dict__["forward"]
            else:
                self.module.__dict__["forward"] = self._own

    def _passed(self, original: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        number = self._wanted()
        start = time.perf_counter()
        if number is None:
            out = original(*args, **keywords)
            self._note(None, None, time.perf_counter() - start)
            return out
        glimpse = Glimpse((args, keywords))
        with glimpse:
            out = original(*args, **keywords)
        self._note(number, glimpse, time.perf_counter() - start)
        return out


def _module(model: Any) -> nn.Module:
    module = model if isinstance(model, nn.Module) else getattr(model, "module", None)
    if not isinstance(module, nn.Module):
        raise InputError(
            phrase("errors.tap.model_watch"),
            expected=phrase("errors.tap.torch_module_or_regard_model"),
            got=type(model).__name__,
        )
    return module


class Watch:
    """Sample every `every`-th pass of a module, in any thread, starting with the first.

    glimpses: the last samples. problems: failures of the sampling, which never affect the passes. A compiled module is
    not sampled, and reported as a problem.
    """

    def __init__(self, model: Any, every: int = 100, writer: Writer | None = None) -> None:
        if every < 1:
            raise InputError("every", expected=phrase("errors.tap.number_passes_at_least"), got=str(every))
        self.every, self.writer = every, writer
        self.glimpses: deque[PassGlimpse] = deque(maxlen=KEPT)
        self.problems: deque[Text] = deque(maxlen=KEPT)
        self.passes = self.looks = 0
        self._plain, self._looking = [0.0, 0], [0.0, 0]
        self._lock = threading.Lock()
        self._attached = _Attached(_module(model), self._due, self._noted)

    def __enter__(self) -> Watch:
        if is_compiled(self._attached.module):
            self.problems.append(Message("model_note.compiled"))
        else:
            self._attached.attach()
        return self

    def __exit__(self, *error: object) -> None:
        self._attached.detach()

    def _due(self) -> int | None:
        with self._lock:
            self.passes += 1
            return self.passes if (self.passes - 1) % self.every == 0 else None

    def _noted(self, number: int | None, glimpse: Glimpse | None, seconds: float) -> None:
        spent = self._plain if glimpse is None else self._looking
        with self._lock:
            spent[0] += seconds
            spent[1] += 1
        if glimpse is None or number is None:
            return
        try:
            sample = told(number, glimpse)
            with self._lock:
                self.looks += 1
                self.glimpses.append(sample)
                self.problems.extend(sample.problems)
            if self.writer is not None:
                self.writer.write(number, sample.values())
        except Exception as error:  # a full disk of the log must not stop the service
            with self._lock:
                self.problems.append(f"{type(error).__name__}: {error}")

    @property
    def overhead(self) -> float:
        """Relative extra time of the passes so far due to sampling; NaN until both kinds occurred."""
        (plain, n), (looking, m) = self._plain, self._looking
        if not n or not m:
            return float("nan")
        each = plain / n
        return max(0.0, looking - m * each) / (each * (n + m))

    @property
    def warnings(self) -> tuple[Text, ...]:
        """Warnings of the last sample: messages, which `str` renders in the current language."""
        return self.glimpses[-1].warnings if self.glimpses else ()


def told(number: int, glimpse: Glimpse) -> PassGlimpse:
    """Describe a sample, with its warnings."""
    sites = tuple(glimpse.finished())
    return PassGlimpse(number, sites, tuple(glimpse.problems[:8]), collapse_warnings(sites))


def watch(model: Any, every: int = 100, writer: Writer | None = None) -> Watch:
    """Sample the attention of every 100th pass of a running service: `with watch(model, every=100) as w:`.

    model: a torch module, or a model of regard's. w.glimpses holds entropy, sink mass and collapse of every site,
    w.warnings the warnings, w.overhead the cost. The answers of the service do not change, and no error of the sampling
    reaches it. writer: anything with `write(step, values)`.

    >>> import torch
    >>> attention = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    >>> x = torch.rand(1, 5, 8)
    >>> with watch(attention, every=2) as w:
    ...     for _ in range(3):
    ...         _ = attention(x, x, x)
    >>> w.passes, w.looks, w.glimpses[0].sites[0].breadth > 0.5
    (3, 2, True)
    """
    return Watch(model, every, writer)


class AttentionHealth:
    """Attention monitor for a custom training loop: call `step()` once per step; it samples every `every`-th step.

    health = AttentionHealth(model, every=100, writer=writer)
    for batch in batches: ...; optimiser.step(); health.step()
    health.close()
    """

    def __init__(self, model: Any, every: int = 100, writer: Writer | None = None) -> None:
        if every < 1:
            raise InputError("every", expected=phrase("errors.tap.number_steps_at_least"), got=str(every))
        self.every, self.writer = every, writer
        self.glimpses: deque[PassGlimpse] = deque(maxlen=KEPT)
        self.problems: deque[str] = deque(maxlen=KEPT)
        self.steps = 0
        self._armed = True
        self._taken: Glimpse | None = None
        self._attached = _Attached(_module(model), self._due, self._noted)
        self._attached.attach()

    def _due(self) -> int | None:
        armed, self._armed = self._armed, False
        return self.steps if armed else None

    def _noted(self, number: int | None, glimpse: Glimpse | None, seconds: float) -> None:
        self._taken = glimpse or self._taken

    def step(self, number: int | None = None) -> PassGlimpse | None:
        """End a training step; return its sample, if this step was sampled."""
        self.steps = self.steps + 1 if number is None else number
        glimpse, self._taken = self._taken, None
        self._armed = self.steps % self.every == 0
        if glimpse is None:
            return None
        try:
            sample = told(self.steps, glimpse)
            self.glimpses.append(sample)
            self.problems.extend(sample.problems)
            if self.writer is not None:
                self.writer.write(self.steps, sample.values())
        except Exception as error:  # a log that cannot be written must not stop the training
            self.problems.append(f"{type(error).__name__}: {error}")
            return None
        return sample

    def close(self) -> None:
        """Restore the module's own forward."""
        self._attached.detach()
