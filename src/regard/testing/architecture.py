"""Architecture as a tiny random model: how to build it, its inputs, and its expected attention."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.records import SiteKind

Inputs = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Architecture:
    """Architecture as a tiny random configuration.

    sites: how many attention sites of which kind one forward pass has; `because` derives that from the settings.
    own: (field of the model's output, glob over site keys): the weights that the model reports itself under
        attn_implementation="eager" and output_attentions=True, in the order of the sites that the glob matches.
        They are a cross-check, never the source.
    silent: why some of the sites have no weights of the model's own to be compared with.
    note: anything a user of the captured weights must know (layout, sinks, ...).
    rejected: how many softmaxes are not attention (routers, gates).
    inert: sites whose weights cannot matter to the output of this model, as `note` explains.
    error: words that the error contains where a capture is rightly refused.
    """

    name: str
    family: str
    model: str
    config: str
    settings: Mapping[str, Any]
    inputs: Callable[[], Inputs]
    sites: Mapping[SiteKind, int]
    because: str
    own: tuple[tuple[str, str], ...] = (("attentions", "*"),)
    silent: str = ""
    note: str = ""
    error: str = ""
    rejected: int = 0
    sink: bool = False
    inert: tuple[str, ...] = ()

    def build(self, *, seed: int = 0, attention: str | None = None, dtype: torch.dtype = torch.float32) -> nn.Module:
        """The model with random weights, in evaluation mode; `attention` names a transformers implementation."""
        import transformers

        config = getattr(transformers, self.config)(**self.settings)
        if attention is not None:
            config._attn_implementation = attention
        # the caller's stream of random numbers is his own
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model: nn.Module = getattr(transformers, self.model)(config)
            enliven(model)
        return model.eval().to(dtype)

    @property
    def count(self) -> int:
        return sum(self.sites.values())


def enliven(model: nn.Module) -> None:
    """Make the weights large enough that attention is far from uniform and every site matters to the output.

    A freshly initialised model has nearly equal scores everywhere (0.02 standard deviation), on which a wrong scale, a
    forgotten bias or swapped heads would go unnoticed.
    """
    for name, parameter in model.named_parameters():
        if parameter.dim() < 2:
            # LayerNorm gains stay near 1; biases, sinks and gates leave 0
            parameter.data.add_(torch.randn_like(parameter) * 0.1)
        elif "embed" in name:
            parameter.data.copy_(torch.randn_like(parameter) * 0.5)
        else:
            parameter.data.copy_(torch.randn_like(parameter) * (1.5 / max(1.0, parameter[0].numel() ** 0.5)))


def tensors(output: Any, *, detached: bool = True) -> dict[str, Tensor]:
    """Every floating-point tensor of a model's output by its path, without caches and attention weights."""
    by_path: dict[str, Tensor] = {}

    def walk(path: str, value: Any) -> None:
        if isinstance(value, Tensor):
            if value.is_floating_point():
                by_path[path] = value.detach() if detached else value
        elif isinstance(value, Mapping):
            for key, item in value.items():
                if "attentions" not in key and "past_key_values" not in key:
                    walk(f"{path}.{key}" if path else key, item)
        elif isinstance(value, (tuple, list)):
            for i, item in enumerate(value):
                walk(f"{path}[{i}]", item)

    walk("", output)
    return by_path
