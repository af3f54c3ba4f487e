"""BertViz-compatible `head_view` and `model_view`: the same names and arguments, drawn by regard's viewer.

    from regard.live.bertviz import head_view, model_view
    head_view(outputs.attentions, tokens)
    head_view(regard.capture("minilm", "a quiet film"), layer=2, heads=[3, 5])
    page = model_view(attention, tokens, html_action="return").data

Not supported: BertViz's neuron view with its query and key vectors (use `regard walkthrough`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from regard.errors import InputError, UnknownName, phrase
from regard.live.session import Session
from regard.live.show import View, captured_pack
from regard.message import Message
from regard.models.open.from_arrays import GivenCapture, from_arrays
from regard.present.pack.axes import named_axis
from regard.present.pack.build import Shown, pack
from regard.present.pack.records import AxisEntry, Pack
from regard.records import Attention, Json, Units

Action = Literal["view", "return"]
NO_WEIGHTS = phrase("errors.live.pass_regard_capture_model_text")
MARKS = ("\u0120", "\u2581", "</w>", "\u010a")
"""Markers that tokenizers write for a space, a line end or the end of a word."""


def head_view(
    attention: Any = None,
    tokens: Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    layer: int | None = None,
    heads: Sequence[int] | None = None,
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    include_layers: Sequence[int] | None = None,
    html_action: Action = "view",
) -> View | None:
    """Draw lines between tokens, one colour per head.

    attention: a capture, or one (batch, head, query, key) or (head, query, key) array per layer. tokens: their names
    (not needed for a capture). Encoder-decoders pass `encoder_attention`, `decoder_attention`, `cross_attention` and
    both token lists. layer, heads: the initial selection. include_layers: draw only these.
    html_action: "return" returns a `View` (`.data` is the page, as in BertViz), "view" displays it.
    """
    parts = {"encoder": encoder_attention, "decoder": decoder_attention, "cross": cross_attention}
    names = _Names(tokens, encoder_tokens, decoder_tokens, pretty=prettify_tokens)
    drawn_pack = _pack(attention, parts, names, second=sentence_b_start, layers=include_layers)
    sites = drawn_pack.manifest.examples[0].sites
    at = 0
    if layer is not None:
        _refuse_unknown("layer", [layer], {s.layer for s in sites})
        at = next(i for i, s in enumerate(sites) if s.layer == layer)
    state: dict[str, Json] = {"site": at}
    if heads is not None:
        _refuse_unknown("head", heads, range(sites[at].heads))
        state["off"] = [h for h in range(sites[at].heads) if h not in set(heads)]
    return _show(View(Session.of_pack(drawn_pack), "head_view", state=state), html_action)


def model_view(
    attention: Any = None,
    tokens: Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    display_mode: Literal["dark", "light"] = "dark",
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    include_layers: Sequence[int] | None = None,
    include_heads: Sequence[int] | None = None,
    html_action: Action = "view",
) -> View | None:
    """Draw every head of every layer as a small map; arguments as in `head_view`."""
    if display_mode not in ("dark", "light"):
        raise UnknownName("display_mode", str(display_mode), ("dark", "light"))
    parts = {"encoder": encoder_attention, "decoder": decoder_attention, "cross": cross_attention}
    names = _Names(tokens, encoder_tokens, decoder_tokens, pretty=prettify_tokens)
    drawn_pack = _pack(attention, parts, names, second=sentence_b_start, layers=include_layers, heads=include_heads)
    return _show(View(Session.of_pack(drawn_pack), "model_view", theme=display_mode), html_action)


def _show(view: View, action: Action) -> View | None:
    """Display a view in the running notebook cell; return it if asked to, or if there is no notebook."""
    if action not in ("view", "return"):
        raise UnknownName("html_action", str(action), ("view", "return"))
    if action == "view":
        try:
            from IPython import get_ipython
            from IPython.display import display
        except ImportError:
            return view
        if get_ipython() is not None:
            display(view)  # type: ignore[no-untyped-call]
            return None
    return view


class _Names:
    """The token lists as BertViz takes them."""

    def __init__(self, *lists: Sequence[str] | None, pretty: bool) -> None:
        self._lists = dict(zip(("tokens", "encoder_tokens", "decoder_tokens"), lists, strict=True))
        self._pretty = pretty

    def read(self, argument: str, *, needed: bool = True) -> list[str]:
        tokens = self._lists[argument]
        if tokens is None and needed:
            raise InputError(argument, expected=phrase("errors.live.names_tokens"), got=phrase("errors.common.none"))
        names = [str(token) for token in tokens or ()]
        for mark in MARKS if self._pretty else ():
            names = [name.replace(mark, "") for name in names]
        return names


def _pack(
    attention: Any,
    parts: Mapping[str, Any],
    names: _Names,
    *,
    second: int | None,
    layers: Sequence[int] | None,
    heads: Sequence[int] | None = None,
) -> Pack:
    """Return the pack of a capture, of arrays, or of the arrays of an encoder-decoder."""
    notes = [] if heads is None else [str(Message.of("model_note.only_heads", heads=", ".join(map(str, heads))))]
    present = {name: part for name, part in parts.items() if part is not None}
    if (attention is None) == (not present):
        got = phrase("errors.common.none") if attention is None else phrase("errors.common.both")
        raise InputError("attention", expected=phrase("errors.live.attention_or_encoder_decoder_cross"), got=got)
    if attention is None:
        return _encoder_decoder_pack(present, names, layers, heads, notes)
    if not _is_capture(attention):
        tokens = names.read("tokens")
        if second is not None and not 0 < second <= len(tokens):
            raise InputError(
                "sentence_b_start", expected=phrase("errors.live.place_in_range", n=len(tokens)), got=str(second)
            )
        sites = _selected(_layers("layer", attention, tokens), layers, heads)
        return pack([Shown("0", _units(tokens, second), sites)], notes=notes)
    whole = captured_pack(attention)
    if layers is None and heads is None:
        return whole
    sites = _selected([site.dense() for site in attention.sites], layers, heads)
    manifest = whole.manifest
    return pack([Shown("0", attention.units[0], sites)], model=manifest.model, labels=manifest.labels, notes=notes)


def _encoder_decoder_pack(
    parts: Mapping[str, Any],
    names: _Names,
    layers: Sequence[int] | None,
    heads: Sequence[int] | None,
    notes: list[str],
) -> Pack:
    sources = names.read("encoder_tokens", needed="encoder" in parts or "cross" in parts)
    targets = names.read("decoder_tokens", needed="decoder" in parts or "cross" in parts)
    target, source = named_axis(targets), named_axis(sources)
    source = replace(source, units=list(range(len(sources))), part=[0] * len(sources))
    axes_of = {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}
    sites: list[Attention] = []
    axes: dict[str, tuple[AxisEntry, AxisEntry]] = {}
    for name, part in parts.items():
        query, key = axes_of[name]
        for site in _selected(_layers(name, part, key.names), layers, heads):
            if site.shape[2:] != (len(query.names), len(key.names)):
                expected = phrase("errors.live.weights_n", n=len(query.names), n_2=len(key.names))
                raise InputError(f"{name}_attention", expected=expected, got=" x ".join(map(str, site.shape[2:])))
            axes[site.site.key] = query, key
            sites.append(site)
    return pack([Shown("0", _units(sources or targets, None), sites, axes=axes)], notes=notes)


def _is_capture(value: Any) -> bool:
    return isinstance(value, GivenCapture) or (
        type(value).__module__.startswith("regard.") and isinstance(getattr(value, "sites", None), Sequence)
    )


def _layers(name: str, arrays: Any, tokens: list[str]) -> list[Attention]:
    """Return one record per layer, numbered as in the model."""
    by_layer = list(arrays.values()) if isinstance(arrays, Mapping) else list(arrays)
    empty = sum(weights is None for weights in by_layer)
    if not by_layer or empty:
        raise InputError(
            "attention" if name == "layer" else f"{name}_attention",
            expected=phrase("errors.live.one_array_weights_per_layer"),
            got=phrase("errors.live.layers_without_weights", empty=empty, n=len(by_layer))
            if by_layer
            else phrase("errors.live.no_layer"),
            remedy=NO_WEIGHTS,
        )
    capture = [
        from_arrays({f"{name}.{i}": weights}, tokens, kind="cross" if name == "cross" else None).sites[0].dense()
        for i, weights in enumerate(by_layer)
    ]
    return [replace(record, site=replace(record.site, layer=i)) for i, record in enumerate(capture)]


def _selected(sites: Sequence[Attention], layers: Sequence[int] | None, heads: Sequence[int] | None) -> list[Attention]:
    """Return the first example of these layers and heads."""
    _refuse_unknown("layer", layers or (), {s.site.layer for s in sites})
    selected = []
    for site in sites:
        if layers is not None and site.site.layer not in layers:
            continue
        weights = site.weights[:1]
        if heads is not None:
            _refuse_unknown("head", heads, range(weights.shape[1]))
            weights = np.ascontiguousarray(weights[:, list(heads)])
        sink = None if site.sink is None else site.sink[:1]
        selected.append(Attention(replace(site.site, heads=weights.shape[1]), weights, sink, site.checked))
    return selected


def _refuse_unknown(what: str, numbers: Sequence[int], valid: Iterable[int]) -> None:
    valid = sorted(valid)
    for number in numbers:
        if number not in valid:
            raise UnknownName(what, str(number), map(str, valid))


def _units(names: list[str], second: int | None) -> Units:
    part = np.zeros(len(names), np.int64)
    if second is not None:
        part[second:] = 1
    special = np.array(
        [(n.startswith("[") and n.endswith("]")) or (n.startswith("<") and n.endswith(">")) for n in names]
    )
    plain = from_arrays([np.full((1, len(names)), 1 / max(1, len(names)))], names).units[0]
    return replace(plain, special=special, part=part)
