"""Run a layer under many variants of one site's weights, and observe one place.

The contribution of a site is linear in its weights, whatever the layer's code. So values, grouped heads and output
projections need not be known: the layer itself runs with weights that single one of them out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from regard.errors import InputError, Unsupported, phrase
from regard.models.passes import Runs
from regard.models.read.encoded import Item
from regard.protocols import Target
from regard.records import Site
from regard.tap.capture_call import discover, rewritten_call
from regard.tap.capture_plan import plan_of
from regard.tap.replay import run_below
from regard.tap.replay_cache import Resume
from regard.tap.tap import ROOT

POSITIONS = 8192
"""Maximum positions per call of the layer."""


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """Event of a pass: a site, a module that starts (with its input), or a module that ends (with its output)."""

    what: str
    module: nn.Module | None = None
    tensor: Tensor | None = None
    site: Site | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A place to observe: the input (`what` "begin") or the output ("end") of a module."""

    module: nn.Module
    what: str
    name: str


_TROUBLES = (RuntimeError, InputError, IndexError, ValueError)


class _Enough(Exception):
    """Stop the pass early: the place has been observed."""


@dataclass(slots=True, eq=False)
class _Instead:
    """Rewrite the weights of the sites that `selects` accepts, and report when they pass."""

    selects: Callable[[Site], bool]
    change: Callable[[Site, Tensor], Tensor]

    def wants(self, site: Site) -> bool:
        return self.selects(site)

    def scores(self, site: Site, scores: Tensor) -> Tensor:
        return scores

    def weights(self, site: Site, weights: Tensor, scores: Tensor) -> Tensor:
        return self.change(site, weights)


