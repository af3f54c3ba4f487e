"""Replacement of words from a source."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Script, chosen
from regard.perturbations.sources import Source
from regard.records import Example, Perturbed

_SHARES = (0.05, 0.1, 0.15, 0.25, 0.4)


def replaced(example: Example, severity: int, rng: Stream, source: Source, most: int) -> Perturbed:
    """Replace a share of the words that the source knows, each by one of its first `most` substitutes."""
    script = Script.of(example)
    options = {w: others for w, word in enumerate(script.words) if (others := source(word.lower())[:most])}
    changes = {}
    for w in chosen(list(options), severity, rng, len(script.words), _SHARES):
        changes[w] = like(script.words[w], options[w][rng.below(len(options[w]))])
    return script.with_words(changes)


def like(word: str, other: str) -> str:
    """Return the other word in the case of the word.

    >>> like("Good", "fine"), like("GOOD", "fine"), like("good", "fine"), like("I", "we")
    ('Fine', 'FINE', 'fine', 'We')
    """
    if word.isupper() and len(word) > 1:
        return other.upper()
    return other[:1].upper() + other[1:] if word[:1].isupper() else other
