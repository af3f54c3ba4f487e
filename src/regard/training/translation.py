"""Training and evaluation of translators: pairs of texts as batches, exact match, alignment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.errors import InputError, phrase
from regard.measures.alignment import Link, alignment_error_rate, strongest, token_links
from regard.networks.checkpoint import Translator
from regard.networks.vocabulary import END, MASK, PAD, START, Cut, Vocabulary
from regard.protocols import Dataset
from regard.records import Example, Floats, Ints
from regard.tap.capture_call import capture_call
from regard.training.batches import Batch, bucketed
from regard.training.loop import Settings

NOTHING = -100
"""Label of a position that is ignored in training."""


RECIPES: Mapping[str, Settings] = {
    "recurrent": Settings(epochs=8, batch_size=32, rate=5e-3, warmup=0.1, patience=4),
    "transformer": Settings(epochs=12, batch_size=32, rate=2e-3, warmup=0.1, patience=4),
}
"""Training settings of each translator. A Transformer needs smaller and more steps."""
WORD_DROPOUT = 0.01
"""Share of hidden words; more would remove information that the rest of a short text lacks (a figure of a date)."""


@dataclass(frozen=True, slots=True)
class PairRows:
    """Texts and their translations as numbers; a translation ends with <end>.

    The network is called with the source (batch, n) and the target after <start> (batch, m); the labels (batch, m) are
    the target up to and including <end>. In training, a share `word_dropout` of the source words becomes <mask>, so
    that <mask> gets a vector that means "any word".
    """

    source: Sequence[Sequence[int]]
    target: Sequence[Sequence[int]]
    word_dropout: float = 0.0

    @property
    def labels(self) -> Ints:
        """Index of each row's translation among all different ones."""
        numbers = {text: i for i, text in enumerate(sorted({tuple(t) for t in self.target}))}
        return np.array([numbers[tuple(t)] for t in self.target], np.int64)

    @property
    def lengths(self) -> Ints:
        return np.array([len(s) + len(t) for s, t in zip(self.source, self.target, strict=True)], np.int64)

    def batch(self, rows: Ints, rng: np.random.Generator | None) -> Batch:
        targets = [self.target[int(i)] for i in rows]
        source = _padded([self.source[int(i)] for i in rows], PAD)
        if rng is not None and self.word_dropout:
            hidden = torch.from_numpy(rng.random(tuple(source.shape)) < self.word_dropout)
            source = source.masked_fill(hidden & (source != PAD), MASK)
        before = _padded([[START, *t[:-1]] for t in targets], PAD)
        return Batch((source, before), _padded(targets, NOTHING), torch.from_numpy(rows))


def pair_rows(data: Iterable[Example], source: Vocabulary, target: Vocabulary, word_dropout: float = 0.0) -> PairRows:
    """The texts of a dataset and, as their translations, its labels."""
    texts = [(str(e.inputs["text"]), _label(e.id, e.label)) for e in data]
    return PairRows(
        [source.encode(t)[0] for t, _ in texts], [target.sentence(label) for _, label in texts], word_dropout
    )


def vocabularies(
    train: Dataset, *, source: Cut | None = None, target: Cut | None = None, min_count: int = 1
) -> tuple[Vocabulary, Vocabulary]:
    """The words of the texts and of the labels.

    By default, texts are split into words and single digits, and labels into words if they have spaces, else into
    characters (dates, numbers, Chinese).
    """
    labels = [_label(e.id, e.label) for e in train]
    if target is None:
        target = "figure" if any(" " in label for label in labels) else "character"
    texts = (str(e.inputs["text"]) for e in train)
    return (
        Vocabulary.build(texts, min_count=min_count, cut=source or "figure"),
        Vocabulary.build(labels, min_count=min_count, lower=False, cut=target, generation=True),
    )


