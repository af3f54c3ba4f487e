"""An attack on a model and data: every example, every attack, sanity checks, transfer; stoppable and resumable."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.audits import resolve
from regard.audits.repeatability import warning
from regard.audits.torch_threads import threads_for, torch_threads
from regard.cards import Card, HasCard
from regard.datasets.examples import IN_MEMORY
from regard.desk.answers import finite
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.questions import attacked
from regard.errors import InputError, Unsupported, phrase
from regard.models.ask.lexicon import lexicon
from regard.protocols import Dataset, Model
from regard.records import Attacked, Example, Json, Message, Spec, Text, Threat, encoded
from regard.registry import arguments, entry, method_spec
from regard.surveys.attack_drift import watched
from regard.surveys.attack_records import Lines
from regard.surveys.attack_sanity import Check, sanity
from regard.surveys.attack_table import AttackRow, row, worst
from regard.surveys.transfer import Transfer, transfer
from regard.tap.pass_history import forget_passes

SHARD = 16
"""Examples per shard: a stopped attack resumes at shard boundaries."""
WIDE = 64
"""The same for numeric inputs, which use larger batches."""
Progress = Callable[[Text, int, int], None]


@dataclass(frozen=True, slots=True, repr=False)
class AttackRun(HasCard):
    """Results of attacks. found: attack -> one record per example, in the order of `examples`."""

    model: str
    data: str
    seed: int
    threat: Threat
    labels: tuple[str, ...]
    examples: tuple[Example, ...]
    found: Mapping[str, tuple[Attacked, ...]]
    rows: tuple[AttackRow, ...]
    checks: tuple[Check, ...]
    transfers: tuple[Transfer, ...]
    notes: tuple[Text, ...]
    seconds: float
    path: Path | None = None

    @property
    def accuracy(self) -> float | None:
        """Share of the labelled examples that the model predicts correctly before any change."""
        first = next(iter(self.found.values()))
        labelled = [one for one, e in zip(first, self.examples, strict=True) if e.label is not None]
        return sum(one.why != "misclassified" for one in labelled) / len(labelled) if labelled else None

    def _card(self) -> Card:
        names = ("attack", "successes", "attacked", "rate", "low", "high")
        rows: list[dict[str, Json]] = [{name: getattr(row, name) for name in names} for row in self.rows]
        facts = {"data": self.data, "examples": len(self.examples), "seed": self.seed}
        return Card("AttackRun", self.model, facts, rows, len(rows))

    def to_json(self) -> dict[str, Json]:
        return {
            "model": self.model,
            "data": self.data,
            "seed": self.seed,
            "n": len(self.examples),
            "accuracy": self.accuracy,
            "threat": self.threat.to_json(),
            "attacks": [r.to_json() for r in self.rows],
            "sanity": [c.to_json() for c in self.checks],
            "transfer": [t.to_json() for t in self.transfers],
            "notes": encoded(self.notes),
            "seconds": round(self.seconds, 2),
            "examples": None if self.path is None else str(self.path),
        }


def _spec(attack: str | Spec | Callable[..., Any]) -> Spec:
    if isinstance(attack, Spec):
        return attack
    return Spec.parse("attack", attack) if isinstance(attack, str) else method_spec(attack)


def attack(
    model: str | Model,
    data: str | Dataset | Sequence[Example] | None = None,
    attacks: Sequence[str | Spec | Callable[..., Any]] | None = None,
    *,
    threat: Threat | None = None,
    n: int = 100,
    seed: int = 0,
    out: str | Path | None = None,
    to: Sequence[str | Model] = (),
    watch: str | None = "attention",
    check: bool = True,
    device: str = "auto",
    labels: str | Mapping[str, int] | None = None,
    batch: int | None = None,
    progress: Progress | None = None,
) -> AttackRun:
    """Attack a model on the first n examples.

    attacks: names, Specs, or functions decorated with `@attack`; by default a black-box and a white-box one for the
    kind of input. to: other models, for the transfer matrix; each is attacked too. watch: an explainer whose move is
    measured on every success; None for none. check: the sanity checks, which cost about as much again on a few
    examples. out: a directory; `attacks.jsonl` there holds every record with both inputs, and a stopped attack goes on
    from it.

    >>> from regard.testing.toy import TEXTS
    >>> examples = [Example(str(i), {"text": text}) for i, text in enumerate(TEXTS[:4])]
    >>> run = attack("bilstm", examples, ["greedy_char"], threat=Threat(budget=40), check=False, watch=None)
    >>> run.rows[0].attacked, run.rows[0].attack
    (4, 'greedy_char')
    """
    start = time.perf_counter()
    limits = threat or Threat()
    if attacks is not None and not attacks:
        raise InputError(
            "attack",
            expected=phrase("errors.surveys.at_least_one_attack"),
            got=phrase("errors.common.none"),
            remedy="regard list attacks",
        )
    own = [_spec(method) for method in attacks or ()]
    for spec in own:  # before a model is opened
        arguments(spec)
    live = resolve.open_model(model, device)
    specs = own or [_spec(name) for name in usual(live)]
    examples, name, notes = _examples(model, live, data=data, n=n, seed=seed, labels=labels)
    notes += [text for text in [warning(live, examples[0])] if text]
    companions = () if "text" in examples[0].inputs else examples

    desk = Desk(live, seed=seed) if batch is None else Desk(live, seed=seed, batch=batch)

    def fresh_case(some: Sequence[Example]) -> DeskCase:
        """Build a case of these examples whose records do not depend on earlier queries."""
        forget_passes()
        return DeskCase(desk.fresh(), some, companions=companions)

    with torch_threads(threads_for(live, 1)):
        forget_passes()
        case = DeskCase(desk, examples, companions=companions)
        _fits(live, case, specs)
        distribution = case.base().distribution
        if distribution is not None:
            finite(distribution, live.name)
        who: dict[str, Json] = {
            "model": live.name,
            "fingerprint": live.fingerprint,
            "data": name,
            "examples": resolve.digest(examples),
            "seed": seed,
            "threat": limits.to_json(),
            "watch": watch,
        }
        lines = Lines(None if out is None else Path(out), who)
        try:
            results = {
                str(spec): _one(
                    fresh_case, examples, spec=spec, asked=_Question(limits, watch), lines=lines, progress=progress
                )
                for spec in specs
            }
        finally:
            lines.close()
        say = progress or (lambda what, done, total: None)
        checks: list[Check] = []
        if check:
            say(Message("sanity.running"), 0, 1)
            checks = sanity(fresh_case(examples), specs, results, limits)
        transfers: list[Transfer] = []
        if to:
            forget_passes()
            models = [live, *(resolve.open_model(m, device) for m in to)]
            transfers = transfer(models, examples, specs=specs, threat=limits, known=results, seed=seed, say=say)
    rows = []
    for spec in specs:
        facts = entry("attack", spec.name).facts
        keeps = facts["goal"] != "prediction"
        rows.append(row(str(spec), str(facts["access"]), results[str(spec)], limits.budget, keeps=keeps))
    about = {str(s): results[str(s)] for s in specs if _counts(s)}
    together = worst(about, limits.budget)
    return AttackRun(
        model=live.name,
        data=name,
        seed=seed,
        threat=limits,
        labels=live.labels,
        examples=tuple(examples),
        found=results,
        rows=(*rows, *([together] if together else [])),
        checks=tuple(checks),
        transfers=tuple(transfers),
        notes=tuple(notes),
        seconds=time.perf_counter() - start,
        path=lines.path,
    )


USUAL = {
    "text": ("greedy_word", "hotflip"),
    "image": ("pgd", "square"),
    "audio": ("pgd", "square"),
    "series": ("pgd", "square"),
    "tabular": ("pgd", "square"),
}


def usual(live: Model) -> list[str]:
    """Default attacks for the modality of a model: a black-box and a white-box one."""
    if live.modality == "text":
        try:
            lexicon(live)
        except Unsupported:  # words of a model that reads by a function of the user's own cannot be looked up
            return ["greedy_char", "input_reduction"]
    return list(USUAL.get(live.modality, USUAL["text"]))


def _counts(spec: Spec) -> bool:
    """Return whether an attack counts in the worst case: it targets the prediction, and is not a baseline."""
    facts = entry("attack", spec.name).facts
    return facts["goal"] == "prediction" and facts["role"] == "method" and facts["scope"] == "example"


def _examples(
    model: str | Model,
    live: Model,
    data: str | Dataset | Sequence[Example] | None,
    n: int,
    seed: int,
    labels: str | Mapping[str, int] | None,
) -> tuple[list[Example], str, list[Text]]:
    if isinstance(data, Sequence) and not isinstance(data, str):
        selection = list(data)[:n]
        if not selection:
            raise InputError(
                "data", expected=phrase("errors.common.at_least_one_example"), got=phrase("errors.common.none")
            )
        return selection, IN_MEMORY, []
    read = resolve.open_data(resolve.default_data(model) if data is None else data, n, seed)
    whole, notes = resolve.prepared(live, read, n)
    examples, _ = resolve.matched(live, read, whole, labels)
    return examples, read.name, [*notes, *read.notes]


def _fits(live: Model, case: DeskCase, specs: Sequence[Spec]) -> None:
    """Refuse an attack for another kind of input, before any query."""
    inputs = case.examples[0].inputs
    input_kind = "text" if "text" in inputs else {"row": "tabular"}.get(next(iter(inputs)), next(iter(inputs)))
    for spec in specs:
        modality = entry("attack", spec.name).facts["modality"]
        modalities = [str(m) for m in modality] if isinstance(modality, list) else []
        if input_kind not in modalities and not (input_kind == "text" and "embeddings" in modalities):
            raise Unsupported(
                phrase("errors.surveys.attack_on_live", spec=spec.name, live=live.name),
                expected=phrase("errors.surveys.attack_on_b", noun=input_kind),
                got=phrase("errors.surveys.one_on_modalities", modalities=", ".join(modalities)),
                remedy="regard list attacks",
            )


@dataclass(frozen=True, slots=True)
class _Question:
    """Request to every attack: the threat, and the explainer whose move is measured."""

    threat: Threat
    watch: str | None


def _one(
    fresh_case: Callable[[Sequence[Example]], DeskCase],
    examples: Sequence[Example],
    spec: Spec,
    asked: _Question,
    lines: Lines,
    progress: Progress | None,
) -> tuple[Attacked, ...]:
    """Run one attack on every example, shard by shard; skip shards that the file already holds.

    A partly stored shard runs again as a whole, so that its batches equal those of an uninterrupted attack.
    """
    name, total = str(spec), len(examples)
    whole = entry("attack", spec.name).facts["scope"] == "case"
    size = total if whole else SHARD if "text" in examples[0].inputs else WIDE
    for first in range(0, total, size):
        part = examples[first : first + size]
        missing = [e.id for e in part if (name, e.id) not in lines.known]
        if not missing:
            continue
        if progress is not None:
            progress(name, first, total)
        results = zip(_shard(fresh_case(part), spec, asked), part, strict=True)
        lines.add((name, one, example) for one, example in results if example.id in missing)
    if progress is not None:
        progress(name, total, total)
    return tuple(lines.known[name, e.id] for e in examples)


def _shard(case: DeskCase, spec: Spec, asked: _Question) -> list[Attacked]:
    results = [replace(one, attack=str(spec)) for one in attacked(case, spec, asked.threat)]
    if asked.watch is not None and entry("attack", spec.name).facts["goal"] == "prediction":
        with suppress(Unsupported):  # a model without attention is attacked all the same
            results = watched(case, results, asked.watch)
    return results
