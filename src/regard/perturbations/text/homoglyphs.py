"""Look-alike letters of other alphabets."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Script, chosen
from regard.records import Example, Perturbed
from regard.registry import perturbation

LOOK_ALIKE = dict(zip("aceopxyisjhdqwABCEHIJKMOPSTXYZvugnrb", "асеорхуіѕјһԁԛԝАВСЕНІЈКМОРЅТХУΖνսցոгЬ", strict=True))
"""Latin letters and their look-alikes in Cyrillic, Greek or Armenian."""


@perturbation(
    modality="text",
    family="character",
    scale="one look-alike in 5, 10, 20, 35, 50 % of the words",
    misleads="people see no change at all; a drop shows that the tokenizer does",
)
def homoglyphs(example: Example, severity: int, rng: Stream, *, whole: bool = False) -> Perturbed:
    """Replace one letter of some words by a look-alike from another alphabet.

    whole: every letter that has one, not only one. Reference: Boucher et al. 2022 (bad characters).
    """
    script = Script.of(example)
    able = [w for w, word in enumerate(script.words) if any(char in LOOK_ALIKE for char in word)]
    changes = {}
    for w in chosen(able, severity, rng, len(script.words)):
        word = script.words[w]
        at = [i for i, char in enumerate(word) if char in LOOK_ALIKE]
        hit = set(at) if whole else {at[rng.below(len(at))]}
        changes[w] = "".join(LOOK_ALIKE[char] if i in hit else char for i, char in enumerate(word))
    return script.with_words(changes)
