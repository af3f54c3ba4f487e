"""`aspects`: hotel reviews with mixed opinions per aspect."""

from __future__ import annotations

import re

import numpy as np

from regard.datasets.builtin._lexicon import lexicon
from regard.datasets.examples import Examples
from regard.datasets.generated import Draft, Drawn, generated, note, share
from regard.datasets.marked import sentence, silent, unmarked
from regard.datasets.splits import normalised
from regard.errors import InputError, phrase
from regard.registry import method

ASPECTS = ("location", "cleanliness", "price")
WORDS = lexicon("aspects")


@method("dataset", modality="text", licence="Apache-2.0", package="", real=False)
def aspects(
    *,
    split: str = "test",
    n: int = 1200,
    seed: int = 0,
    opinions: int = 1,
    distractors: int = 1,
    fillings: int = 2,
    negation: float = 0.15,
) -> Examples:
    """Generated hotel reviews with opinions on location, cleanliness and price; the second text names the aspect.

    Label = the sentiment on that aspect, negative (0) or positive (1); rationale = the words that express it, so that
    one review (a group of three examples) has three labels and three rationales. opinions: clauses per aspect, all of
    the same sentiment. distractors: opinions on other things (breakfast, noise). fillings: clauses without opinion.
    negation: share of negated opinions ("the price was anything but dreadful").

    >>> data = aspects(n=3)
    >>> [(e.inputs["text_pair"], data.labels[e.label]) for e in data]
    [('location', 'negative'), ('cleanliness', 'negative'), ('price', 'negative')]
    """
    share("aspects.negation", negation)
    most = len(WORDS.others[0])
    if not 1 <= opinions <= 4 or not 0 <= distractors <= most or not 0 <= fillings <= len(WORDS.fillings):
        expected = phrase("errors.datasets.opinions_distractors_fillings", most=most, n=len(WORDS.fillings))
        problem = f"opinions={opinions}, distractors={distractors}, fillings={fillings}"
        raise InputError("aspects", expected=expected, got=problem)

    def draw(rng: np.random.Generator, number: int) -> Drawn:
        labels = [number >> i & 1 for i in range(len(ASPECTS))]
        clauses: list[tuple[int, str]] = []
        for about, label in enumerate(labels):
            clauses += [(about, text) for text in _opinions(rng, ASPECTS[about], label, opinions, negation)]
        for i in rng.permutation(most)[:distractors]:
            clauses.append((-1, WORDS.others[int(rng.integers(2))][i]))
        clauses += [(-1, _filled(rng, WORDS.fillings[i])) for i in rng.permutation(len(WORDS.fillings))[:fillings]]
        order = [clauses[i] for i in rng.permutation(len(clauses))]
        joints = [WORDS.joints[i] if rng.random() < 0.3 else "" for i in rng.integers(4, size=len(order))]

        def make() -> list[Draft]:
            drafts = []
            for question, aspect in enumerate(ASPECTS):
                sentences = [text if about == question else silent(text) for about, text in order]
                text, spans = unmarked(_paragraph(sentences, joints))
                mixed = "agree" if len(set(labels)) == 1 else "differ"
                inputs = {"text": text, "text_pair": aspect}
                drafts.append(Draft(inputs, labels[question], spans, {"aspect": aspect, "opinions": mixed}))
            return drafts

        home = normalised(silent(" ".join(text for _, text in sorted(clauses))))
        return Drawn(home, make, group=f"review {split}-{number:05d}")

    settings = (opinions, distractors, fillings, negation)
    items = generated("aspects", draw, split=split, n=n, seed=seed, settings=settings)
    provenance = note("questions", n, split=split, seed=seed, known="deciding")
    return Examples("aspects", items, ("negative", "positive"), (provenance,))


def _opinions(rng: np.random.Generator, aspect: str, label: int, count: int, negation: float) -> list[str]:
    """Return clauses on one aspect, with the decisive words in brackets."""
    order = rng.permutation(len(WORDS.opinions[aspect][label]))
    clauses = []
    for i in order[:count]:
        if rng.random() < 0.5:
            clauses.append(f"[{_filled(rng, WORDS.opinions[aspect][label][i])}]")
            continue
        term = WORDS.terms[aspect][int(rng.integers(len(WORDS.terms[aspect])))]
        turned = bool(rng.random() < negation)
        verdicts = WORDS.verdicts[1 - label if turned else label]
        verdict = verdicts[int(rng.integers(len(verdicts)))]
        before = WORDS.negations[int(rng.integers(len(WORDS.negations)))] + " " if turned else ""
        clauses.append(f"the [{term}] was [{before}{verdict}]")
    return clauses


def _filled(rng: np.random.Generator, text: str) -> str:
    return re.sub(r"\{(\w+)\}", lambda m: WORDS.slots[m[1]][int(rng.integers(len(WORDS.slots[m[1]])))], text)


def _paragraph(clauses: list[str], joints: list[str]) -> str:
    """Join clauses into sentences; a joint ties a clause to the preceding one."""
    sentences: list[str] = []
    for clause, joint in zip(clauses, joints, strict=True):
        if joint and sentences:
            sentences[-1] += joint + clause
        else:
            sentences.append(clause)
    return " ".join(sentence([text]) for text in sentences)
