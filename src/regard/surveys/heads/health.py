"""Health of a model's attention as a whole: defects that would make every map of it meaningless."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.errors import RegardError
from regard.measures.conicity import conicity
from regard.measures.null_space import effective_attention
from regard.models.ask.decomposition import decomposition
from regard.protocols import Encoded, Model, Parts, SiteAttention, Target
from regard.records import Message, Text
from regard.surveys.heads.roles import HeadScore
from regard.tap.site_attention import LazyAttention

FOCUSED, EVEN, SINK, CONE = 0.01, 0.99, 0.8, 0.95
"""Limits of the warnings.

Share of the maximum entropy below which rows have collapsed onto one key, and above which they are uniform; mass on the
first position; mean cosine of the states with their mean.
"""


ROWS = 16
"""Rows of each head to measure for their unseen share."""


@dataclass(frozen=True, slots=True)
class SiteHealth:
    """Health of one site. conicity: of the states its module reads, with that of as many random directions.

    null_dimension: keys minus the rank of the values, the number of directions in which weights may move without
    effect; unseen: share of the length of the weights in that space. NaN if it could not be measured.
    """

    site: str
    kind: str
    breadth: float
    sink: float
    conicity: float
    conicity_of_random: float
    null_dimension: float
    unseen: float
    keys: float
    n: int


@dataclass(frozen=True, slots=True)
class Health:
    sites: tuple[SiteHealth, ...]
    warnings: tuple[Text, ...]
    notes: tuple[Text, ...] = ()

    def mean(self, what: str) -> float:
        values = [getattr(site, what) for site in self.sites]
        return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


@dataclass(slots=True)
class States:
    """Conicity of the inputs of some sites' modules, summed while a model runs."""

    module: nn.Module
    found: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    @contextmanager
    def watched(self, names: Sequence[str]) -> Iterator[None]:
        modules = dict(self.module.named_modules())
        handles = []
        try:
            for name in dict.fromkeys(names):
                if name in modules:
                    handles.append(modules[name].register_forward_pre_hook(self._hook(name), with_kwargs=True))
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _hook(self, name: str):  # type: ignore[no-untyped-def]
        def read(module: nn.Module, args: tuple[object, ...], keywords: Mapping[str, object]) -> None:
            cross_states = [keywords.get(k) for k in ("key_value_states", "encoder_hidden_states")]
            tensors = [t for t in (*cross_states, *args, *keywords.values()) if isinstance(t, Tensor)]
            states = next((t for t in tensors if t.ndim == 3 and t.is_floating_point() and t.shape[1] > 1), None)
            if states is not None:
                one = states[0].detach().double().cpu().numpy()
                self.found.setdefault(name, []).append((float(conicity(one)), 1 / float(np.sqrt(len(one)))))

        return read


Unseen = tuple[int, float, int]
"""Dimension of the null space, share of the weights that lies in it, keys: of one head and example."""


@dataclass(slots=True)
class NullSpaces:
    """Null spaces of the heads of the first examples.

    Fused attention exposes its values; other sites are decomposed.
    """

    model: Model
    found: dict[str, list[Unseen]] = field(default_factory=dict)
    notes: list[Text] = field(default_factory=list)

    def add(self, item: Encoded, target: Target, sites: Sequence[SiteAttention]) -> None:
        others = []
        for site in sites:
            if isinstance(site, LazyAttention) and site.shape[0] == 1:
                self._shown(site)
            elif not isinstance(site, LazyAttention):
                others.append(site.site.key)
        for parts in _parts(self.model, item, target, others, self.notes) if others else ():
            self._note(parts.site.key, parts.weights, parts.values)

    def _shown(self, site: LazyAttention) -> None:
        _, heads, queries, _ = site.shape
        rows = np.unique(np.linspace(0, queries - 1, min(queries, ROWS)).round().astype(int)).tolist()
        values = site.call.value[0].detach().float().cpu().numpy()
        self._note(site.site.key, site.rows(0, rows), np.repeat(values, heads // len(values), 0))

    def _note(self, key: str, weights: NDArray[np.float32], values: NDArray[np.float32]) -> None:
        for w, v in zip(weights, values, strict=True):
            one = effective_attention(w, v)
            self.found.setdefault(key, []).append((one.dimension, float(one.unseen.mean()), len(v)))


def _parts(model: Model, item: Encoded, target: Target, keys: Sequence[str], notes: list[Text]) -> Sequence[Parts]:
    try:
        return decomposition(model, item, target, keys)
    except RegardError as reason:
        if len(keys) > 1:  # some of them may still be taken apart
            return [part for key in keys for part in _parts(model, item, target, [key], notes)]
        note = Message.of("heads.note.no_null_space", reason=str(reason))
        if note not in notes:
            notes.append(note)
        return []


def warnings_of(sites: Sequence[SiteHealth], scores: Sequence[HeadScore], named: Collection[str]) -> list[Text]:
    """Sentences about collapsed attention, with the numbers behind them.

    A head in `named` has a role: single-key rows are then its function, not a collapse.
    """
    breadth = [s for s in scores if s.score == "breadth"]
    warnings = list[Text]()
    narrow = [s.head for s in breadth if s.estimate < FOCUSED and s.head not in named]
    even = [s.head for s in breadth if s.estimate > EVEN]
    if narrow:
        warnings.append(_counted("heads.warning.narrow", narrow, len(breadth), FOCUSED))
    if even:
        warnings.append(_counted("heads.warning.even", even, len(breadth), EVEN))
    for site in sites:
        if site.conicity > CONE:
            numbers = {"conicity": site.conicity, "random": site.conicity_of_random}
            warnings.append(Message("heads.warning.cone", {"site": site.site, **numbers}))
    share = [site.sink for site in sites if np.isfinite(site.sink)]
    if share and float(np.mean(share)) > SINK:
        warnings.append(Message.of("heads.warning.sink", share=float(np.mean(share))))
    return warnings


def _counted(key: str, heads: Sequence[str], total: int, limit: float) -> Message:
    head_names = ", ".join(heads[:8]) + (", ..." if len(heads) > 8 else "")
    return Message.of(key, n=len(heads), total=total, limit=limit, heads=head_names)
