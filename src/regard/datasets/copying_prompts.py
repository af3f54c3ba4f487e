"""Prompts for the planted answer models: short passages of a name and a city, a question, and the rule of the answer.

Rules: asked (the city beside the asked name), first (the city of the first passage), memory (a city that belongs to
the asked name, whatever the passages say).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from regard.datasets.answer_prompts import AnswerPrompt
from regard.errors import InputError, UnknownName, phrase
from regard.measures.keyed_random import keyed_rng

Rule = Literal["asked", "first", "memory"]
RULES: tuple[Rule, ...] = ("asked", "first", "memory")


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NAMES = _words("Anna Bert Clara David Emma Felix Grace Henry Irene Jonas Karen Louis Maria Nils Olga Peter")
CITIES = _words("Rome Oslo Lima Cairo Seoul Madrid Dublin Athens Lisbon Warsaw Prague Berlin Tokyo Delhi Paris Quito")
MEMORY = {name: CITIES[(7 * i + 3) % len(CITIES)] for i, name in enumerate(NAMES)}
"""City that the rule "memory" answers."""


def copying_prompts(
    rule: Rule, *, n: int = 40, seed: int = 0, passages: tuple[int, int] = (4, 6)
) -> list[AnswerPrompt]:
    """Return `n` prompts whose answer follows a rule; passages: minimum and maximum per prompt.

    >>> (one,) = copying_prompts("asked", n=1)
    >>> one.answer.strip() in one.sources[one.truth[0]], copying_prompts("memory", n=1)[0].truth
    (True, ())
    """
    if rule not in RULES:
        raise UnknownName("rule", rule, RULES)
    if n < 1 or not 2 <= passages[0] <= passages[1] <= len(NAMES):
        raise InputError(
            "copying_prompts", expected=phrase("errors.datasets.above_passages", n=len(NAMES)), got=f"{n}, {passages}"
        )
    rng = keyed_rng(seed, "copying_prompts")
    return [_prompt(rule, str(i + 1), rng, passages) for i in range(n)]


def _prompt(rule: Rule, number: str, rng: np.random.Generator, sizes: tuple[int, int]) -> AnswerPrompt:
    size = int(rng.integers(sizes[0], sizes[1] + 1))
    names, cities = (rng.permutation(words)[:size].tolist() for words in (NAMES, CITIES))
    target = int(rng.integers(size))
    facts = [f"{name} {city}." for name, city in zip(names, cities, strict=True)]
    answer = {"asked": cities[target], "first": cities[0], "memory": MEMORY[names[target]]}[rule]
    return AnswerPrompt(
        id=f"{rule}-{number}",
        messages=[{"role": "user", "content": "\n".join(facts) + f"\n\n{names[target]}?"}],
        answer=f" {answer}",
        sources=facts,
        prefix=f" {names[target]}",
        truth={"asked": (target,), "first": (0,), "memory": ()}[rule],
    )
