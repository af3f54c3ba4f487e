"""Entry point: run a call with the tap on, and get every attention of it.

    out, taps = capture_call(model, lambda: model(**inputs))
    taps.sites[0].rows(example=0, queries=[0])

The first pass of a module is a full one: provenance, auditor, self-check. Its findings (the plan) are cached, so that
later passes only look at known attention; anything unknown there brings the full pass back.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from regard.errors import CaptureError, Text, Unsupported, phrase
from regard.records import EDITED, UNCHECKED, Check, Edits, Message, Mode, Site
from regard.tap.attention_interface import interface, look_again, may_be_direct, switches
from regard.tap.auditor import Auditor, no_site, siteless
from regard.tap.build_sites import AnySite, Padding, build_sites, first_mask
from regard.tap.capture_plan import Plan, is_compiled, make_plan, plan_of
from regard.tap.declared_sites import RegisteredSites
from regard.tap.editing import EditRewriting
from regard.tap.provenance import Provenance
from regard.tap.recorder import Recorder
from regard.tap.replay_cache import Resume
from regard.tap.rewriter import Rewriter, Rewriting
from regard.tap.self_check import prove
from regard.tap.tap import Handler, Tap, Watch

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Taps:
    """Every attention of one pass, every rejected softmax with its reason, and the kind of verification."""

    sites: list[AnySite]
    rejected: list[tuple[str, Text]]
    checked: Message
    steps: list[int] = field(default_factory=list)

    def __getitem__(self, key: str) -> AnySite:
        for site in self.sites:
            if site.site.key == key:
                return site
        raise CaptureError(
            phrase("errors.tap.site_key", key=repr(key)),
            expected=phrase("errors.common.one_allowed", allowed=[s.site.key for s in self.sites][:8]),
            got=phrase("errors.tap.no_such_site"),
        )


@dataclass(slots=True, eq=False)
class Pass:
    """Run of a call under the tap."""

    tap: Tap
    recorder: Recorder
    auditor: Auditor | None
    registered: RegisteredSites


def capture_call(
    module: nn.Module,
    call: Callable[[], T],
    *,
    mode: Mode = "qk",
    check: Check = "first",
    edits: Edits = (),
    key_padding: Padding = None,
    resume: Resume | None = None,
    keep_full: bool = False,
) -> tuple[T, Taps]:
    """Return the output of `call`, and every attention in it. `call` must run `module` and be repeatable.

    edits: changes of attention by site, for the whole batch or a list for each of its rows (see `editing`); the taps
    then show the weights that were used. Sites that are not edited run as they always do. `resume` (see `resume`)
    replays everything below the lowest edited site from memory. mode "qk": the model's own forward (SDPA), queries and
    keys stored; no weights matrix unless the model's own code makes one. mode "weights": weights are computed in the
    forward. check: "first" verifies the capture once per (module, mode, shape class), "always" every time, "never" not
    at all; `Taps.checked` records it. `keep_full` always runs the full tap (for calls that cannot be repeated, such as
    generation).

    >>> attention = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    >>> x = torch.rand(1, 3, 8)
    >>> _, taps = capture_call(attention, lambda: attention(x, x, x))
    >>> taps.sites[0].site.kind, taps.sites[0].shape
    ('self', (1, 2, 3, 3))
    """
    if edits:
        return rewritten_call(
            module,
            call,
            lambda sites: EditRewriting.of(edits, sites, first_mask(key_padding)),
            key_padding=key_padding,
            resume=resume,
        )
    switched = switches(module, mode)
    plan = plan_of(module, switched=switched)
    if plan is not None and check != "always" and not keep_full:
        recorder = Recorder(mode, lean=mode == "weights" and (check == "never" or plan.knows(mode)))
        direct = not switched and plan.direct.get(mode, False)
        out, run = tapped(module, call, recorder, recorder, plan=plan, direct=direct)
        if plan.explains(run.tap.events):
            taps = _finish(module, run, plan=plan, mode=mode, check=check, padding=key_padding, full=False)
            if taps is not None:
                if mode not in plan.direct and check != "never" and not switched:
                    plan.direct[mode] = may_be_direct(module) and _same_without_tap(module, call, plan, mode, out)
                return out, taps
        plan.direct[mode] = False
    look_again(module)
    recorder = Recorder(mode)
    out, run = tapped(module, call, recorder, recorder, audit=check != "never")
    try:
        if run.auditor is not None:
            run.auditor.verdict(run.registered.covers)
        plan = make_plan(module, run.tap.events, run.registered, run.tap.watch.batch, switched=switched)
        if plan.sites():
            plan.rejected.extend(siteless(module, run.tap.watch.ran, {e.name for e in run.tap.events}))
        taps = _finish(module, run, plan=plan, mode=mode, check=check, padding=key_padding, full=True)
    finally:
        if run.tap.provenance is not None:
            run.tap.provenance.close()
    assert taps is not None
    return out, taps


def _same_without_tap(module: nn.Module, call: Callable[[], T], plan: Plan, mode: Mode, expected: T) -> bool:
    """Return whether a direct pass meets the same attentions and gives the same output. Costs one pass, once."""
    with torch.no_grad():
        recorder = Recorder(mode)
        out, run = tapped(module, call, recorder, recorder, plan=plan, direct=True)
    tapped_out, untapped = ([t for t in tree_leaves(o) if isinstance(t, Tensor)] for o in (out, expected))
    return (
        plan.explains(run.tap.events)
        and len(tapped_out) == len(untapped)
        and all(
            a.shape == b.shape and torch.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)
            for a, b in zip(tapped_out, untapped, strict=True)
        )
    )


def rewritten_call(
    module: nn.Module,
    call: Callable[[], T],
    rewriting: Callable[[Sequence[Site]], Rewriting],
    *,
    key_padding: Padding = None,
    resume: Resume | None = None,
) -> tuple[T, Taps]:
    """Run `call` with attention rewritten at the sites that the rewriting selects; find the sites first if needed.

    `rewriting` is given the known sites. `resume` computes nothing below the lowest rewritten site again.
    """
    for attempt in range(2):
        plan = plan_of(module, switched=False)
        if plan is None or attempt:
            with torch.no_grad(), resume.paused() if resume is not None else nullcontext():
                plan = discover(module, call)
        recorder = Recorder("qk")
        wish = rewriting(plan.sites())
        _refuse_registered(plan, wish)
        handler = Rewriter(plan, recorder, wish)
        with resume.applied() if resume is not None else nullcontext():
            out, run = tapped(module, call, handler, recorder, plan=plan, switch=False, skipped=resume)
        if not handler.unknown:
            break
    else:
        raise CaptureError(
            phrase("errors.tap.edit_in_unknown", unknown=handler.unknown[0].name),
            expected=phrase("errors.tap.same_attention_in_every_pass"),
            got=phrase("errors.tap.softmax_or_fused_attention"),
            remedy=phrase("errors.tap.make_call_repeatable_no_dropout"),
        )
    sites, steps, _ = build_sites(run.tap.events, plan, recorder, key_padding, run.tap.watch.batch)
    for site in sites:
        site.checked = EDITED
    return out, Taps(sites, list(plan.rejected), EDITED, steps)


def _refuse_registered(plan: Plan, wish: Rewriting) -> None:
    """Refuse to rewrite a registered site, whose arithmetic is the user's own."""
    for entry in plan.events.values():
        if entry.registered and entry.site is not None and wish.wants(entry.site):
            raise Unsupported(
                phrase("errors.tap.edit_site", site=entry.site.key),
                expected=phrase("errors.tap.site_that_tap_found_by_itself"),
                got=phrase("errors.tap.site_announced_by_register_site"),
                remedy=phrase("errors.tap.name_other_sites_or_compute"),
            )


