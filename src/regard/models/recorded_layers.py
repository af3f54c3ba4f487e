"""Recorded layers: several experiments edit the same attention of the same inputs, and all of them start above it.

The layers below run once per input, whoever asks; the recordings of the last inputs are kept within a limit of bytes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from regard.models.read.encoded import Item
from regard.models.weight_versions import weight_versions
from regard.protocols import Target
from regard.tap.pass_history import forgettable
from regard.tap.replay import run_below
from regard.tap.replay_cache import Resume

MOST_BYTES = 128 << 20
"""Recordings of one module that are kept: 128 MiB. A larger one is not kept at all."""


@dataclass(slots=True, eq=False)
class _Recordings:
    """The last recordings of a module. The items are held too, so that no other object gets their id."""

    by_key: OrderedDict[tuple[object, ...], tuple[tuple[Item, ...], Resume, int]] = field(default_factory=OrderedDict)

    def store(self, key: tuple[object, ...], items: tuple[Item, ...], layers: Resume) -> None:
        leaves = [leaf for done in layers.done for leaf in tree_leaves(done.out) if isinstance(leaf, Tensor)]
        size = sum({id(leaf): leaf.numel() * leaf.element_size() for leaf in leaves}.values())
        self.by_key[key] = items, layers, size
        while self.by_key and sum(own for _, _, own in self.by_key.values()) > MOST_BYTES:
            self.by_key.popitem(last=False)


_RECORDINGS: WeakKeyDictionary[nn.Module, _Recordings] = forgettable(WeakKeyDictionary())


def layers_below(
    module: nn.Module,
    items: Sequence[Item],
    targets: Sequence[Target],
    sites: Sequence[str],
    call: Callable[[], object],
) -> Resume:
    """The outputs of everything below the first of the sites in `call`, which runs the module on these items.

    Serve rows from it by `Resume.for_rows`, which copies: the recording itself is shared.
    """
    own = _RECORDINGS.setdefault(module, _Recordings())
    # tensors of inference mode cannot be part of a graph
    key = (*map(id, items), repr(targets), *sites, torch.is_inference_mode_enabled(), weight_versions(module))
    if key not in own.by_key:
        layers = run_below(module, call, *sites)
        own.store(key, tuple(items), layers)
        return layers
    own.by_key.move_to_end(key)
    return own.by_key[key][1]
