"""The inputs that an audit covered: lengths, predicted classes, scripts and vocabulary; and warnings outside of them.

An input is outside by language if it has letters of a script that no audited text has, or if fewer of its words occur
in the audited texts than is usual there: below the 1 % quantile, over the audited texts, of the share of a text's words
that occur in another one.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.judge.margins import FEWEST
from regard.records import Message
from regard.store.redaction import WORD

FEWEST_TEXTS = 20
"""Audited texts that determine the usual share of known words."""
FEWEST_WORDS = 3
"""Minimum words of an input to compare its share of known words."""
RARE = 0.01


@dataclass(frozen=True, slots=True)
class AuditedRange:
    """Audited range. lengths: fewest, most units. classes: predictions by class. words: None without texts."""

    lengths: tuple[int, int] | None
    classes: Mapping[str, int]
    scripts: frozenset[str]
    words: frozenset[str] | None
    least_known: float

    @staticmethod
    def of(examples: Sequence[Mapping[str, Any]]) -> AuditedRange:
        """Return the range of the examples of a run."""
        sizes = [sum(not special for special in e["units"]["special"]) for e in examples if e.get("units")]
        classes = Counter(str(e["predicted"]) for e in examples if e.get("predicted") is not None)
        texts = [text for e in examples if (text := _text(e.get("inputs") or {}))]
        bags = [words_of(text) for text in texts]
        counts = Counter(word for bag in bags for word in bag)
        shares = [np.mean([counts[word] > 1 for word in bag]) for bag in bags if len(bag) >= FEWEST_WORDS]
        return AuditedRange(
            lengths=(min(sizes), max(sizes)) if sizes else None,
            classes=dict(classes),
            scripts=frozenset(script for text in texts for script in scripts_of(text)),
            words=frozenset(counts) if len(texts) >= FEWEST_TEXTS else None,
            least_known=float(np.quantile(shares, RARE)) if len(shares) >= FEWEST_TEXTS else 0.0,
        )

    def outside(self, inputs: Mapping[str, Any], length: int, predicted: str) -> list[tuple[str, Message]]:
        """Yield (code, sentence) for each way in which an input lies outside."""
        warnings = []
        if self.lengths is not None and not self.lengths[0] <= length <= self.lengths[1]:
            low, high = self.lengths
            warnings.append(("length", Message.of("serve.outside.length", n=length, low=low, high=high)))
        if self.classes and self.classes.get(predicted, 0) < FEWEST:
            n = self.classes.get(predicted, 0)
            warnings.append(("class", Message.of("serve.outside.class", name=predicted, n=n, fewest=FEWEST)))
        text = _text(inputs)
        if text and self.scripts:
            others = sorted(scripts_of(text) - self.scripts)
            share = self._known_share(text)
            if others:
                warnings.append(("language", Message.of("serve.outside.script", scripts=others)))
            elif share is not None and share < self.least_known:
                numbers = {"share": round(100 * share), "least": round(100 * self.least_known)}
                warnings.append(("language", Message.of("serve.outside.words", **numbers)))
        return warnings

    def _known_share(self, text: str) -> float | None:
        words = words_of(text)
        if self.words is None or len(words) < FEWEST_WORDS:
            return None
        return sum(word in self.words for word in words) / len(words)


def words_of(text: str) -> frozenset[str]:
    """Distinct words of a text, in lower case.

    >>> sorted(words_of("A dull, dull film."))
    ['a', 'dull', 'film']
    """
    return frozenset(match.group().casefold() for match in WORD.finditer(text))


def scripts_of(text: str) -> frozenset[str]:
    """The scripts of the letters of a text, by the first word of their Unicode names.

    >>> sorted(scripts_of("a film, 电影, фильм 12"))
    ['CJK', 'CYRILLIC', 'LATIN']
    """
    letters: Iterable[str] = {c for c in text if c.isalpha()}
    return frozenset(name.split()[0] for c in letters if (name := unicodedata.name(c, "")))


def _text(inputs: Mapping[str, Any]) -> str:
    return " ".join(value for name in ("text", "text_pair") if isinstance(value := inputs.get(name), str))