def discover(module: nn.Module, call: Callable[[], T]) -> Plan:
    """Run a full pass of the unmodified model, for its plan alone."""
    recorder = Recorder("qk")
    _, run = tapped(module, call, recorder, recorder, audit=True, switch=False)
    assert run.auditor is not None
    assert run.tap.provenance is not None
    try:
        run.auditor.verdict(run.registered.covers)
        plan = make_plan(module, run.tap.events, run.registered, run.tap.watch.batch, switched=False)
    finally:
        run.tap.provenance.close()
    if not plan.sites():
        raise no_site(module, plan.rejected)
    return plan


def tapped(
    module: nn.Module,
    call: Callable[[], T],
    handler: Handler,
    recorder: Recorder,
    *,
    plan: Plan | None = None,
    audit: bool = False,
    switch: bool = True,
    skipped: Resume | None = None,
    direct: bool = False,
) -> tuple[T, Pass]:
    """Run `call` under a light tap (with a plan) or a full one (without). `direct`: see `attention_interface`."""
    registered = RegisteredSites(module)
    provenance = None if plan is not None else Provenance()
    watch = _watch(module, plan, provenance)
    tap = Tap(watch, handler, provenance)
    if skipped is not None:
        tap.skip(skipped.events)
    auditor = Auditor(tap) if audit else None
    with (
        interface(module, recorder.mode, direct=direct) if switch else nullcontext(),
        _as_written(module, plan),
        watch,
        registered.watched(tap),
        auditor or nullcontext(),
        tap.for_registry() if direct else tap,
    ):
        out = call()
    return out, Pass(tap, recorder, auditor, registered)


