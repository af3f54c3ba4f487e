"""The objective of one example as a differentiable function of its continuous inputs.

For text the continuous inputs are the outputs of the input-embedding module; for arrays the arrays themselves.
Units that the user did not write stay as they are in every baseline.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.errors import UnknownName, Unsupported, phrase
from regard.measures.keyed_random import keyed_rng
from regard.models.adapter import TorchModel, own
from regard.models.ask.capability import capability
from regard.models.read.encoded import Item
from regard.models.read.regions import ArrayReader
from regard.models.read.text import TextReader
from regard.protocols import Encoded, InputFunction, Target


@dataclass(frozen=True, slots=True)
class Ends:
    """The two ends of a path, in continuous inputs of one item: x and its baseline."""

    x: Tensor
    baseline: Tensor


@dataclass(frozen=True)
class _InputFunction:
    """Implements `protocols.InputFunction`."""

    model: TorchModel
    item: Item
    target: Target

    @property
    def module(self) -> nn.Module:
        return self.model.module

    @property
    def x(self) -> Tensor:
        return ends(self.model, self.item, self.model.reader.baselines[0]).x[None]

    @property
    def owner(self) -> Tensor:
        x = self.x
        own = torch.from_numpy(np.array(self.item.owner)).to(x.device)[None]
        return own.reshape(*own.shape, *[1] * (x.dim() - own.dim())).expand_as(x).contiguous()

    def baseline(self, name: str) -> Tensor:
        return ends(self.model, self.item, name).baseline[None]

    def __call__(self, x: Tensor) -> Tensor:
        rows = len(x)
        about = [self.target] * rows
        tensors, request = self.model.tensors([self.item] * rows, about)
        with self.model.backward_allowed(), inserted(self.model, tensors, x) as inputs:
            return self.model.row.read(self.model.run_read(inputs, request), request, about).value


@capability(needs="gradient")
def input_function(model: TorchModel, encoded: Encoded, target: Target) -> InputFunction:
    """Return the objective of one example as a differentiable function of its continuous inputs."""
    return _InputFunction(model, own(encoded), target)


def ends(model: TorchModel, item: Item, name: str, draw: int = 0) -> Ends:
    """Return x (positions, features) or the array, and the named baseline with special units unchanged.

    "mask", "pad": the embedding of that token. "resample": every free unit is replaced by another (a token of the
    vocabulary, a value of the background), keyed by item and draw.
    """
    reader = model.reader
    if name == "resample":
        other = reader.remove(item, item.units.free, "resample", keyed_rng(0, "baseline", draw, contents(item)))
        fixed = next(each for each in reader.baselines if each != "resample")
        whole = ends(model, item, fixed)
        return Ends(whole.x, torch.where(free_entries(item, whole.x), ends(model, other, fixed).x, whole.x))
    if name not in reader.baselines:
        raise UnknownName("baseline", name, reader.baselines)
    if isinstance(reader, ArrayReader):
        x, baseline = (
            torch.from_numpy(np.asarray(a)).to(device=model.device, dtype=model.dtype)
            for a in (item.arrays[reader.main], reader.baseline(item, name))
        )
        return Ends(x, torch.where(free_entries(item, x), baseline, x))
    if model.embedding is None or not isinstance(reader, TextReader):
        raise Unsupported(
            phrase("errors.common.gradients_model", model=model.name),
            expected=phrase("errors.models.input_embedding_module"),
            got=phrase("errors.common.none"),
            remedy=phrase("errors.models.name_wrap_embedding_path_module"),
        )
    with torch.no_grad():
        ids = torch.from_numpy(item.arrays[reader.main]).to(model.device)
        x = model.embedding(ids[None])[0]
        if item.shift is not None:
            x = x + torch.from_numpy(item.shift).to(x)
        if name in ("mask", "pad"):
            token = reader.alphabet.blank or 0 if name == "mask" else reader.alphabet.pad
            baseline = model.embedding(torch.full_like(ids[None], token))[0]
        else:
            baseline = torch.zeros_like(x)
        return Ends(x, torch.where(free_entries(item, x), baseline, x))


def contents(item: Item) -> str:
    """Key of an item's random numbers, independent of the caller and of the batch."""
    raw = b"".join(np.ascontiguousarray(a).tobytes() for _, a in sorted(item.arrays.items()))
    return hashlib.blake2b(raw, digest_size=16).hexdigest()


def free_entries(item: Item, x: Tensor) -> Tensor:
    """True on the entries that belong to a unit that the user wrote; one entry per position for text."""
    free = np.append(item.units.free, False)[item.owner]
    mask = torch.from_numpy(free).to(x.device)
    return mask.reshape(*mask.shape, *[1] * (x.dim() - mask.dim())).expand_as(x)


def never_read(model: TorchModel) -> Unsupported:
    return Unsupported(
        phrase("errors.common.gradients_model", model=model.name),
        expected=phrase("errors.models.continuous_inputs_that_objective"),
        got=phrase("errors.models.that_module_does_not_read", type=type(model.embedding).__name__),
        remedy=phrase("errors.models.name_input_embedding_module_wrap"),
    )


@contextmanager
def inserted(model: TorchModel, tensors: dict[str, Tensor], x: Tensor) -> Iterator[dict[str, Tensor]]:
    """Return the tensors of a call with `x` as the continuous inputs."""
    if model.embedding is None or model.reader.modality != "text":
        yield {**tensors, model.reader.main: x}
        return
    ids, waiting = tensors[model.reader.main], [x]

    def instead(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], out: Tensor) -> Tensor | None:
        read = args[0] if args else next(iter(kwargs.values()))
        # a shared embedding also serves the decoder: only the call that reads the ids is replaced, and only once
        if waiting and read.shape == ids.shape and bool((read == ids).all()):
            return waiting.pop().to(out.dtype)
        return None

    handle = model.embedding.register_forward_hook(instead, with_kwargs=True)
    try:
        yield tensors
    finally:
        handle.remove()
    if waiting:
        raise never_read(model)
