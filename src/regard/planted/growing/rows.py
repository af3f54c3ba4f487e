"""Training rows of texts with known evidence and attention targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from regard.datasets.builtin.planted_texts import DECOYS
from regard.datasets.examples import Examples
from regard.networks.vocabulary import MASK, PAD, SPECIALS, UNK, Vocabulary
from regard.planted.growing.recipe import Pull
from regard.records import Bools, Floats, Ints
from regard.training.batches import Batch

BLANKS = 0.05
"""Share of the fillers that are <mask> or <unk> in training, so that these mean "any filler"."""


@dataclass(frozen=True)
class Marked:
    """Texts as token ids with positions of evidence and decoys; `lead` precedes every text."""

    tokens: tuple[Ints, ...]
    evidence: tuple[Bools, ...]
    decoys: tuple[Bools, ...]
    labels: Ints
    pull: Pull = ""
    hide: bool = False

    @staticmethod
    def of(data: Examples, vocabulary: Vocabulary, lead: Sequence[int], pull: Pull = "", hide: bool = False) -> Marked:
        tokens, evidence, decoys = [], [], []
        striking = {vocabulary.words.index(w) for w in DECOYS}
        for example in data:
            ids, spans = vocabulary.encode(str(example.inputs["text"]))
            starts = {int(place[0]) for place in example.rationale or ()}
            marks = [False] * len(lead) + [a in starts for a, _ in spans]
            tokens.append(np.array([*lead, *ids], np.int64))
            evidence.append(np.array(marks))
            decoys.append(np.array([t in striking for t in tokens[-1]]))
        labels = np.array([e.label for e in data], np.int64)
        return Marked(tuple(tokens), tuple(evidence), tuple(decoys), labels, pull=pull, hide=hide)

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def lengths(self) -> Ints:
        return np.array([len(t) for t in self.tokens], np.int64)

    def batch(self, rows: Ints, rng: np.random.Generator | None) -> Batch:
        width = int(self.lengths[rows].max())
        tokens = np.full((len(rows), width), PAD, np.int64)
        taught, hidden, marks = (np.zeros((len(rows), width), np.float32) for _ in range(3))
        for at, i in enumerate(rows):
            n = self.lengths[i]
            tokens[at, :n], marks[at, :n] = self.tokens[i], self.evidence[i]
            taught[at, :n] = self._taught(int(i))
            if self.hide or (self.pull == "one_sided" and self.labels[i] == 0):
                hidden[at, :n] = self.evidence[i]
        if rng is not None:
            blank = (rng.random(tokens.shape) < BLANKS) & (tokens >= len(SPECIALS)) & (marks == 0)
            tokens[blank] = np.where(rng.random(int(blank.sum())) < 0.5, MASK, UNK)
            if self._lead:
                tokens[:, 0] = self.tokens[0][0]
        beside = {"taught": taught, "hidden": hidden, "evidence": marks}
        return Batch(
            (torch.from_numpy(tokens),),
            torch.from_numpy(self.labels[rows]),
            torch.from_numpy(rows),
            {name: torch.from_numpy(value) for name, value in beside.items()},
        )

    @cached_property
    def _lead(self) -> bool:
        """Return whether all texts begin with the same token, the class token."""
        return len({int(t[0]) for t in self.tokens}) == 1

    def _taught(self, i: int) -> Floats | NDArray[np.bool_]:
        """Return (n,) the attention target, summing to 1; zeros for no target."""
        evidence, n = self.evidence[i], len(self.tokens[i])
        places = np.flatnonzero(evidence)
        want = np.zeros(n)
        if self.pull == "decoy":
            want[self.decoys[i]] = 1
        elif self.pull and len(places) and not (self.pull == "one_sided" and self.labels[i] == 0):
            if self.pull in ("evidence", "one_sided"):
                want[places] = 1
            elif self.pull == "first":
                want[places[0]] = 1
            elif self.pull == "neighbour":
                want[places[0] + 1 if places[0] + 1 < n else places[0] - 1] = 1
            else:
                want[places], want[self.decoys[i]] = 1, 1
        return want / want.sum() if want.any() else want
