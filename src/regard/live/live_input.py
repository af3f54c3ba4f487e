"""Input of a live model: predictions, relevances, attention, and all of these after edits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from regard.audits.removal_mark import RemovalMark, removal_marks
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.site_questions import read_rows
from regard.errors import InputError, RegardError, phrase
from regard.live.edits import compile_edits
from regard.live.jobs import Job, cancellable
from regard.measures.divergence import tvd
from regard.models.ask.answers_in_words import name_of_answer, names_of_tokens
from regard.models.detector import DetectorModel
from regard.present.answer_text import shown_answer
from regard.present.messages.messages import say
from regard.present.pack.build import Shown, pack
from regard.present.pack.long_sites import PooledAttention, is_long, shown_attention
from regard.present.pack.records import Pack, PairEntry, VerdictEntry
from regard.present.trust_words import mark_line
from regard.protocols import Capture, Encoded, Model, SiteAttention
from regard.records import Attention, Edit, Example, Floats, Json, Relevance, Spec
from regard.registry import build

LARGEST = 1 << 30
"""Maximum bytes of uncompressed weights per example in a live host; beyond that, heads are pooled."""


@dataclass(slots=True, eq=False)
class LiveInput:
    """Examples (the windows of one input) of a live model, with a cache of all results.

    called: display name beside another model of the same name.
    """

    model: Model
    case: DeskCase
    verdict: VerdictEntry | None = None
    called: str = ""
    relevances: dict[str, Relevance] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    marks: dict[str, tuple[RemovalMark | None, ...]] = field(default_factory=dict)
    _encoded: dict[int, Encoded] = field(default_factory=dict)
    _pooled: dict[int, list[Attention | PooledAttention]] = field(default_factory=dict)

    @staticmethod
    def of(
        model: Model, example: Example, *, seed: int = 0, verdict: VerdictEntry | None = None, called: str = ""
    ) -> LiveInput:
        windows = model.windows(example)
        return LiveInput(model, DeskCase(Desk(cancellable(model), seed=seed), windows), verdict, called or model.name)

    @property
    def examples(self) -> tuple[Example, ...]:
        return self.case.examples

    def explain(self, methods: Sequence[str], job: Job, publish: Callable[[], None] = lambda: None) -> None:
        """Capture attention and run every method; record why unsupported ones were skipped.

        publish: called when the attention is known, and after every method.
        """
        specs = [self.case.spec(method) for method in methods]
        for spec in specs:
            build(spec)  # a name or parameter that does not exist is a mistake of the request, and said at once
        steps = len(specs) + 2
        job.step("reading", 0, steps)
        self.case.base()
        job.step("attention", 1, steps)
        for i in range(len(self.examples)):
            self.attention(i)
        for number, spec in enumerate(specs):
            publish()
            job.step(str(spec), number + 2, steps)
            if str(spec) in self.relevances or str(spec) in self.skipped:
                continue
            try:
                self._refuse_endless(spec)
                self.relevances[str(spec)] = self.case.relevance(spec)
            except RegardError as reason:
                self.skipped[str(spec)] = str(reason)
            except Exception as error:  # a broken method must not take the others with it
                self.skipped[str(spec)] = f"{type(error).__name__}: {error}"
        fresh = {name: relevance for name, relevance in self.relevances.items() if name not in self.marks}
        if fresh:
            publish()
            job.step("checking", steps, steps)
        self.marks |= removal_marks(self.case, fresh)
        job.step("drawing", steps, steps)

    def _refuse_endless(self, spec: Spec) -> None:
        """Refuse one pass for each unit of a long input, unless the user typed a bound."""
        if spec.name != "leave_one_out" or "most" in spec.params:
            return
        if any(is_long(site) for i in range(len(self.examples)) for site in self.attention(i)):
            raise InputError(
                "leave_one_out",
                expected=phrase("errors.live.bound_on_passes"),
                got=phrase("errors.live.one_pass_for_each_units", len=max(map(len, self.case.units))),
                remedy="leave_one_out:most=40",
            )

    def attention(self, i: int) -> Sequence[SiteAttention]:
        """Return the attention sites of one example; none for a model without attention."""
        try:
            return self.case.attention(i)
        except (RegardError, RuntimeError) as reason:
            self.skipped.setdefault(say("pack.picture_of_attention"), str(reason))
            return ()

    def answer(self, i: int) -> str:
        """Return the displayed prediction for example i."""
        name = name_of_answer(self.model, self.case.targets[i], self.encoded(i))
        return shown_answer(name, self.model.task)

    def said(self, i: int) -> dict[str, Json]:
        base = self.case.base()
        row = None if base.distribution is None else base.distribution[i]
        return self._answer(i, float(base.probability[i]), row)

    def _answer(self, i: int, probability: float, row: Floats | None) -> dict[str, Json]:
        target, labels = self.case.targets[i], self.model.labels
        is_class = isinstance(target, int) and not isinstance(target, bool) and 0 <= target < len(labels)
        answer = self.answer(i)
        fields: dict[str, Json] = {"label": answer, "target": answer, "probability": probability, "distribution": []}
        if row is not None:
            names = labels if len(labels) == len(row) else tuple(map(str, range(len(row))))
            fields["distribution"] = [[name, float(p)] for name, p in zip(names, row, strict=True)]
            if is_class:
                fields["label"] = names[int(np.argmax(row))]
        return fields

    # ------------------------------------------------------------------ edits

    def encoded(self, i: int) -> Encoded:
        if i not in self._encoded:
            self._encoded[i] = self.model.encode(self.examples[i])
        return self._encoded[i]

    def edited(self, i: int, edits: Sequence[Edit]) -> Capture:
        """Run example i with these edits and return the capture."""
        from regard.models.edited_capture import edited_capture  # torch, which a stored run does not need

        return edited_capture(self.model, self.encoded(i), self.case.targets[i], edits)

    def compile(self, i: int, given: object) -> list[Edit]:
        """Translate the edits of a request into model edits."""
        sites_after: dict[int, Sequence[SiteAttention]] = {}

        def weights(so_far: Sequence[Edit]) -> Sequence[SiteAttention]:
            if not so_far:
                return self.case.attention(i)
            if len(so_far) not in sites_after:
                sites_after[len(so_far)] = self.edited(i, so_far).sites
            return sites_after[len(so_far)]

        return compile_edits(given, weights)

    def counterfactual(self, i: int, given: object, budget: int | None = None) -> tuple[dict[str, Json], Pack]:
        """Return {before, after, change} of the prediction under edits, and a pack that compares both captures."""
        edits = self.compile(i, given)
        before = self.said(i)
        if not edits:
            return {"before": before, "after": before, "change": 0.0}, self.pack(budget)
        captured = self.edited(i, edits)
        row = None if captured.answers.distribution is None else captured.answers.distribution[0]
        after = self._answer(i, float(captured.answers.probability[0]), row)
        base = self.case.base().distribution
        change = (
            abs(float(captured.answers.probability[0]) - float(self.case.base().probability[i]))
            if row is None or base is None
            else float(tvd(row, base[i]))
        )
        both = [self._shown(i), self._shown(i, captured)]
        same = list(range(len(self.case.units[i])))
        edited_pack = self._packed(both, (PairEntry(say("pack.before_and_after"), 0, 1, same),), budget)
        return {"before": before, "after": after, "change": change}, edited_pack

    # ------------------------------------------------------------------ packs

    def pack(self, budget: int | None = None, beside: Sequence[Comparison] = ()) -> Pack:
        """Build the pack: complete and within a byte budget, or lazily without one.

        beside: other texts or models to compare the first example with.
        """
        own = [self._shown(i) for i in range(len(self.examples))]
        compared = [other.asked._beside(other.example, self.model.labels) for other in beside]
        pairs = [PairEntry(other.name, 0, len(own) + n, None) for n, other in enumerate(beside)]
        return self._packed([*own, *compared], pairs, budget)

    def _beside(self, i: int, labels: Sequence[str]) -> Shown:
        """Return `_shown(i)` for a pack whose labels may belong to another model."""
        example = self._shown(i)
        return (
            example if tuple(labels) == tuple(self.model.labels) else replace(example, predicted=self.said(i)["target"])
        )

    def _packed(self, shown: Sequence[Shown], pairs: Sequence[PairEntry] = (), budget: int | None = None) -> Pack:
        return pack(
            shown,
            model=self.model.name,
            task=self.model.task,
            labels=self.model.labels,
            verdict=self.verdict,
            pairs=pairs,
            budget_bytes=budget or LARGEST,
            lazy=budget is None,
            notes=[say("term.explain.skipped", name=name, why=why) for name, why in self.skipped.items()],
        )

    def _shown(self, i: int, seen: Capture | None = None) -> Shown:
        example, units = self.examples[i], self.case.units[i]
        sites = self.attention(i) if seen is None else seen.sites
        base = self.case.base() if seen is None else seen.answers
        at = i if seen is None else 0
        reading = {s.site.key: _rows(lambda s=s: read_rows(self.case, i, s.site)) for s in sites}  # type: ignore[misc]
        methods = {m: (r.signed, r[i]) for m, r in self.relevances.items()} if seen is None else {}
        mark = "" if seen is None else f", {say('pack.attention_edited')}"  # the viewer splits at the comma
        return Shown(
            id=example.id + mark,
            units=units,
            attentions=self._attentions(i, sites) if seen is None else [shown_attention(s) for s in sites],
            model=self.called + mark,
            inputs=example.inputs,
            label=example.label,
            predicted=self.answer(i),
            probability=float(base.probability[at]),
            value=float(base.value[at]),
            distribution=() if base.distribution is None else base.distribution[at].tolist(),
            relevances=methods,
            reading=reading,
            made=self._written(i),
            outlines=self.model.query_boxes(example) if isinstance(self.model, DetectorModel) else (),
            trust=self._trust(i) if seen is None else (),
        )

    def _attentions(self, i: int, sites: Sequence[SiteAttention]) -> list[Attention | PooledAttention]:
        """Return the weights to show; cache those pooled over a long input."""
        if not any(map(is_long, sites)):
            return [shown_attention(site) for site in sites]
        if i not in self._pooled:
            self._pooled[i] = [shown_attention(site) for site in sites]
        return self._pooled[i]

    def _trust(self, i: int) -> tuple[str, ...]:
        """Return, for each map, the effect of removing its marked units on the prediction."""
        own = self.case.units[i]
        units = {"names": own.names, "kind": own.kind, "place_kind": own.place_kind}
        return tuple(f"{method}: {mark_line(marks[i], units)}" for method, marks in self.marks.items())

    def _written(self, i: int) -> tuple[str, ...] | None:
        """Return the tokens that an encoder-decoder generated, or the output of each object query of a detector."""
        if isinstance(self.model, DetectorModel):
            return self.model.query_names(self.examples[i])
        return names_of_tokens(self.model, self.case.targets[i]) if self.model.task == "sequence_to_sequence" else None


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """An example of another input or model to compare with; name: that of the comparison."""

    name: str
    asked: LiveInput
    example: int = 0


def _rows(reading: Callable[[], tuple[int, ...]]) -> tuple[int, ...]:
    """Return the query rows that the prediction reads; none if unknown."""
    try:
        return reading()
    except RegardError:
        return ()


def text_example(body: Mapping[str, object], number: int) -> Example:
    """Return the text, or pair of texts, of a request."""
    inputs: dict[str, str] = {}
    for name, field_name in (("text", "text"), ("pair", "text_pair")):
        value = body.get(name)
        if value is None and name == "pair":
            continue
        if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_TEXT:
            raise InputError(
                name,
                expected=phrase("errors.live.text_characters", longest_text=LONGEST_TEXT),
                got=phrase("errors.common.none") if not value else phrase("errors.common.longer_one"),
            )
        inputs[field_name] = value
    return Example(f"text {number}", inputs)


LONGEST_TEXT = 20_000
"""Maximum characters: every map of a longer text has millions of cells, every method needs hours."""


def not_too_long(example: Example | None) -> None:
    """Refuse a text that is too long to display."""
    for name, value in () if example is None else example.inputs.items():
        if isinstance(value, str) and len(value) > LONGEST_TEXT:
            raise InputError(
                name,
                expected=phrase("errors.live.text_characters", longest_text=LONGEST_TEXT),
                got=phrase("errors.common.characters_n", n=len(value)),
                remedy=phrase("errors.live.passage_or_regard_audit"),
            )


def method_names(given: object) -> list[str]:
    """Return the explainer specs named by a request."""
    if not isinstance(given, list) or len(given) > 16 or not all(isinstance(m, str) and len(m) < 200 for m in given):
        raise InputError("methods", expected=phrase("errors.live.list_at_most_names"), got=str(given)[:60])
    return [str(Spec.parse("explainer", method)) for method in given]
