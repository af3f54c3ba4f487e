"""Models from networks with weights set by hand: word tables, readers, and the certificate by intervention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from torch import Tensor, nn

from regard.datasets.builtin.planted_texts import Size
from regard.datasets.builtin.planted_wired import (
    CLASS_KEYS,
    CUES,
    DIGITS,
    OVERRIDES,
    TRIGGERS,
    WiredTask,
    fillers,
    hotel_words,
    planted_wired,
    vocabulary_words,
)
from regard.datasets.examples import Examples
from regard.measures.keyed_random import keyed_rng
from regard.models.adapter import TorchModel, Traits
from regard.models.open.huggingface import task_row
from regard.models.read.text import Alphabet, TextReader, Tokens
from regard.networks.vocabulary import MASK, PAD, SPECIALS, UNK, Vocabulary
from regard.planted.wiring.certificate import Marked, certificate
from regard.records import Example, Json

OTHER_TEXTS = 500
"""Offset of the certificate's seed, so that its texts appear in no audit."""
TEXTS = 400


@dataclass(frozen=True)
class Plan:
    """Input of a wired model: task and settings of its texts; lead: with a class token in front."""

    task: WiredTask
    size: Size
    seed: int
    classes: int = 2
    lead: bool = False
    more: tuple[tuple[str, Json], ...] = ()

    @property
    def texts(self) -> dict[str, Json]:
        """Settings of the data set `planted_wired`."""
        return {"task": self.task, "size": self.size, "classes": self.classes, **dict(self.more)}

    def draw(self, n: int, seed: int) -> Examples:
        return planted_wired(n=n, seed=seed, **self.texts)  # type: ignore[arg-type]

    def loudness(self, words: int) -> np.ndarray:
        """Return (words,) a number between 0 and 1 for each word, by the seed."""
        return keyed_rng(self.seed, "wired", self.task).random(words).astype(np.float32)


def plan_of(model: TorchModel) -> Plan | None:
    """Return the input plan of a wired model; None for any other model."""
    about = model.traits.config
    texts = about.get("wired")
    if not isinstance(texts, dict):
        return None
    more = tuple((k, v) for k, v in texts.items() if k not in ("task", "size", "classes"))
    return Plan(
        task=texts["task"],  # type: ignore[arg-type]
        size=texts["size"],  # type: ignore[arg-type]
        seed=int(str(about["seed"])),
        classes=int(str(texts["classes"])),
        lead=bool(about["lead"]),
        more=more,
    )


@cache
def vocabulary(task: WiredTask, size: Size) -> Vocabulary:
    return Vocabulary((*SPECIALS, *vocabulary_words(task, size)))


def decisive(plan: Plan) -> list[list[int]]:
    """Return the token ids of the decisive words, by class; for pairs, by polarity."""
    words = vocabulary(plan.task, plan.size).words
    lists: dict[str, Sequence[Sequence[str]]] = {
        "cue": CUES,
        "trigger": TRIGGERS,
        "steps": [(digit,) for digit in DIGITS[: plan.classes]],
        "mixture": [(*keys, *overrides) for keys, overrides in zip(CLASS_KEYS[:2], OVERRIDES, strict=True)],
        "classes": CLASS_KEYS[: plan.classes],
    }
    return [[words.index(w) for w in some] for some in lists.get(plan.task, CLASS_KEYS[:2])]


def numbers(plan: Plan, words: Sequence[str]) -> list[int]:
    vocabulary_words = vocabulary(plan.task, plan.size).words
    return [vocabulary_words.index(w) for w in words]


def tokens_of(plan: Plan, text: str, pair: str | None) -> Tokens:
    """Cut a text, or a pair of texts, into words; in `steps` the first word is special."""
    words = vocabulary(plan.task, plan.size)
    ids, spans = words.encode(text)
    names = [text[a:b] for a, b in spans]
    part = [0] * len(ids)
    if pair is not None:
        more, places = words.encode(pair)
        ids, spans, part = [*ids, *more], [*spans, *places], [*part, *[1] * len(more)]
        names += [pair[a:b] for a, b in places]
    special = [plan.task == "steps" and at == 0 for at in range(len(ids))]
    if special and special[0]:
        spans = [(0, 0), *spans[1:]]
    if plan.lead:
        ids, spans, part = [len(words), *ids], [(0, 0), *spans], [0, *part]
        names, special = ["<class>", *names], [True, *special]
    types = np.array(part, np.int64)
    return Tokens(
        ids=np.array(ids, np.int64),
        spans=tuple(spans),
        special=np.array(special, bool),
        part=types,
        names=tuple(names),
        types=types,
    )


def wired(network: nn.Module, name: str, plan: Plan, labels: Sequence[str], *, rough: float = 0.0) -> TorchModel:
    """Wrap a network over the words of `planted_wired`. rough: irregularity of its weights, for the certificate."""
    words = vocabulary(plan.task, plan.size)
    plain = np.arange(len(SPECIALS), len(SPECIALS) + len(DIGITS[: plan.classes]))
    if plan.task != "steps":
        plain = np.arange(len(SPECIALS), len(words))
    reader = TextReader(
        lambda text, pair: tokens_of(plan, text, pair),
        Alphabet(PAD, MASK, UNK, plain, unknown=UNK),
        maskable=False,
        kind="word",
    )
    about: dict[str, Json] = {
        "planted": name,
        "wired": plan.texts,
        "seed": plan.seed,
        "lead": plan.lead,
        "rough": rough,
    }
    return TorchModel(
        network.eval(),
        reader,
        task_row("classification"),
        name=f"planted:{name}",
        labels=labels,
        traits=Traits(
            pooling="auto" if plan.task == "steps" else "class",
            class_id=len(words) if plan.lead else None,
            config=about,
        ),
        embedding=network.get_submodule("embedding"),
        call=_call,
    )


def _call(module: nn.Module, tensors: Mapping[str, Tensor]) -> Tensor:
    logits: Tensor = module(tensors["input_ids"], tensors["attention_mask"].bool(), tensors["token_type_ids"])
    return logits


def wired_certificate(model: TorchModel, n: int = TEXTS) -> dict[str, Any]:
    """Intervene on the model with the generator's knowledge: accuracy, need, swaps, weight on the evidence."""
    plan = plan_of(model)
    assert plan is not None
    data = plan.draw(n, plan.seed + OTHER_TEXTS)
    texts = [_marked(plan, example) for example in data]
    rng = keyed_rng(0, "wired certificate")
    facts = certificate(model.module, texts, decisive(plan), _neutral(plan), rng=rng)
    return {**facts, "rough": bool(model.traits.config["rough"])}


def _marked(plan: Plan, example: Example) -> Marked:
    pair = example.inputs.get("text_pair")
    tokens = tokens_of(plan, str(example.inputs["text"]), None if pair is None else str(pair))
    starts = {int(place[0]) for place in example.rationale or ()}
    evidence = [a in starts and not s for (a, _), s in zip(tokens.spans, tokens.special, strict=True)]
    if plan.task == "pairs":
        words = {number for some in decisive(plan) for number in some}
        evidence = [int(token) in words for token in tokens.ids]
    return Marked(
        tokens=tokens.ids,
        types=tokens.part,
        free=~tokens.special,
        evidence=np.array(evidence),
        label=int(str(example.label)),
        part=example.slices.get("route", ""),
    )


def _neutral(plan: Plan) -> list[int]:
    """Return the ids that replace evidence: fillers, or <mask> if every word carries information."""
    if plan.task == "steps":
        return [MASK]
    return numbers(plan, hotel_words() if plan.task == "trigger" else fillers(plan.size))
