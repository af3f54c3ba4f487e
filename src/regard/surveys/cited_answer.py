"""The result of `cite`: an answer, the sources of its prompt, and the effect of each source on each sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, Literal

import numpy as np

from regard.cards import Card, HasCard
from regard.records import Floats, Message, encoded
from regard.registry import upstairs
from regard.store.blobs import write_result
from regard.store.frames import HasFrames
from regard.store.redaction import Redactor
from regard.surveys.citation_reliability import Reliability

Status = Literal["cite", "either", "traced", "none", "unclear"]
SCHEMA = "regard.cite/1"


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A source: its text and its spans (message, start, stop); `tokens` of the prompt belong to it.

    box: of a region of a picture, (top, left, bottom, right) in pixels; its text names the rows and columns.
    """

    text: str
    spans: tuple[tuple[int, int, int], ...]
    tokens: int
    box: tuple[int, int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """The best two sources together: the drops when both are hidden, and when both are deleted."""

    effect: float
    exact: float


@dataclass(frozen=True, slots=True)
class Alone:
    """Some sources as the only ones of the prompt, and the sentence straight after it.

    gain: by which its log-odds exceed those without any source, in nats. probability: of the words that the cited
    sources decide: the geometric mean over its tokens, weighted by the log-probability that deleting the cited sources
    costs each. word: probability of its most likely token among those that the sources make at least e^2 times as
    likely as no source does; 0 if there are none. sources: those of the prompt; the cited ones, or in company those of
    all sentences.
    """

    gain: float
    probability: float
    word: float
    sources: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Sources that were deleted together, because each matters to other sentences only.

    exact: the drop in nats, less what hiding the others costs this sentence.
    """

    sources: tuple[int, ...]
    exact: float


@dataclass(frozen=True, slots=True)
class Trace:
    """Path of a sentence to the prompt through earlier sentences of the answer.

    sentence: the one it depends on. path: all of them, from the one that cites the sources to `sentence`. sources: of
    the first. effect: drop in nats when the rows cannot see the tokens of `sentence` that come from the sources.
    exact: when the whole path and the sources are deleted. alone: with no source, and no other sentence before.
    """

    sentence: int
    path: tuple[int, ...]
    sources: tuple[int, ...]
    effect: float
    exact: float
    alone: Alone


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence of the answer; all effects are drops of its log-odds in nats.

    effects: for each source, when the answer's rows cannot see it (row knock-out); None if, among very many, it was
    hidden only together with others, and these mattered little. exact: when it is deleted and the prompt rendered
    again; None where that was not checked. whole: when all sources are deleted. pair: of the best two together,
    measured where neither alone is cited. group: of sources that were deleted together instead of one by one; only one
    of them matters to this sentence. alone: measured where the effects suffice for a citation. checked: False if the
    limit of passes was reached before the rule could decide; the status is then "unclear". cited: the sources to cite,
    by number from 0. trace: for a sentence without citation that depends on an earlier, cited one. repeats: for an
    unclear sentence, the earlier one of which it repeats a word from a source, and depends on it.
    """

    text: str
    start: int
    stop: int
    tokens: int
    log_odds: float
    log_probability: float
    effects: tuple[float | None, ...]
    exact: tuple[float | None, ...]
    whole: float
    pair: Pair | None
    group: Group | None
    alone: Alone | None
    checked: bool
    status: Status
    cited: tuple[int, ...]
    trace: Trace | None
    supported: bool
    repeats: int | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """Citation: the characters of the answer, the source (two for "either"), and the measured effects in nats.

    via: for "traced", the earlier sentences through which the source reached this one.
    """

    start: int
    stop: int
    sources: tuple[int, ...]
    status: Status
    effect: float
    exact: float
    via: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Requirements of a citation: `effect` (nats) of hiding and of deleting; alone, `gain`, `probability`, `word`."""

    effect: float
    gain: float
    probability: float
    word: float


@dataclass(frozen=True, slots=True, repr=False)
class CitedAnswer(HasFrames, HasCard):
    """An answer with citations.

    reliability: how often citations are wrong, measured on other prompts in the language of the answer, with these
    thresholds and causal models; None for others.
    contrast: the text that the answer, or its span, is compared with. ranking: "row_knock_out", or "leave_source_out"
    for models whose rows cannot be recomputed. ranking_passes: cost of the plain pass and the ranking, passes: of
    everything, both in positions computed / positions of the prompt. picture: height and width, where the sources are
    regions of a picture.
    """

    model: str
    answer: str
    generated: bool
    sources: tuple[CitedSource, ...]
    sentences: tuple[CitedSentence, ...]
    delta: float
    thresholds: Thresholds
    reliability: Reliability | None
    contrast: str | None
    ranking: str
    prompt_tokens: int
    ranking_passes: float
    passes: float
    notes: tuple[Message, ...]
    picture: tuple[int, int] | None = None

    @property
    def matrix(self) -> Floats:
        """(sentences, sources) effects in nats; NaN where a source was hidden only together with others."""
        return np.array([sentence.effects for sentence in self.sentences], np.float64)

    @property
    def supported(self) -> tuple[bool, ...]:
        """Return for every sentence whether hiding one source and deleting all of them each cost at least `delta`."""
        return tuple(sentence.supported for sentence in self.sentences)

    @property
    def citations(self) -> tuple[Citation, ...]:
        """All citations in the order of the answer."""
        return tuple(citation for sentence in self.sentences for citation in _citations(sentence))

    def records(self) -> list[dict[str, Any]]:
        """Build one dict per sentence of the answer: its result, the sources to cite, and the largest effect."""
        return [
            {
                "sentence": i,
                "text": sentence.text,
                "status": sentence.status,
                "sources": ", ".join(
                    str(c + 1) for c in (sentence.trace.sources if sentence.trace else sentence.cited)
                ),
                "effect": max((e for e in sentence.effects if e is not None), default=None),
                "log_probability": sentence.log_probability,
                "tokens": sentence.tokens,
            }
            for i, sentence in enumerate(self.sentences)
        ]

    def _card(self) -> Card:
        columns = ("status", "sources", "effect", "text")
        rows = [{name: record[name] for name in columns} for record in self.records()]
        facts: dict[str, Any] = {"sources": len(self.sources), "sentences": len(self.sentences), "answer": self.answer}
        return Card("CitedAnswer", self.model, facts, rows, len(rows))

    def redacted(self) -> CitedAnswer:
        """Return the result with placeholders for all words of answer and sources; numbers and spans stay."""
        redactor = Redactor([*(source.text for source in self.sources), self.answer, self.contrast or ""])
        return replace(
            self,
            answer=redactor.words(self.answer),
            sources=tuple(
                source if source.box else replace(source, text=redactor.words(source.text)) for source in self.sources
            ),
            sentences=tuple(replace(sentence, text=redactor.words(sentence.text)) for sentence in self.sentences),
            contrast=None if self.contrast is None else redactor.words(self.contrast),
        )

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **encoded(self), "citations": encoded(self.citations)}

    def save(self, path: str | Path) -> Path:
        """Write the result as .json or .html."""
        return write_result(path, self.to_json, self._page)

    def _page(self) -> str:
        return str(upstairs("citations_page")(self.to_json()))

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own, so that its style does not reach the notebook."""
        return f'<iframe sandbox srcdoc="{escape(self._page())}" width="100%" height="480" frameborder="0"></iframe>'


def _citations(sentence: CitedSentence) -> list[Citation]:
    if sentence.status == "either" and sentence.pair is not None:
        groups = [(sentence.cited, sentence.pair.effect, sentence.pair.exact)]
    elif sentence.trace is not None:
        groups = [(sentence.trace.sources, sentence.trace.effect, sentence.trace.exact)]
    else:
        effects, exact = sentence.effects, sentence.exact
        together = sentence.group.exact if sentence.group else 0.0
        groups = [
            ((c,), float(effects[c] or 0.0), together if exact[c] is None else float(exact[c] or 0.0))
            for c in sentence.cited
        ]
    return [
        Citation(
            start=sentence.start,
            stop=sentence.stop,
            sources=sources,
            status=sentence.status,
            effect=effect,
            exact=exact,
            via=sentence.trace.path if sentence.trace is not None else (),
        )
        for sources, effect, exact in groups
    ]
