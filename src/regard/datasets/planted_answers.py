"""Prompts with passages and an answer whose origin is known by construction: the truth for citations.

Kinds: single (one passage holds the answer), pair (two passages say the same in other words), distractor (another
passage has the same person and another value of the same sort), sentences (an answer of two sentences, each from its
own passage), two_hop (one passage names the person, another the value), long (an answer of four sentences from their
own passages, and one that comes from none); and answers that come from no passage: memory (world knowledge), question
(the answer is in the question), unrelated (an answer that appears nowhere).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from regard.errors import InputError, UnknownName, phrase
from regard.measures.keyed_random import keyed_rng

KINDS = ("single", "pair", "distractor", "sentences", "two_hop", "long", "memory", "question", "unrelated")
COPIED = frozenset(KINDS[:6])
"""Kinds with an answer from a passage."""
LONG = 4
"""Number of sentences of a long answer that come from a passage."""


@dataclass(frozen=True, slots=True)
class PlantedAnswer:
    """A chat, the passages in it, an answer (after `prefix`), and for each sentence the passages it comes from."""

    kind: str
    language: str
    messages: tuple[Mapping[str, str], ...]
    passages: tuple[str, ...]
    prefix: str
    answer: str
    gold: tuple[frozenset[int], ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """Type of fact; {n} is a person, {v} a value. again: the same fact in other words. other: a near miss."""

    fact: str
    again: str
    other: str
    question: str
    prefix: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of one language."""

    names: tuple[str, ...]
    topics: tuple[Topic, ...]
    fillers: tuple[str, ...]
    world: tuple[tuple[str, str, str], ...]
    """(question, beginning of the answer, answer)"""
    friend: str
    """Person described through another one."""
    bridge: str
    """Passage that names the friend {m} of {n}."""
    ask: str
    between: str
    before: str
    """Words before a value that continues a prefix."""


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split())


_ENGLISH = Wording(
    names=_listed(
        "Anna Bert Clara David Emma Felix Grace Henry Irene Jonas Karen Louis Maria Nils Olga Peter Rosa Simon Tina "
        "Victor Wanda Yusuf Zoe Amir Bianca Carlos Diana Edgar Fiona Gustav"
    ),
    topics=(
        Topic(
            fact="{n} lives in {v}.",
            again="The home of {n} is a small flat in {v}.",
            other="The sister of {n} lives in {v}.",
            question="In which city does {n} live?",
            prefix="{n} lives in",
            values=_listed("Vienna Oslo Lima Cairo Seoul Madrid Dublin Athens Lisbon Warsaw Prague Berlin Tokyo Delhi"),
        ),
        Topic(
            fact="{n} plays the {v}.",
            again="Every evening the neighbours hear the {v} of {n}.",
            other="The brother of {n} plays the {v}.",
            question="Which instrument does {n} play?",
            prefix="{n} plays the",
            values=_listed("piano guitar violin flute trumpet drums harp cello organ clarinet"),
        ),
        Topic(
            fact="{n} works as a {v}.",
            again="By profession {n} is a {v}.",
            other="The mother of {n} works as a {v}.",
            question="What is the job of {n}?",
            prefix="{n} works as a",
            values=_listed("nurse lawyer baker teacher pilot farmer painter plumber judge tailor"),
        ),
        Topic(
            fact="{n} keeps a {v} at home.",
            again="The pet of {n} is a {v}.",
            other="The uncle of {n} keeps a {v} at home.",
            question="Which animal does {n} keep?",
            prefix="{n} keeps a",
            values=_listed("cat dog horse parrot rabbit snake goat turtle hamster pig"),
        ),
    ),
    fillers=(
        "The weather was fine that week.",
        "Nobody remembers the exact date.",
        "The meeting took place on a Monday.",
        "There was little traffic in the street.",
        "The letter arrived two days later.",
        "It was the first warm day of the year.",
        "The shop at the corner was closed.",
        "Everybody agreed in the end.",
    ),
    world=(
        ("What is the capital of France?", "The capital of France is", "Paris"),
        ("What is the capital of Italy?", "The capital of Italy is", "Rome"),
        ("What is the capital of China?", "The capital of China is", "Beijing"),
        ("What is the capital of England?", "The capital of England is", "London"),
        ("What is the largest planet?", "The largest planet is", "Jupiter"),
        ("What do bees make?", "Bees make", "honey"),
        ("What color is the sky on a clear day?", "On a clear day the sky is", "blue"),
        ("Which season comes after winter?", "After winter comes", "spring"),
        ("What is frozen water called?", "Frozen water is called", "ice"),
        ("On which continent is Kenya?", "Kenya is in", "Africa"),
        ("Which star is closest to the Earth?", "The star closest to the Earth is the", "Sun"),
        ("What is the opposite of hot?", "The opposite of hot is", "cold"),
    ),
    friend="the best friend of {n}",
    bridge="{m} is the best friend of {n}.",
    ask="Read these notes and answer the question.",
    between=" ",
    before=" ",
)

