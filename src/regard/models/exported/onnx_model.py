"""The adapter of an ONNX graph: everything that needs no gradient."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import CaptureError, phrase
from regard.models.adapter import TorchModel, as_answers, own
from regard.models.ask.answer_names import answer_name, written_names
from regard.models.captured import Captured
from regard.models.exported.onnx_module import OnnxModule, Rewrite
from regard.models.objective import TensorAnswers
from regard.models.passes import key_padding, refuse_several_lengths
from regard.models.read.encoded import Item
from regard.protocols import Encoded, SiteAttention, Target
from regard.records import (
    EDITED,
    UNCHECKED,
    Answers,
    Bools,
    Check,
    Edit,
    Edits,
    Example,
    Message,
    Mode,
    Site,
    SiteKind,
    Spec,
    Text,
)
from regard.tap.editing import EditRewriting, per_row
from regard.tap.site_attention import DenseAttention, Real
from regard.tap.site_kind import kind_of, pattern_of_weights, shape_of_pattern

SAME_OUTPUT = 1e-5
"""Maximum difference of the outputs with and without exposed weights, relative to the largest output (at least 1)."""
ROW_SUM = 1e-4


class OnnxModel:
    """Implements `protocols.Model` by a torch model whose module runs the graph."""

    def __init__(self, inner: TorchModel, notes: Iterable[Text] = (), *, without_capability: Text = "") -> None:
        assert isinstance(inner.module, OnnxModule)
        self.inner, self.module = inner, inner.module
        self.without_capability = without_capability
        self._notes, self._proofs = list(notes), dict[tuple[int, ...], Message]()
        self._sites = numbered_sites([node.name for node in self.module.graph.found.nodes])

    # ------------------------------------------------------------------ what it is

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def task(self) -> str:
        return self.inner.task

    @property
    def modality(self) -> str:
        return self.inner.modality

    @property
    def labels(self) -> tuple[str, ...]:
        return self.inner.labels

    @property
    def operators(self) -> tuple[str, ...]:
        return self.inner.operators

    @property
    def baselines(self) -> tuple[str, ...]:
        return self.inner.baselines

    @property
    def fingerprint(self) -> str:
        return self.inner.fingerprint

    @property
    def spec(self) -> Spec | None:
        return self.inner.spec

    @property
    def notes(self) -> list[Text]:
        return [*self._notes, *self.inner.notes]

    # ------------------------------------------------------------------ inputs and answers

    def encode(self, example: Example) -> Item:
        return self.inner.encode(example)

    def windows(self, example: Example) -> list[Example]:
        return self.inner.windows(example)

    def remove(self, encoded: Encoded, drop: Bools, operator: str, rng: np.random.Generator) -> Item:
        return self.inner.remove(encoded, drop, operator, rng)

    def predict(self, batch: Sequence[Encoded]) -> tuple[Answers, list[Target]]:
        return self.inner.predict(batch)

    def forward(self, batch: Sequence[Encoded], targets: Sequence[Target], edits: Edits = ()) -> Answers:
        if not edits:
            return self.inner.forward(batch, targets)
        items = [own(encoded) for encoded in batch]
        each = per_row(edits)
        parts: list[tuple[list[int], TensorAnswers]] = []
        for group in self.inner.pieces(items):
            rows = edits if each is None else [each[i] for i in group]
            parts.append((group, self._edited([items[i] for i in group], [targets[i] for i in group], rows)))
        return as_answers(len(items), parts)

    def _edited(self, items: Sequence[Item], targets: Sequence[Target], edits: Edits) -> TensorAnswers:
        """Run the graph piece by piece; edits of an attention act on its scores and weights."""
        tensors, request = self.inner.tensors(items, targets)
        with torch.inference_mode(), self.module.rewriting(self._rewrite(items, tensors, edits)):
            return self.inner.row.read(self.inner.run(tensors, request), request, targets)

    def _rewrite(self, items: Sequence[Item], tensors: Mapping[str, Tensor], edits: Edits) -> Rewrite:
        padding, rows = _mask(key_padding(tensors)), per_row(edits)
        sites = [site for site, _ in self._sites]
        width = max(item.length for item in items)
        EditRewriting.of(edits, sites, padding)  # unknown sites are refused before anything runs

        def rewrite(number: int, scores: Tensor, part: slice) -> Tensor:
            site, here = sites[number], edits if rows is None else rows[part]
            rewriting = EditRewriting.of(here, sites, None if padding is None else padding[part])
            whole = torch.softmax(scores, -1)
            if not rewriting.wants(site):
                return whole
            place = self._block(scores, width)
            rewritten = rewriting.scores(site, scores[place])
            whole[place] = rewriting.weights(site, torch.softmax(rewritten, -1).nan_to_num(), rewritten)
            return whole

        return rewrite

    def _block(self, table: Tensor | NDArray[Any], width: int) -> tuple[slice, ...]:
        """Positions of the text in a table whose length the graph fixes."""
        length = self.module.fixed(1) if self.modality == "text" else None
        query, key = (width if length and n == length else n for n in table.shape[2:])
        return slice(None), slice(None), slice(query), slice(key)

    # ------------------------------------------------------------------ attention

    def capture(
        self, batch: Sequence[Encoded], targets: Sequence[Target], *, mode: Mode = "qk", check: Check = "first"
    ) -> Captured:
        """Run the graph once with its weights exposed; both modes keep the weights themselves."""
        return self._captured([own(encoded) for encoded in batch], targets, (), check)

    def edited_capture(self, encoded: Encoded, target: Target, edits: Sequence[Edit]) -> Captured:
        """Capture the weights of one example under edits."""
        return self._captured([own(encoded)], [target], list(edits), "never")

    def _captured(self, items: Sequence[Item], targets: Sequence[Target], edits: Edits, check: Check) -> Captured:
        refuse_several_lengths(self.inner, items)
        tensors, request = self.inner.tensors(items, targets)
        padding = _mask(key_padding(tensors))
        changes = self.module.rewriting(self._rewrite(items, tensors, edits)) if edits else nullcontext()
        with torch.inference_mode():
            with changes, self.module.recording() as parts:
                outputs = self.inner.run(tensors, request)
            answers = self.inner.row.read(outputs, request, targets)
            tables = self._tables(parts, max(item.length for item in items))
            checked = EDITED if edits else UNCHECKED
            if check != "never":
                shapes = tuple(table.shape[1] for table in tables)
                if check == "always" or shapes not in self._proofs:
                    plain = self.inner.run(tensors, request)
                    self._proofs[shapes] = self._proved(outputs, plain, tables, padding)
                checked = Message.of(f"check.{check}", proof=self._proofs[shapes])
        nodes = self.module.graph.found
        sites: list[SiteAttention] = []
        for (site, layer), table, node in zip(self._sites, tables, nodes.nodes, strict=True):
            weights = torch.from_numpy(table)
            kind = _kind(weights, node.pooling)
            about = Site(
                name=site.name, call=site.call, kind=kind, layer=layer, heads=table.shape[1], module=site.module
            )
            sites.append(DenseAttention(about, weights, _real(weights, padding), None, checked))
        labels, reader = self.labels, self.inner.reader
        return Captured(
            sites=sites,
            rejected=nodes.rejected,
            checked=checked,
            units=[item.units for item in items],
            answers=as_answers(len(items), [(list(range(len(items))), answers)]),
            model=self.name,
            labels=labels,
            targets=tuple(targets),
            task=self.task,
            names=tuple(answer_name(self.task, t, labels, reader, i) for t, i in zip(targets, items, strict=True)),
            written=tuple(written_names(self.task, t, reader) for t in targets),
        )

    def _tables(self, parts: Sequence[Sequence[NDArray[Any]]], width: int) -> list[NDArray[np.float32]]:
        """(batch, head, query, key): weights of every site, without the padding to a fixed length."""
        tables = [np.concatenate(parts_of_site) for parts_of_site in zip(*parts, strict=True)]
        return [np.array(table[self._block(table, width)], np.float32) for table in tables]

    def _proved(
        self, exposed: Any, plain: Any, tables: Sequence[NDArray[np.float32]], padding: Tensor | None
    ) -> Message:
        """Verify the outputs with and without exposed weights, and that every row sums to 1."""
        worst = 0.0
        for name, tensor in plain.items():
            scale = max(1.0, float(tensor.abs().max())) if tensor.is_floating_point() else 1.0
            worst = max(worst, float((tensor - exposed[name]).abs().max()) / scale)
        if not worst <= SAME_OUTPUT:
            raise self._unproved(
                "outputs", phrase("errors.models.outputs_equal_with_exposed_weights", same_output=SAME_OUTPUT), worst
            )
        rows = 0.0
        for (site, _), table in zip(self._sites, tables, strict=True):
            totals = table.astype(np.float64).sum(-1)
            real = _real(torch.from_numpy(table), padding).queries
            if real is not None:
                totals = np.where(real.numpy()[:, None], totals, 1.0)
            error = float(np.abs(np.where(np.isnan(totals), 1.0, totals) - 1).max(initial=0.0))
            if not error <= ROW_SUM:
                raise self._unproved(site.key, phrase("errors.common.rows_that_sum"), error)
            rows = max(rows, error)
        return Message.of("check.exported", sites=len(tables), outputs=float(f"{worst:.0e}"), rows=float(f"{rows:.0e}"))

    def _unproved(self, place: str, expected: Text, error: float) -> CaptureError:
        return CaptureError(
            phrase("errors.common.self_check", place=place),
            expected=expected,
            got=phrase("errors.common.difference_error", error=error),
            remedy=phrase("errors.common.report_this_model_check_never"),
        )


def numbered_sites(names: Sequence[str]) -> list[tuple[Site, int]]:
    """(site, its layer within its stack) for the modules of a graph, in execution order.

    >>> [(site.key, layer) for site, layer in numbered_sites(["a.0.self", "a.1.self", "pool", "pool"])]
    [('a.0.self', 0), ('a.1.self', 1), ('pool', 0), ('pool#1', 1)]
    """
    calls: Counter[str] = Counter()
    stacks: dict[str, list[str]] = {}
    for name in names:
        stack = stacks.setdefault(re.sub(r"\d+", "*", name), [])
        if name not in stack:
            stack.append(name)
    sites = []
    for name in names:
        call, stack = calls[name], stacks[re.sub(r"\d+", "*", name)]
        calls[name] += 1
        layer = call if len(stack) == 1 else stack.index(name)
        sites.append((Site(name=name, call=call, kind="self", layer=layer, heads=0, module="Softmax"), layer))
    return sites


def _kind(weights: Tensor, pooling: bool) -> SiteKind:
    queries, keys = weights.shape[2:]
    pattern = shape_of_pattern(pattern_of_weights(weights))
    return kind_of(
        pattern, None, None, queries, keys, additive=pooling and queries == 1, tiled=False, causal_module=False
    )


def _mask(padding: Tensor | list[Tensor] | None) -> Tensor | None:
    mask = padding[0] if isinstance(padding, list) else padding
    return None if mask is None else mask.detach().cpu().bool()


def _real(weights: Tensor, padding: Tensor | None) -> Real:
    batch, _, queries, keys = weights.shape
    fits = padding is not None and tuple(padding.shape) == (batch, keys)
    return Real(padding if fits and queries == keys else None, padding if fits else None)


def replaced_rows(edits: Sequence[Edit], count: int) -> list[list[Edit]]:
    """Edits of `count` attention maps of one example: row k gets the k-th values."""
    return [[replace(e, values=None if e.values is None else e.values[k]) for e in edits] for k in range(count)]
