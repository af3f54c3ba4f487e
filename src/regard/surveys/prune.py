"""`prune`: remove heads from a model for good, write the model, and measure it before and after."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.cards import Card, HasCard
from regard.errors import CaptureError, InputError, Unsupported, phrase
from regard.measures.intervals import ClusterSums, bootstrap
from regard.models.ask.pruning import prune_heads
from regard.models.ask.torch_module import torch_module
from regard.models.open.load import load
from regard.models.open.save import folder_of, refuse_taken, save_changed
from regard.protocols import Dataset, Model
from regard.records import Answers, Edit, Example, Floats, Message, Text, encoded
from regard.store.blobs import write_output
from regard.surveys.heads.importance import batches, gradient_importance
from regard.surveys.heads.importance import ranking as by_importance
from regard.surveys.heads.material import Material, material_of
from regard.surveys.heads.naming import Head, by_site, chosen_heads, named_heads
from regard.surveys.heads.removal import masks

SAME = 1e-3
"""Maximum difference of the written model from the whole one with its heads off, in units of the objective."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Measure of the whole and of the pruned model on the same examples, and their difference with an interval."""

    measure: str
    before: float
    after: float
    change: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Size:
    """Weights, weights that are not zero, and bytes of the files with weights."""

    parameters: int
    not_zero: int
    bytes: int


@dataclass(frozen=True, slots=True, repr=False)
class Pruned(HasCard):
    """Removed heads, the method, the loss, and the distance of the written model from the masked one.

    how: "dropped" (the matrices are smaller) or "silenced" (their columns of the output projection are zero).
    """

    path: str
    model: str
    data: str
    heads: tuple[str, ...]
    of: int
    how: str
    why: Text
    audit: tuple[Kept, ...]
    before: Size
    after: Size
    error: float
    n: int
    seed: int
    notes: tuple[Text, ...]

    def _card(self) -> Card:
        facts = {"model": self.model, "data": self.data, "heads": [*self.heads], "of": self.of, "how": self.how}
        rows = [encoded(kept) for kept in self.audit]
        return Card("Pruned", self.path, facts, rows, len(rows))

    def to_json(self) -> dict[str, Any]:
        return dict(encoded(self))


def prune(
    model: str,
    *,
    out: str | Path,
    heads: str | Sequence[str] | None = None,
    fraction: float | None = None,
    data: str | Dataset | Sequence[str | Example] | None = None,
    limit: int = 100,
    seed: int = 0,
    device: str = "auto",
    labels: str | None = None,
) -> Pruned:
    """Write `model` without some heads into `out`, a directory that `load` opens, and audit it.

    heads: names as `regard heads` prints them ("L0H1,L3H7"). fraction: that share of all heads, the least important
    first (Michel et al. 2019), ranked on one half of the examples and audited on the other. labels: labels of the data
    as classes of the model (neg=0,pos=1). The written model is read
    again, and must say what the whole model says with these heads switched off.
    """
    if (heads is None) == (fraction is None):
        raise InputError(
            phrase("errors.surveys.pruning"),
            expected=phrase("errors.surveys.heads_or_fraction"),
            got=phrase("errors.common.both") if heads is not None else phrase("errors.common.neither"),
        )
    if fraction is not None and not 0 < fraction < 1:
        raise InputError("fraction", expected=phrase("errors.surveys.share_in_range"), got=str(fraction))
    folder = folder_of(model)
    place = Path(out)
    refuse_taken(place)
    live = load(model, device=device)
    if not prune_heads.supports(live):
        raise Unsupported(
            phrase("errors.common.pruning_site", site=live.name),
            expected=phrase("errors.common.torch_model"),
            got=type(live).__name__,
        )
    material, gold, notes, name = material_of(live, model, data, limit, seed, labels=labels)
    all_heads = named_heads([s.site for s in live.capture(material.encoded[:1], material.targets[:1]).sites])
    held_out, removed = _chosen(material, all_heads, heads, fraction, notes)
    sample = material.some(held_out)
    base, masked = _said(live, sample, ()), _said(live, sample, masks(removed))
    size = _size(live, folder)
    sites = list({head.site.key: head.site for head in all_heads}.values())
    why = prune_heads(live, sample.encoded[0], sample.targets[0], sites, by_site(removed))
    save_changed(live, folder, place, {"pruned": [head.name for head in removed]})
    pruned_model = load(str(place), device=device)
    again = _said(pruned_model, sample, ())
    error = float(np.max(np.abs(again.value - masked.value)))
    if not error <= SAME * max(1.0, float(np.abs(masked.value).max())):
        raise CaptureError(
            phrase("errors.surveys.model_written", place=place),
            expected=phrase("errors.surveys.predictions_whole_model_with_these"),
            got=phrase("errors.common.difference_two_digits", error=error),
            remedy=phrase("errors.surveys.report_this_model_do_not_use"),
        )
    audit = _audit(base, again, [gold[i] for i in held_out], [e.cluster for e in sample.examples], seed)
    result = Pruned(
        path=str(place),
        model=live.name,
        data=name,
        heads=tuple(h.name for h in removed),
        of=len(all_heads),
        how="silenced" if why else "dropped",
        why=why,
        audit=tuple(audit),
        before=size,
        after=_size(pruned_model, place),
        error=error,
        n=len(held_out),
        seed=seed,
        notes=tuple(notes),
    )
    write_output(place / "pruning.json", (json.dumps(_finite(result.to_json()), indent=1) + "\n").encode())
    return result


