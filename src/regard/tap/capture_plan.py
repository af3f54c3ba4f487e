"""Plan of a module: the result of a full pass, cached so that later passes can be light."""

from __future__ import annotations

import re
import sys
import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torch import nn

from regard.errors import Text, phrase
from regard.records import Message, Site, SiteKind
from regard.tap.declared_sites import RegisteredSites
from regard.tap.layout import Layout
from regard.tap.pass_history import forgettable
from regard.tap.site_kind import kind_of, pattern_of_call, pattern_of_weights, shape_of_pattern
from regard.tap.tap import ROOT, Event, EventKey
from regard.tap.tensor_facts import Mark

ShapeClass = tuple[Any, ...]

_HEAD_NAMES = ("num_heads", "num_attention_heads", "n_heads", "n_head", "nhead", "num_attn_heads", "heads")
_PLANS: weakref.WeakKeyDictionary[nn.Module, dict[bool, Plan]] = forgettable(weakref.WeakKeyDictionary())


@dataclass(slots=True, eq=False)
class Planned:
    """Planned event: a site with its layout, or the reason why it is not one."""

    site: Site | None
    reason: Text = ""
    layout: Layout | None = None
    heads: int = 0
    kinds: dict[ShapeClass, SiteKind] = field(default_factory=dict)
    registered: bool = False


@dataclass(slots=True, eq=False)
class Plan:
    """Every event of a module by (module name, ordinal)."""

    events: dict[EventKey, Planned]
    owned: dict[str, weakref.ref[nn.Module]]
    rejected: list[tuple[str, Text]]
    compiled: bool = False
    direct: dict[str, bool] = field(default_factory=dict)
    """By mode: whether a pass with the tap on only inside attention gave the same result."""
    _proved: dict[str, set[ShapeClass]] = field(default_factory=dict)
    _proof: dict[str, Message] = field(default_factory=dict)

    def explains(self, events: Sequence[Event]) -> bool:
        """Return whether a light pass met exactly the events of the full one."""
        return {e.key for e in events} == set(self.events)

    def owners(self, module: nn.Module) -> Mapping[nn.Module, str]:
        """Modules with events."""
        alive = {owner: name for name, held in self.owned.items() if (owner := held()) is not None}
        return {**alive, module: ""}

    def knows(self, mode: str) -> bool:
        """Return whether captures of this mode were verified before, for any shapes."""
        return bool(self._proved.get(mode))

    def has_proved(self, mode: str, shapes: frozenset[ShapeClass]) -> bool:
        return shapes <= self._proved.get(mode, set())

    def proved(self, mode: str, shapes: frozenset[ShapeClass], proof: Message) -> None:
        self._proved.setdefault(mode, set()).update(shapes)
        self._proof[mode] = proof

    def proof(self, mode: str) -> Message:
        """Last proof of a mode that `has_proved`."""
        return self._proof[mode]

    def sites(self) -> list[Site]:
        return [p.site for p in self.events.values() if p.site is not None]


def plan_of(module: nn.Module, *, switched: bool) -> Plan | None:
    """Return the plan of the module, with its attention switched through the transformers registry or not."""
    return _PLANS.get(module, {}).get(switched)


def forget(module: nn.Module) -> None:
    """Drop the plan, so that the next pass of this module is a full one."""
    _PLANS.pop(module, None)


def shape_class(event: Event, layout: Layout | None) -> ShapeClass:
    """Key of passes that are verified together: sizes up to a power of two, masks, type and device."""
    if event.call is not None:
        q, k, mask = event.call.query, event.call.key, event.call.mask
        kind = None if mask is None else str(mask.dtype)
        sizes = (q.shape[0] > 1, q.shape[-2].bit_length(), k.shape[-2].bit_length(), event.call.causal, kind)
        return event.name, event.ordinal, *sizes, str(q.dtype), q.device.type
    assert event.weights is not None
    w = event.weights
    return (
        event.name,
        event.ordinal,
        w.shape[0] > 1,
        *(n.bit_length() for n in w.shape[1:]),
        str(w.dtype),
        w.device.type,
    )


def is_compiled(module: nn.Module) -> bool:
    """Return whether torch.compile processed part of the module."""
    if "torch._dynamo.eval_frame" not in sys.modules:
        return False
    return any(type(m).__name__ == "OptimizedModule" or m._compiled_call_impl is not None for m in module.modules())


def make_plan(
    module: nn.Module, events: Sequence[Event], registered: RegisteredSites, batch: int, *, switched: bool
) -> Plan:
    """Build the plan of a full pass and cache it for the module."""
    planned: dict[EventKey, Planned] = {}
    rejected: list[tuple[str, Text]] = []
    owned: dict[str, weakref.ref[nn.Module]] = {}
    for event in events:
        if event.owner is not None and event.name != ROOT:
            owned[event.name] = weakref.ref(event.owner)
        if event.cutter is not None:
            owned[event.cutter[0]] = weakref.ref(event.cutter[1])
        if event.key in planned:
            continue
        entry = _planned(module, event, registered, batch)
        planned[event.key] = entry
        if entry.site is None:
            rejected.append((event.name, entry.reason))
    _number(planned)
    plan = Plan(planned, owned, rejected, is_compiled(module))
    old = plan_of(module, switched=switched)
    if old is not None and set(old.events) == set(planned):
        plan._proved, plan._proof = old._proved, old._proof
    _PLANS.setdefault(module, {})[switched] = plan
    return plan


