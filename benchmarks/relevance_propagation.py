"""`lrp` against integrated gradients and leave-one-out: CPU time, and the drop of the prediction without the top words.

Both rivals run the model tens of times per text, `lrp` once forwards and once backwards. Where LXT is installed (or in
a directory of REGARD_PEERS), the relevances of tiny models are compared with those of its patched modules: its
repository at f043441 works beside transformers 5, release 2.1 does not.
"""

from __future__ import annotations

import importlib
import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import torch

from benchmarks.lines import Line
from benchmarks.peers import where
from regard.datasets.read import read
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.explainers.integrated_gradients import integrated_gradients
from regard.explainers.leave_one_out import leave_one_out
from regard.explainers.lrp import lrp
from regard.metrics.comprehensiveness import comprehensiveness
from regard.models.open.load import load
from regard.models.propagation.proof import propagated
from regard.records import Example, Relevance
from regard.testing.architectures import find
from regard.testing.support_table import Subject

TEXTS = 40
RIVALS: dict[str, Callable[[DeskCase], Relevance]] = {
    "integrated gradients, 20 steps": integrated_gradients,
    "leave-one-out": leave_one_out,
}
BARS = {"integrated gradients, 20 steps": (5.0, 0.97), "leave-one-out": (3.0, 0.95)}
"""Rival -> (its CPU time, our comprehensiveness), each at least so many times the other side's."""
PEERS = {"Llama": "llama", "Qwen2": "qwen2", "GPT-2": "gpt2"}


def run() -> list[Line]:
    torch.set_num_threads(1)
    model = load("minilm", device="cpu")
    examples = [Example(e.id, {"text": e.inputs["text"]}) for e in read("reviews", limit=TEXTS)]
    lrp(DeskCase(Desk(model), examples[:2]))  # the proof is not measured: once per model
    own_seconds, own_drops = _measured(model, examples, lrp)
    lines = []
    for name, method in RIVALS.items():
        seconds, drops = _measured(model, examples, method)
        detail: dict[str, float | str] = {
            "lrp ms/text": own_seconds / TEXTS * 1000,
            "other ms/text": seconds / TEXTS * 1000,
        }
        detail |= {f"lrp {operator}": value for operator, value in own_drops.items()}
        detail |= {f"other {operator}": value for operator, value in drops.items()}
        time_bar, drop_bar = BARS[name]
        lines.append(Line(f"lrp: CPU time of {name} (MiniLM, {TEXTS} reviews)", seconds / own_seconds, time_bar, ">="))
        share = float(np.mean([own_drops[operator] / drops[operator] for operator in drops]))
        lines.append(Line(f"lrp: comprehensiveness over that of {name}", share, drop_bar, ">=", detail))
    return [*lines, *_against_lxt()]


def _measured(
    model: Any, examples: list[Example], method: Callable[[DeskCase], Relevance]
) -> tuple[float, dict[str, float]]:
    """Return (CPU seconds, comprehensiveness by removal operator)."""
    case = DeskCase(Desk(model), examples)
    case.base()
    start = time.process_time()
    relevance = method(case)
    seconds = time.process_time() - start
    drops = {o: float(comprehensiveness(case, relevance, operator=o).values.mean()) for o in ("mask", "delete")}
    return seconds, drops


def _against_lxt() -> list[Line]:
    lines = []
    for name, package in PEERS.items():
        context = multiprocessing.get_context("fork")  # LXT patches classes for good
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_difference, args=(name, package, sender))
        process.start()
        difference = receiver.recv()
        process.join()
        if difference is not None:
            lines.append(Line(f"lrp: largest relative difference from LXT ({name})", difference, 1e-5, "<="))
    return lines


def _difference(name: str, package: str, sender: Connection) -> None:
    try:
        where()
        efficient = importlib.import_module("lxt.efficient")
    except ImportError:
        sender.send(None)
        return
    module: Any = Subject.of(find(name)).model
    x = module.get_input_embeddings()(torch.arange(3, 12)[None]).detach()
    direction = torch.randn(module(inputs_embeds=x)[0].shape[-1], generator=torch.Generator().manual_seed(0))
    leaf = x.clone().requires_grad_()
    flow = propagated(
        module,
        lambda: {"logits": module(inputs_embeds=leaf.clone())[0][:, -1]},
        [leaf],
        lambda outputs: outputs["logits"] @ direction,
        rule="attnlrp",
        rows=1,
    )
    assert flow is not None
    assert flow.gradients[0] is not None
    efficient.monkey_patch(importlib.import_module(f"transformers.models.{package}.modeling_{package}"))
    theirs = x.clone().requires_grad_()
    (module(inputs_embeds=theirs)[0][:, -1] @ direction).sum().backward()
    assert theirs.grad is not None
    expected = (theirs * theirs.grad).sum(-1)
    difference = ((leaf * flow.gradients[0]).sum(-1) - expected).abs().max() / expected.abs().max()
    sender.send(float(difference.detach()))


if __name__ == "__main__":
    for line in run():
        print(line.shown())
