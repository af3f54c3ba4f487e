"""`phrases`: short English sentences, translated to Chinese."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from regard.datasets.alignments import Piece, aligned
from regard.datasets.builtin._lexicon import lexicon
from regard.datasets.examples import Examples
from regard.datasets.generated import Draft, Drawn, generated, note, share
from regard.registry import method

T = TypeVar("T")
Tense = Literal["present", "past", "future"]
SHOWPIECE = "I love natural language processing"
WORDS = lexicon("phrases")


class Noun(NamedTuple):
    """A countable noun: both forms, and the measure word between a number and the noun."""

    one: str
    many: str
    chinese: str
    measure: str


class Verb(NamedTuple):
    """A verb: stem, third person, past, Chinese, and its kinds of objects; sort: action, wish or feeling."""

    stem: str
    third: str
    past: str
    chinese: str
    objects: tuple[str, ...]
    sort: str


NOUNS = {kind: tuple(Noun(*row) for row in rows) for kind, rows in WORDS.nouns.items()}
VERBS = tuple(Verb(*row) for row in WORDS.verbs)


@method("dataset", modality="text", licence="Apache-2.0", package="", real=False)
def phrases(
    *,
    split: str = "test",
    n: int = 2000,
    seed: int = 0,
    negation: float = 0.15,
    questions: float = 0.15,
    compound: float = 0.15,
) -> Examples:
    """Generated English sentences with the Chinese translation as label, and the word alignment.

    Chinese puts time and place before the verb, and a measure word between number and noun, so that words change
    places. negation, questions, compound (", but ..."): shares of sentences. Every Chinese character is linked; a
    measure word to the number and to the noun. "I love natural language processing" is always the first test sentence.

    >>> one = phrases(n=2)[0]
    >>> one.inputs["text"], one.label
    ('I love natural language processing', '我爱自然语言处理')
    >>> [(one.inputs["text"][a:b], one.label[c:d]) for a, b, c, d in one.alignment][:3]
    [('I', '我'), ('love', '爱'), ('natural', '自然')]
    """
    for name, value in (("negation", negation), ("questions", questions), ("compound", compound)):
        share(f"phrases.{name}", value)

    def draw(rng: np.random.Generator, number: int) -> Drawn:
        if number == 0 and split in ("test", "all"):
            return _drawn(showpiece(), "plain")
        kind = "plain"
        both = Both()
        if rng.random() < compound:
            kind = "compound"
            who = clause(both, rng)
            both.say(_one(rng, WORDS.links))
            clause(both, rng, besides=who)
        elif rng.random() < questions:
            kind = "question"
            clause(both, rng, question=True)
        elif rng.random() < negation:
            kind = "negation"
            clause(both, rng, negated=True)
        else:
            clause(both, rng)
        return _drawn(both, kind)

    items = generated("phrases", draw, split=split, n=n, seed=seed, settings=(negation, questions, compound))
    return Examples("phrases", items, (), (note("sentences", n, split=split, seed=seed, known="alignment"),))


@dataclass
class Both:
    """A sentence under construction: English words in their order, Chinese words in theirs."""

    english: list[Piece] = field(default_factory=list)
    chinese: list[Piece] = field(default_factory=list)

    def word(self, text: str) -> tuple[int, ...]:
        """Add an English word; return its index, for linking Chinese words to it."""
        self.english.append(Piece(text, (len(self.english),)))
        return (len(self.english) - 1,)

    def phrase(self, notation: str) -> list[Piece]:
        """Add the English words of a phrase; return the Chinese ones, for the caller to place."""
        pieces = []
        for pair in notation.split():
            english, _, chinese = pair.partition("=")
            key = self.word(english)
            if chinese:
                pieces.append(Piece(chinese, key))
        return pieces

    def say(self, notation: str) -> None:
        """Add a phrase at the same position in both languages."""
        if notation.startswith(","):
            self.chinese.append(Piece("，", self.word(",")))
            notation = notation[1:]
        self.chinese += self.phrase(notation)

    def texts(self) -> tuple[str, str, tuple[tuple[int, int, int, int], ...]]:
        spaced = [p for piece in self.english for p in ((Piece(" ") if piece.text not in ",?" else Piece("")), piece)]
        first = spaced[1]._replace(text=spaced[1].text[0].upper() + spaced[1].text[1:])
        return aligned([first, *spaced[2:]], self.chinese)


def showpiece() -> Both:
    """Build the example sentence of the documentation by the same grammar."""
    both = Both()
    for notation in (WORDS.subjects["I"], "love=爱", WORDS.fields[0]):
        both.say(notation)
    return both


def clause(
    both: Both, rng: np.random.Generator, *, negated: bool = False, question: bool = False, besides: str = ""
) -> str:
    """Add subject, verb, object, optional place and time: English S V O P T, Chinese S T (not, will) P V O.

    besides: an earlier subject to avoid. Returns the subject.
    """
    verb = _one(rng, VERBS)
    who: str = _one(rng, tuple(s for s in WORDS.subjects if s != besides and not (question and s in ("I", "we"))))
    tenses: tuple[Tense, ...] = ("present", "past", "future") if verb.sort == "action" else ("present",)
    tense = _one(rng, tenses)
    # habits are not denied: "every day ... not" is odd in both languages
    timed = verb.sort == "action" and rng.random() < 0.5 and not (negated and tense == "present")
    # "they read": only the time says that it is past
    timed |= tense == "past" and verb.past == verb.stem
    placed = verb.sort == "action" and rng.random() < 0.4
    asking: tuple[int, ...] = ()
    if question:
        asking = both.word(_helper(tense, who))
    both.say(WORDS.subjects[who])
    before, action = _verb(both, verb, tense, who, negated=negated, asking=asking)
    thing = _object(both, rng, _one(rng, verb.objects), definite=negated or verb.sort == "feeling")
    where = both.phrase(_one(rng, WORDS.places)) if placed else []
    when = both.phrase(_one(rng, WORDS.times[tense])) if timed else []
    both.chinese += [*when, *before, *where, *action, *thing]
    if question:
        mark = both.word("?")
        both.chinese += [Piece("吗", asking + mark), Piece("？", mark)]
    return who


def _helper(tense: Tense, who: str) -> str:
    return {"past": "did", "future": "will", "present": "do" if who in WORDS.plural else "does"}[tense]


def _verb(
    both: Both, verb: Verb, tense: Tense, who: str, *, negated: bool, asking: tuple[int, ...]
) -> tuple[list[Piece], list[Piece]]:
    """Add the English verb; return the Chinese words before the place, and the verb itself."""
    if not negated and not asking and tense != "future":
        form = verb.past if tense == "past" else verb.stem if who in WORDS.plural else verb.third
        key = both.word(form)
        return [], [Piece(verb.chinese, key)] + [Piece("了", key)] * (tense == "past")
    helper = asking or both.word(_helper(tense, who))
    no = both.word("not") if negated else ()
    key = both.word(verb.stem)
    if tense == "past" and negated:
        return [Piece("没", helper + no)], [Piece(verb.chinese, key)]
    if tense == "past":
        return [], [Piece(verb.chinese, key), Piece("了", helper)]
    before = [Piece("不", no)] if negated else []
    return before + [Piece("会", helper)] * (tense == "future"), [Piece(verb.chinese, key)]


def _object(both: Both, rng: np.random.Generator, kind: str, *, definite: bool) -> list[Piece]:
    if kind == "fields":
        return both.phrase(_one(rng, WORDS.fields))
    adjective = _one(rng, tuple(WORDS.adjectives[kind].split())) if rng.random() < 0.5 else ""
    if kind == "drinks":
        return both.phrase(f"{adjective} {_one(rng, WORDS.drinks)}")
    noun: Noun = _one(rng, NOUNS[kind])
    several = bool(rng.random() < 0.4)
    determiners = WORDS.several if several else WORDS.singular
    determiner = _one(rng, tuple(d for d in determiners if not (definite and d in WORDS.vague)))
    number: tuple[int, ...] = ()
    pieces = []
    if determiner:
        number = both.word(_article(determiner, adjective or noun.one))
        pieces.append(Piece(determiners[determiner], number))
    if determiners[determiner].endswith("的"):
        adjective = adjective.removesuffix("的")  # one is enough
    quality = both.phrase(adjective)
    key = both.word(noun.many if several else noun.one)
    if determiner in WORDS.counting:
        pieces.append(Piece(noun.measure, number + key))
    return [*pieces, *quality, Piece(noun.chinese, key)]


def _article(determiner: str, following: str) -> str:
    vowel = following[0] in "aeiou" and not following.startswith("use")
    return "an" if determiner == "a" and vowel else determiner


def _drawn(both: Both, kind: str) -> Drawn:
    def make() -> list[Draft]:
        text, label, links = both.texts()
        return [Draft({"text": text}, label, slices={"kind": kind}, alignment=links)]

    return Drawn("".join(piece.text for piece in both.chinese), make)


def _one(rng: np.random.Generator, choices: tuple[T, ...]) -> T:
    return choices[int(rng.integers(len(choices)))]