def _planned(module: nn.Module, event: Event, registered: RegisteredSites, batch: int) -> Planned:
    if event.registered:
        assert event.weights is not None
        _, h, q, k = event.weights.shape
        kind: SiteKind = "pooling" if q == 1 < k else "self" if q == k else "cross"
        return Planned(
            Site(name=event.name, call=0, kind=kind, layer=0, heads=h, module=event.module),
            layout=Layout(("b", "h", "q", "k")),
            registered=True,
        )
    if registered.covers(event.name):
        return Planned(None, phrase("errors.tap.inside_registered_site"))
    if event.call is not None:
        query = event.call.query
        lead = _product(query.shape[:-2]) if query.ndim != 4 else 0
        heads = event.heads or (_heads(module, event, lead, batch) if lead else 0)
        entry = Planned(Site(name=event.name, call=0, kind="self", layer=0, heads=1, module=event.module), heads=heads)
        call = event.call.folded(heads)
        return _with_kind(entry, event, call.query.shape[1], batch)
    assert event.softmax is not None
    if event.softmax.layout is None:
        return Planned(None, event.softmax.reason)
    layout = _with_heads(module, event, event.softmax.layout)
    if "h" not in layout.roles and "x" not in layout.roles and event.softmax.scores is not None:
        folded = event.softmax.weights.shape[layout.roles.index("b")] if "b" in layout.roles else 0
        heads = event.heads or _heads(module, event, folded, batch)
        layout = replace(layout, heads=heads if heads and folded % heads == 0 else 1)
    entry = Planned(Site(name=event.name, call=0, kind="self", layer=0, heads=1, module=event.module), layout=layout)
    return _with_kind(entry, event, layout.canonical(event.softmax.weights).shape[1], batch)


def _with_heads(module: nn.Module, event: Event, layout: Layout) -> Layout:
    """Choose the head axis if more than two axes are shared with the values (blocks of a long text)."""
    assert event.softmax is not None
    shared = [i for i, r in enumerate(layout.roles) if r in "bh"]
    if len(shared) < 3:
        return layout
    sizes = [event.softmax.weights.shape[i] for i in shared]
    heads = _own_heads(module, event)
    head = shared[sizes.index(heads)] if heads in sizes[1:] else shared[-1]
    roles = tuple(("h" if i == head else "b") if i in shared else r for i, r in enumerate(layout.roles))
    return replace(layout, roles=roles)


def _with_kind(entry: Planned, event: Event, heads: int, batch: int) -> Planned:
    assert entry.site is not None
    kind = find_kind(entry, event, batch)
    entry.site = replace(entry.site, kind=kind, heads=heads)
    entry.kinds[shape_class(event, entry.layout)] = kind
    return entry


def find_kind(entry: Planned, event: Event, batch: int, known: SiteKind | None = None) -> SiteKind:
    """Return the kind of a site in this pass; `known`: that of a full pass, if this one has no provenance."""
    if event.pieces is not None:
        return event.pieces.kind
    if known == "cross":
        return known
    query: Mark | None = None
    key: Mark | None = None
    additive = False
    if event.call is not None:
        call = event.call.folded(entry.heads)
        size, queries, keys = call.query.shape[0], call.query.shape[2], call.key.shape[2]
        pattern = shape_of_pattern(pattern_of_call(call))
        query, key = event.marks
    else:
        assert event.weights is not None
        assert entry.layout is not None
        weights = entry.layout.canonical(event.weights)
        size, _, queries, keys = weights.shape
        pattern = shape_of_pattern(pattern_of_weights(weights))
        if event.softmax is not None:
            query, key = event.softmax.query, event.softmax.key
            scores = event.softmax.scores
            additive = queries == 1 and (scores is None or scores.linear)
    if known is not None and queries == 1:
        return known  # one row (a step of generation) shows no pattern
    if known == "pooling":
        return "cross"  # what had one query before has several now: the first steps of a decoder
    causal_module = bool(getattr(event.owner, "is_causal", False))
    tiled = batch > 0 and size > batch and size % batch == 0
    return kind_of(pattern, query, key, queries, keys, additive=additive, tiled=tiled, causal_module=causal_module)


def _product(sizes: Sequence[int]) -> int:
    total = 1
    for n in sizes:
        total *= n
    return total


def _heads(module: nn.Module, event: Event, lead: int, batch: int) -> int:
    """Return the number of heads folded into an axis of size `lead`: the module's own, or the rest after the batch."""
    heads = _own_heads(module, event)
    if heads and lead % heads == 0 and (not batch or lead // heads >= batch):
        return heads
    return lead // batch if batch and lead % batch == 0 else 1


def _own_heads(module: nn.Module, event: Event) -> int:
    """Number of heads that the module, or one not far above it, declares; 0 if none does."""
    path = "" if event.name == ROOT else event.name
    for _ in range(3):
        owner = module.get_submodule(path) if path else module
        for name in _HEAD_NAMES:
            value = getattr(owner, name, None)
            if isinstance(value, int) and value > 0:
                return value
        if not path:
            break
        path = path.rpartition(".")[0]
    return 0


def _number(planned: dict[EventKey, Planned]) -> None:
    """Number calls within a module, and layers within a stack: names that differ only in their numbers."""
    stacks: dict[str, list[str]] = {}
    calls: Counter[str] = Counter()
    for (name, *_), entry in planned.items():
        if entry.site is not None:
            entry.site = replace(entry.site, call=calls[name])
            calls[name] += 1
            names = stacks.setdefault(re.sub(r"\d+", "*", name), [])
            if name not in names:
                names.append(name)
    for (name, *_), entry in planned.items():
        if entry.site is not None:
            names = stacks[re.sub(r"\d+", "*", name)]
            layer = entry.site.call if len(names) == 1 else names.index(name)
            entry.site = replace(entry.site, layer=layer)
