"""`head_view` and `model_view` by the names and arguments that users of BertViz know; the pictures are ours.

    from regard.live.bertviz import head_view, model_view
    head_view(outputs.attentions, tokens)
    head_view(regard.capture("minilm", "a quiet film"), layer=2, heads=[3, 5])
    page = model_view(attention, tokens, html_action="return").data

Not taken over: `display_mode` of the neuron view, and its query and key vectors (see `regard walkthrough`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError, UnknownName
from regard.live.session import Session
from regard.live.show import View, captured_pack
from regard.models.open.from_arrays import GivenCapture, from_arrays
from regard.present.pack.axes import named_axis
from regard.present.pack.build import Shown, pack
from regard.present.pack.records import AxisEntry, Pack
from regard.protocols import Capture
from regard.records import Attention, Json, SiteKind, Units

Action = Literal["view", "return"]
Weights = NDArray[np.float32]
MARKS = ("\u0120", "\u2581", "</w>", "\u010a")
"""What tokenizers write for a space, a line end or the end of a word."""


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
    """Lines between tokens, one colour for each head.

    attention: a capture, or one (batch, head, query, key) or (head, query, key) array for each layer; tokens: their
    names (not needed for a capture). Encoder-decoders give `encoder_attention`, `decoder_attention`,
    `cross_attention` and both lists of tokens. layer, heads: what is shown at first. include_layers: only these.
    html_action "return" gives a `View` (`.data` is the page, as in BertViz), "view" displays it.
    """
    made = _pack(
        attention, tokens, sentence_b_start, prettify_tokens, encoder_attention, decoder_attention, cross_attention,
        encoder_tokens, decoder_tokens, include_layers, None,
    )  # fmt: skip
    sites = made.manifest.examples[0].sites
    at = 0
    if layer is not None:
        at = next((i for i, s in enumerate(sites) if s.layer == layer), -1)
        if at < 0:
            raise UnknownName("layer", str(layer), sorted({str(s.layer) for s in sites}))
    state: dict[str, Json] = {"site": at}
    if heads is not None:
        wrong = [h for h in heads if not 0 <= h < sites[at].heads]
        if wrong:
            raise UnknownName("head", str(wrong[0]), map(str, range(sites[at].heads)))
        state["off"] = [h for h in range(sites[at].heads) if h not in set(heads)]
    return _shown(made, "head_view", html_action, state)


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
    """Every head of every layer as a small picture; arguments as in `head_view`."""
    if display_mode not in ("dark", "light"):
        raise UnknownName("display_mode", str(display_mode), ("dark", "light"))
    made = _pack(
        attention, tokens, sentence_b_start, prettify_tokens, encoder_attention, decoder_attention, cross_attention,
        encoder_tokens, decoder_tokens, include_layers, include_heads,
    )  # fmt: skip
    return _shown(made, "model_view", html_action, {}, display_mode)


def _shown(
    made: Pack, view: str, action: Action, state: Mapping[str, Json], theme: Literal["auto", "dark", "light"] = "auto"
) -> View | None:
    if action not in ("view", "return"):
        raise UnknownName("html_action", str(action), ("view", "return"))
    found = View(Session.of_pack(made), view, state=dict(state), theme=theme)
    if action == "return" or not _displayed(found):
        return found
    return None


def _displayed(found: View) -> bool:
    """Shown in the cell that is running, if there is one."""
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        return False
    if get_ipython() is None:
        return False
    display(found)  # type: ignore[no-untyped-call]
    return True


def _pack(
    attention: Any, tokens: Sequence[str] | None, second: int | None, pretty: bool, encoder: Any, decoder: Any,
    cross: Any, sources: Sequence[str] | None, targets: Sequence[str] | None, layers: Sequence[int] | None,
    heads: Sequence[int] | None,
) -> Pack:  # fmt: skip
    parts = {"encoder": encoder, "decoder": decoder, "cross": cross}
    if attention is not None:
        if any(part is not None for part in parts.values()):
            raise InputError("attention", expected="attention, or encoder/decoder/cross attention", got="both")
        if _is_capture(attention):
            return _chosen(captured_pack(attention), attention, layers, heads)
        return _of_arrays(attention, _names(tokens, "tokens", pretty), second, layers, heads)
    if all(part is None for part in parts.values()):
        raise InputError("attention", expected="attention, or encoder/decoder/cross attention", got="none")
    return _of_two(parts, _names(sources, "encoder_tokens", pretty, needed=encoder is not None or cross is not None),
                   _names(targets, "decoder_tokens", pretty, needed=decoder is not None or cross is not None),
                   layers, heads)  # fmt: skip


def _is_capture(given: Any) -> bool:
    return isinstance(given, GivenCapture) or (
        type(given).__module__.startswith("regard.") and isinstance(getattr(given, "sites", None), Sequence)
    )


def _names(given: Sequence[str] | None, what: str, pretty: bool, *, needed: bool = True) -> list[str]:
    if given is None:
        if needed:
            raise InputError(what, expected="the names of the tokens", got="none")
        return []
    names = [str(t) for t in given]
    if pretty:
        for mark in MARKS:
            names = [n.replace(mark, "") for n in names]
    return names


def _layers(given: Any, kind: SiteKind | None, layers: Sequence[int] | None, heads: Sequence[int] | None, prefix: str,
            names: list[str]) -> list[Attention]:  # fmt: skip
    """One record for each layer, under the number that it has in the model."""
    listed = list(given.values()) if isinstance(given, Mapping) else list(given)
    wanted = range(len(listed)) if layers is None else layers
    wrong = [n for n in wanted if not 0 <= n < len(listed)]
    if wrong:
        raise UnknownName("layer", str(wrong[0]), map(str, range(len(listed))))
    columns = len(names)
    found = []
    for number in wanted:
        held = from_arrays({f"{prefix}{number}": listed[number]}, names or [""] * columns, kind=kind).sites[0].dense()
        if held.shape[0] != 1:
            raise InputError("attention", expected="one example", got=f"a batch of {held.shape[0]}",
                             remedy="give the attention of one of them")  # fmt: skip
        weights = held.weights if heads is None else _of_heads(held.weights, heads)
        site = type(held.site)(held.site.name, 0, held.site.kind, number, weights.shape[1])
        found.append(Attention(site, weights, held.sink, held.checked))
    return found


def _of_heads(weights: Weights, heads: Sequence[int]) -> Weights:
    wrong = [h for h in heads if not 0 <= h < weights.shape[1]]
    if wrong:
        raise UnknownName("head", str(wrong[0]), map(str, range(weights.shape[1])))
    return np.ascontiguousarray(weights[:, list(heads)])


def _of_arrays(
    attention: Any, names: list[str], second: int | None, layers: Sequence[int] | None, heads: Sequence[int] | None
) -> Pack:
    if second is not None and not 0 < second <= len(names):
        raise InputError("sentence_b_start", expected=f"a place from 1 to {len(names)}", got=str(second))
    units = _units(names, second)
    shown = Shown("0", units, _layers(attention, None, layers, heads, "layer.", names))
    return pack([shown], notes=_note(heads))


def _of_two(
    parts: Mapping[str, Any], sources: list[str], targets: list[str], layers: Sequence[int] | None,
    heads: Sequence[int] | None,
) -> Pack:  # fmt: skip
    """Encoder, decoder and cross-attention, each over its own tokens."""
    units = _units(sources or targets, None)
    source = AxisEntry(list(units.names), list(range(len(units))), [False] * len(units), [0] * len(units),
                       [[] for _ in units.names]) if sources else named_axis([])  # fmt: skip
    target = named_axis(targets)
    rows = {
        "encoder": (source, source, sources),
        "decoder": (target, target, targets),
        "cross": (target, source, sources),
    }
    found: list[Attention] = []
    axes: dict[str, tuple[AxisEntry, AxisEntry]] = {}
    for name, given in parts.items():
        if given is None:
            continue
        query, key, names = rows[name]
        for held in _layers(given, "cross" if name == "cross" else None, layers, heads, f"{name}.", names):
            if held.shape[2:] != (len(query.names), len(key.names)):
                raise InputError(f"{name}_attention", expected=f"{len(query.names)} x {len(key.names)} weights",
                                 got=" x ".join(map(str, held.shape[2:])))  # fmt: skip
            axes[held.site.key] = query, key
            found.append(held)
    return pack([Shown("0", units, found, axes=axes)], notes=_note(heads))


def _chosen(made: Pack, capture: Capture, layers: Sequence[int] | None, heads: Sequence[int] | None) -> Pack:
    """A capture as it is, or some of its layers and heads."""
    if layers is None and heads is None:
        return made
    known = sorted({s.site.layer for s in capture.sites})
    wrong = [n for n in layers or () if n not in known]
    if wrong:
        raise UnknownName("layer", str(wrong[0]), map(str, known))
    found = []
    for site in capture.sites:
        if layers is None or site.site.layer in layers:
            held = site.dense()
            weights = held.weights[:1] if heads is None else _of_heads(held.weights[:1], heads)
            s = held.site
            found.append(Attention(type(s)(s.name, s.call, s.kind, s.layer, weights.shape[1], s.module), weights,
                                   None if held.sink is None else held.sink[:1], held.checked))  # fmt: skip
    return pack([Shown("0", capture.units[0], found)], model=made.manifest.model, labels=made.manifest.labels,
                notes=_note(heads))  # fmt: skip


def _note(heads: Sequence[int] | None) -> list[str]:
    return [] if heads is None else [f"only heads {', '.join(map(str, heads))}, numbered from 0 here in this order"]


def _units(names: list[str], second: int | None) -> Units:
    plain = from_arrays([np.full((1, len(names)), 1 / max(1, len(names)))], names).units[0]
    part = np.zeros(len(names), np.int64)
    if second is not None:
        part[second:] = 1
    special = np.array(
        [(n.startswith("[") and n.endswith("]")) or (n.startswith("<") and n.endswith(">")) for n in names]
    )
    return Units(plain.names, plain.kind, plain.place_kind, plain.places, special, plain.groups, part, plain.keys,
                 plain.shape)  # fmt: skip
