"""Sequences of repeated random tokens, which reveal induction and duplicate-token heads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.measures.keyed_random import keyed_rng
from regard.models.adapter import TorchModel
from regard.models.ask.capability import capability
from regard.models.read.encoded import Item
from regard.models.read.text import TextReader
from regard.protocols import Encoded, Target
from regard.records import Bools, Ints, Units

SHORTEST, LONGEST = 6, 22
"""Tokens before the repetition. They differ between sequences, so that no fixed offset finds the target."""


@capability(needs="text")
def repeated_tokens(model: TorchModel, template: Encoded, *, n: int, seed: int) -> Sequence[Encoded]:
    """Make n sequences s s of different random tokens s, between the special tokens around `template`.

    None if the model reads no vocabulary tokens, or too few positions.
    """
    if not isinstance(template, Item):
        return []
    return [_item(template, ids, special) for ids, special, _ in _sequences(model, template, n=n, seed=seed)]


@capability(needs="text")
def copied_tokens(model: TorchModel, template: Encoded, *, n: int, seed: int) -> Sequence[tuple[Encoded, Target]]:
    """Make n sequences of random tokens that break off inside their repetition, each with the token due next.

    Only for models that predict the next token.
    """
    if model.task != "next_token" or not isinstance(template, Item):
        return []
    probes: list[tuple[Encoded, Target]] = []
    for number, (ids, special, period) in enumerate(_sequences(model, template, n=n, seed=seed)):
        first = int(np.flatnonzero(~special)[0])
        stop = first + period + int(keyed_rng(seed, "broken off", number).integers(2, period))
        probes.append((_item(template, ids[:stop], special[:stop]), int(ids[stop])))
    return probes


def _sequences(model: TorchModel, template: Item, *, n: int, seed: int) -> list[tuple[Ints, Bools, int]]:
    """Build token ids, the mask of special tokens, and the length of the repeated part."""
    if not isinstance(model.reader, TextReader) or model.traits.encoder_decoder:
        return []
    if template.aside or len(template.units) != template.length:
        return []
    alphabet, free = model.reader.alphabet.plain, np.flatnonzero(template.units.free)
    head = template.arrays["input_ids"][: free[0]]
    tail = template.arrays["input_ids"][free[-1] + 1 :]
    room = (model.reader.limit or 2 * LONGEST + len(head) + len(tail)) - len(head) - len(tail)
    longest = min(LONGEST, room // 2, len(alphabet))
    if longest < 3:
        return []
    sequences = []
    for number in range(n):
        rng = keyed_rng(seed, "repeated tokens", number)
        period = int(rng.integers(min(SHORTEST, longest), longest + 1))
        tokens = rng.choice(alphabet, size=period, replace=False)
        ids = np.concatenate([head, tokens, tokens, tail]).astype(np.int64)
        special = np.zeros(len(ids), np.bool_)
        special[: len(head)] = special[len(ids) - len(tail) :] = True
        sequences.append((ids, special, period))
    return sequences


def _item(template: Item, ids: Ints, special: Bools) -> Item:
    n = len(ids)
    zeros = np.zeros(n, np.int64)
    arrays = {name: np.ones(n, np.int64) if name == "attention_mask" else zeros for name in template.arrays}
    names = tuple(f"#{i}" for i in ids.tolist())
    groups = np.where(special, -1, np.arange(n))
    units = Units(
        names=names,
        kind="token",
        place_kind="span",
        places=np.zeros((n, 2)),
        special=special,
        groups=groups,
        part=zeros,
        keys=np.arange(n),
        shape=(n,),
    )
    return Item(units, {**arrays, "input_ids": ids}, np.arange(n), n)


repeated_tokens.register(object, lambda model, template, *, n, seed: [])
copied_tokens.register(object, lambda model, template, *, n, seed: [])
