"""Result of an answer audit: the record, its JSON, and the one read from a directory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.audits.answers.evidence import PromptEvidence, Texts, line_shape
from regard.audits.answers.summary import Trust, conclude
from regard.cards import Card, HasCard
from regard.errors import Incomplete, InputError, phrase
from regard.files import read_json
from regard.judge.citation_trust import MARGINS
from regard.message import decoded
from regard.records import Text, encoded
from regard.registry import upstairs
from regard.store.blobs import write_result
from regard.store.record_lines import whole_lines
from regard.store.redaction import Redactor
from regard.store.shapes import COUNT, TEXT, WHOLE, Mismatch, listed, record

if TYPE_CHECKING:
    pass


SCHEMA = "regard.answers/1"
LINES = "answers.jsonl"
RESULT = "audit.json"
HEAD_SHAPE = record(
    {"model": TEXT, "data": TEXT, "available": COUNT, "seed": WHOLE, "effort": record({"methods": listed(TEXT)})}
)
"""Keys of the first line of `answers.jsonl` that a resumed audit reads."""


@dataclass(frozen=True, slots=True, repr=False)
class AnswerAudit(HasCard):
    """Result of an answer audit.

    status: "settled", "budget" (spent), "data" (all prompts measured) or "interrupted". n: measured prompts, of
    `available`. looks: planned looks. passes: total cost, in passes over a prompt. problems: prompts that could not be
    measured, with the reason.
    """

    path: Path
    model: str
    data: str
    seed: int
    status: str
    n: int
    available: int
    looks: tuple[int, ...]
    passes: float
    trust: Trust
    prompts: tuple[PromptEvidence, ...]
    problems: Mapping[str, Text]
    facts: Mapping[str, Any]

    def _card(self) -> Card:
        facts = {"model": self.model, "data": self.data, "status": self.status, "prompts": self.n, "of": self.available}
        return Card("AnswerAudit", str(self.path), facts)

    def to_json(self) -> dict[str, Any]:
        """Return everything except the measured prompts, which are in `answers.jsonl`."""
        facts: dict[str, Any] = _finite(
            {
                "schema": SCHEMA,
                "run": str(self.path),
                "model": self.model,
                "data": self.data,
                "seed": self.seed,
                "status": self.status,
                "n": self.n,
                "available": self.available,
                "looks": list(self.looks),
                "passes": round(self.passes, 2),
                "margins": MARGINS,
                **encoded(self.trust),
                "problems": encoded(self.problems),
                "examples": self._examples(),
                **self.facts,
            }
        )
        return facts

    def redacted(self) -> AnswerAudit:
        """Return the result with placeholders for all words of answers and sources."""
        known = [prompt.texts for prompt in self.prompts if prompt.texts is not None]
        redactor = Redactor(text for texts in known for text in (*texts.sources, texts.answer))

        def hidden(texts: Texts | None) -> Texts | None:
            if texts is None:
                return None
            return Texts(redactor.words(texts.answer), tuple(redactor.words(source) for source in texts.sources))

        return replace(
            self,
            prompts=tuple(replace(prompt, texts=hidden(prompt.texts)) for prompt in self.prompts),
            problems={name: redactor.message(message) for name, message in self.problems.items()},
        )

    def save(self, path: str | Path) -> Path:
        """Write the result as .json or .html."""
        return write_result(path, self.to_json, lambda: str(upstairs("answer_audit_page")(self.to_json())))

    def _examples(self, most: int = 3) -> list[dict[str, Any]]:
        """Prompts where the attention map names another source than the one that carries the answer."""
        picture = next((m.method for m in self.trust.methods if m.role == "picture" and m.share is not None), None)
        examples: list[dict[str, Any]] = []
        for prompt in self.prompts:
            if picture is None or prompt.texts is None or picture not in prompt.scores or not prompt.effects.used:
                continue
            scores, effects = prompt.scores[picture], prompt.effects.alone
            first, best = scores.index(max(scores)), int(effects.argmax())
            if effects[first] < effects[best] / 2:
                examples.append(
                    {
                        "prompt": prompt.id,
                        "answer": prompt.texts.answer,
                        "named": prompt.texts.sources[first],
                        "named_effect": float(effects[first]),
                        "best": prompt.texts.sources[best],
                        "best_effect": float(effects[best]),
                    }
                )
        return sorted(examples, key=lambda e: e["named_effect"] - e["best_effect"])[:most]


def read_answer_audit(path: Path) -> AnswerAudit:
    """Read an answer audit, finished or not, and judge its prompts by the current rules."""
    remedy = phrase("errors.store.remove_that_line_prompt_measured")
    lines = whole_lines(path / LINES, line_shape, remedy)
    if not lines:
        raise InputError(
            phrase("errors.audits.audit_path", path=path),
            expected=phrase("errors.audits.file_with_lines", lines=LINES),
            got=phrase("errors.common.none"),
        )
    head = lines[0]
    try:
        HEAD_SHAPE(head, "")
    except Mismatch as error:
        subject = phrase("errors.audits.file_line_field", path=path / LINES, place=error.place)
        raise InputError(subject, expected=error.expected, got=error.got) from error
    prompts = tuple(PromptEvidence.from_json(line) for line in lines[1:] if line["kind"] == "prompt")
    if not prompts:
        raise Incomplete(
            phrase("errors.audits.audit_path", path=path),
            expected=phrase("errors.audits.at_least_one_measured_prompt"),
            got=phrase("errors.common.none"),
        )
    plans = [line for line in lines[1:] if line["kind"] == "plan"]
    looks = tuple(plans[-1]["looks"]) if plans else ()
    methods: Sequence[str] = head["effort"]["methods"]
    trust = conclude(prompts, methods, looks, seed=head["seed"])
    at_a_look = len(prompts) in looks and trust.settled
    finished = "settled" if at_a_look else "data" if len(lines) - 1 - len(plans) >= head["available"] else "interrupted"
    stored = read_json(path / RESULT) if (path / RESULT).is_file() else {}
    spent = isinstance(stored, dict) and stored.get("status") == "budget" and stored.get("n") == len(prompts)
    return AnswerAudit(
        path=path,
        model=head["model"],
        data=head["data"],
        seed=head["seed"],
        status="budget" if spent else finished,
        n=len(prompts),
        available=head["available"],
        looks=looks,
        passes=sum(prompt.cost for prompt in prompts),
        trust=trust,
        prompts=prompts,
        problems={line["id"]: decoded(line["message"]) for line in lines[1:] if line["kind"] == "problem"},
        facts={"effort": head["effort"]},
    )


def _finite(value: Any) -> Any:
    """Replace NaN by null, since JSON has no NaN."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value
