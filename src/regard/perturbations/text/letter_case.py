"""Wrong letter case."""

from __future__ import annotations

from typing import Literal

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Script, chosen
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(modality="text", family="character", scale="5, 10, 20, 35, 50 % of the words in other case")
def letter_case(
    example: Example, severity: int, rng: Stream, *, style: Literal["any", "upper", "lower", "title", "one"] = "any"
) -> Perturbed:
    """Change the case of some words: upper, lower, title, or one letter.

    style: "upper", "lower", "title", "one", or "any" (drawn for each word). A model that reads small letters only
    sees nothing of it: a change of 0 is then the right answer.
    """
    script = Script.of(example)
    options = {w: variants for w, word in enumerate(script.words) if (variants := _written(word, style))}
    changes = {}
    for w in chosen(list(options), severity, rng, len(script.words)):
        changes[w] = options[w][rng.below(len(options[w]))]
    return script.with_words(changes, kept=True)


def _written(word: str, style: str) -> list[str]:
    """Return other spellings of a word with the same letters."""
    middle = len(word) // 2
    by_style = {
        "upper": word.upper(),
        "lower": word.lower(),
        "title": word.capitalize(),
        "one": word[:middle] + word[middle].swapcase() + word[middle + 1 :],
    }
    variants = by_style.values() if style == "any" else [by_style.get(style, word)]
    return sorted({new for new in variants if new != word and len(new) == len(word)})
