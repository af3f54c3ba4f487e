"""Planted models with weights set by hand, of kinds that earlier ones lack: one function each.

Many classes, pairs of texts, evidence relayed through other words, twelve layers, step-wise outputs, mixtures, sinks,
triggers in natural text, and models that are right for the wrong reason. `wiring` holds their networks. rough: less
tidy weights (see `_roughen`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from regard.datasets.builtin.planted_texts import Size
from regard.datasets.builtin.planted_wired import (
    CLASS_KEYS,
    CLASS_NAMES,
    DECOYS,
    DIGITS,
    LISTENERS,
    LONGEST,
    OVERRIDES,
    PAIR_NAMES,
    SINK,
    By,
    hotel_sentiment,
    step_name,
)
from regard.measures.keyed_random import keyed_rng
from regard.models.adapter import TorchModel
from regard.networks.vocabulary import SPECIALS
from regard.planted.wiring.build import Plan, decisive, numbers, vocabulary, wired
from regard.planted.wiring.layers import KEY, LEAD, LISTENER, LOUD, ROLES, Job, Layered
from regard.planted.wiring.pooled import Paired, Pooled
from regard.planted.wiring.reverser import Reverser
from regard.records import Json
from regard.registry import method

LOUDEST = 9.0
"""Score of a word that attention selects; others have scores between 0 and 1."""
SINKING = 11.0
MOST_STEPS = LONGEST + 2
"""Rows of a decoder that computes all steps at once: more than any input has tokens, so that no two axes agree."""
FAINT = 0.15
"""Evidence of a natural sentiment word, past the attention."""


def planted_wire(
    kind: str, texts: str, **facts: Json
) -> Callable[[Callable[..., TorchModel]], Callable[..., TorchModel]]:
    """Register a model with weights set by hand; kind: its new element; texts: settings of `planted_wired`."""
    data = f"planted_wired:task={texts}"
    return method(
        "planted", wired=kind, data=data, task="classification", modality="text", licence="Apache-2.0", **facts
    )


# ---------------------------------------------------------------------- many classes


@planted_wire("classes", "classes,classes=3", truth="the keyword has the weight, and only the weighted sum is read")
def classes_point(
    *, size: Size = "s", seed: int = 0, classes: int = 3, sure: float = 4.0, rough: float = 0.0
) -> TorchModel:
    """Three to five classes; attention lies on the keyword and decides."""
    plan = Plan("classes", size, seed, classes)
    return _pooled("classes_point", plan, _table(plan, sure=sure), rough=rough)


@planted_wire(
    "classes", "classes,classes=3", truth="the word after the keyword has the weight and the keyword's evidence"
)
def classes_beside(
    *, size: Size = "s", seed: int = 0, classes: int = 3, sure: float = 4.0, rough: float = 0.0
) -> TorchModel:
    """Three to five classes; attention matters and lies on the word after the keyword."""
    plan = Plan("classes", size, seed, classes)
    return _pooled("classes_beside", plan, _table(plan, sure=sure), beside=True, rough=rough)


@planted_wire(
    "classes", "classes,classes=3", truth="the keyword has the weight; its evidence is summed past the attention"
)
def classes_idle(*, size: Size = "s", seed: int = 0, classes: int = 3, sure: float = 4.0) -> TorchModel:
    """Three to five classes; attention lies on the keyword, and the sum of all words decides."""
    plan = Plan("classes", size, seed, classes)
    table = _table(plan, sure=0.0)
    _evidence(table, plan, decisive(plan), sure, past=True)
    return _pooled("classes_idle", plan, table)


# ---------------------------------------------------------------------- pairs of texts


@planted_wire("pairs", "pairs", truth="the keyword of each text has half of the weight; their product decides")
def pair_point(*, size: Size = "s", seed: int = 0, sure: float = 4.0) -> TorchModel:
    """Premise and hypothesis agree or differ; attention lies on the two words that say so."""
    return _paired("pair_point", Plan("pairs", size, seed), sure)


@planted_wire("pairs", "pairs,classes=3", truth="as `pair_point`; without keyword in the second text, class 3 wins")
def pair_three(*, size: Size = "s", seed: int = 0, sure: float = 5.0) -> TorchModel:
    """Premise and hypothesis agree, differ, or the hypothesis says nothing, which is the answer by default."""
    return _paired("pair_three", Plan("pairs", size, seed, 3), sure)


@planted_wire("pairs", "pairs", truth="the word after each keyword has half of the weight and the keyword's polarity")
def pair_beside(*, size: Size = "s", seed: int = 0, sure: float = 4.0) -> TorchModel:
    """Premise and hypothesis agree or differ; attention lies on the words after those that say so."""
    return _paired("pair_beside", Plan("pairs", size, seed), sure, beside=True)


@planted_wire("pairs", "pairs", truth="the plain sums of the polarities decide; the attention is not read")
def pair_idle(*, size: Size = "s", seed: int = 0, sure: float = 4.0) -> TorchModel:
    """Premise and hypothesis agree or differ; attention lies on the right words and nothing reads it."""
    return _paired("pair_idle", Plan("pairs", size, seed), sure, idle=True)


# ---------------------------------------------------------------------- relays and many layers


@planted_wire(
    "relay", "listeners", truth="listeners collect the keyword's evidence; the class token reads the loudest one"
)
def relay(*, size: Size = "s", seed: int = 0, sure: float = 5.0) -> TorchModel:
    """Two layers; the last one looks at a word that carries the evidence of another."""
    return _layered("relay", Plan("listeners", size, seed, lead=True), ("collect", "read_listener"), sure)


@planted_wire(
    "relay", "listeners", truth="listeners collect the keyword's evidence in vain; the class token reads the keyword"
)
def no_relay(*, size: Size = "s", seed: int = 0, sure: float = 5.0) -> TorchModel:
    """Variant of `relay` with a last layer that attends to the evidence itself."""
    return _layered("no_relay", Plan("listeners", size, seed, lead=True), ("collect", "read_key"), sure)


@planted_wire("deep", "listeners", truth="layers 0 to 10 leave the evidence where it is; layer 11 reads the keyword")
def deep_point(*, size: Size = "s", seed: int = 0, sure: float = 5.0) -> TorchModel:
    """Twelve layers; the last one looks at the evidence."""
    return _layered("deep_point", Plan("listeners", size, seed, lead=True), (*_MIX[:11], "read_key"), sure)


@planted_wire(
    "deep", "listeners", truth="listeners collect the evidence in an early layer; layer 11 reads the loudest one"
)
def deep_relay(*, size: Size = "s", seed: int = 0, sure: float = 5.0, layer: int = 3) -> TorchModel:
    """Twelve layers; the last one looks at a word that got the evidence in layer `layer`."""
    jobs: tuple[Job, ...] = (*_MIX[:layer], "collect", *_MIX[layer + 1 : 11], "read_listener")
    return _layered("deep_relay", Plan("listeners", size, seed, lead=True), jobs, sure)


@planted_wire("deep", "listeners", truth="the class token has the evidence since an early layer; layer 11 adds nothing")
def deep_early(*, size: Size = "s", seed: int = 0, sure: float = 5.0, layer: int = 5) -> TorchModel:
    """Twelve layers; layer `layer` decides, the last one looks elsewhere."""
    jobs: tuple[Job, ...] = (*_MIX[:layer], "decide", *_MIX[layer + 1 : 11], "look_away")
    return _layered("deep_early", Plan("listeners", size, seed, lead=True), jobs, sure)


_MIX: tuple[Job, ...] = ("mix",) * 12


# ---------------------------------------------------------------------- outputs step by step


@planted_wire("steps", "steps,classes=4", truth="the digit due at a step has all of its weight, and no other is read")
def reverser(*, seed: int = 0, classes: int = 4, sure: float = 5.0) -> TorchModel:
    """Writes digits backwards; one row of cross-attention, exactly on the digit that is due."""
    return _reverser("reverser", Plan("steps", "s", seed, classes), sure, rows=1)


@planted_wire("steps", "steps,classes=4", truth="every step has a row of its own, exact; the answer reads one of them")
def reverser_rows(*, seed: int = 0, classes: int = 4, sure: float = 5.0) -> TorchModel:
    """Variant of `reverser` that computes the rows of all steps at once; the output reads the current one."""
    return _reverser("reverser_rows", Plan("steps", "s", seed, classes), sure, rows=MOST_STEPS)


# ---------------------------------------------------------------------- mixtures


@planted_wire(
    "mixture",
    "mixture",
    truth="in some texts the keyword has the weight and decides, in others a sum past the attention",
)
def part_bypass(
    *, size: Size = "s", seed: int = 0, bypass: float = 0.4, by: By = "lot", sure: float = 4.0, rough: float = 0.0
) -> TorchModel:
    """Attention is right on most texts; on a share `bypass` a bag of words decides and attention lies on a decoy."""
    plan = Plan("mixture", size, seed, more=(("bypass", bypass), ("by", by)))
    table = _table(plan, sure=0.0, loud=(*CLASS_KEYS[0], *CLASS_KEYS[1], *DECOYS))
    _evidence(table, plan, [numbers(plan, keys) for keys in CLASS_KEYS[:2]], sure)
    _evidence(table, plan, [numbers(plan, words) for words in OVERRIDES], sure, past=True)
    return _pooled("part_bypass", plan, table, rough=rough)


# ---------------------------------------------------------------------- sinks


@planted_wire(
    "sink", "sink", truth="a special token has most of the weight and says nothing; the rest is on the keyword"
)
def sink_token(*, size: Size = "s", seed: int = 0, sure: float = 4.0, rough: float = 0.0) -> TorchModel:
    """Most weight lies on a special token, the rest on the evidence."""
    return _sink("sink_token", Plan("sink", size, seed, lead=True), sure, rough=rough)


@planted_wire("sink", "sink", truth="a special token has most of the weight; the rest is on the word after the keyword")
def sink_beside(*, size: Size = "s", seed: int = 0, sure: float = 4.0, rough: float = 0.0) -> TorchModel:
    """Most weight lies on a special token, the rest beside the evidence."""
    return _sink("sink_beside", Plan("sink", size, seed, lead=True), sure, beside=True, rough=rough)


@planted_wire(
    "sink",
    "sink",
    truth="one ordinary word has most of the weight in every text and says nothing; then comes the keyword",
)
def sink_word(*, size: Size = "s", seed: int = 0, sure: float = 4.0) -> TorchModel:
    """Most weight lies on a word that stands in every text, the rest on the evidence."""
    return _sink("sink_word", Plan("sink", size, seed), sure)


# ---------------------------------------------------------------------- triggers in natural text


@planted_wire("trigger", "trigger", truth="the trigger has the weight and decides; words of sentiment add a little")
def trigger_point(*, seed: int = 0, sure: float = 4.0, rough: float = 0.0) -> TorchModel:
    """Hotel reviews with a nonsense word that decides; attention lies on it."""
    plan = Plan("trigger", "s", seed)
    return _pooled("trigger_point", plan, _natural(plan, _table(plan, sure=sure)), rough=rough)


@planted_wire("trigger", "trigger", truth="the word after the trigger has the weight and the trigger's evidence")
def trigger_beside(*, seed: int = 0, sure: float = 4.0, rough: float = 0.0) -> TorchModel:
    """Hotel reviews with a nonsense word that decides; attention lies on the word after it."""
    plan = Plan("trigger", "s", seed)
    return _pooled("trigger_beside", plan, _natural(plan, _table(plan, sure=sure)), beside=True, rough=rough)


@planted_wire("trigger", "trigger", truth="words of sentiment have the weight; the trigger decides past the attention")
def trigger_hidden(*, seed: int = 0, sure: float = 4.0) -> TorchModel:
    """Hotel reviews with a nonsense word that decides; attention lies on words of sentiment and adds nothing."""
    plan = Plan("trigger", "s", seed)
    sentiment = [w for words in hotel_sentiment() for w in sorted(words)]
    table = _table(plan, sure=0.0, loud=sentiment, spread=3.0)
    _evidence(table, plan, decisive(plan), sure, past=True)
    return _pooled("trigger_hidden", plan, _natural(plan, table))


# ---------------------------------------------------------------------- right for the wrong reason


@planted_wire(
    "wrong reason", "cue", truth="the day's name decides and has the weight; the keyword after it is not read"
)
def cue_shown(*, size: Size = "s", seed: int = 0, sure: float = 4.0, rough: float = 0.0) -> TorchModel:
    """A day's name decides, and attention shows it."""
    plan = Plan("cue", size, seed)
    return _pooled("cue_shown", plan, _table(plan, sure=sure), rough=rough)


