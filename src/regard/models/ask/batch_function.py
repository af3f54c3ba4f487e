"""Several examples of one shape as one differentiable function, in the user's own space.

The preprocessing between the user's numbers and the module (order of axes, scaling, normalisation) is measured: the
reader encodes the example and a shifted copy, which gives a scale and an offset for every entry, and a third input must
confirm them. So the function contains the right normalisation. A picture that is resized first stays in the user's
resolution: the resizing is inside the function, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import InputError, Text, Unsupported, phrase
from regard.measures.keyed_random import keyed_rng
from regard.measures.pixel_range import full_brightness
from regard.models.adapter import TorchModel
from regard.models.ask.capability import capability
from regard.models.ask.input_function import ends, free_entries, inserted
from regard.models.ask.resizing import Resize, owner_of_pixels
from regard.models.objective import as_logits, wide
from regard.models.read.encoded import Item
from regard.models.read.images import picture_size
from regard.models.read.picture_geometry import PictureGeometry
from regard.models.read.regions import ArrayReader
from regard.models.tasks import Request
from regard.protocols import BatchFunction
from regard.records import Example

FITS = 1e-4
"""Maximum error of the measured scaling, relative to 1 + the size of the result."""
SAME_BYTE = 1 / 255
"""Maximum mean error of the resizing, as a share of white: a processor resizes bytes, so each may be rounded."""
Array = NDArray[Any]


@dataclass(frozen=True)
class Space:
    """Input space of one example, in the module's layout and the user's units; module input = scale * u + offset.

    put_back: from that layout to the user's. whole: the user's numbers are integers, and stay so. resize: step before
    the scaling, if the user's picture is resized; scale and offset then apply to its result.
    """

    u: Array
    scale: Array
    offset: Array
    put_back: Callable[[Array], Array]
    whole: bool
    resize: Resize | None = None


@dataclass(frozen=True)
class _BatchFunction:
    """Implements `protocols.BatchFunction`."""

    model: TorchModel
    examples: Sequence[Example]
    items: Sequence[Item]
    spaces: Sequence[Space] | None

    @cached_property
    def x(self) -> Tensor:
        if self.spaces is None:
            first = self.model.reader.baselines[0]
            return torch.stack([ends(self.model, item, first).x for item in self.items])
        return self._tensor([space.u for space in self.spaces])

    @cached_property
    def free(self) -> Tensor:
        if self._resize is not None:
            assert self.spaces is not None
            sizes = [s.resize.seen(s.u.shape) for s in self.spaces if s.resize is not None]
            return torch.from_numpy(np.stack(sizes)).to(self.model.device)
        return torch.stack([free_entries(item, x) for item, x in zip(self.items, self.x, strict=True)])

    @cached_property
    def owner(self) -> Tensor:
        rows = []
        for item, x in zip(self.items, self.x, strict=True):
            owner = item.owner if self._resize is None else owner_of_pixels(item.units, tuple(x.shape))
            own = torch.from_numpy(np.array(owner)).to(x.device)
            rows.append(own.reshape(*own.shape, *[1] * (x.dim() - own.dim())).expand_as(x))
        return torch.stack(rows)

    @cached_property
    def _resize(self) -> Resize | None:
        """Resizing of every row: their pictures have one size."""
        return None if not self.spaces else self.spaces[0].resize

    @property
    def exact(self) -> bool:
        return self._resize is None

    @cached_property
    def _scaling(self) -> tuple[Tensor, Tensor] | None:
        if self.spaces is None or all((s.scale == 1).all() and not s.offset.any() for s in self.spaces):
            return None
        return self._tensor([s.scale for s in self.spaces]), self._tensor([s.offset for s in self.spaces])

    @cached_property
    def classes(self) -> int:
        with torch.no_grad():
            return int(self.logits(self.x[:1], [0]).shape[-1])

    @property
    def user(self) -> bool:
        return self.spaces is not None

    def logits(self, x: Tensor, rows: Sequence[int] | None = None) -> Tensor:
        numbers = list(range(len(self.items))) if rows is None else list(rows)
        if self._resize is not None:
            x = self._resize.apply(x)
        if self._scaling is not None:
            scale, offset = self._scaling
            x = x * scale[numbers] + offset[numbers]
        items = [self.items[i] for i in numbers]
        if self.spaces is None:
            tensors, request = self.model.tensors(items, [0] * len(numbers))
        else:  # x is all that the module reads
            tensors, request = {self.model.reader.main: x}, Request(items, {})
        with self.model.backward_allowed(), inserted(self.model, tensors, x) as inputs:
            logits = self.model.run_read(inputs, request)["logits"]
        if logits.ndim != 2:
            raise InputError(
                phrase("errors.models.output_module"),
                expected=phrase("errors.models.logits_rows_classes"),
                got=str(tuple(logits.shape)),
            )
        if logits.shape[-1] == 1:  # one logit stands for two classes
            return wide(torch.cat([torch.zeros_like(logits), logits], -1))
        return wide(as_logits(logits))

    def back(self, row: int, x: Tensor) -> Example:
        if self.spaces is None:
            raise Unsupported(
                phrase("errors.models.input_behind_embeddings"),
                expected=phrase("errors.models.numbers_user_own"),
                got=phrase("errors.common.text"),
            )
        space, example = self.spaces[row], self.examples[row]
        reader = self.model.reader
        assert isinstance(reader, ArrayReader)
        array = x.detach().cpu().double().numpy()
        array = np.round(array) if space.whole else array
        original = np.asarray(example.inputs[reader.entry])
        values = space.put_back(array).astype(original.dtype if original.dtype.kind in "iuf" else np.float32)
        return replace(example, inputs={**example.inputs, reader.entry: values})

    def _tensor(self, arrays: Sequence[Array]) -> Tensor:
        return torch.from_numpy(np.stack(arrays)).to(device=self.model.device, dtype=self.model.dtype)


@capability(needs="gradient")
def batch_function(model: TorchModel, examples: Sequence[Example]) -> BatchFunction:
    """Return examples of one shape as one function; refuse inputs that do not plainly scale the user's numbers."""
    items = [model.encode(example) for example in examples]
    if "classification" not in model.row.name or "token" in model.row.name:
        raise Unsupported(
            phrase("errors.common.attacks_on_noun", noun=model.name),
            expected=phrase("errors.common.model_that_chooses_among_classes"),
            got=model.row.name,
        )
    reader = model.reader
    spaces = None
    if isinstance(reader, ArrayReader):
        spaces = [_space(reader, e, i.arrays[reader.main]) for e, i in zip(examples, items, strict=True)]
    shapes = {item.arrays[model.reader.main].shape for item in items} if spaces is None else {s.u.shape for s in spaces}
    if len(shapes) != 1:
        raise InputError(
            phrase("errors.models.examples_together"),
            expected=phrase("errors.models.one_shape"),
            got=", ".join(map(str, sorted(shapes))),
        )
    return _BatchFunction(model, tuple(examples), tuple(items), spaces)