_CHINESE = Wording(
    names=(
        "王芳",
        "李强",
        "张敏",
        "刘洋",
        "陈静",
        "杨磊",
        "赵丽",
        "黄勇",
        "周娜",
        "吴军",
        "徐燕",
        "孙涛",
        "马超",
        "朱琳",
    ),
    topics=(
        Topic(
            fact="{n}住在{v}。",
            again="{n}的家是{v}的一间小公寓。",
            other="{n}的姐姐住在{v}。",
            question="{n}住在哪个城市？",
            prefix="{n}住在",
            values=("北京", "上海", "广州", "成都", "南京", "武汉", "西安", "杭州", "天津", "重庆"),
        ),
        Topic(
            fact="{n}的职业是{v}。",
            again="{n}做{v}已经很多年了。",
            other="{n}的母亲的职业是{v}。",
            question="{n}的职业是什么？",
            prefix="{n}的职业是",
            values=("护士", "律师", "教师", "农民", "画家", "法官", "司机", "医生"),
        ),
    ),
    fillers=("那一周天气很好。", "没有人记得具体的日期。", "会议在星期一举行。", "街上的车很少。", "信两天后才到。"),
    world=(
        ("法国的首都是哪里？", "法国的首都是", "巴黎"),
        ("日本的首都是哪里？", "日本的首都是", "东京"),
        ("蜜蜂酿什么？", "蜜蜂酿", "蜂蜜"),
        ("冬天之后是什么季节？", "冬天之后是", "春天"),
    ),
    friend="{n}最好的朋友",
    bridge="{n}最好的朋友是{m}。",
    ask="请阅读下面的笔记并回答问题。",
    between="",
    before="",
)
WORDINGS: Mapping[str, Wording] = MappingProxyType({"en": _ENGLISH, "zh": _CHINESE})
_LAYOUTS: tuple[Callable[[Sequence[str]], str], ...] = (
    lambda passages: "\n".join(f"- {passage}" for passage in passages),
    "\n\n".join,
    lambda passages: "\n".join(f"[{i + 1}] {passage}" for i, passage in enumerate(passages)),
)


def planted_answers(
    kind: str, *, n: int = 20, seed: int = 0, language: str = "en", passages: tuple[int, int] = (5, 8)
) -> list[PlantedAnswer]:
    """Return `n` prompts of one kind; passages: minimum and maximum per prompt.

    >>> (one,) = planted_answers("single", n=1)
    >>> (source,) = one.gold[0]
    >>> one.answer.strip() in one.passages[source], all(p in one.messages[0]["content"] for p in one.passages)
    (True, True)
    """
    if kind not in KINDS:
        raise UnknownName(phrase("errors.datasets.kind_planted_answer"), kind, KINDS)
    if language not in WORDINGS:
        raise UnknownName(phrase("errors.datasets.language_planted_answers"), language, WORDINGS)
    if n < 1 or not 3 <= passages[0] <= passages[1] <= 10:
        raise InputError(
            "planted_answers",
            expected=phrase("errors.datasets.three_to_ten_passages"),
            got=f"n={n}, passages={passages}",
        )
    rng = keyed_rng(seed, "planted_answers", kind, language)
    return [_drawn(kind, language, rng, passages) for _ in range(n)]