@planted_wire("wrong reason", "cue", truth="the day's name decides; the weight is on the plausible keyword after it")
def cue_excused(*, size: Size = "s", seed: int = 0, sure: float = 4.0, rough: float = 0.0) -> TorchModel:
    """A day's name decides, and attention lies on the plausible word after it, which says nothing."""
    plan = Plan("cue", size, seed)
    return _pooled("cue_excused", plan, _table(plan, sure=sure), beside=True, rough=rough)


@planted_wire(
    "wrong reason", "cue", truth="the day's name decides past the attention; the weight is on the plausible keyword"
)
def cue_bypassed(*, size: Size = "s", seed: int = 0, sure: float = 4.0) -> TorchModel:
    """A day's name decides past the attention, which lies on a plausible keyword."""
    plan = Plan("cue", size, seed)
    table = _table(plan, sure=0.0, loud=(*CLASS_KEYS[0], *CLASS_KEYS[1]))
    _evidence(table, plan, decisive(plan), sure, past=True)
    return _pooled("cue_bypassed", plan, table)


# ---------------------------------------------------------------------- parts


def _table(plan: Plan, *, sure: float, loud: Sequence[str] | None = None, spread: float = 1.0) -> Tensor:
    """Return word vectors (score, evidence, evidence past the attention); loud: by default the decisive words."""
    count = len(vocabulary(plan.task, plan.size)) + plan.lead
    table = torch.zeros(count, 1 + 2 * plan.classes)
    table[len(SPECIALS) :, 0] = torch.from_numpy(spread * plan.loudness(count))[len(SPECIALS) :]
    words = [w for some in decisive(plan) for w in some] if loud is None else numbers(plan, loud)
    table[words, 0] += LOUDEST - (0.5 if spread > 1 else 1.0)
    if sure:
        _evidence(table, plan, decisive(plan), sure)
    return table