def _space(reader: ArrayReader, example: Example, made: Array) -> Space:
    original = np.asarray(example.inputs[reader.entry])
    subject = phrase("errors.common.example_example", example=repr(example.id))
    if reader.geometry is not None:
        geometry = reader.geometry(*picture_size(original.shape))
        if geometry.resizes and geometry.plain:
            return _resized_space(reader, original, geometry, subject)
    lay, put_back = _layout(original.shape, made.shape, subject)
    u = lay(original.astype(np.float64))
    if original.dtype.kind == "f" and np.array_equal(u.astype(made.dtype), made):
        return Space(u, np.ones_like(u), np.zeros_like(u), put_back, False)
    whole = original.dtype.kind in "iu"

    def read(array: Array) -> Array:
        return np.asarray(reader.prepare(put_back(array).astype(original.dtype), subject), np.float64)

    # inside the range of the values, where a reader that rounds or clips does neither
    low, high = float(u.min()), float(u.max())
    other = np.where(u > (low + high) / 2, low, high) if high > low else _beside(u, whole)
    base, shifted = read(u), read(other)
    scale = (shifted - base) / (other - u)
    offset = base - scale * u
    low, high = float(min(u.min(), other.min())), float(max(u.max(), other.max()))
    third = keyed_rng(0, "together", *u.shape).uniform(low, high, u.shape)
    third = np.round(third) if whole else third
    error = float((np.abs(read(third) - scale * third - offset) / (1 + np.abs(base))).max())
    if not error <= FITS:
        raise Unsupported(
            phrase("errors.models.attack_on_in_user_own", subject=subject),
            expected=phrase("errors.models.reader_that_scales_and_shifts"),
            got=phrase("errors.models.one_whose_scaling_off_by_error", error=error),
            remedy=phrase("errors.models.pass_inputs_size_model_reads"),
        )
    return Space(u, scale, offset, put_back, whole)


