"""A small torch classifier that implements `protocols.Model` by hand, counts its calls, and misbehaves on request.

Embedding -> one self-attention with a padding mask -> mean over the real positions -> two logits. Words are hashed.
"""

from __future__ import annotations

import os
import signal
import time
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import InputError, Unsupported
from regard.models.ask.add_noise import add_noise
from regard.models.ask.gradients import slopes
from regard.models.ask.propagated_relevance import propagated_relevance
from regard.models.ask.randomised import randomised_copy
from regard.models.ask.reorder import reorder
from regard.models.propagation.proof import propagated
from regard.models.propagation.rules import Rule
from regard.models.read_rows import read_rows
from regard.protocols import Point, PropagatedRelevance, SiteAttention, Slopes
from regard.records import Answers, Attention, Bools, Edit, Example, Site, Spec, Text, Units

VOCABULARY, WIDTH, MASK = 97, 8, 1


@dataclass(frozen=True)
class Read:
    units: Units
    ids: tuple[int, ...]
    text: str
    shift: NDArray[np.float32] | None = None

    @property
    def length(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Shown:
    site: Site
    weights: NDArray[np.float32]

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return self.dense().shape

    def rows(self, example: int, queries: Sequence[int], heads: Sequence[int] | None = None) -> NDArray[np.float32]:
        return self.weights[example][:, list(queries)]

    def dense(self) -> Attention:
        return Attention(self.site, self.weights.copy(), checked="given")


@dataclass(frozen=True)
class Seen:
    sites: Sequence[SiteAttention]
    units: Sequence[Units]
    answers: Answers
    rejected: Sequence[tuple[str, Text]] = ()
    checked: str = "given"


class TorchToy:
    """raises_on: a word that makes the model fail. dies_on: one that kills the process (once, if `grave` is a file to
    remember it by). memory: the largest batch it has room for. delay: seconds per call. blind: no attention."""

    name, task, modality, labels = "toy", "text-classification", "text", ("bad", "good")
    notes = ()
    operators = ("delete", "mask")
    baselines = ("zero",)

    def __init__(
        self,
        *,
        seed: int = 0,
        raises_on: str = "",
        dies_on: str = "",
        grave: str = "",
        memory: int = 0,
        delay: float = 0.0,
        blind: bool = False,
        live: bool = False,
        vocabulary: int = VOCABULARY,
    ) -> None:
        g = torch.Generator().manual_seed(seed)
        self.table = torch.randn(vocabulary, WIDTH, generator=g)
        self.q, self.k, self.v = (torch.randn(WIDTH, WIDTH, generator=g) / 2 for _ in range(3))
        self.out = torch.randn(WIDTH, 2, generator=g)
        self.raises_on, self.dies_on, self.grave = raises_on, dies_on, grave
        self.memory, self.delay, self.blind = memory, delay, blind
        self.fingerprint = f"toy-{seed}"
        params = {"seed": seed, "raises_on": raises_on, "dies_on": dies_on, "grave": grave, "memory": memory}
        params |= {"delay": delay, "blind": blind, "vocabulary": vocabulary}
        self.spec = None if live else Spec("function", "torch_toy:toy", params)
        self.calls: Counter[str] = Counter()
        self.rows: Counter[tuple[int, ...]] = Counter()
        self.batches: list[int] = []

    def encode(self, example: Example) -> Read:
        text = str(example.inputs["text"])
        if not text.strip():
            raise InputError(f"example {example.id}", expected="some text", got="nothing")
        words = ["[CLS]", *text.split()]
        n = len(words)
        ends = np.cumsum([0, *(len(w) + 1 for w in words[1:])])
        places = np.stack([ends, np.maximum(ends, np.append(ends[1:] - 1, len(text)))], 1)
        units = Units(
            tuple(words), "word", "span", places, np.arange(n) == 0, np.arange(n) - 1, np.zeros(n), np.arange(n), (n,)
        )
        ids = [0, *(2 + zlib.crc32(w.encode()) % (len(self.table) - 2) for w in words[1:])]
        return Read(units, tuple(ids), text)

    def windows(self, example: Example) -> list[Example]:
        words = str(example.inputs["text"]).split()
        if len(words) <= 40:
            return [example]
        return [
            Example(f"{example.id}/{i}", {"text": " ".join(words[i : i + 40])}, example.label, parent=example.id)
            for i in range(0, len(words), 20)
        ]

    def remove(self, encoded: Read, drop: Bools, operator: str, rng: np.random.Generator) -> Read:
        pairs, shift = zip(encoded.ids, drop, strict=True), encoded.shift
        if operator == "delete":
            ids = tuple(i for i, gone in pairs if not gone)
            return Read(encoded.units, ids, encoded.text, None if shift is None else shift[~drop])
        ids = tuple(MASK if gone else i for i, gone in pairs)
        return Read(encoded.units, ids, encoded.text, None if shift is None else np.where(drop[:, None], 0, shift))

    def noisy(self, encoded: Read, noise: float, rng: np.random.Generator) -> tuple[Read, float]:
        x = self.table[list(encoded.ids)].numpy()
        change = noise * rng.standard_normal(x.shape, np.float32) * encoded.units.free[:, None]
        return replace(encoded, shift=change), float(np.linalg.norm(change) / np.linalg.norm(x))

    def reordered(self, encoded: Read, order: NDArray[np.int64]) -> Read:
        shift = None if encoded.shift is None else encoded.shift[order]
        return replace(encoded, ids=tuple(encoded.ids[i] for i in order), shift=shift)

    def randomised(self, share: float, draw: int) -> TorchToy:
        return TorchToy(seed=1000 + draw, live=True)

    def _inputs(self, batch: Sequence[Read], ids: Tensor) -> Tensor:
        x = self.table[ids].clone()
        for row, e in enumerate(batch):
            if e.shift is not None:
                x[row, : e.length] += torch.from_numpy(np.asarray(e.shift, np.float32))
        return x

    def _padded(self, batch: Sequence[Read]) -> tuple[Tensor, Tensor]:
        longest = max(e.length for e in batch)
        ids = torch.tensor([[*e.ids, *[0] * (longest - e.length)] for e in batch])
        real = torch.tensor([[True] * e.length + [False] * (longest - e.length) for e in batch])
        return ids, real

    def _run(self, x: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        scores = (x @ self.q) @ (x @ self.k).transpose(1, 2) / WIDTH**0.5
        weights = torch.softmax(scores.masked_fill(~real[:, None], float("-inf")), -1)
        h = torch.tanh(weights @ (x @ self.v)) * real[..., None]
        return (h.sum(1) / real.sum(1, keepdim=True)) @ self.out, weights

    def _called(self, what: str, batch: Sequence[Read]) -> None:
        if self.delay:
            time.sleep(self.delay)
        for e in batch:
            if self.raises_on and self.raises_on in e.text.split():
                raise ValueError(f"the toy cannot stand {self.raises_on!r}")
            if self.dies_on and self.dies_on in e.text.split() and not (self.grave and Path(self.grave).exists()):
                if self.grave:
                    Path(self.grave).touch()
                os.kill(os.getpid(), signal.SIGKILL)
        if self.memory and len(batch) > self.memory:
            raise RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate too much")
        self.calls[what] += len(batch)
        self.batches.append(len(batch))

    def _answers(self, logits: Tensor, targets: Sequence[object]) -> Answers:
        p = torch.softmax(logits, -1).double().numpy()
        z = logits.double().numpy()
        at = np.array(targets)
        i = np.arange(len(at))
        return Answers(np.arange(len(at) + 1), z[i, at] - z[i, 1 - at], p[i, at], p)

    def predict(self, batch: Sequence[Read]) -> tuple[Answers, list[int]]:
        self._called("predict", batch)
        self.rows.update(e.ids for e in batch)
        with torch.no_grad():
            ids, real = self._padded(batch)
            logits, _ = self._run(self._inputs(batch, ids), real)
        targets = logits.argmax(-1).tolist()
        return self._answers(logits, targets), targets

    def forward(self, batch: Sequence[Read], targets: Sequence[object], edits: Sequence[Edit] = ()) -> Answers:
        self._called("edited" if edits else "forward", batch)
        self.rows.update(e.ids for e in batch)
        with torch.no_grad():
            ids, real = self._padded(batch)
            logits, _ = self._run(self._inputs(batch, ids), real)
        return self._answers(logits, targets)

    def capture(
        self, batch: Sequence[Read], targets: Sequence[object], *, mode: str = "qk", check: str = "first"
    ) -> Seen:
        if self.blind:
            raise Unsupported("the toy", expected="attention", got="none: it is blind")
        self._called("capture", batch)
        with torch.no_grad():
            ids, real = self._padded(batch)
            logits, weights = self._run(self._inputs(batch, ids), real)
        site = Shown(Site("attention", 0, "self", 0, 1, "toy"), weights[:, None].numpy())
        return Seen([site], [e.units for e in batch], self._answers(logits, targets))

    def slopes(self, batch: Sequence[Read], targets: Sequence[object], points: Sequence[Point]) -> list[Slopes]:
        self._called("slopes", batch)
        ids, real = self._padded(batch)
        x = self._inputs(batch, ids)
        dots, norms, values = [], [], []
        for point in points:
            at = (point.alpha * x).requires_grad_()
            logits, _ = self._run(at, real)
            i, t = torch.arange(len(batch)), torch.tensor(targets)
            value = logits[i, t] - logits[i, 1 - t]
            (g,) = torch.autograd.grad(value.sum(), at)
            dots.append((g * x).sum(-1).double().numpy())
            norms.append(g.norm(dim=-1).double().numpy())
            values.append(value.detach().double().numpy())
        return [
            Slopes(
                np.stack([d[i, : e.length] for d in dots]), np.stack([d[i, : e.length] for d in norms]),
                np.array([v[i] for v in values]), (float(values[-1][i]), 0.0),
            )
            for i, e in enumerate(batch)
        ]  # fmt: skip

    def propagated(
        self, batch: Sequence[Read], targets: Sequence[object], rule: Rule, baseline: str
    ) -> list[PropagatedRelevance]:
        self._called("slopes", batch)
        ids, real = self._padded(batch)
        x = self._inputs(batch, ids).requires_grad_()
        i, t = torch.arange(len(batch)), torch.tensor(targets)

        def value(outputs: Mapping[str, Tensor]) -> Tensor:
            return outputs["logits"][i, t] - outputs["logits"][i, 1 - t]

        def call() -> dict[str, Tensor]:
            return {"logits": self._run(x.clone(), real)[0]}

        flow = propagated(torch.nn.Identity(), call, [x], value, rule=rule, rows=len(batch))
        assert flow is not None
        rows = (x * flow.gradients[0]).sum(-1).detach().double().numpy()
        return [
            PropagatedRelevance(np.where(e.units.free, row[: e.length], 0.0), 0.0, {}, float(flow.value[i]))
            for i, (e, row) in enumerate(zip(batch, rows, strict=True))
        ]

    def reading(self, encoded: Read, target: object, site: Site) -> tuple[int, ...]:
        return tuple(range(encoded.length))


slopes.register(TorchToy, lambda model, *args: model.slopes(*args))
propagated_relevance.register(TorchToy, lambda model, *args: model.propagated(*args))
read_rows.register(TorchToy, TorchToy.reading)
add_noise.register(TorchToy, TorchToy.noisy)
reorder.register(TorchToy, TorchToy.reordered)
randomised_copy.register(TorchToy, TorchToy.randomised)


def toy(**settings: object) -> TorchToy:
    """How worker processes rebuild it."""
    torch.set_num_threads(1)
    return TorchToy(**settings)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Texts:
    """A data set of made-up sentences."""

    texts: tuple[str, ...]
    name: str = "made up"
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ("made up for a test",)
    fingerprint: str = "made-up"

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(examples(self.texts))


def examples(texts: Sequence[str]) -> list[Example]:
    return [Example(f"t{i}", {"text": text}, label=i % 2) for i, text in enumerate(texts)]


WORDS = (
    "the", "film", "was", "a", "slow", "warm", "clever", "dull", "bright", "story", "about", "people", "who", "never",
    "met", "again",
)  # fmt: skip


def sentences(n: int, *, longest: int = 12, seed: int = 0) -> tuple[str, ...]:
    rng = np.random.default_rng(seed)
    return tuple(" ".join(rng.choice(WORDS, size=rng.integers(2, longest + 1))) for _ in range(n))
