"""Error rates of citations, as `benchmarks.citations` measured them with the thresholds of `citation_rule`."""

from __future__ import annotations

from dataclasses import dataclass

from regard.measures.intervals import wilson


@dataclass(frozen=True, slots=True)
class Share:
    """k of n, with the Wilson interval of the share at 95 %."""

    k: int
    n: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """Errors on planted prompts of one language ("en", "zh") whose truth is known.

    false: sentences that come from no source, and were cited. wrong: citations that name a source the sentence does not
    come from. natural: answers from memory to everyday questions that were written by hand, and were cited
    (`benchmarks.natural_citations`).
    """

    model: str
    language: str
    prompts: int
    false: Share
    wrong: Share
    natural: Share


def share(k: int, n: int) -> Share:
    """Return k of n with its interval.

    >>> share(0, 180).high
    0.021
    """
    low, high = wilson(k, n)
    return Share(k, n, round(float(low), 3), round(float(high), 3))


MEASURED = {
    "en": Reliability(
        model="SmolLM2-135M-Instruct",
        language="en",
        prompts=300,
        false=share(1, 160),
        wrong=share(0, 356),
        natural=share(0, 24),
    ),
    "zh": Reliability(
        model="SmolLM2-135M-Instruct",
        language="zh",
        prompts=72,
        false=share(0, 56),
        wrong=share(0, 162),
        natural=share(0, 24),
    ),
}
"""Error rates by language of the answer.

English: seed 82, Chinese: seed 83; answers of one to five sentences in both languages. Both were measured before a
citation needed a decisive word, which takes citations away; a smaller run of today's rule (seed 84) agrees. Everyday
questions: the part "test", under the rule of today.
"""


def measured_reliability(answer: str) -> Reliability | None:
    """Return the error rates for the language of an answer; None if they were not measured.

    >>> measured_reliability("王芳住在北京。").language, measured_reliability("Она живёт в Риме.")
    ('zh', None)
    """
    return MEASURED.get(answer_language(answer))


def answer_language(answer: str) -> str:
    """Return "zh", "en" (any text in Latin letters) or "", by the letters of an answer.

    >>> answer_language("王芳住在北京。"), answer_language("Rome"), answer_language("Она живёт в Риме.")
    ('zh', 'en', '')
    """
    letters = [letter for letter in answer if letter.isalpha()]
    chinese = sum("\u4e00" <= letter <= "\u9fff" for letter in letters)
    latin = sum(letter <= "\u024f" for letter in letters)
    if any("\u3040" <= letter <= "\u30ff" for letter in letters):
        return ""  # Japanese
    return "zh" if 2 * chinese > len(letters) else "en" if 2 * latin >= len(letters) else ""
