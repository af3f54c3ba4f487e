"""`walkthrough`: one row of a real model's attention, step by step, with its real numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.errors import InputError, UnknownName, Unsupported, phrase
from regard.measures.walkthrough import Walkthrough, walk
from regard.message import Message
from regard.models.adapter import TorchModel, own
from regard.models.capture import as_examples
from regard.models.open.load import load
from regard.models.passes import key_padding
from regard.models.read.encoded import Item
from regard.models.read_rows import read_rows
from regard.models.walkthrough_vectors import Called, Vectors, of_call, of_softmax
from regard.protocols import Encoded, Model, SiteAttention, Target
from regard.tap.attention_interface import look_again, switches
from regard.tap.build_sites import build_sites
from regard.tap.capture_call import tapped
from regard.tap.capture_plan import make_plan
from regard.tap.recorder import Recorder
from regard.tap.sdpa import SdpaCall
from regard.tap.site_attention import LazyAttention
from regard.tap.tap import ROOT, Event


def walkthrough(
    model: str | Model,
    inputs: Any,
    *,
    layer: int | None = None,
    head: int = 0,
    query: str | int | None = None,
    site: str | None = None,
) -> Walkthrough:
    """Walk through one row: query, keys, products, dots, scaled scores, softmax, weighted values, and a self-check.

    inputs: a text or any other single input of `capture`. layer: default the last; site: a site by name, if a layer has
    several. query: a unit by name or position; default the one that the answer reads. The vectors are those that
    entered the product: after biases, normalisation and rotation by position.
    """
    live = load(model)
    if not isinstance(live, TorchModel):
        raise Unsupported(
            phrase("errors.models.walk_through", live=live.name),
            expected=phrase("errors.common.torch_model"),
            got=type(live).__name__,
        )
    (example, *more) = [window for e in as_examples(live, inputs) for window in live.windows(e)]
    item = live.encode(example)
    _, (target,) = live.predict([item])
    captured = live.capture([item], [target], mode="weights")
    site_attention = _chosen(captured.sites, layer, site)
    if not 0 <= head < site_attention.shape[1]:
        raise InputError(
            phrase("errors.common.head_heads", heads=head),
            expected=phrase("errors.models.at_shape", shape=site_attention.shape[1] - 1, site=site_attention.site.key),
            got=str(head),
        )
    row = _row(live, item, target, site=site_attention, names=_names(item, site_attention.shape[3]), query=query)
    (walked,) = _walked(live, item, target, chosen=site_attention, heads=[head], row=row)
    notes = (*walked.notes, Message.of("model_note.first_input", n=len(more) + 1))
    return replace(walked, notes=notes) if more else walked


def walked_heads(
    model: Model, encoded: Encoded, target: Target, site: SiteAttention, heads: Sequence[int]
) -> list[Walkthrough]:
    """Walk through the row of `site` that the objective reads, for several heads in one pass of the model.

    site: of a capture of this one input.
    """
    if not isinstance(model, TorchModel):
        raise Unsupported(
            phrase("errors.models.walk_through", live=model.name),
            expected=phrase("errors.common.torch_model"),
            got=type(model).__name__,
        )
    item = own(encoded)
    row = _row(model, item, target, site=site, names=(), query=None)
    return _walked(model, item, target, chosen=site, heads=heads, row=row)


def _walked(
    model: TorchModel, item: Item, target: Target, chosen: SiteAttention, heads: Sequence[int], row: int
) -> list[Walkthrough]:
    names, walks = _names(item, chosen.shape[3]), []
    for head, vectors in zip(heads, _vectors(model, item, target, chosen=chosen, heads=heads, row=row), strict=True):
        steps = walk(
            _numbers(vectors.query),
            _numbers(vectors.keys),
            factor=vectors.factor,
            scores=_numbers(vectors.scores),
            values=None if vectors.values is None else _numbers(vectors.values),
            sink=vectors.sink,
        )
        weights = chosen.rows(0, [row], [head])[0, 0].astype(np.float64)
        off = None
        if vectors.output is not None and steps.output is not None:
            off = float(np.abs(steps.output - _numbers(vectors.output)).max())
        walks.append(
            Walkthrough(
                model=model.name,
                site=chosen.site.key,
                layer=chosen.site.layer,
                head=head,
                heads=chosen.shape[1],
                query_at=row,
                query_name="answer"
                if chosen.shape[2] == 1
                else names[row]
                if chosen.shape[2] == chosen.shape[3]
                else str(row),
                key_names=names,
                form=vectors.form,
                steps=steps,
                captured=weights,
                difference=float(np.abs(weights - steps.weights).max()),
                output_difference=off,
                notes=(*vectors.notes, *_rotated(model.module)),
            )
        )
    return walks


def _chosen(sites: Sequence[SiteAttention], layer: int | None, name: str | None) -> SiteAttention:
    candidates = list(sites)
    if name is not None:
        candidates = [s for s in candidates if s.site.key == name or s.site.key.endswith("." + name)]
        if not candidates:
            raise UnknownName("site", name, [s.site.key for s in sites])
    if layer is None:
        return candidates[-1]
    here = [s for s in candidates if s.site.layer == layer]
    if not here:
        layers = sorted({s.site.layer for s in candidates})
        raise InputError(
            phrase("errors.common.layer_layer", layer=layer),
            expected=phrase("errors.models.layer_in_range", layers=layers[0], layers_2=layers[-1]),
            got=str(layer),
        )
    if len(here) > 1:
        raise InputError(
            phrase("errors.common.layer_layer", layer=layer),
            expected=phrase("errors.models.one_site"),
            got=f"{len(here)}: {', '.join(s.site.key for s in here[:6])}",
            remedy=f"--site {here[0].site.key}",
        )
    return here[0]


def _names(item: Item, size: int) -> tuple[str, ...]:
    names = [str(i) for i in range(size)]
    for name, place in zip(item.units.names, item.units.keys.tolist(), strict=True):
        if 0 <= place < size and size > 1:
            names[place] = name.strip() or "␣"
    return tuple(names)


def _row(
    model: TorchModel, item: Item, target: Target, site: SiteAttention, names: tuple[str, ...], query: str | int | None
) -> int:
    queries = site.shape[2]
    if query is None:
        return min(read_rows(model, item, target, site.site)[-1], queries - 1)
    unit_names = list(names) if queries == site.shape[3] else [str(i) for i in range(queries)]
    if isinstance(query, str) and query in unit_names:
        return unit_names.index(query)
    lowered = [n.lower() for n in unit_names]
    if isinstance(query, str) and query.lower() in lowered:
        return lowered.index(query.lower())
    try:
        row = int(query)
    except ValueError:
        raise UnknownName(
            phrase("errors.models.query_at_site", site=site.site.key), str(query), dict.fromkeys(unit_names)
        ) from None
    if not 0 <= row < queries:
        raise InputError(
            phrase("errors.models.query_row", row=row),
            expected=phrase("errors.models.unit_or_position_in_range", queries=queries - 1),
            got=str(row),
        )
    return row


@dataclass(slots=True, eq=False)
class _Keeping:
    """Handler that records the input of every softmax and changes nothing."""

    recorder: Recorder
    scores: dict[int, Tensor] = field(default_factory=dict)

    def attention(self, event: Event, call: SdpaCall) -> Any:
        return self.recorder.attention(event, call)

    def softmax(self, event: Event, scores: Tensor, axis: int, run: Callable[[Tensor], Tensor]) -> Tensor:
        self.scores[id(event)] = scores.detach().clone()  # some code masks its scores in place afterwards
        return run(scores)


def _vectors(
    model: TorchModel, item: Item, target: Target, chosen: SiteAttention, heads: Sequence[int], row: int
) -> list[Vectors]:
    """Vectors of each head, from a full pass, since only a full pass records the operands of a softmax."""
    recorder = Recorder("qk")
    keeping = _Keeping(recorder)
    module = model.module
    with torch.inference_mode(), _linears(module, chosen.site.name) as linears:
        tensors, request = model.tensors([item], [target])
        look_again(module)
        _, run = tapped(module, lambda: model.run(tensors, request), keeping, recorder)
        assert run.tap.provenance is not None
        try:
            plan = make_plan(
                module, run.tap.events, run.registered, run.tap.watch.batch, switched=switches(module, "qk")
            )
            sites, _, proofs = build_sites(run.tap.events, plan, recorder, key_padding(tensors), run.tap.watch.batch)
            for site, proof in zip(sites, proofs, strict=True):
                if site.site.key != chosen.site.key:
                    continue
                event, entry = proof.event, plan.events[proof.event.key]
                if site is proof.site and isinstance(site, LazyAttention) and proof.kept is not None:
                    return [of_call(site.call, proof.kept, head, row) for head in heads]
                if site is proof.site and event.softmax is not None and entry.layout is not None:
                    scores = keeping.scores[id(event)]
                    per_head = [
                        of_softmax(event, entry.layout, scores, linears=linears, head=head, row=row) for head in heads
                    ]
                    complete = [vectors for vectors in per_head if vectors is not None]
                    if len(complete) == len(per_head):
                        return complete
        finally:
            run.tap.provenance.close()
    raise Unsupported(
        phrase("errors.models.walk_through", live=chosen.site.key),
        expected=phrase("errors.models.scores_that_product_queries"),
        got=phrase("errors.models.scores_that_neither_fixed_uniform"),
        remedy=phrase("errors.models.regard_capture_shows_weights"),
    )


@contextmanager
def _linears(module: nn.Module, site: str) -> Iterator[list[Called]]:
    """Every call of a linear layer of the site's own module, or with one output."""
    calls: list[Called] = []

    def keep(layer: nn.Module, args: tuple[Any, ...], out: Any) -> None:
        assert isinstance(layer, nn.Linear)
        calls.append(Called(args[0].detach(), out.detach(), layer))

    inside = "" if site == ROOT else f"{site}."
    linear = [(n, m) for n, m in module.named_modules() if isinstance(m, nn.Linear)]
    handles = [m.register_forward_hook(keep) for n, m in linear if n.startswith(inside) or m.out_features == 1]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def _rotated(module: nn.Module) -> list[Message]:
    if any("rotary" in type(m).__name__.lower() for m in module.modules()):
        return [Message("model_note.rotary")]
    return []


def _numbers(tensor: Tensor) -> np.ndarray[Any, np.dtype[np.float64]]:
    return tensor.detach().double().cpu().numpy()
