"""Check whether red and blue are swapped (OpenCV's order). The pixels cannot tell; the labels can.

The model predicts some labelled pictures as they are and with red and blue swapped. The note appears only if clearly
more pictures are right with the swap alone than without it alone (a paired comparison).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from regard.errors import RegardError
from regard.measures.intervals import wilson
from regard.measures.keyed_random import keyed_rng
from regard.models.ask.answers_in_words import name_of_answer
from regard.protocols import Model
from regard.records import Example, Message

LOOKED_AT = 40
"""Pictures to predict twice."""
LEVEL = 0.99
"""Confidence level of the interval for the share of discordant pictures that only the swap gets right."""


def channel_order_note(model: Model, examples: Sequence[Example]) -> Message | None:
    """Return a note if swapping red and blue makes clearly more predictions right; None otherwise."""
    if model.modality != "image" or not model.labels:
        return None
    coloured = [e for e in examples if e.label is not None and _exchanged(e) is not None]
    lot = keyed_rng(0, "channel order").permutation(len(coloured))[:LOOKED_AT]
    pictures = [coloured[int(i)] for i in sorted(lot)]
    turned = [one for one in map(_exchanged, pictures) if one is not None]
    if not pictures:
        return None
    try:
        right, otherwise = (_right(model, rows) for rows in (pictures, turned))
    except RegardError:  # a picture that cannot be read is reported when its turn comes
        return None
    only_turned, only_plain = int((otherwise & ~right).sum()), int((right & ~otherwise).sum())
    if not only_turned or wilson(only_turned, only_turned + only_plain, level=LEVEL)[0] <= 0.5:
        return None
    return Message.of(
        "data.channels_exchanged",
        n=len(pictures),
        right=int(right.sum()),
        turned=int(otherwise.sum()),
        more=only_turned,
        fewer=only_plain,
    )


def _right(model: Model, examples: Sequence[Example]) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """(examples,): whether each prediction equals the label."""
    encoded = [model.encode(example) for example in examples]
    _, targets = model.predict(encoded)
    names = [name_of_answer(model, target, item) for target, item in zip(targets, encoded, strict=True)]
    return np.array([str(name) == str(e.label) for name, e in zip(names, examples, strict=True)], np.bool_)


def _exchanged(example: Example) -> Example | None:
    """Swap red and blue of the example; None for a picture without colours."""
    array = np.asarray(example.inputs.get("image"))
    if array.ndim != 3 or 3 not in (array.shape[0], array.shape[2]):
        return None
    turned = array[..., ::-1] if array.shape[2] == 3 else array[::-1]
    if np.array_equal(turned, array):
        return None
    return replace(example, inputs={**example.inputs, "image": np.ascontiguousarray(turned)})
