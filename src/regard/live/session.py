"""A session: the transport-independent answers to all requests (listed in `live/__init__`)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from regard.audits.more_metrics import example_of, model_of
from regard.errors import InputError, UnknownName, Unsupported, phrase
from regard.live.alternatives import alternative
from regard.live.edits import parsed_spec, shared_spec
from regard.live.growing_pack import GrowingPack, cheap_first
from regard.live.hello import hello_facts
from regard.live.jobs import Job, Jobs, positive
from regard.live.live_input import Comparison, LiveInput, method_names, not_too_long, text_example
from regard.live.pack_cache import CachedPack, PackCache
from regard.live.rationales import marks_of, store_rationale, text_id
from regard.live.stored_run import IN_A_FILE, cached_run_pack, run_ids, run_verdict
from regard.models.capture import capture
from regard.present.messages.messages import languages, say, speaking
from regard.present.pack.pack import pack_of_capture, pack_of_run
from regard.present.pack.records import Pack
from regard.present.pack.viewer_block import foreign_words
from regard.protocols import Model
from regard.records import Example, Json, Spec
from regard.store.rationales import FILE
from regard.store.run import Run
from regard.tap.row_collector import Rows
from regard.trust import refuse_code

METHODS = ("attention", "leave_one_out")
Body = Mapping[str, Any]


class Session:
    """Session of a live model and its run. model: a live model; opener: opens it on first use; run: its stored audit.

    others: models (for instance other checkpoints) that read every text too, for comparison. example: the example of
    the run to show first. marks: file for rationales marked by hand (default: beside the run; nowhere without one).
    allow_code: permit code that the run, or a shared Spec, names; code in `methods` is always permitted, because the
    creator of the session named it.
    """

    def __init__(
        self,
        model: Model | None = None,
        *,
        opener: Callable[[], Model] | None = None,
        run: Run | None = None,
        others: Sequence[Model] = (),
        example: str | None = None,
        methods: Sequence[str] = METHODS,
        marks: Path | None = None,
        lang: str = "en",
        seed: int = 0,
        allow_code: bool = False,
    ) -> None:
        self._model, self._opener = model, opener
        self.run, self.lang, self._seed = run, lang, seed
        self.methods, self._allow_code = tuple(methods), allow_code
        self._example = example
        self._marks = marks or (None if run is None else run.path / FILE)
        self._jobs = Jobs()
        self._others = tuple(others)
        self._packs = PackCache()
        self._lock = threading.RLock()
        self._count = 0
        self._began: dict[str, Json] | None = None
        self._verdict = run_verdict(run)
        if run is not None:
            self.first = self._packs.put(cached_run_pack(run, example))
            if self._model is None and self._opener is None and run.manifest["model"].get("spec") is not None:
                self._opener = lambda: model_of(run, allow_code=allow_code)

    @property
    def first(self) -> str | None:
        """First pack to show."""
        return self._packs.first

    @first.setter
    def first(self, name: str | None) -> None:
        self._packs.first = name

    # ------------------------------------------------------------------ the door

    def call(self, op: str, body: Body) -> dict[str, Json]:
        """Answer one request; raise RegardError on failure."""
        if op not in _OPS:
            raise UnknownName("request", op[:40], _OPS)
        with speaking(self.lang):  # threads begin in English
            return _OPS[op](self, body)

    def chunk(self, pack: str, name: str) -> bytes:
        """Return the gzip bytes of one chunk."""
        entry = self._packs.get(pack)
        if name not in entry.pack.chunks:
            raise UnknownName("chunk", name[:60], ())
        return entry.pack.chunks[name]

    def show(self, example: Example, methods: Sequence[str] = (), *, changed: Example | None = None) -> str:
        """Run an example immediately and make its pack the first; return the pack id.

        changed: another version of it (attacked, noisy, rewritten) to compare with.
        """
        for one in (example, changed):
            not_too_long(one)
        quiet = Job("", lambda job: {}, threading.Condition())  # nobody follows it
        names = list(methods or self.methods)
        other = "" if changed is None else str(self._answered(changed, names, quiet)["pack"])
        self.first = pack_id = str(self._answered(example, names, quiet, beside=other)["pack"])
        return pack_id

    def begin(self, example: Example, methods: Sequence[str] = ()) -> None:
        """Start to read an example in the background; a page that opens meanwhile shows results as they arrive."""
        not_too_long(example)
        self.model.encode(self.model.windows(example)[0])  # what it cannot read is said at once

        def work(job: Job) -> dict[str, Json]:
            answer = self._answered(example, list(methods or self.methods), job)
            self.first = str(answer["pack"])
            return answer

        texts: dict[str, Json] = {name: example.inputs.get(name) for name in ("text", "text_pair")}
        self._began = {**texts, "job": self._jobs.start(work)["job"]}

    def show_spec(self, value: object) -> str:
        """Run a shared text with its edits and make the comparison the first pack."""
        quiet = Job("", lambda job: {}, threading.Condition())  # nobody follows it
        edited = self._opened(parsed_spec(value), quiet)["edited"]
        assert isinstance(edited, dict)
        self.first = pack_id = str(edited["pack"])
        return pack_id

    def show_rows(self, example: Example, rows: Rows) -> str:
        """Capture some rows of an example and make them the first pack."""
        captured = capture(self.model, example, rows=rows)
        return self._keep(lambda: pack_of_capture(captured, model=self.model.name, examples=[example]))

    def show_generation(self, text: str | Example, tokens: int, *, rows: Literal["new"] | None = None) -> str:
        """Let the model continue a text, or transcribe a sound; its attention becomes the first pack.

        rows="new": only of the rows that predict new tokens.
        """
        from regard.models.capture_generation import capture_generation

        generation = capture_generation(self.model, text, new_tokens=tokens, rows=rows)
        example = text if isinstance(text, Example) else Example("text", {"text": text})
        return self._keep(
            lambda: pack_of_capture(generation, model=self.model.name, examples=[example], made=generation.made)
        )

    def _keep(self, remake: Callable[[], Pack]) -> str:
        self.first = pack_id = self._packs.put(CachedPack(remake(), remake=remake))
        return pack_id

    @staticmethod
    def of_pack(pack: Pack, *, lang: str = "en") -> Session:
        """Return a session for viewing a pack without a model."""
        session = Session(lang=lang)
        session.first = session._packs.put(CachedPack(pack))
        return session

    def packed(self, budget: int) -> Pack:
        """Return the first pack complete within a byte budget, for a self-contained file."""
        entry = self._packs.get(self.first or "")
        if self.run is not None and entry.rows:
            return pack_of_run(self.run, ids=run_ids(self.run, self._example, IN_A_FILE), budget_bytes=budget)
        if entry.owners:
            owner, i = entry.owners[0]
            return owner.counterfactual(i, entry.edits, budget)[1] if entry.edits else owner.pack(budget, entry.beside)
        return entry.pack

    def close(self) -> None:
        self._jobs.close()

    @property
    def model(self) -> Model:
        """Return the live model, opened on first use."""
        with self._lock:
            if self._model is None and self._opener is not None:
                model = self._opener()
                fingerprint = None if self.run is None else self.run.manifest["model"]["fingerprint"]
                if fingerprint is not None and model.fingerprint != fingerprint:
                    raise InputError(
                        phrase("errors.live.model_this_run"),
                        expected=phrase("errors.common.weights_that_run_about"),
                        got=phrase("errors.common.other_weights"),
                        remedy=phrase("errors.live.look_at_stored_run_only"),
                    )
                self._model = model
            if self._model is None:
                raise Unsupported(
                    phrase("errors.live.this_view"),
                    expected=phrase("errors.common.live_model"),
                    got=phrase("errors.live.run_without_named_model"),
                )
            return self._model

    @property
    def is_live(self) -> bool:
        return self._model is not None or self._opener is not None

    def pack(self, name: str | None = None) -> Pack:
        """Return a pack by id (default: the first)."""
        return self._packs.get(name or self.first or "").pack

    # ------------------------------------------------------------------ requests

    def _hello(self, body: Body) -> dict[str, Json]:
        marks, first = self._marks is not None, self._packs.peek()
        facts = hello_facts(
            self._model, self.run, None if first is None else first.pack, live=self.is_live, marks=marks
        )
        return {
            **facts,
            "chosen": list(self.methods),
            "pack": self.first,
            "dictionary": foreign_words(self.lang),
            "lang": self.lang,
            "languages": dict(languages()),
            "others": [other.name for other in self._others],
            "began": None if self.first is not None else self._began,
        }

    def _language(self, body: Body) -> dict[str, Json]:
        lang = str(body.get("lang"))
        if lang not in languages():
            raise UnknownName("language", lang[:20], languages())
        self.lang = lang
        with speaking(lang):
            self._verdict = run_verdict(self.run)
            if body.get("pack"):
                self._packs.get(str(body["pack"])).translate(self._verdict)
        return {"dictionary": foreign_words(lang)}

    def _ask(self, body: Body) -> dict[str, Json]:
        self._count += 1
        example, methods = text_example(body, self._count), self._checked(body.get("methods", list(self.methods)))
        beside = body.get("beside")
        if beside is not None:
            self._packs.get(str(beside))  # a pack that is not there is a mistake of the request, and said at once
        return self._jobs.start(lambda job: self._answered(example, methods, job, beside=str(beside or "")))

    def _checked(self, given: object) -> list[str]:
        """Validate requested methods; refuse code that the user did not type."""
        methods, typed = method_names(given), [Spec.parse("explainer", m) for m in self.methods]
        specs = [Spec.parse("explainer", m) for m in methods]
        refuse_code(phrase("errors.live.methods_this_request_or_spec"), specs, typed=typed, allow_code=self._allow_code)
        return methods

    def _answered(self, example: Example, methods: list[str], job: Job, *, beside: str = "") -> dict[str, Json]:
        with speaking(self.lang):
            return self._read(example, methods, job, beside)

    def _read(self, example: Example, methods: list[str], job: Job, beside: str) -> dict[str, Json]:
        began = time.perf_counter()
        job.step("opening", 0, len(methods) + 2)
        live_input = LiveInput.of(self.model, example, seed=self._seed, verdict=self._verdict)
        ordered = cheap_first(methods)
        growing = GrowingPack(self._packs, job, live_input, ordered)
        live_input.explain(ordered, job, growing.publish if job.id else lambda: None)
        others = self._compared(example, ordered, job, beside)
        owners = [(live_input, i) for i in range(len(live_input.examples))] + [(o.asked, o.example) for o in others]

        def remake() -> Pack:
            return live_input.pack(beside=others)

        pack = self._packs.put(CachedPack(remake(), owners, methods=tuple(methods), beside=others, remake=remake))
        return {
            "pack": pack,
            "said": live_input.said(0),
            "skipped": dict(live_input.skipped),
            "seconds": round(time.perf_counter() - began, 3),
        }

    def _compared(self, example: Example, methods: list[str], job: Job, beside: str) -> tuple[Comparison, ...]:
        """Return comparisons with the other models and with the first text of another pack."""
        comparisons = []
        for model in self._others:
            same = model.name == self.model.name
            called = f"{model.name} ({model.fingerprint[:8]})" if same else model.name
            live_input = LiveInput.of(model, example, seed=self._seed, called=called)
            live_input.explain(methods, job)
            comparisons.append(Comparison(say("pack.two_models", one=self.model.name, other=called), live_input))
        if beside:
            live_input, i = self._owner(self._packs.get(beside), 0)
            comparisons.append(Comparison(say("pack.text_and_before"), live_input, i))
        return tuple(comparisons)

    def _edit(self, body: Body) -> dict[str, Json]:
        entry, example = self._owned(body)
        edits = body.get("edits")
        if not isinstance(edits, list):
            raise InputError("edits", expected=phrase("errors.common.list"), got=type(edits).__name__)
        return self._jobs.start(lambda job: self._edited(entry, example, edits, job))

    def _edited(self, held: CachedPack, example: int, edits: list[Any], job: Job) -> dict[str, Json]:
        job.step("editing", 0, 1)
        live_input, i = self._owner(held, example)
        with speaking(self.lang):
            change, pack = live_input.counterfactual(i, edits)
        spec = shared_spec(
            live_input.model.name, live_input.model.fingerprint, live_input.examples[i].inputs, held.methods, edits
        )
        edited_entry = CachedPack(
            pack, [(live_input, i)] * len(pack.manifest.examples), methods=held.methods, edits=edits
        )
        return {**change, "pack": self._packs.put(edited_entry), "spec": spec.to_json()}

    def _alternative(self, body: Body) -> dict[str, Json]:
        entry, example = self._owned(body)

        def work(job: Job) -> dict[str, Json]:
            job.step("alternative", 0, 1)
            return alternative(*self._owner(entry, example), self.run)

        return self._jobs.start(work)

    def _open(self, body: Body) -> dict[str, Json]:
        spec = parsed_spec(body.get("spec"))
        return self._jobs.start(lambda job: self._opened(spec, job))

    def _opened(self, spec: Spec, job: Job) -> dict[str, Json]:
        text = {"text": spec.params["text"], "pair": spec.params.get("text_pair")}
        self._count += 1
        example, methods = text_example(text, self._count), self._checked(spec.params.get("methods", []))
        fingerprint = spec.params.get("fingerprint")
        if fingerprint and fingerprint != self.model.fingerprint:
            raise InputError(
                "spec",
                expected=phrase("errors.live.edits_this_model", model=self.model.name),
                got=phrase("errors.live.edits_value", value=spec.params.get("model")),
            )
        first = self._answered(example, methods, job)
        edits = spec.params.get("edits")
        edits = edits if isinstance(edits, list) else []
        return {**first, "edited": self._edited(self._packs.get(str(first["pack"])), 0, edits, job), "edits": edits}

    def _job(self, body: Body) -> dict[str, Json]:
        after = body.get("after")
        return self._jobs.look(str(body.get("job")), after if isinstance(after, int) else None)

    def _cancel(self, body: Body) -> dict[str, Json]:
        return self._jobs.cancel(str(body.get("job")))

    def _manifest(self, body: Body) -> dict[str, Json]:
        return self._packs.get(str(body.get("pack"))).pack.manifest_json()

    def _marked(self, body: Body) -> dict[str, Json]:
        return marks_of(self._marks, self._place(body)[2])

    def _mark(self, body: Body) -> dict[str, Json]:
        entry, at, name, inputs = self._place(body)
        return store_rationale(self._marks, name, inputs, entry.pack.manifest.examples[at].units, body)

    # ------------------------------------------------------------------ packs

    def _owned(self, body: Body) -> tuple[CachedPack, int]:
        if not self.is_live:
            raise Unsupported(
                phrase("errors.live.edit"),
                expected=phrase("errors.common.live_model"),
                got=phrase("errors.live.run_without_model"),
            )
        entry, at, _, _ = self._place(body)
        return entry, at

    def _place(self, body: Body) -> tuple[CachedPack, int, str, Mapping[str, Any]]:
        """Return (pack, example, its id, its inputs)."""
        entry, at = self._packs.get(str(body.get("pack"))), positive(body.get("example", 0), "example")
        if at >= len(entry.pack.manifest.examples):
            raise UnknownName("example", str(at), map(str, range(len(entry.pack.manifest.examples))))
        if entry.rows:
            return entry, at, str(entry.rows[at]["id"]), entry.rows[at]["inputs"]
        if not entry.owners:
            raise Unsupported(
                phrase("errors.live.this_view"),
                expected=phrase("errors.live.run_or_live_model"),
                got=phrase("errors.live.capture_alone"),
            )
        owner, i = entry.owners[at]
        return entry, at, text_id(owner.examples[i]), owner.examples[i].inputs

    def _owner(self, held: CachedPack, at: int) -> tuple[LiveInput, int]:
        if not held.owners:
            assert self.run is not None
            run = self.run
            held.owners = [
                (LiveInput.of(self.model, example_of(run, row), seed=self._seed, verdict=self._verdict), 0)
                for row in held.rows
            ]
        return held.owners[at]


_OPS: Mapping[str, Callable[[Session, Body], dict[str, Json]]] = {
    "hello": Session._hello,
    "ask": Session._ask,
    "edit": Session._edit,
    "alternative": Session._alternative,
    "open": Session._open,
    "job": Session._job,
    "cancel": Session._cancel,
    "language": Session._language,
    "manifest": Session._manifest,
    "marks": Session._marked,
    "mark": Session._mark,
}
