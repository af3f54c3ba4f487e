"""`audit(..., task="answer")`: run every method on prompts, in rounds, until its verdict is settled.

The directory of an answer audit holds `answers.jsonl` (one line per measured prompt, from which a stopped audit goes
on), `audit.json` (the result), `tables/*.parquet` and, from the command line, `report.html`.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from regard.audits.answers.changes import CHANGES
from regard.audits.answers.evidence import Effort, PromptEvidence, foreign_source, line_shape, measured_prompt
from regard.audits.answers.prompt_source import prompt_texts, prompts_of
from regard.audits.answers.result import LINES, RESULT, SCHEMA, AnswerAudit
from regard.audits.answers.summary import Trust, change_rows, conclude, metric_rows, prompt_rows, score_rows
from regard.audits.budget import Budget
from regard.audits.options import AuditOptions
from regard.audits.resolve import open_model
from regard.audits.torch_threads import threads_for, torch_threads
from regard.datasets.answer_prompts import AnswerPrompt
from regard.errors import Incomplete, InputError, RegardError, UnknownName, phrase
from regard.files import slug
from regard.judge.citation_trust import planned_looks
from regard.measures.keyed_random import keyed_rng
from regard.message import decoded
from regard.models.ask.chat_model import chat_model
from regard.protocols import Model
from regard.records import Message, Spec, Text, encoded
from regard.registry import arguments, names
from regard.store.export import write_tables
from regard.store.ledger import canonical
from regard.store.manifest import command, now, versions
from regard.store.record_lines import RecordLines
from regard.store.redaction import Redactor

if TYPE_CHECKING:
    pass

FIRST_LOOK = 16
"""Prompts before the first look at the verdicts."""
OPTIONS = frozenset(
    "profile budget seed limit explainers experiments text resume device task download allow_code".split()  # noqa: SIM905
)
"""Audit options that answer audits use; others raise an error."""
PILOT = 4
"""Prompts to time before planning how many to measure."""
_USUAL = ("row_knock_out", "gradient_contributions", "leave_source_out", "attention", "random", "last_source")
EFFORTS: Mapping[str, Effort] = MappingProxyType(
    {
        "quick": Effort(("row_knock_out", "attention", "random"), depth=0, subsets=0, draws=0),
        "standard": Effort(_USUAL, depth=2, subsets=12, draws=0),
        "full": Effort(tuple(names("citer")), depth=None, subsets=24, draws=8, changes=CHANGES),
    }
)
"""Profile -> measurements per prompt."""
_PROMPT_COLUMNS = (
    "prompt sources:int tokens:int answer_tokens:int generated:bool best_effect:float best_source:int "
    "whole_effect:float used:bool passes:float"
)
_TABLES = {
    "prompts": (_PROMPT_COLUMNS, prompt_rows),
    "scores": ("prompt method source:int score:float rank:int exact:float truth:bool", score_rows),
    "metrics": ("prompt method metric value:float better used:bool", metric_rows),
    "changes": ("prompt change method same:bool injected:bool agreement:float used:bool", change_rows),
}
Progress = Callable[[int, int, float | None], None]


def answer_audit(
    model: str | Model,
    data: str | Path | Sequence[Any] | None = None,
    *,
    out: str | Path | None = None,
    options: AuditOptions | None = None,
    progress: Progress | None = None,
    announce: Callable[[Text], None] | None = None,
    command_line: Sequence[str] | None = None,
) -> AnswerAudit:
    """Judge methods that rank sources on the prompts of a .jsonl file or list.

    Of `options`, `explainers` names the methods (`regard list citer`) and `experiments` the changes of prompts that
    citations must survive (`audits.answers.changes`); `profile`, `budget`, `limit`, `seed`, `text`,
    `resume` and `device` have their usual meaning. Call it again with the same arguments to continue a stopped audit.
    """
    options = options or AuditOptions(task="answer")
    effort = effort_of(options)
    prompts, data_name = prompts_of(model, data, options.seed)
    order = keyed_rng(options.seed, "answer_audit", len(prompts)).permutation(len(prompts))
    chosen = [prompts[i] for i in order][: options.limit]
    folder_data = str(data) if isinstance(data, str | Path) else "prompts"
    place = Path(out) if out else answer_folder(model, folder_data, options)
    if not options.resume and (place / LINES).exists():
        raise InputError(
            f"--out {place}",
            expected=phrase("errors.audits.new_directory"),
            got=phrase("errors.audits.audit"),
            remedy=phrase("errors.audits.resume_or_another_out"),
        )
    live = open_model(model, options.device, trust_remote_code=options.allow_code, download=options.download)
    chat = chat_model(live)
    identity = {
        "schema": SCHEMA,
        "model": live.name,
        "fingerprint": live.fingerprint,
        "data": data_name,
        "prompts": hashlib.sha256(canonical([encoded(prompt) for prompt in chosen]).encode()).hexdigest(),
        "available": len(chosen),
        "seed": options.seed,
        "effort": encoded(effort),
        "text": options.text,
    }
    facts = {
        "command": list(command_line or command()),
        "versions": versions(),
        "started": now(),
        "effort": encoded(effort),
    }
    with RecordLines(place / LINES, identity, line_shape) as lines, torch_threads(threads_for(live, 1)):
        redactor = None if options.text else Redactor(text for prompt in chosen for text in prompt_texts(prompt))

        def measure(prompt: AnswerPrompt) -> dict[str, Any]:
            try:
                foreign = foreign_source(chat, chosen, prompt) if effort.changes else None
                evidence = measured_prompt(chat, prompt, effort, seed=options.seed, text=options.text, foreign=foreign)
            except RegardError as problem:
                message = problem.message if redactor is None else redactor.message(problem.message)
                return {"kind": "problem", "id": prompt.id, "message": encoded(message)}
            return evidence.to_json()

        rounds = _Rounds(
            lines=lines,
            prompts=chosen,
            methods=effort.methods,
            budget=options.limits,
            seed=options.seed,
            measure=measure,
            progress=progress,
            announce=announce,
        )
        try:
            rounds.run()
        except KeyboardInterrupt:
            if rounds.measured:
                _write(rounds.result(place, live.name, data_name, facts, interrupted=True))
            raise
        if not rounds.measured:
            problem = next(iter(rounds.problems.values()), "")
            raise Incomplete(
                phrase("errors.audits.audit_live", live=live.name),
                expected=phrase("errors.audits.at_least_one_measured_prompt"),
                got=problem,
            )
        return _write(rounds.result(place, live.name, data_name, facts))


def effort_of(options: AuditOptions) -> Effort:
    """Return the measurements per prompt; methods named in the options replace those of the profile."""
    for item in fields(options):
        if item.name not in OPTIONS and getattr(options, item.name) != item.default:
            raise InputError(
                phrase("errors.audits.option_item", item=item.name),
                expected=phrase("errors.audits.option_answer_audits"),
                got=phrase("errors.audits.one_other_tasks"),
                remedy=phrase("errors.audits.drop"),
            )
    if options.profile_name not in EFFORTS:
        raise InputError("profile", expected=", ".join(EFFORTS), got=options.profile_name)
    effort = EFFORTS[options.profile_name]
    if options.experiments is not None:
        for change in options.experiments:
            if change not in CHANGES:
                raise UnknownName(phrase("errors.audits.change_prompts"), str(change), CHANGES)
        effort = replace(effort, changes=tuple(map(str, options.experiments)))
    if options.explainers is None:
        return effort
    methods = [str(spec) for spec in options.explainers]
    methods = list(names("citer")) if methods == ["all"] else methods
    for name in methods:
        arguments(Spec.parse("citer", name))
    if not methods:
        raise InputError(
            "explainers",
            expected=phrase("errors.audits.at_least_one_method"),
            got=phrase("errors.common.none"),
            remedy="regard list citer",
        )
    return replace(effort, methods=tuple(methods))


def answer_folder(model: str | Model, data: str, options: AuditOptions) -> Path:
    """Return the default directory of an answer audit."""
    name = model if isinstance(model, str) else model.name
    effort = [part for part in (options.profile, options.budget) if part]
    return Path("regard-runs") / "-".join(
        [slug(name), slug(data), "answers", *map(slug, effort), f"seed{options.seed}"]
    )


@dataclass(slots=True)
class _Rounds:
    """Measure prompts in rounds: a pilot, the plan, then looks until every awaited answer is settled."""

    lines: RecordLines
    prompts: Sequence[AnswerPrompt]
    methods: tuple[str, ...]
    budget: Budget
    seed: int
    measure: Callable[[AnswerPrompt], dict[str, Any]]
    progress: Progress | None
    announce: Callable[[Text], None] | None
    measured: list[PromptEvidence] = field(default_factory=list)
    problems: dict[str, Text] = field(default_factory=dict)
    looks: tuple[int, ...] = ()
    status: str = "data"
    allowed: float = math.inf
    asked: int = 0
    seconds: float = 0.0
    timed_passes: float = 0.0

    @property
    def passes(self) -> float:
        return sum(prompt.cost for prompt in self.measured)

    def run(self) -> None:
        self._ask_until(min(PILOT, len(self.prompts)))
        self._plan()
        for look in self.looks:
            self._ask_until(look)
            if self.measured and self._trust().settled:
                self.status = "settled"
                return
            if self.passes >= self.allowed:
                self.status = "budget"
                return
        if self.looks[-1] < len(self.prompts):
            self.status = "budget"

    def result(
        self, place: Path, model: str, data: str, facts: Mapping[str, Any], *, interrupted: bool = False
    ) -> AnswerAudit:
        return AnswerAudit(
            path=place,
            model=model,
            data=data,
            seed=self.seed,
            status="interrupted" if interrupted else self.status,
            n=len(self.measured),
            available=len(self.prompts),
            looks=self.looks,
            passes=self.passes,
            trust=self._trust(),
            prompts=tuple(self.measured),
            problems=dict(self.problems),
            facts=facts,
        )

    def _trust(self) -> Trust:
        return conclude(self.measured, self.methods, self.looks, seed=self.seed)

    def _ask_until(self, count: int) -> None:
        """Measure prompts until `count` of them are measured; stored ones are not measured again."""
        stored = {str(line["id"]): line for line in self.lines.records if line["kind"] != "plan"}
        while len(self.measured) < count and self.asked < len(self.prompts) and self.passes < self.allowed:
            prompt = self.prompts[self.asked]
            self.asked += 1
            line = stored.get(prompt.id)
            if line is None:
                start = time.monotonic()
                line = self.measure(prompt)
                self.seconds += time.monotonic() - start
                self.timed_passes += float(line.get("cost", 0.0))
                self.lines.add(line)
            if line["kind"] == "problem":
                self.problems[prompt.id] = decoded(line["message"])
            else:
                self.measured.append(PromptEvidence.from_json(line))
            if self.progress is not None:
                total = self.looks[-1] if self.looks else len(self.prompts)
                speed = (
                    self.seconds / self.timed_passes * self.passes / max(1, len(self.measured))
                    if self.timed_passes
                    else None
                )
                left = None if speed is None else speed * max(0, total - len(self.measured))
                self.progress(len(self.measured), max(total, len(self.measured)), left)

    def _plan(self) -> None:
        """Turn the budget into a number of passes, once; a continued audit follows the stored plan."""
        stored = [line for line in self.lines.records if line["kind"] == "plan"]
        if stored and stored[-1]["budget"] == self.budget.text:
            self.looks = tuple(stored[-1]["looks"])
            self.allowed = math.inf if stored[-1]["passes"] is None else float(stored[-1]["passes"])
            return
        if self.budget.passes is not None:
            self.allowed = float(self.budget.passes)
        elif self.budget.seconds is not None and self.seconds:
            self.allowed = self.passes + max(0.0, self.budget.seconds - self.seconds) * self.timed_passes / self.seconds
        most = len(self.prompts)
        if self.measured and math.isfinite(self.allowed):
            most = max(1, min(most, int(self.allowed / (self.passes / len(self.measured)))))
        finished = sum(line["kind"] == "prompt" for line in self.lines.records)
        before = [look for line in stored for look in line["looks"] if look <= finished]
        self.looks = tuple(sorted({*before, *planned_looks(FIRST_LOOK, max(most, len(self.measured), 1))}))
        allowed = round(self.allowed, 2) if math.isfinite(self.allowed) else None
        self.lines.add({"kind": "plan", "budget": self.budget.text, "looks": list(self.looks), "passes": allowed})
        if self.announce is not None:
            self.announce(Message.of("answers.plan", first=self.looks[0], most=self.looks[-1], all=len(self.prompts)))


def _write(result: AnswerAudit) -> AnswerAudit:
    result.save(result.path / RESULT)
    tables: dict[str, tuple[str, Iterable[Mapping[str, Any]]]] = {
        name: (columns, rows(result.prompts)) for name, (columns, rows) in _TABLES.items()
    }
    write_tables(result.path / "tables", tables)
    return result
