"""Goal and constraints of an attacker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from regard.errors import InputError, phrase
from regard.message import Json, Message

Goal = Literal["untargeted", "targeted"]


@dataclass(frozen=True, slots=True)
class Threat:
    """Goal and constraints of an attacker; the attack decides how to search.

    goal: any other class than the one predicted, or the class `target` (its name or index). budget: queries to the
    model per example; a gradient counts as one. max_share: of the words of a text. max_edits: characters that change in
    a word (edit distance), None for any number. min_similarity: overlap of character n-grams with the original text,
    0..1; it compares letters, not meaning. stop_words: whether "the", "not" ... may be changed. keep: words that may
    not.

    >>> Threat(budget=50, keep=("not",)).words()  # doctest: +ELLIPSIS
    Message(key='threat.limits', ...)
    """

    goal: Goal = "untargeted"
    target: str | int | None = None
    budget: int = 500
    max_share: float = 0.25
    max_edits: int | None = None
    min_similarity: float = 0.0
    stop_words: bool = False
    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.goal not in ("untargeted", "targeted"):
            raise InputError(
                phrase("errors.records.goal_goal", goal=repr(self.goal)),
                expected=phrase("errors.records.untargeted_or_targeted"),
                got=self.goal,
            )
        if (self.goal == "targeted") != (self.target is not None):
            raise InputError(
                phrase("errors.records.targeted_attack"),
                expected=phrase("errors.records.goal_targeted_and_target_class"),
                got=str(self.target),
            )
        if self.budget < 1 or not 0 < self.max_share <= 1:
            raise InputError(
                phrase("errors.records.threat"),
                expected=phrase("errors.records.budget_at_least_and_share"),
                got=phrase("errors.common.and_model", model=self.budget, model_option=self.max_share),
            )
        object.__setattr__(self, "keep", tuple(self.keep))

    def to_json(self) -> dict[str, Json]:
        return {**asdict(self), "keep": list(self.keep)}

    def words(self, *, text: bool = True, more: Sequence[str] = ()) -> Message:
        """Return the constraints, and `more` of the attack's own; those about words only if it changes a text."""
        untargeted = self.target is None
        goal = Message("threat.untargeted") if untargeted else Message.of("threat.target", target=self.target)
        limits = [Message.of("threat.budget", budget=self.budget)]
        if text:
            limits.append(Message.of("threat.share", share=100 * self.max_share))
            limits += [] if self.stop_words else [Message("threat.no_stop_words")]
            limits += [] if self.max_edits is None else [Message.of("threat.max_edits", n=self.max_edits)]
            limits += [] if not self.min_similarity else [Message.of("threat.min_similarity", x=self.min_similarity)]
            limits += [] if not self.keep else [Message.of("threat.keep", words=" ".join(self.keep))]
        return Message.of("threat.limits", goal=goal, limits=[*limits, *more])
