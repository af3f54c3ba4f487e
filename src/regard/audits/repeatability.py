"""Does a model answer the same input the same way? Measured before an audit starts and after it ends.

A few examples run one at a time, in changing order, so that only the model itself can make answers differ, not the
batch or the order of calls. One of them also runs with half of its units removed, by each of two operators: a model may
be noisy on edited inputs only, and an audit consists mostly of those. A repeatable model costs 20 forward passes in
all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any, Final, Literal

import numpy as np

from regard.audits.model_noise import Answer, Noise, differs, measured, seeded
from regard.measures.keyed_random import keyed_rng
from regard.models.ask.current_fingerprint import current_fingerprint
from regard.models.open.training_mode import normalises_by_batch, training_modules
from regard.protocols import Encoded, Model, Target
from regard.records import Answers, Example, Json, Message, Text, encoded, joined
from regard.store.codec import fields_to_json

Kind = Literal["answers by chance", "keeps state", "is in training mode", "changed", "returns NaN", "depends on batch"]

PROBES: Final = 3
"""Examples to repeat."""
EDITED: Final = 2
"""Removal operators that also remove half of the units of one example."""
TRIED: Final = 12
"""Examples to try until enough of them get an answer."""
MORE_ROUNDS: Final = 6
"""Further answers to each example once two of them differ, to measure the noise."""
TOLERANCE: Final = 1e-4
"""Answers to the same input that differ by less count as equal (scores relative to their size, at least 1)."""
STORED_TOLERANCE: Final = 1e-2
"""The same tolerance for an answer from inside the audit, where the example was part of another batch."""
DRIFTING: Final = 5
"""Length of a run of answers that all move one way: a drift, not chance."""
NAMED: Final = 3
"""Maximum modules in training mode to name."""

_SENTENCES: Final[dict[Kind, Message]] = {
    "answers by chance": Message("repeatability.random"),
    "keeps state": Message("repeatability.state"),
    "changed": Message("repeatability.changed"),
    "returns NaN": Message("repeatability.nan"),
    "depends on batch": Message("repeatability.batch"),
}


@dataclass(frozen=True, slots=True)
class Repeatability:
    """Difference between the answers of a model to the same input.

    kinds: faults; none for a sound model. examples, times: number of examples, and answers to each. passes: forward
    passes spent. modules: those in training mode.
    """

    kinds: tuple[Kind, ...]
    examples: int
    times: int
    passes: int
    noise: Noise
    modules: tuple[str, ...] = ()

    @property
    def repeats(self) -> bool:
        return not self.kinds

    @property
    def sentences(self) -> list[Message]:
        """Sentences about faults and the size of the noise; empty for a sound model."""
        if self.repeats:
            return []
        kinds = [_SENTENCES.get(kind) or self._training_mode() for kind in self.kinds]
        return [*kinds, *self.noise.in_words(self.examples, self.times), Message("repeatability.refused")]

    def _training_mode(self) -> Message:
        names, rest = list(self.modules[:NAMED]), len(self.modules) - NAMED
        if rest > 0:
            return Message.of("repeatability.training_mode_more", modules=names, rest=rest)
        return Message.of("repeatability.training_mode", modules=names)

    def to_json(self) -> dict[str, Json]:
        return {
            **fields_to_json(self, "repeats", "kinds", "examples", "times", "passes", "noise"),
            "tolerance": TOLERANCE,
            "stored_tolerance": STORED_TOLERANCE,
            "modules": [*self.modules],
            "sentence": encoded(joined(self.sentences)),
            "measured": encoded(Message("repeatability.measured")),
        }


@dataclass(slots=True, eq=False)
class _Probe:
    """An example, its target, and every answer so far, in the order of the calls."""

    id: str
    encoded: Encoded
    target: Target
    answers: list[Answer] = field(default_factory=list)
    edited: bool = False


class RepeatCheck:
    """Run a model on the same examples at the start and at the end of an audit.

    fingerprint: of the weights at the start; without one they are not compared at the end.
    """

    def __init__(self, model: Model, examples: Iterable[Example], *, fingerprint: str = "") -> None:
        self._model, self._fingerprint = model, fingerprint
        self._passes = 0
        self._kind: Kind | None = None
        self._later: list[Kind] = []
        self._probes: list[_Probe] = []
        for _, example in zip(range(TRIED), examples, strict=False):
            self._admit(example)
            if len(self._probes) == PROBES:
                break
        if len(self._probes) > 1:
            self._admit_edited(self._probes[0])

    def start(self) -> Repeatability:
        """Run every example a second time; measure the noise if the answers differ."""
        self._round(self._probes[::-1])
        self._diagnose()
        return self.result()

    def end(self, rows: Iterable[Mapping[str, Any]] = ()) -> Repeatability:
        """Run every example twice again. rows: the stored examples of the audit (`Run.examples`)."""
        self._round([*self._probes[1:], *self._probes[:1]])
        self._round(self._probes[::-1])
        if self._fingerprint and current_fingerprint(self._model) != self._fingerprint:
            self._later.append("changed")
        else:
            self._diagnose()
        if self._kind is None and not self._later and self._answered_otherwise(rows):
            self._later.append("depends on batch" if self._depends_on_batch() else "keeps state")
        return self.result()

    def result(self) -> Repeatability:
        modules = training_modules(self._model) if self._kind else normalises_by_batch(self._model)
        kinds: list[Kind] = []
        if modules:
            kinds.append("is in training mode")
        elif self._kind:
            kinds.append(self._kind)
        kinds += self._later
        times = max((len(probe.answers) for probe in self._probes), default=0)
        noise = measured([probe.answers for probe in self._probes])
        return Repeatability(
            kinds=tuple(kinds),
            examples=len(self._whole),
            times=times,
            passes=self._passes,
            noise=noise,
            modules=tuple(modules),
        )

    @property
    def _whole(self) -> list[_Probe]:
        """Return the examples unchanged."""
        return [probe for probe in self._probes if not probe.edited]

    # ------------------------------------------------------------------ asking

    def _admit(self, example: Example) -> None:
        """Admit an example that the model can read and answers with numbers."""
        try:
            encoded = self._model.encode(example)
            if not encoded.units.free.any():
                return
            self._passes += 1
            answers, (target,) = self._model.predict([encoded])
        except Exception:  # an example that fails is reported when its turn comes
            return
        first = Answer.of(answers)
        if first.known:
            self._probes.append(_Probe(example.id, encoded, target, [first]))

    def _admit_edited(self, probe: _Probe) -> None:
        """Admit the example with every second unit removed, by each of a few operators."""
        free = np.flatnonzero(probe.encoded.units.free)
        drop = np.zeros(len(probe.encoded.units), bool)
        drop[free[::2]] = True
        for operator in self._model.operators[:EDITED]:
            try:
                rng = keyed_rng(0, probe.id, f"repeat {operator}")
                encoded = self._model.remove(probe.encoded, drop, operator, rng)
            except Exception:  # an operator that fails is reported by the methods that use it
                continue
            edited = _Probe(probe.id, encoded, probe.target, edited=True)
            first = self._ask(edited)
            if first.known:
                edited.answers.append(first)
                self._probes.append(edited)

    def _ask(self, probe: _Probe) -> Answer:
        self._passes += 1
        try:
            return Answer.of(self._model.forward([probe.encoded], [probe.target]))
        except Exception:  # it answered this input before: no answer now is as unknown as NaN
            return Answer.unknown()

    def _round(self, probes: Sequence[_Probe]) -> None:
        for probe in probes:
            probe.answers.append(self._ask(probe))

    # ------------------------------------------------------------------ naming

    def _diagnose(self) -> None:
        """Find the cause of differing answers by repeating them more often; runs once."""
        if self._kind is not None or not self._differ():
            return
        for number in range(MORE_ROUNDS):
            self._round(self._probes if number % 2 else self._probes[::-1])
        self._kind = self._cause()

    def _differ(self) -> bool:
        return any(differs(a, b, TOLERANCE) for p in self._probes for a, b in combinations(p.answers, 2))

    def _cause(self) -> Kind:
        pairs = [(a, b) for p in self._probes for a, b in combinations(p.answers, 2)]
        finite = [(a, b) for a, b in pairs if a.known and b.known]
        if not any(differs(a, b, TOLERANCE) for a, b in finite):
            return "returns NaN"
        if self._repeats_when_seeded():
            return "answers by chance"
        if any(not differs(a, b, TOLERANCE) for a, b in finite) or all(_drifts(p.answers) for p in self._probes):
            return "keeps state"
        return "answers by chance"  # by a generator of its own

    def _repeats_when_seeded(self) -> bool:
        """Return whether the same seed before every call makes the answers equal."""
        for probe in self._probes:
            with seeded():
                first = self._ask(probe)
            with seeded():
                second = self._ask(probe)
            if differs(first, second, TOLERANCE):
                return False
        return True

    def _answered_otherwise(self, rows: Iterable[Mapping[str, Any]]) -> bool:
        """Return whether the audit itself got different answers than the checks before and after it."""
        stored = {str(row["id"]): row for row in rows if row.get("units") is not None}
        pairs = [(p.answers[0], _stored_answer(stored[p.id])) for p in self._whole if p.id in stored]
        return any(differs(before, during, STORED_TOLERANCE) for before, during in pairs)

    def _depends_on_batch(self) -> bool:
        probes = self._whole
        self._passes += len(probes)
        try:
            together = self._model.forward([p.encoded for p in probes], [p.target for p in probes])
        except Exception:
            return False
        rows = [Answer.of(together, i) for i in range(len(probes))]
        return any(differs(p.answers[0], row, STORED_TOLERANCE) for p, row in zip(probes, rows, strict=True))


def warning(model: Model, example: Example) -> Text:
    """Warn about a model that does not repeat its answer to one example; "" for a sound one.

    Two forward passes, more only if they differ.
    """
    check = RepeatCheck(model, [example])
    noise = check.start()
    return joined(noise.sentences[:-1])


def worse(before: Mapping[str, Any] | None, now: Repeatability) -> dict[str, Json]:
    """Choose the record to store: a fault seen by an earlier session stays, because its numbers are in the run."""
    if before is not None and now.repeats and not before.get("repeats", True):
        return dict(before)
    return now.to_json()


def _drifts(answers: Sequence[Answer]) -> bool:
    """Return whether every answer lies on the same side of the one before it."""
    steps = [b.value - a.value for a, b in pairwise(answers)]
    return len(steps) >= DRIFTING and (all(s > 0 for s in steps) or all(s < 0 for s in steps))


def _stored_answer(row: Mapping[str, Any]) -> Answer:
    value, probability = (np.nan if row[name] is None else row[name] for name in ("value", "probability"))
    spread = row["distribution"]
    table = None if spread is None else np.array([[np.nan if p is None else p for p in spread]], np.float64)
    return Answer.of(Answers(np.array([0, 1]), np.array([value]), np.array([probability]), table))
