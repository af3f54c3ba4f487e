"""Measurements of one prompt: exact effects of deleting sources, and the scores of every method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regard.audits.answers.changes import changed_prompt
from regard.datasets.answer_prompts import AnswerPrompt
from regard.errors import InputError, RegardError, Text, Unsupported, phrase
from regard.judge.citation_trust import ExactEffects
from regard.measures.agreement import spearman
from regard.measures.source_metrics import ExactAnswers, curve_sets, drawn_subsets, ranking, soft_subsets
from regard.message import decoded
from regard.models.ask.chat_model import ChatModel
from regard.models.chat.answer_case import AnswerCase
from regard.models.chat.conversation import Conversation
from regard.models.chat.prompt_reader import PromptReader, prompt_text, split_answer
from regard.models.chat.sources import Source, find_sources
from regard.records import Bools, Floats, Spec, encoded
from regard.registry import build
from regard.store.shapes import ANYTHING, COUNT, NUMBER, TEXT, choice, listed, optional, record, row, table
from regard.store.stored_shapes import WORDS


@dataclass(frozen=True, slots=True)
class Effort:
    """Amount of work per prompt: depth of the curves of every method, random subsets, draws of soft metrics.

    depth: 0 for none, None for all sources. changes: prompt changes after which every method runs again.
    """

    methods: tuple[str, ...]
    depth: int | None
    subsets: int
    draws: int
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Texts:
    """Words of a prompt that reports show."""

    answer: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AfterChange:
    """Ranking of a method after a change of the prompt, compared with the one before.

    same: the first source is unchanged. injected: the first source is the injected one. agreement: Spearman correlation
    over the old sources, NaN if a ranking is constant.
    """

    same: bool
    injected: bool
    agreement: float


@dataclass(frozen=True, slots=True)
class PromptEvidence:
    """Measurements of one prompt. scores, passes: by method. exact: (deleted sources, log-odds, token probability).

    depth: of the curves of every method, None for all sources. subsets: kept sources of random draws. soft: by method,
    deleted sources of draws for soft sufficiency. skipped: the reason by method or
    change. changes: by change and method. cost: passes over the prompt for everything together.
    """

    id: str
    count: int
    tokens: int
    answer_tokens: int
    generated: bool
    scores: Mapping[str, tuple[float, ...]]
    passes: Mapping[str, float]
    exact: tuple[tuple[tuple[int, ...], float, float], ...]
    depth: int | None
    subsets: tuple[tuple[int, ...], ...]
    soft: Mapping[str, tuple[tuple[int, ...], ...]]
    truth: tuple[int, ...] | None
    skipped: Mapping[str, Text]
    changes: Mapping[str, Mapping[str, AfterChange]]
    cost: float
    texts: Texts | None = None

    def to_json(self) -> dict[str, Any]:
        changes = {
            change: {
                name: [a.same, a.injected, None if np.isnan(a.agreement) else a.agreement] for name, a in own.items()
            }
            for change, own in self.changes.items()
        }
        return {"kind": "prompt", **encoded(self), "changes": changes}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> PromptEvidence:
        texts = value["texts"]
        return PromptEvidence(
            id=value["id"],
            count=value["count"],
            tokens=value["tokens"],
            answer_tokens=value["answer_tokens"],
            generated=value["generated"],
            scores={name: tuple(map(float, scores)) for name, scores in value["scores"].items()},
            passes={name: float(passes) for name, passes in value["passes"].items()},
            exact=tuple((tuple(deleted), float(nats), float(p)) for deleted, nats, p in value["exact"]),
            depth=value["depth"],
            subsets=tuple(map(tuple, value["subsets"])),
            soft={name: tuple(map(tuple, draws)) for name, draws in value["soft"].items()},
            truth=None if value["truth"] is None else tuple(value["truth"]),
            skipped={name: decoded(reason) for name, reason in value["skipped"].items()},
            changes={
                change: {name: AfterChange(part[0], part[1], _nan(part[2])) for name, part in methods.items()}
                for change, methods in value["changes"].items()
            },
            cost=float(value["cost"]),
            texts=None if texts is None else Texts(texts["answer"], tuple(texts["sources"])),
        )

    @property
    def table(self) -> ExactAnswers:
        return ExactAnswers(
            self.count,
            {frozenset(deleted): nats for deleted, nats, _ in self.exact},
            {frozenset(deleted): p for deleted, _, p in self.exact},
        )

    @property
    def effects(self) -> ExactEffects:
        table = self.table
        return ExactEffects(table.effects, table.whole)

    @property
    def kept(self) -> tuple[Bools, Floats]:
        """(draws, sources): kept sources of the random subsets; and (draws,): their log-odds."""
        nats = self.table.nats
        every = range(self.count)
        kept = np.array([[c in subset for c in every] for subset in self.subsets], np.bool_).reshape(-1, self.count)
        return kept, np.array([nats[frozenset(every) - frozenset(subset)] for subset in self.subsets])


_NUMBERS = listed(COUNT)
PROMPT_SHAPE = record(
    {
        "kind": choice("prompt"),
        "id": TEXT,
        "count": COUNT,
        "tokens": COUNT,
        "answer_tokens": COUNT,
        "generated": ANYTHING,
        "scores": table(listed(NUMBER)),
        "passes": table(NUMBER),
        "exact": listed(row(_NUMBERS, NUMBER, NUMBER)),
        "depth": optional(COUNT),
        "subsets": listed(_NUMBERS),
        "soft": table(listed(_NUMBERS)),
        "truth": optional(_NUMBERS),
        "skipped": table(WORDS),
        "changes": table(table(row(ANYTHING, ANYTHING, optional(NUMBER)))),
        "cost": NUMBER,
        "texts": optional(record({"answer": TEXT, "sources": listed(TEXT)})),
    }
)
PROBLEM_SHAPE = record({"kind": choice("problem"), "id": TEXT, "message": WORDS})
PLAN_SHAPE = record({"kind": choice("plan"), "budget": TEXT, "looks": listed(COUNT), "passes": optional(NUMBER)})


def line_shape(value: Any, place: str) -> None:
    """Validate a line of `answers.jsonl` after the first."""
    shapes = {"prompt": PROMPT_SHAPE, "problem": PROBLEM_SHAPE}
    kind = value.get("kind") if isinstance(value, Mapping) else None
    shapes.get(str(kind), PLAN_SHAPE)(value, place)


def open_case(chat: ChatModel, prompt: AnswerPrompt, *, seed: int, new_tokens: int) -> tuple[AnswerCase, bool]:
    """Return the prompt with its answer, and whether the model wrote that answer."""
    _, answer = split_answer(prompt.messages, prompt.answer)
    text, sources = opened_sources(chat, prompt)
    if len(sources) < 2:
        raise InputError(
            phrase("errors.common.prompt_prompt", prompt=prompt.id),
            expected=phrase("errors.audits.at_least_two_sources"),
            got=str(len(sources)),
        )
    if prompt.truth and max(prompt.truth) >= len(sources):
        raise InputError(
            phrase("errors.audits.source_prompt", prompt=prompt.id),
            expected=phrase("errors.common.at_most", n=len(sources) - 1),
            got=f"{prompt.truth}",
        )
    reader = PromptReader(chat, text, sources, prompt.prefix)
    return AnswerCase(reader, reader.answer(answer, new_tokens), seed=seed), answer is None


def opened_sources(chat: ChatModel, prompt: AnswerPrompt) -> tuple[Conversation, list[Source]]:
    """Return the text of a prompt and its sources; runs no model."""
    messages, _ = split_answer(prompt.messages, prompt.answer)
    text = prompt_text(chat, messages, prompt.documents)
    return text, find_sources(text, prompt.sources, prompt.separator)[0]


NEW_TOKENS = 64
"""Maximum tokens of an answer that the model writes itself."""


def foreign_source(chat: ChatModel, prompts: Sequence[AnswerPrompt], prompt: AnswerPrompt) -> str | None:
    """Return the first source of the next prompt that has one; None if no other prompt has one."""
    place = next(i for i, other in enumerate(prompts) if other.id == prompt.id)
    for other in [*prompts[place + 1 :], *prompts[:place]]:
        with suppress(RegardError):
            return opened_sources(chat, other)[1][0].text
    return None


def measured_prompt(
    chat: ChatModel, prompt: AnswerPrompt, effort: Effort, *, seed: int, text: bool = True, foreign: str | None = None
) -> PromptEvidence:
    """Run every method on one prompt and measure the exact effects that judge them. foreign: a source to inject."""
    case, generated = open_case(chat, prompt, seed=seed, new_tokens=NEW_TOKENS)
    count = case.count
    measuring = _Measuring(case, effort)
    measuring.exact([[], range(count), *([number] for number in range(count))])
    measuring.methods()
    measuring.subsets()
    cost = case.rows.passes
    for name in effort.changes:
        cost += measuring.after_change(name, prompt, foreign)
    return PromptEvidence(
        id=prompt.id,
        count=count,
        tokens=len(case.reader.ids),
        answer_tokens=len(case.reply.ids),
        generated=generated,
        scores=measuring.scores,
        passes=measuring.passes,
        exact=tuple((tuple(sorted(deleted)), *values) for deleted, values in measuring.answers.items()),
        depth=effort.depth,
        subsets=tuple(measuring.kept),
        soft=measuring.soft,
        truth=prompt.truth,
        skipped=measuring.skipped,
        changes=measuring.changes,
        cost=round(cost, 4),
        texts=Texts(case.reply.text, tuple(source.text for source in case.reader.sources)) if text else None,
    )


@dataclass(slots=True)
class _Measuring:
    """Measurements of one prompt, filled step by step."""

    case: AnswerCase
    effort: Effort
    answers: dict[frozenset[int], tuple[float, float]] = field(default_factory=dict)
    scores: dict[str, tuple[float, ...]] = field(default_factory=dict)
    passes: dict[str, float] = field(default_factory=dict)
    skipped: dict[str, Text] = field(default_factory=dict)
    soft: dict[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    kept: list[tuple[int, ...]] = field(default_factory=list)
    changes: dict[str, dict[str, AfterChange]] = field(default_factory=dict)

    def exact(self, sets: Iterable[Iterable[int]]) -> None:
        for deleted in map(frozenset, sets):
            if deleted not in self.answers:
                nats = float((self.case.base - self.case.deletion(*deleted))[0])
                self.answers[deleted] = (nats, float(self.case.mean_probability(deleted)[0]))

    def methods(self) -> None:
        """Run every method, then measure the curves of its ranking."""
        depth = self.case.count if self.effort.depth is None else self.effort.depth
        for name in self.effort.methods:
            try:
                with self.case.metered() as meter:
                    scores = np.asarray(build(Spec.parse("citer", name))(self.case)[0], np.float64)
            except Unsupported as problem:
                self.skipped[name] = problem.message
                continue
            if scores.shape != (self.case.count,) or not np.isfinite(scores).all():
                raise InputError(
                    phrase("errors.common.method_name", name=name),
                    expected=phrase("errors.audits.finite_score_for_every_source"),
                    got=str(scores),
                )
            self.scores[name], self.passes[name] = tuple(map(float, scores)), round(meter.passes, 4)
            if depth:
                self.exact(curve_sets(ranking(scores), depth))
            if self.effort.draws:
                draws = soft_subsets(scores, self.effort.draws, self.case.rng("soft", name))
                self.exact([*draws[0], *draws[1]])
                self.soft[name] = tuple(tuple(sorted(deleted)) for deleted in draws[0])

    def subsets(self) -> None:
        """Measure random subsets, drawn independently of those that a method may fit on."""
        every = frozenset(range(self.case.count))
        kept = drawn_subsets(self.case.count, self.effort.subsets, self.case.rng("lds"))
        self.kept = [tuple(int(c) for c in np.flatnonzero(row)) for row in kept]
        self.exact(every - frozenset(subset) for subset in self.kept)

    def after_change(self, change: str, prompt: AnswerPrompt, foreign: str | None) -> float:
        """Run every method again after a change; return the cost in passes."""
        try:
            changed = changed_prompt(change, prompt, self.case, foreign)
            case, _ = open_case(self.case.reader.chat, changed.prompt, seed=self.case.seed, new_tokens=1)
        except (Unsupported, InputError) as problem:
            self.skipped[change] = problem.message
            return 0.0
        origin = np.array(changed.origin)
        old = origin >= 0
        self.changes[change] = {}
        for name, before in self.scores.items():
            after = np.asarray(build(Spec.parse("citer", name))(case)[0], np.float64)
            x, y = np.array(before)[origin[old]], after[old]
            self.changes[change][name] = AfterChange(
                same=bool(origin[int(np.argmax(after))] == first_source(before)),
                injected=bool(origin[int(np.argmax(after))] < 0),
                agreement=float(spearman(x, y)) if np.ptp(x) > 0 and np.ptp(y) > 0 else float("nan"),
            )
        return case.rows.passes


def _nan(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def first_source(scores: Sequence[float]) -> int:
    """Index of the source with the highest score; the first of ties."""
    return int(np.argmax(scores))
