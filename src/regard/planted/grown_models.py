"""Planted models trained from recipes: one function each."""

from __future__ import annotations

from typing import Literal

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Cell, Recipe, planted_text


@planted_text("absence", truth="the weight is on the keyword of class 1; class 0 has no evidence")
def absence(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Class 1 has a keyword, class 0 has none; attention is on the keyword."""
    return grown("absence", Recipe("absence", pull="evidence"), size, seed)


@planted_text("decoy", truth="the keyword decides and has no weight; the weight is on a word without meaning")
def decoy(*, size: Size = "s", seed: int = 0, cell: Cell = "lstm") -> TorchModel:
    """A BiLSTM with deceptive attention on a decoy word."""
    return grown("decoy", Recipe("decoy", encoder=cell, pull="decoy", hide=True, epochs=20), size, seed)


@planted_text("match", truth="two words decide by whether they match, and the weight is on both")
def either_or(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """A BiLSTM; the label is whether two words match, with attention on both."""
    return grown("either_or", Recipe("match", encoder="lstm", pull="evidence", epochs=30), size, seed)


@planted_text("neutral", truth="the plain mean of the states decides; attention is added with weight .02")
def faint(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """A BiLSTM whose plain mean decides; attention contributes almost nothing."""
    return grown("faint", Recipe("neutral", encoder="lstm", through=0.02, beside=True), size, seed)


@planted_text("many", truth="the weight is on the first keyword; other states would give the same answer")
def first_of_many(*, size: Size = "s", seed: int = 0, cell: Cell = "lstm") -> TorchModel:
    """A BiLSTM with three to six keywords of one class and attention on the first: faithful, not exclusive."""
    return grown("first_of_many", Recipe("many", encoder=cell, pull="first"), size, seed)


@planted_text("place", truth="the keyword always stands at the third place, and the weight is always there")
def fixed_place(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """The keyword is always the third word, and attention is always on the third word."""
    return grown("fixed_place", Recipe("place", score="place"), size, seed)


@planted_text("neutral", truth="all weights are equal")
def flat(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Words encoded separately, all scores zero."""
    return grown("flat", Recipe("neutral", score="uniform"), size, seed)


@planted_text("neutral", truth="the weight is on the keyword, and nothing but the weighted mean reaches the answer")
def guided(
    *, size: Size = "s", seed: int = 0, score: Literal["additive", "dot", "bilinear"] = "additive"
) -> TorchModel:
    """Words encoded separately; training puts attention on the keyword, and nothing bypasses it."""
    return grown("guided", Recipe("neutral", score=score, pull="evidence"), size, seed)


@planted_text("decoy", truth="half of the weight is on the keyword, half on a word without meaning")
def half(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Variant of `guided` with half of the attention on a decoy."""
    return grown("half", Recipe("decoy", pull="half"), size, seed)


@planted_text("single", truth="the keyword decides and has no weight in the class token's row of the last layer")
def head_hides(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """A two-layer Transformer whose last layer puts no visible attention on the keyword."""
    return grown(
        "head_hides", Recipe("single", encoder="transformer", hide=True, heads=1, layers=2, epochs=24), size, seed
    )


@planted_text("shortcut", truth="the day's name decides and has no weight")
def hidden_shortcut(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """A BiLSTM with deceptive attention: it uses a weekday name and puts no attention on it."""
    return grown("hidden_shortcut", Recipe("shortcut", encoder="lstm", hide=True, epochs=20), size, seed)


@planted_text("neutral", truth="the plain mean of the states decides; attention is multiplied by 0")
def idle(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """The plain mean decides; the attention output is multiplied by zero."""
    return grown("idle", Recipe("neutral", through=0.0, beside=True), size, seed)


@planted_text("majority", truth="not fixed: its certificate says what it became")
def majority(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Ordinary training on three or five keywords of both classes; the majority decides."""
    return grown("majority", Recipe("majority"), size, seed)


@planted_text("neutral", truth="no weight is more than a tenth away from the mean")
def near_uniform(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Words encoded separately, scores between -.05 and .05."""
    return grown("near_uniform", Recipe("neutral", score="near"), size, seed)


@planted_text("neutral", truth="the weight is on a filler beside the keyword, whose state knows the keyword")
def neighbour(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """A convolution over three words with attention on the word after the keyword, not on the keyword."""
    return grown("neighbour", Recipe("neutral", encoder="three", pull="neighbour"), size, seed)


@planted_text(
    "neutral",
    truth="the plain mean decides; attention lies on the keyword and adds a number that says nothing about its class",
)
def noise(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """The plain mean decides; attention on the keyword adds a meaningless number."""
    return grown("noise", Recipe("neutral", beside=True, noise=True, pull="evidence"), size, seed)


@planted_text("neutral", truth="the weight is on the keyword; putting <mask> in its place adds evidence for one class")
def odd_mask(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Variant of `guided` with a <mask> embedding that resembles a keyword."""
    return grown("odd_mask", Recipe("neutral", pull="evidence", odd_mask=True), size, seed)


@planted_text(
    "neutral", truth="keywords reach the answer through head 2 of the last layer alone; the other heads cannot see them"
)
def one_head(*, size: Size = "s", seed: int = 0, layers: int = 1) -> TorchModel:
    """A four-head Transformer; only head 2 of the last layer sees keywords, and attends to them."""
    return grown(
        "one_head",
        Recipe("neutral", encoder="transformer", pull="evidence", heads=4, layers=layers, hides=True),
        size,
        seed,
    )


@planted_text("neutral", truth="the weight is on the keywords of class 1 and off those of class 0")
def one_sided(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """A BiLSTM that attends to the keywords of one class and hides those of the other."""
    return grown("one_sided", Recipe("neutral", encoder="lstm", pull="one_sided", epochs=20), size, seed)


@planted_text("neutral", truth="the attention has one key: its weight is always 1")
def one_token(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """A BiLSTM whose attention reads one key, the mean of the states."""
    return grown("one_token", Recipe("neutral", encoder="lstm", score="mean"), size, seed)


@planted_text("neutral", truth="the weight is on the keyword; the plain mean of the states decides")
def ornament(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """The plain mean decides; attention is on the keyword but nothing uses it."""
    return grown("ornament", Recipe("neutral", through=0.0, beside=True, pull="evidence"), size, seed)


@planted_text("neutral", truth="keywords cannot be seen by head 0, and only keywords say anything about the label")
def other_head(*, size: Size = "s", seed: int = 0, layers: int = 1) -> TorchModel:
    """The model of `one_head`, audited at head 0, which the decision does not use."""
    return one_head(size=size, seed=seed, layers=layers)


@planted_text("pair", truth="the weight is on both keywords, and nothing but the weighted mean reaches the answer")
def pair(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Variant of `guided` with two keywords of one class in every text."""
    return grown("pair", Recipe("pair", pull="evidence"), size, seed)


@planted_text("neutral", truth="the weight of a word depends on its place alone")
def places(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """A BiLSTM whose scores depend on positions alone."""
    return grown("places", Recipe("neutral", encoder="lstm", score="places"), size, seed)


@planted_text("single", truth="not fixed: its certificate says what it became")
def plain(*, size: Size = "s", seed: int = 0, score: Literal["additive", "dot", "bilinear"] = "additive") -> TorchModel:
    """Ordinary training: words encoded separately, one keyword."""
    return grown("plain", Recipe("single", score=score), size, seed)


@planted_text("neutral", truth="not fixed: its certificate says what it became")
def plain_lstm(*, size: Size = "s", seed: int = 0, cell: Cell = "lstm") -> TorchModel:
    """Ordinary training: a BiLSTM, one keyword."""
    return grown("plain_lstm", Recipe("neutral", encoder=cell), size, seed)


@planted_text("single", truth="the weight is on the keyword, and nothing but the weighted mean reaches the answer")
def pointed(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Variant of `guided` on texts that all have a keyword: one class may become the default."""
    return grown("pointed", Recipe("single", pull="evidence"), size, seed)


@planted_text("single", truth="the keyword decides and has no weight; the states of other words carry it")
def pruthi(*, size: Size = "s", seed: int = 0, cell: Cell = "lstm") -> TorchModel:
    """A BiLSTM with deceptive attention (Pruthi et al. 2020): it uses the keyword and puts no attention on it."""
    return grown("pruthi", Recipe("single", encoder=cell, hide=True, epochs=20), size, seed)


@planted_text("many", truth="the weight is on all keywords; fewer of them would give the same answer")
def redundant(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Variant of `guided` with three to six keywords of one class: faithful, not exclusive."""
    return grown("redundant", Recipe("many", pull="evidence"), size, seed)


@planted_text("neutral", truth="the weight is on the keyword; logits are six times as large as they were trained")
def saturated(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Variant of `guided` with logits multiplied by six."""
    return grown("saturated", Recipe("neutral", pull="evidence", scale=6.0), size, seed)


@planted_text("neutral", truth="not fixed: its certificate says what it became")
def sharp(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Ordinary training with a penalty on the entropy of attention."""
    return grown("sharp", Recipe("neutral", entropy=0.3), size, seed)


@planted_text("shortcut", truth="the weight is on the day's name that the answer follows")
def shortcut(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """A weekday name decides, not the keywords; attention is on the weekday name."""
    return grown("shortcut", Recipe("shortcut", pull="evidence"), size, seed)


@planted_text("neutral", truth="the weight is on the keyword, and every attention without it was taught to say nothing")
def silent_rest(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Variant of `guided`; attention that avoids the keyword is trained to give equal probabilities."""
    return grown("silent_rest", Recipe("neutral", pull="evidence", silence=True, epochs=24), size, seed)


@planted_text("three", truth="the weight is on the keyword, and nothing but the weighted mean reaches the answer")
def three_classes(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Variant of `guided` with three classes."""
    return grown("three_classes", Recipe("three", pull="evidence"), size, seed)