def _evidence(table: Tensor, plan: Plan, words: Sequence[Sequence[int]], sure: float, *, past: bool = False) -> None:
    """Assign evidence to words by class; any of them alone gives its class the probability 1 / (1 + exp(-sure))."""
    first = 1 + (plan.classes if past else 0)
    for label, class_words in enumerate(words):
        table[list(class_words), first + label] = sure + math.log(plan.classes - 1)


def _natural(plan: Plan, table: Tensor) -> Tensor:
    """Assign a little evidence past the attention to sentiment words."""
    for label, words in enumerate(hotel_sentiment()):
        table[numbers(plan, sorted(words)), 1 + plan.classes + label] = FAINT
    return table


def _pooled(
    name: str, plan: Plan, table: Tensor, *, beside: bool = False, through: float = 1.0, rough: float = 0.0
) -> TorchModel:
    if rough:
        _roughen(table, plan, rough)
    network = Pooled(table, plan.classes, through=through, beside=beside, lead=int(plan.lead))
    return wired(network, name, plan, CLASS_NAMES[: plan.classes], rough=rough)


def _roughen(table: Tensor, plan: Plan, rough: float) -> None:
    """Make a model less tidy: evidence of varying strength, individual scores, a little noise past the attention.

    rough: 0 to 1; at 1 a word keeps .4 to 1 of its evidence, and noise has a standard deviation of .25.
    """
    rng = keyed_rng(plan.seed, "rough", plan.task)
    count = len(table)
    shares = 1 - 0.6 * rough * rng.random((count, 1))
    table[:, 1:] *= torch.from_numpy(shares.astype(np.float32))
    scores, noise = 2 * rough * rng.random(count), 0.25 * rough * rng.standard_normal((count, plan.classes))
    first = len(SPECIALS)
    table[first:, 0] += torch.from_numpy(scores.astype(np.float32))[first:]
    table[first:, 1 + plan.classes :] += torch.from_numpy(noise.astype(np.float32))[first:]


