"""Replay cache: module outputs below the lowest edited site are recorded once and replayed in later passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.hooks import RemovableHandle

from regard.errors import InputError, phrase

_RESUMED: ContextVar[bool] = ContextVar("resumed", default=False)


def resumed() -> bool:
    """Return whether this pass replays an earlier one, so that modules below may not run at all."""
    return _RESUMED.get()


@dataclass(slots=True, eq=False)
class Done:
    """Finished call of a module: its output, and the shape of its first input."""

    module: nn.Module
    out: Any
    shape: tuple[int, ...]


@dataclass(slots=True, eq=False)
class Resume:
    """Outputs of every module call that finished before the first edited site.

    `rows` maps each row of the later batch to a row of the recorded one (None: the same batch), so that K variants
    of one example can go in one batch. The later call must feed the same inputs; only attention may differ.
    """

    done: list[Done]
    events: Counter[str]
    rows: tuple[int, ...] | None = None
    active: bool = field(default=True)

    def for_rows(self, rows: Sequence[int]) -> Resume:
        return Resume(self.done, self.events, tuple(int(r) for r in rows))

    @property
    def modules(self) -> list[nn.Module]:
        """Modules that will not run again (as often as they are listed)."""
        return [d.module for d in self.done]

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Replay the stored outputs in the first calls of these modules, inside the block."""
        calls_of: dict[nn.Module, list[Done]] = {}
        for call in self.done:
            calls_of.setdefault(call.module, []).append(call)
        before: list[tuple[nn.Module, Any]] = []
        try:
            for module, calls in calls_of.items():
                before.append((module, module.__dict__.get("forward")))
                module.__dict__["forward"] = self._stub(module, calls)
            token = _RESUMED.set(True)
            try:
                yield
            finally:
                _RESUMED.reset(token)
        finally:
            for module, own in before:
                if own is None:
                    del module.__dict__["forward"]
                else:
                    module.__dict__["forward"] = own

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Run a pass that must compute everything."""
        before, self.active = self.active, False
        try:
            yield
        finally:
            self.active = before

    def _stub(self, module: nn.Module, calls: list[Done]) -> Callable[..., Any]:
        compute = module.forward
        left = list(calls)

        def forward(*args: Any, **keywords: Any) -> Any:
            if not left or not self.active:
                return compute(*args, **keywords)
            call = left.pop(0)
            if self.rows is None:
                return call.out
            return self._spread(call, _first_shape((args, keywords)))

        return forward

    def _spread(self, done: Done, now: tuple[int, ...]) -> Any:
        assert self.rows is not None
        axis = _batch_axis(done.shape, now, len(self.rows))
        hidden = 1 if isinstance(done.module, nn.RNNBase) else axis
        size = done.shape[axis] if done.shape else 1
        first = next((t for t in tree_leaves(done.out) if isinstance(t, Tensor)), None)

        def spread(leaf: Any) -> Any:
            if not isinstance(leaf, Tensor):
                return leaf
            at = axis if leaf is first else hidden
            if leaf.ndim <= at or leaf.shape[at] != size:
                return leaf
            return leaf.index_select(at, torch.tensor(self.rows, device=leaf.device))

        return tree_map(spread, done.out)


def _first_shape(tree: Any) -> tuple[int, ...]:
    return next((tuple(t.shape) for t in tree_leaves(tree) if isinstance(t, Tensor)), ())


def _batch_axis(then: tuple[int, ...], now: tuple[int, ...], rows: int) -> int:
    """Axis along which the input grew; the first if nothing grew."""
    if len(then) != len(now):
        raise InputError(
            phrase("errors.tap.resumed_pass"),
            expected=phrase("errors.tap.inputs_axes_recorded", n=len(then)),
            got=phrase("errors.tap.axes_n", n=len(now)),
        )
    grown = [i for i, (a, b) in enumerate(zip(then, now, strict=True)) if a != b]
    if len(grown) > 1 or (grown and now[grown[0]] != rows):
        raise InputError(
            phrase("errors.tap.resumed_pass"),
            expected=phrase("errors.tap.rows_recorded_inputs", rows=rows, then=then),
            got=phrase("errors.common.inputs_all_inputs", all_inputs=now),
        )
    return grown[0] if grown else 0


class Recording:
    """Watch a pass until the first edited site, storing the outermost finished module calls."""

    def __init__(self, root: nn.Module) -> None:
        self.root = root
        self.stopped = False
        self.events: Counter[str] = Counter()
        self._frames: list[list[Done]] = [[]]
        self._handles: list[RemovableHandle] = []

    def stop(self) -> None:
        """Stop recording at the first edited site; modules that are open now run again in later passes."""
        self.stopped = True

    def result(self) -> Resume:
        return Resume([done for frame in self._frames for done in frame], self.events)

    @contextmanager
    def watching(self) -> Iterator[None]:
        try:
            for module in self.root.modules():
                if not isinstance(module, torch.jit.ScriptModule):
                    self._handles.append(module.register_forward_pre_hook(self._enter))
                    self._handles.append(module.register_forward_hook(self._leave, with_kwargs=True))
            yield
        finally:
            for handle in self._handles:
                handle.remove()

    def _enter(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        if not self.stopped:
            self._frames.append([])

    def _leave(self, module: nn.Module, args: tuple[Any, ...], keywords: dict[str, Any], out: Any) -> None:
        if self.stopped:
            # frames that were open when the edited site came keep what was finished inside them
            return
        inside = self._frames.pop()
        leaves = tree_leaves((args, keywords, out), is_leaf=lambda x: isinstance(x, PackedSequence))
        if any(isinstance(leaf, PackedSequence) for leaf in leaves):
            self._frames[-1].extend(inside)  # rows of a packed batch cannot be told apart by an axis: computed again
            return
        detached = tree_map(lambda t: t.detach() if isinstance(t, Tensor) and not t.requires_grad else t, out)
        self._frames[-1].append(Done(module, detached, _first_shape((args, keywords))))