def _chosen(
    material: Material,
    known: Sequence[Head],
    heads: str | Sequence[str] | None,
    fraction: float | None,
    notes: list[Text],
) -> tuple[list[int], list[Head]]:
    """Return (examples to audit on, heads to remove)."""
    every = list(range(len(material.encoded)))
    if heads is not None:
        text = heads if isinstance(heads, str) else ",".join(heads)
        return every, _sensible(chosen_heads(text, known))
    count = round((fraction or 0.0) * len(known))
    if not count:
        raise InputError(
            "fraction", expected=phrase("errors.surveys.at_least_one_heads", n=len(known)), got=str(fraction)
        )
    ranking = [i for i in every if material.clusters[i] % 2 == 0]
    held_out = [i for i in every if material.clusters[i] % 2 == 1]
    if not held_out:
        held_out = ranking
        notes.append(Message("heads.note.one_audited"))
    sample = material.some(ranking)
    table = gradient_importance(material.model, sample.encoded, sample.targets, known)
    important = by_importance(table, known)
    order = sorted(range(len(known)), key=lambda i: (round(float(important[i]), 6), i))
    return held_out, _sensible([known[i] for i in sorted(order[:count])])


def _sensible(heads: list[Head]) -> list[Head]:
    pooling = [head.name for head in heads if head.site.kind == "pooling"]
    if pooling:
        raise Unsupported(
            phrase("errors.surveys.pruning_head", pooling=pooling[0]),
            expected=phrase("errors.surveys.head_beside_others_or_residual"),
            got=phrase("errors.surveys.pooling_of_answer"),
        )
    return heads


def _said(model: Model, some: Material, edits: Sequence[Edit]) -> Answers:
    value, tables = np.zeros(len(some.encoded)), []
    for batch in batches(some.encoded):
        answers = model.forward([some.encoded[i] for i in batch], [some.targets[i] for i in batch], edits)
        value[batch] = answers.value
        tables.append(answers.distribution)
    table = None if any(t is None for t in tables) else np.concatenate([t for t in tables if t is not None])
    return Answers(np.arange(len(value) + 1), value, value, table)


def _audit(base: Answers, again: Answers, gold: Sequence[int | None], clusters: Sequence[str], seed: int) -> list[Kept]:
    pairs: dict[str, tuple[Floats, Floats]] = {}
    if base.distribution is not None and again.distribution is not None:
        first, second = base.distribution.argmax(-1), again.distribution.argmax(-1)
        fine = np.asarray(np.isfinite(base.distribution).all(-1) & np.isfinite(again.distribution).all(-1))
        numbers = np.array([float(g) if g is not None and ok else math.nan for g, ok in zip(gold, fine, strict=True)])
        if not np.isnan(numbers).all():
            right = [np.where(np.isnan(numbers), np.nan, (x == numbers).astype(float)) for x in (first, second)]
            pairs["accuracy"] = (right[0], right[1])
        pairs["agreement"] = (np.where(fine, 1.0, np.nan), np.where(fine, (first == second).astype(np.float64), np.nan))
    pairs["objective"] = (base.value, again.value)
    rows = []
    for measure, (a, b) in pairs.items():
        interval = bootstrap(ClusterSums.of(b - a, list(clusters)), seed=seed)
        n = int((~np.isnan(a)).sum())
        ends = float(np.nanmean(a)), float(np.nanmean(b)), interval.estimate, interval.low, interval.high
        rows.append(Kept(measure, *ends, n))
    return rows


def _size(model: Model, folder: Path) -> Size:
    parameters = list(torch_module(model).parameters())
    files = [p for p in folder.iterdir() if p.suffix in (".safetensors", ".bin")]
    not_zero = sum(int(p.count_nonzero()) for p in parameters)
    return Size(sum(p.numel() for p in parameters), not_zero, sum(p.stat().st_size for p in files))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, (list, tuple)) else value
