"""Statistics of the attention of one forward pass, without side effects: for training loops and running services.

No hooks and no switches: a `TorchFunctionMode` of the calling thread sees what the pass does, after it was done.
Nothing that goes wrong here reaches the caller. torch leaves the fused fast path of its own `nn.MultiheadAttention` and
`nn.TransformerEncoder` while a mode is on, which moves their outputs by rounding (1e-7); other modules compute bit by
bit what they would have computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from regard.errors import Message, Text
from regard.tap.operations import LOOKED, Op, meaning
from regard.tap.provenance import Provenance
from regard.tap.sdpa import SdpaCall, bind_flash, bind_sdpa, scores_of, weights_of
from regard.tap.tap import PLAIN_MULTI_HEAD

EXAMPLES, ROWS = 2, 16
"""Maximum rows of attention per site to sample: from so many examples of the batch, spread over all queries."""


@dataclass(frozen=True, slots=True)
class SiteGlimpse:
    """Means over heads and sampled rows.

    Entropy (nats), breadth (entropy / ln keys), mass on the first key, and the shares of heads whose rows attend to one
    key only, or to all alike.
    """

    entropy: float
    breadth: float
    sink: float
    narrow: float
    even: float
    rows: int


@dataclass(slots=True, eq=False)
class _Asked:
    """Softmax whose use is not known yet."""

    weights: Tensor
    softmax: Any


class Glimpse(TorchFunctionMode):
    """Collect the attention inside the block; `sites` in order of computation."""

    def __init__(self, inputs: Any) -> None:
        super().__init__()
        self.problems: list[str] = []
        self._provenance = Provenance()
        self._found: list[SiteGlimpse | _Asked] = []
        self._inputs = [t for t in tree_leaves(inputs) if isinstance(t, Tensor)]

    def __enter__(self) -> Glimpse:
        self._guarded(lambda: self._provenance.enter(self._inputs, outermost=True))
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        keywords = kwargs or {}
        called = LOOKED[func]
        if called is Op.MULTI_HEAD:
            with self:  # a Python composite: what happens inside it must be seen too
                return PLAIN_MULTI_HEAD(*args, **keywords)
        out = func(*args, **keywords)
        self._guarded(lambda: self._look(called, func, args, keywords, out))
        return out

    def _guarded(self, look: Callable[[], None]) -> None:
        try:
            with torch._C.DisableTorchFunction(), torch.no_grad():
                look()
        except Exception as error:  # the service must not notice
            self.problems.append(f"{type(error).__name__}: {error}")

    def _look(
        self, called: Op | None, func: Callable[..., Any], args: tuple[Any, ...], keywords: Mapping[str, Any], out: Any
    ) -> None:
        if called is Op.ATTENTION or called is Op.FLASH:
            call = (bind_sdpa if called is Op.ATTENTION else bind_flash)(func, args, keywords)
            self._found.append(seen_in_call(call))
            self._provenance.follow(Op.STOP, func, (call.query, call.key, call.value), {}, out)
        elif called is Op.SOFTMAX:
            scores = args[0] if args else next(iter(keywords.values()))
            axis = keywords.get("dim", args[1] if len(args) > 1 else -1)
            softmax = self._provenance.softmax(scores, int(axis if axis is not None else -1), out)
            self._found.append(_Asked(out.detach(), softmax))
        elif (op := meaning(func)) is not Op.PLAIN:
            self._provenance.follow(op, func, args, keywords, out)

    def finished(self) -> list[SiteGlimpse]:
        """Return the sites of the pass, without softmaxes that turned out to be no attention."""
        sites: list[SiteGlimpse] = []

        def close() -> None:
            for event in self._found:
                if isinstance(event, SiteGlimpse):
                    sites.append(event)
                elif event.softmax.layout is not None:
                    weights = event.softmax.layout.canonical(event.weights)[:EXAMPLES]
                    rows = _spread(weights.shape[2]).to(weights.device)
                    sites.append(seen(weights[:, :, rows], weights[:, :, rows] > 0))
            self._provenance.close()

        self._guarded(close)
        self._found = []
        return sites


def _spread(queries: int) -> Tensor:
    count = min(queries, ROWS)
    return torch.linspace(0, queries - 1, count).round().long()


def seen_in_call(call: SdpaCall) -> SiteGlimpse:
    """Compute statistics from queries and keys, for the sampled rows only."""
    four = call.folded(0)
    rows = _spread(four.query.shape[2])
    scores = scores_of(four, batch=slice(0, EXAMPLES), rows=rows)
    return seen(weights_of(four, scores), scores > torch.finfo(scores.dtype).min / 2)


def seen(weights: Tensor, allowed: Tensor) -> SiteGlimpse:
    """Compute statistics of (batch, head, row, key) weights; skip padding and rows with fewer than two allowed keys."""
    w = weights.detach().float().nan_to_num()
    keys = allowed.expand_as(w).sum(-1)
    useful = (keys > 1) & (w.sum(-1) > 0.5)
    entropy = -(w * w.clamp(min=1e-30).log()).sum(-1)
    breadth = entropy / keys.clamp(min=2).float().log()
    share = useful.float()
    per_head = (breadth * share).sum((0, 2)) / share.sum((0, 2)).clamp(min=1)
    active = share.sum((0, 2)) > 0
    total = share.sum().clamp(min=1)

    def mean(values: Tensor) -> float:
        return float((values * share).sum() / total)

    heads = active.float().sum().clamp(min=1)
    return SiteGlimpse(
        entropy=mean(entropy),
        breadth=mean(breadth),
        sink=mean(w[..., 0]),
        narrow=float(((per_head < 0.01) & active).float().sum() / heads),
        even=float(((per_head > 0.99) & active).float().sum() / heads),
        rows=int(share.sum()),
    )


@dataclass(frozen=True, slots=True)
class PassGlimpse:
    """Statistics of one pass. number: of the pass, or of the training step."""

    number: int
    sites: tuple[SiteGlimpse, ...]
    problems: tuple[str, ...] = ()
    warnings: tuple[Text, ...] = field(default=())

    def values(self) -> dict[str, float]:
        """Numbers for a log: means over sites, the worst site's collapse, and each site's entropy and sink mass.

        >>> site = SiteGlimpse(entropy=1.0, breadth=0.5, sink=0.25, narrow=0.0, even=0.0, rows=8)
        >>> PassGlimpse(1, (site,)).values()["attention/entropy"]
        1.0
        """
        if not self.sites:
            return {}
        out = {f"attention/{name}": _mean([getattr(s, name) for s in self.sites]) for name in _NAMES}
        out["attention/collapse"] = max(max(s.narrow, s.even) for s in self.sites)
        for i, site in enumerate(self.sites):
            out[f"attention/site{i}/entropy"], out[f"attention/site{i}/sink"] = site.entropy, site.sink
        return out


_NAMES = ("entropy", "breadth", "sink", "narrow", "even")


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def collapse_warnings(sites: tuple[SiteGlimpse, ...], *, most: float = 0.5) -> tuple[Text, ...]:
    """Messages where more than the share `most` of a site's heads has collapsed, or attention lies on one key.

    >>> print(*collapse_warnings((SiteGlimpse(0.0, 0.0, 0.1, 1.0, 0.0, 8),)))
    site 0: 100% of the heads look at single keys (entropy collapse)
    """
    warnings: list[Text] = []
    for i, site in enumerate(sites):
        if site.narrow > most:
            warnings.append(Message.of("model_note.narrow", site=i, share=site.narrow))
        if site.even > most:
            warnings.append(Message.of("model_note.even", site=i, share=site.even))
        if site.sink > 0.9:
            warnings.append(Message.of("model_note.sink", site=i, share=site.sink))
    return tuple(warnings)
