"""Measures of one trained model as in the papers, with the formulas of regard.

The decoder is linear: the prediction is the logistic function of sum alpha_t z_t + b, where z_t is the decoder's output
for state t alone. So everything that changes the attention only (permutation, adversaries) needs no network.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import kendalltau
from torch import Tensor, nn

from regard.measures.agreement import kendall
from regard.measures.divergence import jsd
from regard.measures.exclusivity import log_odds_within, most_distant
from regard.measures.keyed_random import keyed_rng
from regard.measures.roc import roc_area
from regard.networks.checkpoint import load_checkpoint
from regard.networks.classifier import AttentionClassifier
from regard.networks.vocabulary import Vocabulary
from regard.protocols import Dataset
from regard.training.batches import TextRows, bucketed
from regard.training.inputs import text_of
from regard.training.loop import threads

Floats = NDArray[np.float64]
CAP = 0.05
"""Largest change of the probability of an accepted candidate; the search itself is held to .01, as released."""
SLACK, FORCE, STARTS, STEPS, RATE = 0.01, 500.0, 5, 500, 0.01
PERMUTATIONS = 100
BINS = (0.0, 0.25, 0.5, 0.75, 1.01)


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """One text read by one model: attention, decoded states z, offset b, |gradient x input|, |leave one out|."""

    label: int
    p: float
    alpha: Floats
    z: Floats
    b: float
    gradient: Floats
    removal: Floats


def texts(folder: Path, data: Dataset) -> list[Text]:
    """Read every text of `data` with the model in `folder`."""
    network, about = load_checkpoint(folder)
    assert isinstance(network, AttentionClassifier)
    vocabulary = Vocabulary.from_json(about["vocabulary"])
    tokens = [vocabulary.encode(text_of(e))[0] for e in data]
    labels = np.array([int(str(e.label)) for e in data])
    found: list[Text | None] = [None] * len(tokens)
    with threads(1):
        for chosen in bucketed(np.array([len(t) for t in tokens]), 64):
            for i, text in zip(chosen, _asked(network, [tokens[int(i)] for i in chosen], labels[chosen]), strict=True):
                found[int(i)] = text
    return [text for text in found if text is not None]


def _asked(network: AttentionClassifier, tokens: list[list[int]], labels: NDArray[np.int64]) -> list[Text]:
    batch = TextRows(tokens, labels).batch(np.arange(len(tokens)), None).inputs[0]
    real = batch != 0
    vectors = network.embedding(batch).detach().requires_grad_()
    states = network.encoder(vectors, real, real)
    _, weights = network.attention(states, real)
    # no gradient through the attention, as Jain & Wallace take it
    fixed = weights.detach()
    p = network.output(torch.bmm(fixed.unsqueeze(1), states).squeeze(1)).softmax(-1)[:, 1]
    (slope,) = torch.autograd.grad(p.sum(), vectors)
    gradient = (slope * vectors).sum(-1).abs()
    side, offset = (x.detach()[1] - x.detach()[0] for x in (network.output.weight, network.output.bias))
    z = states.detach() @ side
    without = _without(network, tokens)
    made = []
    for i, row in enumerate(tokens):
        n = len(row)
        parts = [x[i, :n].detach().numpy().astype(np.float64) for x in (fixed, z, gradient)]
        whole = float(p[i].detach())
        made.append(
            Text(int(labels[i]), whole, parts[0], parts[1], float(offset), parts[2], np.abs(without[i] - whole))
        )
    return made


def _without(network: AttentionClassifier, tokens: list[list[int]]) -> list[Floats]:
    """Return for each text (n,) the probability after deleting word t and reading the text again."""
    variants = [row[:t] + row[t + 1 :] for row in tokens for t in range(len(row))]
    rows = TextRows(variants, np.zeros(len(variants), np.int64))
    said = np.zeros(len(variants))
    with torch.no_grad():
        for chosen in bucketed(rows.lengths, 256):
            said[chosen] = network(rows.batch(chosen, None).inputs[0]).softmax(-1)[:, 1].numpy()
    return np.split(said, np.cumsum([len(row) for row in tokens])[:-1])


def quality(label: NDArray[np.int64], p: Floats) -> dict[str, float]:
    """Accuracy, F1 of the positive class, area under the ROC curve."""
    said = p > 0.5
    hits, positive = float((said & (label == 1)).sum()), int((label == 1).sum())
    return {
        "accuracy": float((said == label).mean()),
        "f1": float(2 * hits / (said.sum() + positive)),
        "roc": roc_area(p, label == 1),
    }


def agreement(found: list[Text]) -> dict[str, float]:
    """Kendall's tau of attention with gradient and leave-one-out, and of these two; shares with p <= .05."""
    pairs = {
        "gradient": [(t.alpha, t.gradient) for t in found],
        "loo": [(t.alpha, t.removal) for t in found],
        "gradient_loo": [(t.gradient, t.removal) for t in found],
    }
    out: dict[str, float] = {}
    for name, rows in pairs.items():
        # shares of one, so that "equal within 1e-6" means the same for a sure and for an unsure answer
        shared = [(a / a.sum(), b / b.sum()) for a, b in rows if a.sum() > 0 and b.sum() > 0]
        tau = np.array([float(kendall(a, b)) for a, b in shared])
        sure = np.array([float(kendalltau(a, b).pvalue) for a, b in shared])
        out |= {
            f"tau_{name}": float(np.nanmean(tau)), f"sd_{name}": float(np.nanstd(tau)),
            f"significant_{name}": float(np.nanmean(sure <= 0.05)),
            f"undefined_{name}": float(len(rows) - np.isfinite(tau).sum()),
        }  # fmt: skip
    return out


