"""Auditor below the tap: every softmax and fused attention at the dispatcher must have come through the tap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import cache
from typing import Any

from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from regard.errors import CaptureError, Text, listing, phrase
from regard.tap.tap import Event, Tap

_SOFTMAX = {"_softmax", "_safe_softmax", "softmax", "_sparse_softmax", "_masked_softmax"}
_FUSED = (
    "_scaled_dot_product",
    "_transformer_encoder_layer_fwd",
    "_native_multi_head_attention",
    "_flash_attention_forward",
    "_efficient_attention_forward",
    "_triton_multi_head_attention",
    "flex_attention",
)


@cache
def _is_attention(function: Any) -> str:
    """Name of an operation that may be attention; "" for any other."""
    schema = getattr(function, "_schema", None)
    name = str(schema.name).partition("::")[2] if schema is not None else str(getattr(function, "__name__", ""))
    if name.endswith("backward") or "backward" in name:
        return ""
    return name if name in _SOFTMAX or name.startswith(_FUSED) else ""


class Auditor(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counter of operations that the tap did not explain, by operation and module."""

    supports_higher_order_operators = True

    def __init__(self, tap: Tap) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.tap = tap
        self.seen = 0
        self.unexplained: Counter[tuple[str, str]] = Counter()

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        name = _is_attention(func)
        if name:
            self.seen += 1
            if not self.tap.busy:
                self.unexplained[name, self.tap.watch.here[0]] += 1
        return func(*args, **(kwargs or {}))

    def verdict(self, exempt: Callable[[str], bool]) -> None:
        """Raise if something was computed that the tap did not see; `exempt`: modules with a registered site."""
        missed = {place: n for place, n in self.unexplained.items() if not exempt(place[1])}
        if missed:
            missed_calls = ", ".join(f"{n} x {op} ({module})" for (op, module), n in sorted(missed.items()))
            raise CaptureError(
                phrase("errors.tap.capture"),
                expected=phrase("errors.tap.every_softmax_and_fused_attention"),
                got=phrase("errors.tap.that_did_not_traced", missed_calls=missed_calls),
                remedy=phrase("errors.tap.load_model_without_torch_jit"),
            )
        lost = [e.name for e in self.tap.events if _lost(e) and not exempt(e.name)]
        if lost:
            raise CaptureError(
                phrase("errors.tap.capture"),
                expected=phrase("errors.tap.every_softmax_queries_and_keys"),
                got=phrase("errors.tap.in_whose_use_not_understood", n=len(lost), lost=", ".join(dict.fromkeys(lost))),
                remedy=phrase("errors.tap.name_place_with_register_site"),
            )


def _lost(event: Event) -> bool:
    """Softmax of a product of two computed tensors, in a module named like attention, that is not a site."""
    softmax = event.softmax
    if softmax is None or not softmax.reason or softmax.selected or softmax.scores is None or softmax.scores.linear:
        return False
    return softmax.of_data and event.owner is not None and _looks_like_attention(event.name, event.owner)


_NAMED = ("attention", "attn", "multihead")


def no_site(module: nn.Module, rejected: list[tuple[str, Text]]) -> CaptureError:
    """Build the error for a pass without attention."""
    candidates = [n or type(m).__name__ for n, m in module.named_modules() if _looks_like_attention(n, m)]
    if candidates:
        rejections = [phrase("errors.common.because", place=place, reason=reason) for place, reason in rejected[:3]]
        reasons = listing(rejections) or phrase("errors.tap.no_softmax_at_all")
        return CaptureError(
            type(module).__name__,
            expected=phrase("errors.tap.attention_in_named_like_attention", candidates=candidates[0]),
            got=phrase("errors.tap.none_that_could_captured", reasons=reasons),
            remedy=phrase("errors.tap.name_place_with_register_site"),
        )
    return CaptureError(
        type(module).__name__,
        expected=phrase("errors.common.model_with_attention"),
        got=phrase("errors.tap.this_model_no_attention", rejected=_what_was_seen(rejected)),
        remedy=phrase("errors.tap.use_explainers_that_need_no_attention"),
    )


def siteless(module: nn.Module, ran: Collection[str], known: Collection[str]) -> list[tuple[str, Text]]:
    """Return modules named like attention that ran without a known site: linear attention, or hand-written.

    `known`: the modules with a site or a rejected softmax. Parts of an attention module count for that module only.
    """
    suspects: list[tuple[str, Text]] = []
    site_modules = {
        ".".join(parts[:i]) for name in known if (parts := name.split(".")) for i in range(1, len(parts) + 1)
    }
    for name, inner in module.named_modules():
        parent = name.rpartition(".")[0]
        if name not in ran or not name or not _looks_like_attention(name, inner) or name in site_modules:
            continue
        if sum(isinstance(child, nn.Linear) for child in inner.children()) < 2:
            continue  # the output of an attention, or its norm
        if parent in site_modules and _looks_like_attention(parent, module.get_submodule(parent)):
            continue
        suspects.append((name, phrase("errors.tap.named_like_attention")))
    return suspects


def _what_was_seen(rejected: list[tuple[str, Text]]) -> Text:
    if not rejected:
        return phrase("errors.tap.no_softmax_or_fused_attention")
    seen = dict.fromkeys(rejected[:3])
    return listing([phrase("errors.tap.softmax_in_place", place=place, reason=reason) for place, reason in seen])


def _looks_like_attention(name: str, module: nn.Module) -> bool:
    last = name.rpartition(".")[2].lower()
    kind = type(module).__name__.lower()
    return any(word in last or word in kind for word in _NAMED)