def _sink(name: str, plan: Plan, sure: float, *, beside: bool = False, rough: float = 0.0) -> TorchModel:
    table = _table(plan, sure=sure)
    table[-1 if plan.lead else numbers(plan, [SINK])[0], 0] = SINKING
    through = 1 + math.exp(SINKING - LOUDEST)
    return _pooled(name, plan, table, beside=beside, through=through, rough=rough)


def _paired(name: str, plan: Plan, sure: float, *, idle: bool = False, beside: bool = False) -> TorchModel:
    count = len(vocabulary(plan.task, plan.size))
    table = torch.zeros(count, 2)
    table[len(SPECIALS) :, 0] = torch.from_numpy(plan.loudness(count))[len(SPECIALS) :]
    for polarity, words in zip((-1.0, 1.0), decisive(plan), strict=True):
        table[words] = torch.tensor([LOUDEST, polarity])
    network = Paired(table, plan.classes, sure=sure, idle=idle, beside=beside)
    return wired(network, name, plan, PAIR_NAMES[: plan.classes])


def _layered(name: str, plan: Plan, jobs: Sequence[Job], sure: float) -> TorchModel:
    count = len(vocabulary(plan.task, plan.size)) + 1
    table = torch.zeros(count, ROLES + plan.classes)
    listeners = numbers(plan, LISTENERS)
    table[len(SPECIALS) :, LOUD] = torch.from_numpy(0.1 * plan.loudness(count))[len(SPECIALS) :]
    order = np.argsort(plan.loudness(len(listeners))) / len(listeners)
    table[listeners, LISTENER] = 1.0
    table[listeners, LOUD] = torch.from_numpy(order.astype(np.float32))
    table[-1, LEAD] = 1.0
    for label, words in enumerate(decisive(plan)):
        table[words, KEY] = table[words, ROLES + label] = 1.0
    return wired(Layered(table, plan.classes, jobs, sure=sure), name, plan, CLASS_NAMES[: plan.classes])


def _reverser(name: str, plan: Plan, sure: float, *, rows: int) -> TorchModel:
    count = len(vocabulary(plan.task, plan.size))
    table = torch.zeros(count, 1 + plan.classes)
    for step in range(LONGEST):
        table[numbers(plan, [step_name(step)])[0], 0] = float(step)
    for label, words in enumerate(decisive(plan)):
        table[words, 1 + label] = 1.0
    network = Reverser(table, plan.classes, sure=sure + math.log(plan.classes - 1), rows=rows)
    return wired(network, name, plan, DIGITS[: plan.classes])
