"""Attacks: batched candidates against one by one on MiniLM, and PGD on the small ViT against foolbox.

Where the ratio of the first comes from: the candidates of all examples are read together, sorted by length and run in
batches that fit into the processor's cache, and the answers to repeated texts are cached; on a CPU batches are worth
more the shorter the texts are (alone they are worth 2.6 to 2.9 here). The second: an example takes no further steps
once its prediction has flipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch

from benchmarks.lines import Line, side_by_side
from regard.datasets.read import read
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.questions import AnswerTo, attacked
from regard.models.open.load import load
from regard.protocols import Question
from regard.records import Example, Threat

R = TypeVar("R")
MANY = 12
WORDS = 14
BUDGET = 150
EPS, STEPS, IMAGES = 0.1, 20, 120


class _Listening(DeskCase):
    """A case that records its candidates."""

    heard: list[Example]

    def ask(self, questions: Sequence[Question[R]]) -> list[R]:
        self.heard += [question.candidate for question in questions if isinstance(question, AnswerTo)]
        return super().ask(questions)


def _texts() -> list[Example]:
    """Short sentences, typical for attacks on sentences; without labels, so that all are attacked."""
    found = [e for e in read("reviews", limit=800) if 6 <= len(str(e.inputs["text"]).split()) <= WORDS]
    return [Example(e.id, e.inputs) for e in found[:MANY]]


def _greedy(model: Any, examples: list[Example]) -> int:
    case = DeskCase(Desk(model), examples)
    return sum(one.queries for one in attacked(case, "greedy_word", Threat(budget=BUDGET)))


def _one_by_one(model: Any, questions: list[Example], targets: list[int]) -> np.ndarray[Any, Any]:
    """The work of a plain loop: the tokenizer and the model, one text after the other."""
    said = []
    for example, target in zip(questions, targets, strict=True):
        said.append(model.forward([model.encode(example)], [target]).probability[0])
    return np.array(said)


def greedy_line() -> Line:
    model: Any = load("minilm:epochs=1,layers=1,n=1200", device="cpu")
    examples = _texts()
    case = _Listening(Desk(model), examples)
    case.heard = []
    attacked(case, "greedy_word", Threat(budget=BUDGET))
    by_parent = dict(zip(case.ids, case.targets, strict=True))
    targets = [int(str(by_parent[str(q.parent)])) for q in case.heard]
    n = len(case.heard)
    sides = {"attack": partial(_greedy, model, examples), "loop": partial(_one_by_one, model, case.heard, targets)}
    seconds = side_by_side(sides, repeats=2)
    return Line(
        f"greedy attack on MiniLM, queries per second against one by one ({MANY} sentences of up to {WORDS} words)",
        seconds["loop"] / seconds["attack"], 3.0, ">=",
        {"queries": float(n), "attack q/s": n / seconds["attack"], "loop q/s": n / seconds["loop"]},
    )  # fmt: skip


def vit() -> tuple[Any, list[Example]]:
    """Load the small ViT and its digits."""
    model: Any = load("digits", device="cpu")
    examples = list(read("digits", limit=2 * IMAGES))[:IMAGES]
    return model, examples


def foolbox_pgd(model: Any, images: torch.Tensor, labels: torch.Tensor, high: float) -> Any:
    import foolbox

    wrapped = foolbox.PyTorchModel(model.module, bounds=(0.0, high), device="cpu")
    attack = foolbox.attacks.LinfPGD(rel_stepsize=2.5 / STEPS, steps=STEPS, random_start=False)
    return attack(wrapped, images, labels, epsilons=EPS * high)[2]


def pgd_line() -> Line:
    model, examples = vit()
    images = torch.from_numpy(np.stack([model.encode(e).arrays["images"] for e in examples])).float()
    high = 1.0 if float(images.max()) <= 1 else 16.0
    targets = torch.tensor([int(str(t)) for t in DeskCase(Desk(model), examples).targets])
    plain = [Example(e.id, e.inputs) for e in examples]  # what is predicted is attacked, on both sides
    found: dict[str, float] = {}

    def ours() -> None:
        case = DeskCase(Desk(model), plain)
        records = attacked(case, f"pgd:eps={EPS},steps={STEPS}", Threat(budget=STEPS + 1))
        found["ours"] = float(np.mean([one.status == "success" for one in records]))

    def theirs() -> None:
        found["foolbox"] = float(foolbox_pgd(model, images, targets, high).float().mean())

    seconds = side_by_side({"ours": ours, "foolbox": theirs}, repeats=3)
    detail = {"ours s": seconds["ours"], "foolbox s": seconds["foolbox"]}
    detail |= {f"success {name}": rate for name, rate in found.items()}
    what = f"PGD ({STEPS} steps) on the small ViT against foolbox, {len(plain)} images"
    return Line(what, seconds["foolbox"] / seconds["ours"], 1.0, ">=", dict(detail))


def run() -> list[Line]:
    torch.set_num_threads(1)
    return [greedy_line(), pgd_line()]
