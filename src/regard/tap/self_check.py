"""Self-check of a capture: sampled rows of every site, compared with the output of the site itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.errors import CaptureError, Text, phrase
from regard.records import Message
from regard.tap.capture_plan import ShapeClass
from regard.tap.layout import replay
from regard.tap.recorder import Kept
from regard.tap.site_attention import DenseAttention, LazyAttention
from regard.tap.tap import Event

ROWS = 8
"""Rows to replay per site."""
_TOLERANCE = {torch.float64: 1e-8, torch.float32: 5e-5, torch.float16: 1e-2, torch.bfloat16: 4e-2}


@dataclass(slots=True, eq=False)
class Proof:
    """A site with the output of its module."""

    site: LazyAttention | DenseAttention
    shape_class: ShapeClass
    event: Event
    kept: Kept | None

    @property
    def replayable(self) -> bool:
        """Return whether this pass stored enough for a replay; a softmax site only has it after a full pass."""
        if self.kept is not None:
            return not self.kept.lean
        return self.event.registered or self.event.softmax is not None


@torch.no_grad()
def prove(proofs: Sequence[Proof]) -> Message:
    """Return the extent and the largest error of the proofs; raise if a replay differs from the output."""
    rows, worst, changed = 0, 0.0, False
    for proof in proofs:
        site = proof.site
        examples, queries = _sample(site)
        error = _row_sums(proof, examples, queries)
        if proof.kept is not None and not proof.kept.call.dropout:
            error = max(error, _replayed(proof, proof.kept, examples, queries))
        elif proof.event.softmax is not None:
            reached = _reached(proof)
            changed |= reached is None
            error = max(error, reached or 0.0)
        rows += len(examples) * len(queries)
        worst = max(worst, error)
    key = "check.sites_changed" if changed else "check.sites"
    return Message.of(key, sites=len(proofs), rows=rows, error=float(f"{worst:.0e}"))


def _sample(site: LazyAttention | DenseAttention) -> tuple[list[int], Tensor]:
    batch, _, queries, _ = site.shape
    examples = sorted({0, batch - 1})
    count = max(1, ROWS // len(examples))
    return examples, torch.tensor(sorted({round(i * (queries - 1) / max(1, count - 1)) for i in range(count)}))


def _fail(proof: Proof, expected: Text, got: Text) -> CaptureError:
    return CaptureError(
        phrase("errors.common.self_check", place=proof.site.site.key),
        expected=expected,
        got=got,
        remedy=phrase("errors.common.report_this_model_check_never"),
    )


def _row_sums(proof: Proof, examples: list[int], queries: Tensor) -> float:
    site, worst = proof.site, 0.0
    for b in examples:
        weights = site.weights(b, queries)
        total = weights.double().sum(-1)
        if isinstance(site, DenseAttention) and site.sink is not None:
            total = total + site.sink[b][:, queries.to(site.sink.device)].double()
        elif isinstance(site, LazyAttention) and site.call.sinks is not None:
            if bool((total > 1 + 1e-3).any()):
                raise _fail(proof, phrase("errors.tap.rows_that_sum_at_most"), f"{float(total.max()):.4f}")
            continue
        empty = (total == 0) | total.isnan()
        if isinstance(site, DenseAttention) and proof.event.registered:
            empty = torch.zeros_like(empty)
        error = (total - 1).abs().masked_fill(empty, 0.0).max().item()
        dtype = _dtype(proof)
        if not error <= max(1e-4, _TOLERANCE.get(dtype, 1e-2)):
            raise _fail(proof, phrase("errors.common.rows_that_sum"), phrase("errors.tap.row_that_sums", error=error))
        worst = max(worst, error)
    return worst


def _dtype(proof: Proof) -> torch.dtype:
    tensor = proof.site.call.query if isinstance(proof.site, LazyAttention) else proof.site.held
    return tensor.dtype


def _replayed(proof: Proof, kept: Kept, examples: list[int], queries: Tensor) -> float:
    """Compare softmax(QK)V of the sampled rows with the rows of the fused kernel."""
    heads = proof.site.site.heads
    call = kept.call.folded(heads if kept.call.query.ndim != 4 else 0)
    output = kept.out
    if isinstance(proof.site, DenseAttention) and kept.call.kernel and not proof.event.edited:
        output = kept.call.run()  # the weights were computed by us: the kernel is the independent witness
    output = output.reshape(*call.query.shape[:-1], call.value.shape[-1])
    group = call.query.shape[1] // call.value.shape[1]
    worst = 0.0
    for b in examples:
        weights = proof.site.weights(b, queries)
        value = call.value[b].to(weights.dtype).repeat_interleave(group, 0)
        recomputed = weights @ value
        returned = output[b][:, queries.to(output.device)].to(weights.dtype)
        blank = (weights.sum(-1, keepdim=True) == 0) | returned.isnan().all(-1, keepdim=True)
        scale = max(1.0, float(returned.nan_to_num().abs().max()))
        error = float((recomputed - returned).abs().masked_fill(blank, 0.0).max()) / scale
        if not error <= _TOLERANCE.get(call.query.dtype, 1e-2):
            raise _fail(
                proof,
                phrase("errors.tap.softmax_qk_equal_output_site"),
                phrase("errors.common.difference_error", error=error),
            )
        worst = max(worst, error)
    return worst


def _reached(proof: Proof) -> float | None:
    """Compare the recorded weights with the tensor that entered the weighted sum; None if the model changed them."""
    softmax = proof.event.softmax
    assert softmax is not None
    if softmax.used is None:
        return 0.0
    recorded = replay(softmax.weights.detach(), softmax.steps)
    consumed = softmax.used.detach()
    if recorded.shape != consumed.shape:
        raise _fail(
            proof, phrase("errors.tap.weights_shape_they_used", shape=tuple(consumed.shape)), str(tuple(recorded.shape))
        )
    stride = max(1, consumed.numel() // 4096)
    difference = (recorded.reshape(-1)[::stride].to(consumed.dtype) - consumed.reshape(-1)[::stride]).abs().nan_to_num()
    error = float(difference.max()) if difference.numel() else 0.0
    if error > _TOLERANCE.get(consumed.dtype, 1e-2):
        if not softmax.changed:
            raise _fail(
                proof,
                phrase("errors.tap.weights_reach_weighted_sum"),
                phrase("errors.common.difference_error", error=error),
            )
        return None
    return error
