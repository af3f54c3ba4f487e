"""Tap: sees every attention of a forward pass, for any module.

A `TorchFunctionMode` receives every torch function that the module calls. Fused attention (SDPA, flex) is a site by
itself; a softmax is a site if its provenance says so (full tap), or if an earlier full pass said so (light tap).
"""

from __future__ import annotations

import threading
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves
from torch.utils.hooks import RemovableHandle

from regard.errors import CaptureError, phrase
from regard.tap.blocks import PIECES, Pieces, pieces_of
from regard.tap.operations import LOOKED, Op, meaning
from regard.tap.provenance import Provenance
from regard.tap.sdpa import SdpaCall, bind_flash, bind_flex, bind_sdpa
from regard.tap.tensor_facts import Mark, Softmax

PLAIN_MULTI_HEAD = types.FunctionType(
    # F.multi_head_attention_forward is a Python composite: called as it is from inside a mode, its softmax would be
    # invisible, and with the mode on again it would call the mode for ever. This copy does not ask for modes.
    F.multi_head_attention_forward.__code__,
    {**F.__dict__, "has_torch_function": lambda *_: False},
    "multi_head_attention_forward",
    F.multi_head_attention_forward.__defaults__,
)
_ACTIVE = threading.local()


def active_tap() -> Tap | None:
    """The tap of this thread, if a pass is being captured."""
    tap: Tap | None = getattr(_ACTIVE, "tap", None)
    return tap


EventKey = tuple[str, int, bool]
"""Module name, ordinal of the event in one call of the outermost module, whether it is a fused attention."""


@dataclass(slots=True, eq=False)
class Event:
    """Fused attention or softmax call: its place, inputs and output."""

    name: str
    ordinal: int
    step: int
    module: str = ""
    heads: int = 0
    call: SdpaCall | None = None
    softmax: Softmax | None = None
    weights: Tensor | None = None
    axis: int = 0
    owner: nn.Module | None = None
    registered: bool = False
    edited: bool = False
    marks: tuple[Mark | None, Mark | None] = (None, None)
    pieces: Pieces | None = None
    cutter: tuple[str, nn.Module] | None = None

    @property
    def key(self) -> EventKey:
        return self.name, self.ordinal, self.call is not None


class Handler(Protocol):
    """Operation at a fused attention or a softmax, instead of just running it."""

    def attention(self, event: Event, call: SdpaCall) -> Any: ...
    def softmax(self, event: Event, scores: Tensor, axis: int, run: Callable[[Tensor], Tensor]) -> Tensor: ...


@dataclass(slots=True, eq=False)
class _Frame:
    name: str
    module: nn.Module
    cuts: bool = False
    given: tuple[tuple[Any, ...], dict[str, Any]] | None = None
    met: int = 0