def translate(network: Translator, sources: Sequence[Sequence[int]], *, limit: int, batch_size: int = 64) -> list[Ints]:
    """Translate every source greedily, without <start>, up to and including <end> (if it occurs)."""
    before, translations = network.training, [np.zeros(0, np.int64)] * len(sources)
    network.eval()
    with torch.inference_mode():
        for rows in bucketed(np.array([len(s) for s in sources], np.int64), batch_size):
            generated = network.generate(_padded([sources[int(i)] for i in rows], PAD), limit=limit).numpy()
            for i, row in zip(rows, generated, strict=True):
                ends = np.flatnonzero(row == END)
                translations[int(i)] = row[: int(ends[0]) + 1 if len(ends) else len(row)]
    network.train(before)
    return translations


def exact(network: Translator, rows: PairRows, *, batch_size: int = 64) -> list[bool]:
    """Return whether each translation, decoded greedily, is the expected one from the first token to the last."""
    limit = max(map(len, rows.target), default=1) + 1
    translations = translate(network, rows.source, limit=limit, batch_size=batch_size)
    return [list(a) == list(b) for a, b in zip(translations, rows.target, strict=True)]


class Aligned(NamedTuple):
    """Accuracy with which attention finds the source of each translated word.

    error_rate: of every cross-attention (mean over its heads) by site, over all sentences at once; 0 is best. diagonal:
    that of the uninformed alignment (target token j comes from source token j n / m).
    """

    error_rate: Mapping[str, float]
    diagonal: float
    sentences: int

    @property
    def best(self) -> str:
        """Site with the lowest error rate. Choose it on other data than those that judge it."""
        return min(self.error_rate, key=lambda site: self.error_rate[site])


def alignment(
    network: Translator, data: Dataset, source: Vocabulary, target: Vocabulary, *, batch_size: int = 64
) -> Aligned:
    """Compare the known alignment of `data` with the strongest cross-attention of every target token.

    Attention is captured, as of any model, while the network reads the expected translation.
    """
    examples = [e for e in data if e.alignment is not None]
    if not examples:
        raise InputError(
            phrase("errors.training.alignment_data", data=data.name),
            expected=phrase("errors.training.examples_with_known_alignment"),
            got=phrase("errors.common.none"),
        )
    rows = pair_rows(examples, source, target)
    truths = [
        token_links(e.alignment or (), source.encode(str(e.inputs["text"]))[1], target.encode(str(e.label))[1])
        for e in examples
    ]
    by_site: dict[str, set[Link]] = {}
    diagonal: set[Link] = set()
    network.eval()
    for numbers in bucketed(rows.lengths, batch_size):
        for site, weights in cross_attention(network, rows.batch(numbers, None)).items():
            for row, i in enumerate(int(j) for j in numbers):
                n, m = len(rows.source[i]), len(rows.target[i]) - 1
                links = strongest(weights[row, :m, :n], truths[i].targets)
                by_site.setdefault(site, set()).update((i, *link) for link in links)
    for i, truth in enumerate(truths):
        n, m = len(rows.source[i]), len(rows.target[i]) - 1
        diagonal |= {(i, j * n // m, j) for j in truth.targets}
    sure, possible = ({(i, *link) for i, truth in enumerate(truths) for link in truth[k]} for k in (0, 1))
    rates = {site: alignment_error_rate(links, sure, possible) for site, links in by_site.items()}
    return Aligned(rates, alignment_error_rate(diagonal, sure, possible), len(examples))


def cross_attention(network: Translator, batch: Batch) -> dict[str, Floats]:
    """Weights of every cross-attention by site, mean over its heads: (batch, target, source)."""
    with torch.inference_mode():
        _, taps = capture_call(network, lambda: network(*batch.inputs), mode="weights")
    return {
        site.site.key: np.asarray(site.dense().weights, np.float64).mean(1)
        for site in taps.sites
        if site.site.kind == "cross"
    }


def _label(ident: str, label: object) -> str:
    if not isinstance(label, str) or not label:
        raise InputError(
            phrase("errors.training.label_example", ident=repr(ident)),
            expected=phrase("errors.training.text_translation"),
            got=repr(label),
        )
    return label


def _padded(rows: Sequence[Sequence[int]], fill: int) -> Tensor:
    table = np.full((len(rows), max(1, *map(len, rows))), fill, np.int64)
    for place, row in zip(table, rows, strict=True):
        place[: len(row)] = row
    return torch.from_numpy(table)