def _watch(module: nn.Module, plan: Plan | None, provenance: Provenance | None) -> Watch:
    if plan is not None:
        return Watch(module, plan.owners(module))
    names = {m: n for n, m in module.named_modules()}
    watch = Watch(module, names)

    def entered(name: str, inner: nn.Module, tensors: Sequence[Tensor]) -> None:
        outermost = len(watch.stack) == 1  # `generate` calls the encoder by itself, outside the whole model
        if provenance is not None and (outermost or _transforms(inner)):
            provenance.enter(tensors, outermost=outermost)

    watch.entered = entered
    return watch


def _transforms(module: nn.Module) -> bool:
    """Return whether a module is a real layer, not a linear map or the bare arithmetic of an attention."""
    return next(module.children(), None) is not None and next(module.parameters(), None) is not None


@contextmanager
def _as_written(module: nn.Module, plan: Plan | None) -> Iterator[None]:
    """Run compiled modules and flex_attention as plain Python during the capture."""
    compiled = plan.compiled if plan is not None else is_compiled(module)
    flex: Any = sys.modules.get("torch.nn.attention.flex_attention")
    before = flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG if flex is not None else False
    try:
        if flex is not None:
            flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
        with torch.compiler.set_stance("force_eager") if compiled else nullcontext():
            yield
    finally:
        if flex is not None:
            flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = before


def _finish(
    module: nn.Module, run: Pass, plan: Plan, mode: Mode, check: Check, padding: Padding, *, full: bool
) -> Taps | None:
    """Build the taps of a run; None if a light run turned out to need a full one."""
    events = run.tap.events
    sites, steps, proofs = build_sites(events, plan, run.recorder, padding, run.tap.watch.batch)
    if not sites:
        raise no_site(module, plan.rejected)
    shapes = frozenset(p.shape_class for p in proofs)
    if check == "never":
        checked = UNCHECKED
    elif check == "always" or not plan.has_proved(mode, shapes):
        if not full and any(not p.replayable for p in proofs):
            return None
        proof = prove(proofs)
        plan.proved(mode, shapes, proof)
        checked = Message.of(f"check.{check}", proof=proof)
    else:
        checked = Message.of("check.first", proof=plan.proof(mode))
    for site in sites:
        site.checked = checked
    return Taps(sites, list(plan.rejected), checked, steps)
