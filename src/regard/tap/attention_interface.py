"""Attention registry of transformers, used if it adds something to the tap.

Models with the default implementation (SDPA) are seen exactly by the tap alone. A model whose implementation is
another one (eager, flex, a custom kernel) but that looks its attention up in the registry is switched for the
duration of a query/key pass: SDPA where SDPA can say it, otherwise (softcap, sinks) rows in chunks, so that no
matrix of weights is made. The mask function is registered too: without it masks are silently dropped. It makes the
masks that the model would have got anyway: some models (Informer) hand them to attention of their own as well.

A model of transformers itself whose every attention is looked up there needs no tap between its attentions: in a
*direct* pass the tap is on only while the registry calls us.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from regard.records import Mode
from regard.tap.sdpa import SdpaCall, chunked

NAME = "regard"
EAGER = "regard_eager"
"""The same attention, with the additive masks of an eager model."""


@contextmanager
def interface(module: nn.Module, mode: Mode, *, direct: bool = False) -> Iterator[None]:
    """Switch registry models that do not run SDPA to ours; restore their own implementation at the end.

    `direct`: switch those that run SDPA too.
    """
    looked_at = (mode == "qk" or direct) and "transformers.modeling_utils" in sys.modules
    configs = _configs(module, sdpa_too=direct) if looked_at else []
    before = [(config, config._attn_implementation_internal) for config in configs]
    if configs:
        _register()
    try:
        for config in configs:
            eager = config._attn_implementation_internal in ("eager", None)
            config._attn_implementation_internal = EAGER if eager else NAME
        yield
    finally:
        for config, name in before:
            config._attn_implementation_internal = name


def switches(module: nn.Module, mode: Mode) -> bool:
    """Return whether `interface` would switch anything."""
    return mode == "qk" and "transformers.modeling_utils" in sys.modules and bool(_configs(module))


def may_be_direct(module: nn.Module) -> bool:
    """Return whether `module` is an unmodified transformers model whose attention is all SDPA through the registry."""
    if "transformers.modeling_utils" not in sys.modules or not type(module).__module__.startswith("transformers."):
        return False
    hosts = _hosts(module)
    all_from_libraries = all(type(m).__module__.startswith(("transformers.", "torch.")) for m in module.modules())
    return (
        bool(hosts)
        and all_from_libraries
        and all(_can_switch(type(host)) and host.config._attn_implementation == "sdpa" for host in hosts)
    )


def registry_hosts(module: nn.Module) -> list[Any]:
    """The models of transformers inside `module`, if all of them look their attention up in the registry."""
    if "transformers.modeling_utils" not in sys.modules:
        return []
    hosts = _hosts(module)
    from_libraries = all(type(m).__module__.startswith(("transformers.", "torch.")) for m in module.modules())
    return hosts if from_libraries and all(_can_switch(type(host)) for host in hosts) else []


_HOSTS: weakref.WeakKeyDictionary[nn.Module, list[weakref.ref[nn.Module]]] = weakref.WeakKeyDictionary()


_SWITCHABLE: dict[Any, bool] = {}


def _can_switch(kind: Any) -> bool:
    """Return whether models of this class look their attention up in the registry.

    transformers reads their source to decide.
    """
    if kind not in _SWITCHABLE:
        _SWITCHABLE[kind] = bool(kind._can_set_attn_implementation())
    return _SWITCHABLE[kind]


def look_again(module: nn.Module) -> None:
    """Forget which transformers models are inside `module`."""
    _HOSTS.pop(module, None)


def _hosts(module: nn.Module) -> list[Any]:
    from transformers import PreTrainedModel

    if module not in _HOSTS:
        _HOSTS[module] = [weakref.ref(m) for m in module.modules() if isinstance(m, PreTrainedModel)]
    return [host for held in _HOSTS[module] if (host := held()) is not None]


def _configs(module: nn.Module, *, sdpa_too: bool = False) -> list[Any]:
    """Configurations of the models in `module` that can be switched and do not run SDPA already."""
    implementations = (NAME, EAGER) if sdpa_too else ("sdpa", None, NAME, EAGER)
    configs: dict[int, Any] = {}
    barred: set[int] = set()
    for inner in _hosts(module):
        if not _can_switch(type(inner)):
            barred.add(id(inner.config))
        elif inner.config._attn_implementation not in implementations:
            configs[id(inner.config)] = inner.config
    return [config for key, config in configs.items() if key not in barred]


def _register() -> None:
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, eager_mask, sdpa_mask

    for name, mask in ((NAME, sdpa_mask), (EAGER, eager_mask)):
        AttentionInterface.register(name, registry_attention)
        AttentionMaskInterface.register(name, mask)


def registry_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Attention function of the registry: returns (output (batch, query, head, feature), None)."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    from regard.tap.tap import active_tap

    tap = active_tap()
    if softcap is None and s_aux is None:
        with tap if tap is not None and tap.waiting else nullcontext():
            out, _ = sdpa_attention_forward(
                module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **others
            )
        return out, None
    causal = others.get("is_causal")
    causal = bool(getattr(module, "is_causal", True) if causal is None else causal)
    bias = others.get("position_bias")
    if bias is not None:
        attention_mask = bias if attention_mask is None else _added(attention_mask, bias)
    call = SdpaCall(
        function=chunked,
        args=(),
        keywords={},
        query=query,
        key=key,
        value=value,
        mask=attention_mask,
        causal=causal and attention_mask is None and query.shape[2] > 1,
        scale=scaling,
        dropout=dropout,
        softcap=softcap,
        sinks=s_aux,
    )
    call.args = (call,)
    out = tap.attention(call) if tap is not None else chunked(call)
    return out.transpose(1, 2).contiguous(), None


def _added(mask: Tensor, bias: Tensor) -> Tensor:
    return bias.masked_fill(~mask, torch.finfo(bias.dtype).min) if mask.dtype == torch.bool else bias + mask