def permutation(found: list[Text], seed: int) -> dict[str, float]:
    """Median over permutations of the change of p, then over texts, by predicted class and by largest weight."""
    median, largest, said = [], [], []
    for i, t in enumerate(found):
        rng = keyed_rng(seed, "permutation", i)
        orders = np.stack([rng.permutation(len(t.alpha)) for _ in range(PERMUTATIONS)])
        changed = 1 / (1 + np.exp(-(t.alpha[orders] @ t.z + t.b)))
        median.append(float(np.median(np.abs(changed - t.p))))
        largest.append(float(t.alpha.max()))
        said.append(int(t.p > 0.5))
    change, peak, predicted = np.array(median), np.array(largest), np.array(said)
    out: dict[str, float] = {}
    for c in (0, 1):
        for low, high in pairwise(BINS):
            here = (predicted == c) & (peak >= low) & (peak < high)
            out[f"permuted_{c}_{low:g}"] = float(np.median(change[here])) if here.sum() >= 5 else float("nan")
            out[f"permuted_n_{c}_{low:g}"] = float(here.sum())
    return out


def adversaries(found: list[Text], seed: int) -> dict[str, float]:
    """Largest divergence at the same prediction: by the released search, and exactly; by predicted class."""
    searched, exact = np.zeros(len(found)), np.zeros(len(found))
    lengths = np.array([len(t.alpha) for t in found])
    for chosen in bucketed(lengths, 256):
        searched[chosen] = _searched([found[int(i)] for i in chosen], seed, chosen)
    for i, t in enumerate(found):
        low, high = log_odds_within(t.p, CAP)
        value, other = most_distant(t.alpha, t.z, low - t.b, high - t.b)
        moved = abs(1 / (1 + np.exp(-(other @ t.z + t.b))) - t.p)
        assert moved <= CAP + 1e-4, f"the exact adversary of text {i} changes the answer by {moved}"
        exact[i] = max(0.0, value)
    assert (searched <= exact + 1e-3).all(), "a search beat the exact optimum"
    said = np.array([int(t.p > 0.5) for t in found])
    out: dict[str, float] = {}
    for c in (0, 1):
        out |= {
            f"jsd_{c}": float(np.median(searched[said == c])),
            f"jsd_above_{c}": float((searched[said == c] > 0.4).mean()),
            f"exact_jsd_{c}": float(np.median(exact[said == c])),
        }
    return out


def _searched(some: list[Text], seed: int, names: NDArray[np.int64]) -> Floats:
    """(texts,) the best accepted divergence of the released search: K starts, Adam on the logits, a penalty."""
    n = max(len(t.alpha) for t in some)
    alpha, z = (_padded([getattr(t, part) for t in some], n) for part in ("alpha", "z"))
    real = torch.arange(n) < torch.tensor([len(t.alpha) for t in some])[:, None]
    p = torch.tensor([t.p for t in some])
    b = torch.tensor([t.b for t in some])
    starts = [keyed_rng(seed, "adversary", int(i)).standard_normal((STARTS, n)) for i in names]
    logits = (3 * torch.tensor(np.stack(starts), dtype=torch.float32)).requires_grad_()
    optimizer = torch.optim.Adam([logits], lr=RATE, amsgrad=True)

    def candidates() -> tuple[Tensor, Tensor]:
        weights = logits.masked_fill(~real[:, None], -1e9).softmax(-1)
        return weights, ((weights * z[:, None]).sum(-1) + b[:, None]).sigmoid()

    with threads(1):
        for _ in range(STEPS):
            weights, said = candidates()
            apart = _divergence(weights, alpha[:, None])
            between = _divergence(weights[:, :, None], weights[:, None]).mean((1, 2))
            over = nn.functional.relu((said - p[:, None]).abs() - SLACK)
            loss = (FORCE * over - apart).sum() - between.sum()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        with torch.no_grad():
            weights, said = candidates()
    fits = ((said - p[:, None]).abs() <= CAP).numpy()
    apart = jsd(weights.double().numpy(), alpha[:, None].double().numpy())
    assert apart.max() <= np.log(2) + 1e-6
    return np.asarray(np.where(fits, apart, 0.0).max(-1))  # attention itself is a candidate: never below 0


def _divergence(p: Tensor, q: Tensor) -> Tensor:
    m = (p + q) / 2
    tiny = 1e-10  # inside the logarithms, as released
    return 0.5 * (p * ((p + tiny) / (m + tiny)).log() + q * ((q + tiny) / (m + tiny)).log()).sum(-1)


def _padded(rows: list[Floats], n: int) -> Tensor:
    return torch.tensor(np.stack([np.pad(row, (0, n - len(row))) for row in rows]), dtype=torch.float32)