@dataclass(slots=True, eq=False)
class LayerVariants:
    """Passes of one example under variants of a layer; `moments` is the unchanged pass, with every site's `weights`."""

    model: Runs
    item: Item
    target: Target
    moments: list[Moment] = field(default_factory=list)
    weights: dict[str, Tensor] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)
    _below: dict[str, Resume | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        module, call = self.model.module, self._call(1)
        with torch.inference_mode():
            plan = plan_of(module, switched=False) or discover(module, call)
            self.sites = plan.sites()
            around = {m for s in self.sites for m in self._around(s).values()}
            # projections are of interest only where no layer says where attention ends
            loose = any(site.kind != "pooling" and not self._layers(site) for site in self.sites)
            watched = {m for m in module.modules() if is_norm(m) or (loose and isinstance(m, nn.Linear))} | around

            def begin(known: object) -> _Instead:
                self.moments.clear()
                return _Instead(lambda site: True, self._seen)

            with _watching(watched, lambda m, what, t: self.moments.append(Moment(what, m, t))):
                rewritten_call(module, call, begin)

    def _seen(self, site: Site, weights: Tensor) -> Tensor:
        self.moments.append(Moment("site", site=site))
        self.weights[site.key] = weights
        return weights

    def _call(self, rows: int) -> Callable[[], Any]:
        tensors, request = self.model.tensors([self.item] * rows, [self.target] * rows)
        return lambda: self.model.run(tensors, request)

    # ------------------------------------------------------------------ where things are

    def site(self, key: str) -> Site:
        return next(site for site in self.sites if site.key == key)

    def owner(self, site: Site) -> nn.Module:
        """Module that computes the site."""
        return self.model.module if site.name == ROOT else self.model.module.get_submodule(site.name)

    def block(self, site: Site) -> nn.Module | None:
        """Layer around a site: the largest member of a module list that holds no second site of its kind.

        If every such member does (attention in two directions, then over each side), the largest module inside that
        holds no second site at all.
        """
        around = self._around(site)
        layers = self._layers(site)
        for name in layers:
            if all(other.kind != site.kind for other in self._beside(site, around[name])):
                return around[name]
        if not layers:
            return None
        inside = [n for n in around if n.startswith(f"{layers[-1]}.") and n != site.name]
        return next((around[n] for n in inside if not self._beside(site, around[n])), around[layers[-1]])

    def projection(self, site: Site) -> tuple[Place, Tensor] | None:
        """Return the output projection of a site, if it lies outside the site's owner, and its result.

        None if the owner has its own, or if there is none.
        """
        behind = self.moments[self.at(site) + 1 :]
        gave = self._next(behind, self.owner(site), "end")
        first = next((m for m in behind if isinstance(m.module, nn.Linear)), None)
        if gave is None or first is None or first.module is None or first.tensor is None:
            return None
        if first.tensor.numel() != gave.numel() or not torch.equal(first.tensor.flatten(), gave.flatten()):
            return None
        projected = self._next(behind, first.module, "end")
        return None if projected is None else (Place(first.module, "end", self.name(first.module)), projected)

    def name(self, module: nn.Module) -> str:
        names = {m: n for n, m in self.model.module.named_modules()}
        return names.get(module) or type(module).__name__

    def _next(self, moments: Sequence[Moment], module: nn.Module, what: str) -> Tensor | None:
        return next((m.tensor for m in moments if m.module is module and m.what == what), None)

    def _around(self, site: Site) -> dict[str, nn.Module]:
        """Modules around a site by name, the largest first, its owner last; the model itself only as an owner."""
        path = [] if site.name == ROOT else site.name.split(".")
        names = [".".join(path[:end]) for end in range(1, len(path) + 1)]
        return {name: self.model.module.get_submodule(name) for name in names} or {"": self.model.module}

    def _layers(self, site: Site) -> list[str]:
        """Return the modules around a site that are members of a list, the largest first."""
        above = {name: self.model.module.get_submodule(name.rpartition(".")[0]) for name in self._around(site) if name}
        return [name for name, module in above.items() if isinstance(module, (nn.ModuleList, nn.Sequential))]

    def _beside(self, site: Site, module: nn.Module) -> list[Site]:
        """Other sites of the same module call."""
        here = self.at(site)
        begun = (i for i in range(here, -1, -1) if self.moments[i].module is module and self.moments[i].what == "begin")
        run = itertools.takewhile(
            lambda m: not (m.module is module and m.what == "end"), self.moments[next(begun, 0) :]
        )
        return [m.site for m in run if m.site is not None and m.site.key != site.key]

    def at(self, site: Site) -> int:
        """Position of a site among the moments."""
        return next(i for i, m in enumerate(self.moments) if m.site is not None and m.site.key == site.key)

    # ------------------------------------------------------------------ asking

    def ask(self, site: Site, count: int, variant: Callable[[int], Tensor], place: Place) -> Iterator[Tensor]:
        """Run the variants, a few at a time: (variant, query, feature) at the place, first after the site.

        variant(i): (head, query, key), the replacement weights, built when needed.
        """
        step = max(1, POSITIONS // max(1, self.item.length))
        for start in range(0, count, step):
            part = torch.stack([variant(i) for i in range(start, min(start + step, count))])
            with torch.inference_mode():
                yield self._tried(site, part, place)

    def _tried(self, site: Site, part: Tensor, place: Place) -> Tensor:
        if site.key not in self._below:
            self._below[site.key] = run_below(self.model.module, self._call(1), site.key)
        below = self._below[site.key]
        if below is not None:
            try:
                return self._observed(site, part, place, below.for_rows([0] * len(part)))
            except _TROUBLES:
                # what is below cannot be spread over more rows (a bias without a batch axis): computed again instead
                self._below[site.key] = None
        try:
            return self._observed(site, part, place, None)
        except _TROUBLES as problem:
            if len(part) == 1:
                raise self._refused(site, problem) from problem
        # a layer without a batch axis (one call per picture) takes one variant at a time
        return torch.cat([self._tried(site, one[None], place) for one in part])

    def _refused(self, site: Site, problem: Exception) -> Unsupported:
        return Unsupported(
            phrase("errors.models.attention_site", site=site.key),
            expected=phrase("errors.models.layer_that_takes_other_weights"),
            got=f"{type(problem).__name__}: {problem}",
        )

    def _observed(self, site: Site, part: Tensor, place: Place, below: Resume | None) -> Tensor:
        observed: list[Tensor] = []
        armed = False

        def change(_: Site, weights: Tensor) -> Tensor:
            nonlocal armed
            armed = True
            return part.to(weights.dtype).contiguous()

        def look(module: nn.Module, what: str, tensor: Tensor | None) -> None:
            if armed and what == place.what and tensor is not None:
                observed.append(tensor.clone())
                raise _Enough

        try:
            with _watching({place.module}, look):
                rewritten_call(
                    self.model.module,
                    self._call(len(part)),
                    lambda known: _Instead(lambda s: s.key == site.key, change),
                    resume=below,
                )
        except _Enough:
            return rows_first(observed[0], len(part), site, part.shape[2])
        raise Unsupported(
            phrase("errors.models.attention_site", site=site.key),
            expected=phrase("errors.models.computed_after", place=place.name),
            got=phrase("errors.models.module_that_runs_before"),
        )


def rows_first(tensor: Tensor, rows: int, site: Site, queries: int) -> Tensor:
    """(row, query, feature) from the input or output of a module."""
    if tensor.ndim == 2 and len(tensor) == rows * queries > rows:
        tensor = tensor.reshape(rows, queries, -1)
    if tensor.ndim == 2:
        tensor = tensor[:, None]
    if tensor.ndim == 4 and tensor.shape[0] == rows:
        tensor = tensor.flatten(1, 2)  # rows and columns of a picture
    if tensor.ndim == 3 and tensor.shape[0] != rows and tensor.shape[1] == rows:
        tensor = tensor.transpose(0, 1)
    if tensor.ndim != 3 or tensor.shape[0] != rows:
        raise Unsupported(
            phrase("errors.models.attention_site", site=site.key),
            expected=phrase("errors.models.states_shape_batch_position"),
            got=str(tuple(tensor.shape)),
        )
    return tensor


def is_norm(module: nn.Module) -> bool:
    """Return whether a module is a normalization layer, in any library."""
    return "norm" in type(module).__name__.lower() and next(module.children(), None) is None


@contextmanager
def _watching(modules: set[nn.Module], tell: Callable[[nn.Module, str, Tensor | None], None]) -> Iterator[None]:
    def before(module: nn.Module, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
        tell(module, "begin", _first((args, dict(keywords))))

    def after(module: nn.Module, args: tuple[Any, ...], keywords: Mapping[str, Any], out: Any) -> None:
        tell(module, "end", _first(out))

    handles = []
    try:
        for module in modules:
            handles.append(module.register_forward_pre_hook(before, with_kwargs=True))
            handles.append(module.register_forward_hook(after, with_kwargs=True))
        yield
    finally:
        for handle in handles:
            handle.remove()


def _first(tree: Any) -> Tensor | None:
    """First floating-point tensor with more than one axis: the states."""
    leaves = (t for t in tree_leaves(tree) if isinstance(t, Tensor))
    return next((t for t in leaves if t.is_floating_point() and t.ndim >= 2), None)