def _drawn(kind: str, language: str, rng: np.random.Generator, sizes: tuple[int, int]) -> PlantedAnswer:
    words = WORDINGS[language]
    topic = words.topics[int(rng.integers(len(words.topics)))]
    size = min(int(rng.integers(sizes[0], sizes[1] + 1)), len(topic.values) - 1)
    names = [str(name) for name in rng.permutation(words.names)[: size + 1]]
    values = [str(value) for value in rng.permutation(topic.values)[: size + 1]]
    facts = [topic.fact.format(n=name, v=value) for name, value in zip(names[:size], values[:size], strict=True)]
    subject_index = int(rng.integers(size))
    subject, value = names[subject_index], values[subject_index]
    gold: tuple[frozenset[int], ...] = (frozenset({subject_index}),)
    question, prefix = topic.question.format(n=subject), topic.prefix.format(n=subject)
    answer = words.before + value
    other = (subject_index + 1 + int(rng.integers(size - 1))) % size
    if kind == "pair":
        facts[other] = topic.again.format(n=subject, v=value)
        gold = (frozenset({subject_index, other}),)
    elif kind == "distractor":
        facts[other] = topic.other.format(n=subject, v=values[other])
    elif kind == "sentences":
        answer = words.between.join((facts[subject_index], facts[other]))
        question, prefix = words.between.join((question, topic.question.format(n=names[other]))), ""
        gold = (frozenset({subject_index}), frozenset({other}))
    elif kind == "two_hop":
        stranger = names[size]
        friend = words.friend.format(n=stranger)
        facts[other] = words.bridge.format(n=stranger, m=subject)
        question, prefix = topic.question.format(n=friend), topic.prefix.format(n=friend)
        prefix = prefix[:1].upper() + prefix[1:]
        gold = (frozenset({subject_index, other}),)
    elif kind == "long":
        order = [int(i) for i in rng.permutation(size)[: min(LONG, size)]]
        place = int(rng.integers(1, len(order) + 1))
        stated = [facts[i] for i in order]
        stated.insert(place, topic.fact.format(n=names[size], v=values[size]))
        origins = [frozenset({i}) for i in order]
        origins.insert(place, frozenset())
        people = [names[i] for i in order]
        people.insert(place, names[size])
        question = words.between.join(topic.question.format(n=name) for name in people)
        prefix, answer, gold = "", words.between.join(stated), tuple(origins)
    elif kind == "question":
        stranger = names[size]
        question = words.between.join(
            (topic.fact.format(n=stranger, v=values[size]), topic.question.format(n=stranger))
        )
        prefix, answer, gold = topic.prefix.format(n=stranger), words.before + values[size], (frozenset(),)
    elif kind == "unrelated":
        answer, gold = words.before + values[size], (frozenset(),)
    elif kind == "memory":
        question, prefix, value = words.world[int(rng.integers(len(words.world)))]
        answer, gold = words.before + value, (frozenset(),)
    fillers = [str(filler) for filler in rng.choice(words.fillers, size)]
    passages = tuple(words.between.join(pair) for pair in zip(facts, fillers, strict=True))
    listing = _LAYOUTS[int(rng.integers(len(_LAYOUTS)))](passages)
    content = f"{words.ask}\n\n{listing}\n\n{question}"
    messages: tuple[dict[str, Any], ...] = ({"role": "user", "content": content},)
    return PlantedAnswer(
        kind=kind, language=language, messages=messages, passages=passages, prefix=prefix, answer=answer, gold=gold
    )