@dataclass(slots=True, eq=False)
class Watch(AbstractContextManager["Watch"]):
    """Track of the running module: light forward hooks on the modules of interest."""

    root: nn.Module
    names: Mapping[nn.Module, str]
    entered: Callable[[str, nn.Module, Sequence[Tensor]], None] | None = None
    stack: list[_Frame] = field(default_factory=list)
    steps: int = 0
    batch: int = 0
    ran: set[str] = field(default_factory=set)
    _handles: list[RemovableHandle] = field(default_factory=list)

    def __enter__(self) -> Watch:
        for module, name in self.names.items():
            if isinstance(module, torch.jit.ScriptModule):
                continue  # takes no hooks; what happens inside is the auditor's business
            frame = _Frame(name, module, type(module).__name__ in PIECES)
            self._handles.append(module.register_forward_pre_hook(self._before(frame), with_kwargs=True))
            self._handles.append(module.register_forward_hook(self._after(frame), always_call=True))
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self.stack.clear()

    def _before(self, frame: _Frame) -> Callable[[nn.Module, tuple[Any, ...], dict[str, Any]], None]:
        outermost = frame.module is self.root

        def hook(module: nn.Module, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
            self.stack.append(frame)
            self.ran.add(frame.name)
            if frame.cuts:
                frame.given, frame.met = (args, keywords), 0
            if outermost:
                self.steps += 1
            if outermost or self.entered is not None:
                tensors = [t for t in tree_leaves((args, keywords)) if isinstance(t, Tensor)]
                if outermost and tensors and tensors[0].ndim:
                    self.batch = tensors[0].shape[0]
                if self.entered is not None:
                    self.entered(frame.name, module, tensors)

        return hook

    def _after(self, frame: _Frame) -> Callable[[nn.Module, tuple[Any, ...], Any], None]:
        def hook(module: nn.Module, args: tuple[Any, ...], out: Any) -> None:
            frame.given = None
            while self.stack and self.stack.pop() is not frame:
                pass

        return hook

    def cut(self, event: Event) -> None:
        """Note the places of the pieces if a module around the event has cut its input."""
        for frame in self.stack[-3:]:
            if frame.given is not None:
                event.pieces = pieces_of(frame.module, *frame.given, frame.met)
                event.cutter = frame.name, frame.module
                frame.met += 1

    @property
    def here(self) -> tuple[str, nn.Module]:
        """Innermost running module that is more than a softmax or a dropout."""
        for frame in reversed(self.stack):
            if not isinstance(frame.module, (nn.Softmax, nn.Softmax2d, nn.Dropout)):
                return frame.name or ROOT, frame.module
        return ROOT, self.root


ROOT = "model"
"""The name of a site in the outermost module itself."""


class Tap(TorchFunctionMode):
    """Mode that sees, names and records or changes every attention; `busy` while it runs one itself."""

    def __init__(self, watch: Watch, handler: Handler, provenance: Provenance | None = None) -> None:
        super().__init__()
        self.watch, self.handler, self.provenance = watch, handler, provenance
        self.events: list[Event] = []
        self.busy = 0
        self._ordinals: Counter[tuple[int, str]] = Counter()
        self._heads: list[int] = []
        self._outer: list[Tap | None] = []
        self.waiting = False

    @contextmanager
    def for_registry(self) -> Iterator[None]:
        """Build a tap that is off, but known to the transformers registry.

        The registry switches it on around each attention.
        """
        outer, _ACTIVE.tap = active_tap(), self
        self.waiting = True
        try:
            yield
        finally:
            self.waiting = False
            _ACTIVE.tap = outer

    def __enter__(self) -> Tap:
        self._outer.append(active_tap())
        _ACTIVE.tap = self
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        _ACTIVE.tap = self._outer.pop()

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if self.busy:  # the arithmetic of one site, done for it by the handler, is not another site
            return func(*args, **kwargs) if kwargs else func(*args)
        called = LOOKED[func]
        if called is not None:
            return self._called(called, func, args, kwargs or {})
        if self.provenance is None or (op := meaning(func)) is Op.PLAIN:
            return func(*args, **kwargs) if kwargs else func(*args)
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        self.provenance.follow(op, func, args, kwargs, out)
        return out

    def _called(self, op: Op, func: Callable[..., Any], args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        match op:
            case Op.MULTI_HEAD:
                self._heads.append(int(keywords.get("num_heads", args[4] if len(args) > 4 else 0)))
                try:
                    with self:
                        return PLAIN_MULTI_HEAD(*args, **keywords)
                finally:
                    self._heads.pop()
            case Op.ATTENTION:
                return self.attention(bind_sdpa(func, args, keywords))
            case Op.FLASH:
                return self.attention(bind_flash(func, args, keywords))
            case Op.FLEX:
                return self.attention(bind_flex(func, args, keywords))
            case _:
                return self._softmax(func, args, keywords, log=op is Op.LOG_SOFTMAX)

    def attention(self, call: SdpaCall) -> Any:
        """Handle a fused attention; also called by the transformers registry (then this mode is still on)."""
        event = self._event()
        event.call = call
        if self.provenance is not None:
            _refuse_strange(call.query, event.name)
        self.busy += 1
        try:
            with torch._C.DisableTorchFunction():
                out = self.handler.attention(event, call)
        finally:
            self.busy -= 1
        if self.provenance is not None:
            event.marks = self.provenance.mark(call.query), self.provenance.mark(call.key)
            self.provenance.follow(Op.STOP, call.function, (call.query, call.key, call.value), {}, out)
        return out

    def _softmax(
        self, func: Callable[..., Any], args: tuple[Any, ...], keywords: Mapping[str, Any], *, log: bool
    ) -> Tensor:
        scores: Tensor = args[0] if args else keywords.get("input", keywords.get("logits", keywords.get("self")))
        rest = args[1:]
        options = {k: v for k, v in keywords.items() if k not in ("input", "logits", "self")}
        gumbel = getattr(func, "__name__", "") == "gumbel_softmax"
        axis = keywords.get("dim", rest[3 if gumbel else 0] if len(rest) > (3 if gumbel else 0) else None)
        if axis is None:
            axis = -1 if gumbel else (0 if scores.ndim in (0, 1, 3) else 1)
        event = self._event()
        event.axis = int(axis) % max(scores.ndim, 1)
        if self.provenance is not None:
            _refuse_strange(scores, event.name)
        logs: Tensor | None = None

        def run(s: Tensor) -> Tensor:
            nonlocal logs
            out: Tensor = func(s, *rest, **options)
            if not log:
                return out
            logs = out
            return out.exp()

        self.busy += 1
        try:
            weights = self.handler.softmax(event, scores, event.axis, run)
            if event.edited and log:
                logs = weights.clamp(min=torch.finfo(weights.dtype).tiny).log()  # the model takes exp of it
        finally:
            self.busy -= 1
        event.weights = weights
        if self.provenance is not None:
            event.softmax = self.provenance.softmax(scores, event.axis, weights, logs)
        return weights if logs is None else logs

    def _event(self) -> Event:
        event = self.place(*self.watch.here)
        event.heads = self._heads[-1] if self._heads else 0
        self.busy += 1
        try:
            self.watch.cut(event)
        finally:
            self.busy -= 1
        return event

    def skip(self, events: Mapping[str, int]) -> None:
        """Count events that will not happen because the replay cache holds their module."""
        for name, count in events.items():
            self._ordinals[1, name] += count

    def place(self, name: str, owner: nn.Module) -> Event:
        """Create an event in the module of that name."""
        step = self.watch.steps
        ordinal = self._ordinals[step, name]
        self._ordinals[step, name] += 1
        event = Event(name, ordinal, step, type(owner).__name__, owner=owner)
        self.events.append(event)
        return event


def _refuse_strange(tensor: Tensor, name: str) -> None:
    """Refuse tensors without one shape for all rows, or that vanish after the call."""
    nested, mapped = tensor.is_nested, torch._C._functorch.is_batchedtensor(tensor)
    if nested or mapped:
        raise CaptureError(
            phrase("errors.tap.attention_in_name", name=name),
            expected=phrase("errors.tap.plain_tensors"),
            got=phrase("errors.tap.nested_ragged_ones") if nested else phrase("errors.tap.those_torch_func_vmap"),
            remedy=phrase("errors.tap.pad_batch_and_give_mask")
            if nested
            else phrase("errors.tap.write_batch_axis_out"),
        )
