"""What a host asks for, whatever carries it (see `live/__init__` for the requests): one model, perhaps a run, packs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.audits.more_metrics import example_of, model_of
from regard.errors import InputError, UnknownName, Unsupported
from regard.live.alternatives import alternative
from regard.live.edits import received, shared
from regard.live.hello import greeting
from regard.live.jobs import Job, Jobs, positive
from regard.live.live_input import Asked, Beside, method_names, not_too_long, text_example
from regard.live.pack_cache import Held, Shelf
from regard.live.rationales import marked, marks_of, text_id
from regard.present.messages.messages import speaking
from regard.present.pack.pack import pack_of_capture, pack_of_run, verdict_entry
from regard.present.pack.records import Pack
from regard.protocols import Model
from regard.records import Example, Json, Spec
from regard.store.rationales import FILE
from regard.store.run import Run
from regard.trust import refuse_code

MOST = 200
IN_A_FILE = 12
"""Examples of a run that the app offers, and how many go into a file."""
METHODS = ("attention", "leave_one_out")
Body = Mapping[str, Any]


class Session:
    """model: a live one; opener: opens it when it is first needed; run: a stored audit of it.

    others: models (other checkpoints of it, for instance) that read every text too, to be compared with.
    example: the one of the run that is shown first. marks: the file that rationales marked by hand go to (default:
    beside the run; nowhere without one). allow_code: code that the run, or a Spec that somebody shared, names may run;
    code in `methods` always may, because whoever makes the session named it.
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
        self._shelf = Shelf()
        self._lock = threading.RLock()
        self._count = 0
        judged = [] if run is None else run.manifest.get("judgements") or []
        self._verdict = verdict_entry(judged[0] if judged else None)
        if run is not None:
            made = pack_of_run(run, ids=self._ids(MOST), lazy=True, budget_bytes=1 << 30)
            by_id = {e["id"]: e for e in run.examples()}
            self.first = self._shelf.put(Held(made, rows=[by_id[e.id] for e in made.manifest.examples],
                                         methods=tuple(run.methods())))  # fmt: skip
            if self._model is None and self._opener is None and run.manifest["model"].get("spec") is not None:
                self._opener = lambda: model_of(run, allow_code=allow_code)

    @property
    def first(self) -> str | None:
        """The pack that is shown first."""
        return self._shelf.first

    @first.setter
    def first(self, name: str | None) -> None:
        self._shelf.first = name

    # ------------------------------------------------------------------ the door

    def call(self, op: str, body: Body) -> dict[str, Json]:
        """The answer to one request; errors are RegardErrors."""
        if op not in _OPS:
            raise UnknownName("request", op[:40], _OPS)
        with speaking(self.lang):  # threads begin in English
            return _OPS[op](self, body)

    def chunk(self, pack: str, name: str) -> bytes:
        """The gzip bytes of one chunk."""
        held = self._shelf.get(pack)
        if name not in held.pack.chunks:
            raise UnknownName("chunk", name[:60], ())
        return held.pack.chunks[name]

    def show(self, example: Example, methods: Sequence[str] = (), *, changed: Example | None = None) -> str:
        """Ask about an example now, without a queue; the id of its pack, which is shown first from now on.

        changed: another version of it (attacked, noisy, rewritten), to be compared with.
        """
        for one in (example, changed):
            not_too_long(one)
        quiet = Job("first", lambda job: {}, threading.Condition())
        chosen = list(methods or self.methods)
        other = "" if changed is None else str(self._answered(changed, chosen, quiet)["pack"])
        self.first = found = str(self._answered(example, chosen, quiet, beside=other)["pack"])
        return found

    def show_spec(self, value: object) -> str:
        """Somebody's text with their edits, before and after: shown first from now on."""
        quiet = Job("first", lambda job: {}, threading.Condition())
        edited = self._opened(received(value), quiet)["edited"]
        assert isinstance(edited, dict)
        self.first = found = str(edited["pack"])
        return found

    def show_generation(self, text: str, tokens: int) -> str:
        """Let the model go on with a text, and show the attention of the writing."""
        from regard.models.capture_generation import capture_generation

        written = capture_generation(self.model, text, new_tokens=tokens)
        example = Example("text", {"text": text})
        made = pack_of_capture(written, model=self.model.name, examples=[example], made=written.made)
        self.first = found = self._shelf.put(Held(made))
        return found

    @staticmethod
    def of_pack(pack: Pack, *, lang: str = "en") -> Session:
        """A pack without a model: it can be looked at."""
        session = Session(lang=lang)
        session.first = session._shelf.put(Held(pack))
        return session

    def packed(self, budget: int) -> Pack:
        """The first pack again, within a budget of bytes: for a file that holds everything."""
        held = self._shelf.get(self.first or "")
        if self.run is not None and held.rows:
            return pack_of_run(self.run, ids=self._ids(IN_A_FILE), budget_bytes=budget)
        if held.owners:
            asked, i = held.owners[0]
            return asked.counterfactual(i, held.edits, budget)[1] if held.edits else asked.pack(budget, held.beside)
        return held.pack

    def _ids(self, most: int) -> list[str]:
        """Examples of the run that are shown: the one that was asked for, those with attention, others."""
        assert self.run is not None
        there = [str(e["id"]) for e in self.run.examples() if e["units"]]
        if self._example is not None and self._example not in there:
            raise UnknownName("example of this run", self._example, there)
        asked = [] if self._example is None else [self._example]
        return [name for name in dict.fromkeys([*asked, *self.run.kept(), *there]) if name in set(there)][:most]

    def close(self) -> None:
        self._jobs.close()

    @property
    def model(self) -> Model:
        """The live model, opened when it is first needed."""
        with self._lock:
            if self._model is None and self._opener is not None:
                opened = self._opener()
                told = None if self.run is None else self.run.manifest["model"]["fingerprint"]
                if told is not None and opened.fingerprint != told:
                    raise InputError(
                        "model of this run", expected="the weights that the run was about", got="other weights",
                        remedy="look at the stored run only, or audit this model anew",
                    )  # fmt: skip
                self._model = opened
            if self._model is None:
                raise Unsupported(
                    "this view", expected="a live model", got="a stored run whose model cannot be opened by its name"
                )
            return self._model

    @property
    def is_live(self) -> bool:
        return self._model is not None or self._opener is not None

    def pack(self, name: str | None = None) -> Pack:
        """The pack that is shown first, or one by its id."""
        return self._shelf.get(name or self.first or "").pack

    # ------------------------------------------------------------------ requests

    def _hello(self, body: Body) -> dict[str, Json]:
        marks, first = self._marks is not None, self._shelf.peek()
        facts = greeting(self._model, self.run, None if first is None else first.pack, live=self.is_live, marks=marks)
        return {
            **facts, "chosen": list(self.methods), "pack": self.first, "lang": self.lang,
            "others": [other.name for other in self._others],
        }  # fmt: skip

    def _ask(self, body: Body) -> dict[str, Json]:
        self._count += 1
        example, methods = text_example(body, self._count), self._checked(body.get("methods", list(self.methods)))
        beside = body.get("beside")
        if beside is not None:
            self._shelf.get(str(beside))  # a pack that is not there is a mistake of the request, and said at once
        return self._jobs.start(lambda job: self._answered(example, methods, job, beside=str(beside or "")))

    def _checked(self, given: object) -> list[str]:
        """The methods that a page or a Spec names; code that the user did not type is refused."""
        methods, typed = method_names(given), [Spec.parse("explainer", m) for m in self.methods]
        asked = [Spec.parse("explainer", m) for m in methods]
        refuse_code("methods of this request or Spec", asked, typed=typed, allow_code=self._allow_code)
        return methods

    def _answered(self, example: Example, methods: list[str], job: Job, *, beside: str = "") -> dict[str, Json]:
        with speaking(self.lang):
            return self._read(example, methods, job, beside)

    def _read(self, example: Example, methods: list[str], job: Job, beside: str) -> dict[str, Json]:
        began = time.perf_counter()
        job.step("opening the model", 0, len(methods) + 2)
        asked = Asked.of(self.model, example, seed=self._seed, verdict=self._verdict)
        asked.explain(methods, job)
        others = self._compared(example, methods, job, beside)
        owners = [(asked, i) for i in range(len(asked.examples))] + [(o.asked, o.example) for o in others]
        pack = self._shelf.put(Held(asked.pack(beside=others), owners, methods=tuple(methods), beside=others))
        return {
            "pack": pack, "said": asked.said(0), "skipped": dict(asked.skipped),
            "seconds": round(time.perf_counter() - began, 3),
        }  # fmt: skip

    def _compared(self, example: Example, methods: list[str], job: Job, beside: str) -> tuple[Beside, ...]:
        """The same text read by the other models, and the first text of another pack."""
        found = []
        for model in self._others:
            same = model.name == self.model.name
            called = f"{model.name} ({model.fingerprint[:8]})" if same else model.name
            asked = Asked.of(model, example, seed=self._seed, called=called)
            asked.explain(methods, job)
            found.append(Beside(f"{self.model.name} and {called}", asked))
        if beside:
            asked, i = self._owner(self._shelf.get(beside), 0)
            found.append(Beside("this text and the one before", asked, i))
        return tuple(found)

    def _edit(self, body: Body) -> dict[str, Json]:
        held, example = self._owned(body)
        edits = body.get("edits")
        if not isinstance(edits, list):
            raise InputError("edits", expected="a list", got=type(edits).__name__)
        return self._jobs.start(lambda job: self._edited(held, example, edits, job))

    def _edited(self, held: Held, example: int, edits: list[Any], job: Job) -> dict[str, Json]:
        job.step("editing", 0, 1)
        asked, i = self._owner(held, example)
        with speaking(self.lang):
            found, pack = asked.counterfactual(i, edits)
        spec = shared(asked.model.name, asked.model.fingerprint, asked.examples[i].inputs, held.methods, edits)
        mine = Held(pack, [(asked, i)] * len(pack.manifest.examples), methods=held.methods, edits=edits)
        return {**found, "pack": self._shelf.put(mine), "spec": spec.to_json()}

    def _alternative(self, body: Body) -> dict[str, Json]:
        held, example = self._owned(body)

        def work(job: Job) -> dict[str, Json]:
            job.step("looking for another attention with the same answer", 0, 1)
            return alternative(*self._owner(held, example), self.run)

        return self._jobs.start(work)

    def _open(self, body: Body) -> dict[str, Json]:
        spec = received(body.get("spec"))
        return self._jobs.start(lambda job: self._opened(spec, job))

    def _opened(self, spec: Spec, job: Job) -> dict[str, Json]:
        text = {"text": spec.params["text"], "pair": spec.params.get("text_pair")}
        self._count += 1
        example, methods = text_example(text, self._count), self._checked(spec.params.get("methods", []))
        theirs = spec.params.get("fingerprint")
        if theirs and theirs != self.model.fingerprint:
            raise InputError(
                "spec",
                expected=f"edits of this model, {self.model.name}",
                got=f"edits of {spec.params.get('model')}",
            )
        first = self._answered(example, methods, job)
        edits = spec.params.get("edits")
        listed = edits if isinstance(edits, list) else []
        after = self._edited(self._shelf.get(str(first["pack"])), 0, listed, job)
        return {**first, "edited": after, "edits": listed}

    def _job(self, body: Body) -> dict[str, Json]:
        after = body.get("after")
        return self._jobs.look(str(body.get("job")), after if isinstance(after, int) else None)

    def _cancel(self, body: Body) -> dict[str, Json]:
        return self._jobs.cancel(str(body.get("job")))

    def _manifest(self, body: Body) -> dict[str, Json]:
        return self._shelf.get(str(body.get("pack"))).pack.manifest_json()

    def _marked(self, body: Body) -> dict[str, Json]:
        return marks_of(self._marks, self._place(body)[2])

    def _mark(self, body: Body) -> dict[str, Json]:
        held, at, name, inputs = self._place(body)
        return marked(self._marks, name, inputs, held.pack.manifest.examples[at].units, body)

    # ------------------------------------------------------------------ packs

    def _owned(self, body: Body) -> tuple[Held, int]:
        if not self.is_live:
            raise Unsupported("an edit", expected="a live model", got="a stored run whose model cannot be opened")
        held, at, _, _ = self._place(body)
        return held, at

    def _place(self, body: Body) -> tuple[Held, int, str, Mapping[str, Any]]:
        """(pack, example, its id, its inputs)."""
        held, at = self._shelf.get(str(body.get("pack"))), positive(body.get("example", 0), "example")
        if at >= len(held.pack.manifest.examples):
            raise UnknownName("example", str(at), map(str, range(len(held.pack.manifest.examples))))
        if held.rows:
            return held, at, str(held.rows[at]["id"]), held.rows[at]["inputs"]
        if not held.owners:
            raise Unsupported("this view", expected="a run or a live model", got="a capture alone")
        asked, i = held.owners[at]
        return held, at, text_id(asked.examples[i]), asked.examples[i].inputs

    def _owner(self, held: Held, at: int) -> tuple[Asked, int]:
        if not held.owners:
            assert self.run is not None
            run = self.run
            held.owners = [
                (Asked.of(self.model, example_of(run, row), seed=self._seed, verdict=self._verdict), 0)
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
    "manifest": Session._manifest,
    "marks": Session._marked,
    "mark": Session._mark,
}