def _resized_space(reader: ArrayReader, original: Array, geometry: PictureGeometry, subject: Text) -> Space:
    """Space of a picture in the user's resolution, with the processor's resizing inside the function."""
    first = original if original.ndim == 2 or picture_size(original.shape) == original.shape[:2] else None
    lay: Callable[[Array], Array] = (lambda a: a) if first is None else _channels_first
    put_back: Callable[[Array], Array] = (lambda a: a) if first is None else _channels_last(original.ndim)
    top = full_brightness(original) or 1.0

    def read(image: Array) -> Array:
        return np.asarray(reader.prepare(image.astype(original.dtype), subject), np.float64)

    black, white = read(np.zeros_like(original)), read(np.full_like(original, top))
    resize = Resize(*geometry.matrices(), top=top, channels=len(black))
    noise = keyed_rng(0, "resized", *original.shape).uniform(0, top, original.shape)
    noise = np.round(noise) if original.dtype.kind in "iu" else noise
    expected = resize.apply(torch.from_numpy(lay(noise).astype(np.float32))[None])[0].double().numpy()
    contrast = np.where(white == black, 1.0, white - black)
    error = float(np.abs((read(noise) - black) / contrast - expected / top).mean())
    if not error <= SAME_BYTE:
        raise Unsupported(
            phrase("errors.models.attack_on_in_user_own", subject=subject),
            expected=phrase("errors.models.processor_that_resizes_cuts_out"),
            got=phrase("errors.models.one_whose_result_off_by_error", error=255 * error),
            remedy=phrase("errors.models.pass_inputs_size_model_reads"),
        )
    return Space(
        u=lay(original.astype(np.float64)),
        scale=(white - black) / top,
        offset=black,
        put_back=put_back,
        whole=original.dtype.kind in "iu",
        resize=resize,
    )


def _channels_first(image: Array) -> Array:
    return np.ascontiguousarray(image[None] if image.ndim == 2 else image.transpose(2, 0, 1))


def _channels_last(axes: int) -> Callable[[Array], Array]:
    return lambda image: image[0] if axes == 2 else np.ascontiguousarray(image.transpose(1, 2, 0))


def _beside(u: Array, whole: bool) -> Array:
    """Return a second value for a constant input, closer to 0 so that it stays on the same scale."""
    if not u.any():
        return u + 1
    return u - np.sign(u) if whole else u * 0.75


def _layout(
    given: tuple[int, ...], made: tuple[int, ...], subject: Text
) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """Convert between the user's axes and the module's."""
    if given == made:
        return (lambda a: a), (lambda a: a)
    if int(np.prod(given)) == int(np.prod(made)) and (len(given) != 3 or 1 in given):  # one axis of length 1 more
        return (lambda a: a.reshape(made)), (lambda a: a.reshape(given))
    if len(given) == 3 and (given[2], *given[:2]) == made:
        return (lambda a: np.ascontiguousarray(a.transpose(2, 0, 1))), (
            lambda a: np.ascontiguousarray(a.transpose(1, 2, 0))
        )
    raise Unsupported(
        phrase("errors.models.attack_on_in_user_own", subject=subject),
        expected=phrase("errors.models.input_size_model_reads", made=made),
        got=str(given),
        remedy=phrase("errors.models.resize_inputs_size_that_model"),
    )
