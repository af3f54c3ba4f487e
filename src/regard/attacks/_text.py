"""A text under attack: its words, separators, and the changes that the threat allows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from regard.errors import Unsupported, phrase
from regard.measures.text_distance import edit_distance, ngram_overlap
from regard.models.read.words import word_spans
from regard.records import Example, Threat

Words = tuple[str, ...]
"""Words of a changed text, one for each word of the original; "" for a deleted word."""

_STOP = """a about above after again against all am an and any are as at be because been before being below between both
but by can cannot could couldn't did didn't do does doesn't doing don't down during each either few for from further had
hadn't has hasn't have haven't having he her here hers herself him himself his how i if in into is isn't it its itself
just me more most my myself neither no nor not now of off on once only or other our ours ourselves out over own same she
should shouldn't so some such than that the their theirs them themselves then there these they this those through to too
under until up very was wasn't we were weren't what when where which while who whom whose why will with won't would
wouldn't you your yours yourself yourselves"""
STOP_WORDS = frozenset(_STOP.split())


@dataclass(frozen=True)
class Text:
    """First text of an example, cut into words; `threat` holds the constraints."""

    example: Example
    threat: Threat

    @cached_property
    def original(self) -> str:
        text = self.example.inputs.get("text")
        if not isinstance(text, str):
            raise Unsupported(
                phrase("errors.attacks.text_attack_on_example", example=repr(self.example.id)),
                expected=phrase("errors.common.text"),
                got=", ".join(sorted(self.example.inputs)),
                remedy=phrase("errors.attacks.pgd_apgd_or_square_for_arrays"),
            )
        return text

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        return word_spans(self.original)

    @cached_property
    def words(self) -> Words:
        return tuple(self.original[a:b] for a, b in self.spans)

    @cached_property
    def most(self) -> int:
        """Maximum number of changed words, at least one."""
        return max(1, int(self.threat.max_share * len(self.words) + 1e-9))

    @cached_property
    def open(self) -> list[int]:
        """Changeable words: alphanumeric, no stop words, not protected."""
        protected = {word.casefold() for word in self.threat.keep}
        stops = frozenset[str]() if self.threat.stop_words else STOP_WORDS
        folded = [word.casefold().replace("\u2019", "'") for word in self.words]
        return [
            i
            for i, word in enumerate(folded)
            if any(map(str.isalnum, word)) and word not in protected and word not in stops
        ]

    def changed(self, words: Words) -> list[int]:
        """Return the positions of changed words."""
        return [i for i, (a, b) in enumerate(zip(self.words, words, strict=True)) if a != b]

    def allows(self, words: Words) -> bool:
        """Return whether a changed text satisfies every constraint."""
        places = self.changed(words)
        if len(places) > self.most or not set(places) <= set(self.open) or not any(words):
            return False
        limit = self.threat.max_edits
        if limit is not None and any(edit_distance(self.words[i], words[i]) > limit for i in places):
            return False
        least = self.threat.min_similarity
        return not least or self.similarity(words) >= least

    def similarity(self, words: Words) -> float:
        return ngram_overlap(self.original, self.written(words))

    def written(self, words: Words) -> str:
        """Return the text with these words; a deleted word takes the preceding space with it."""
        parts, end = list[str](), 0
        for (a, b), word in zip(self.spans, words, strict=True):
            between = self.original[end:a]
            parts.append((between if word or not between.isspace() else "") + word)
            end = b
        return ("".join(parts) + self.original[end:]).strip() if "" in words else "".join(parts) + self.original[end:]

    def origin(self, words: Words) -> tuple[int, ...]:
        """Return the original word index of each word of the changed text."""
        return tuple(i for i, word in enumerate(words) if word)

    def made(self, words: Words) -> Example:
        """Return the changed example under an id derived from its source and text."""
        return rewritten(self.example, self.written(words))


def rewritten(example: Example, text: str) -> Example:
    """Return the example with another first text and without the rationale of the old one."""
    mark = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return replace(
        example,
        id=f"{example.id}~{mark}",
        inputs={**example.inputs, "text": text},
        rationale=None,
        alignment=None,
        parent=example.parent or example.id,
    )


def with_word(words: Words, i: int, word: str) -> Words:
    return (*words[:i], word, *words[i + 1 :])


def texts(examples: Sequence[Example], threat: Threat) -> list[Text]:
    return [Text(example, threat) for example in examples]
