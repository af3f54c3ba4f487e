"""The query rows of a site that the objective reads."""

from __future__ import annotations

import numpy as np

from regard.models.adapter import TorchModel, own
from regard.models.ask.capability import capability
from regard.models.read.encoded import Item
from regard.models.tasks import WRITTEN, first_row, scored_rows
from regard.protocols import Encoded, Target
from regard.records import Site


@capability(needs="attention")
def read_rows(model: TorchModel, encoded: Encoded, target: Target, site: Site) -> tuple[int, ...]:
    """Return the query rows of `site` that the objective reads.

    A pooling site has one query. A decoder is read where it produces the target, an encoder below it everywhere.
    Otherwise: the target's own position(s), the last position of a causal model, the class token, or all positions.
    """
    item, task, pooling = own(encoded), model.task, model.traits.pooling
    every = tuple(range(item.length))
    if site.kind == "pooling":
        return (0,)
    if model.traits.encoder_decoder:
        if site.kind == "self":
            return every
        if isinstance(target, list) and task == "sequence_to_sequence":
            return tuple(i for i, token in enumerate(target) if token not in model.traits.forced)
        if task == "written_token":
            return (len(item.aside[WRITTEN]) - 1,)
        if task == "answer":
            return tuple(scored_rows(item))
        return (item.length - 1,)
    if task == "object_detection" and isinstance(target, list):
        query = int(str(target[0]))
        if site.kind == "cross":
            return (query,)
        # queries that stand behind the patches (YOLOS) have rows there; an encoder below the queries is read everywhere
        return every if item.units.free.all() else (item.length + query,)
    if task == "answer":
        return tuple(first_row(item) + row for row in scored_rows(item))
    if task in ("token_classification", "masked_token") and isinstance(target, list):
        return (int(str(target[0])),)
    if task == "question_answering" and isinstance(target, list):
        return tuple(sorted({int(str(position)) for position in target}))
    if pooling == "mean" or (task == "similarity" and pooling == "auto"):
        return every
    if pooling == "last" or task == "next_token" or (pooling == "auto" and site.kind == "causal"):
        return (item.length - 1,)
    class_row = _class_row(item, model.traits.class_id)
    if class_row is not None:
        return (class_row,)
    return (0,) if pooling == "class" else every


def _class_row(item: Item, class_id: int | None) -> int | None:
    if class_id is not None and "input_ids" in item.arrays:
        at = np.flatnonzero(item.arrays["input_ids"] == class_id)
        return int(at[0]) if len(at) else None
    # units of text sit at their own row; an image's class token is its first unit
    lead = item.units.special & (item.units.keys >= 0)
    return int(item.units.keys[np.argmax(lead)]) if lead.any() and item.units.place_kind != "span" else None
