"""What a host asks for, whatever carries it (see `live/__init__` for the requests): one model, perhaps a run, packs."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.errors import InputError, UnknownName, Unsupported
from regard.evaluate.judging import example_of, model_of
from regard.live.alternatives import alternative
from regard.live.asked import Asked, method_names, text_example
from regard.live.edits import received, shared
from regard.live.jobs import Job, Jobs, positive
from regard.present.pack import pack_of_capture, pack_of_run, verdict_entry
from regard.present.pack_records import Pack
from regard.present.saying import speaking
from regard.protocols import Model
from regard.records import Example, Json, Spec
from regard.registry import entry, names
from regard.store.rationales import FILE, Mark, keep_mark, read_marks
from regard.store.run import Run

KEPT = 24
MOST = 200
IN_A_FILE = 12
"""Examples of a run that the app offers, and how many go into a file."""
METHODS = ("attention", "leave_one_out")
Body = Mapping[str, Any]


@dataclass(slots=True, eq=False)
class Held:
    """A pack that the page may ask about. owners: for each of its examples the input and its number there."""

    pack: Pack
    owners: list[tuple[Asked, int]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    methods: tuple[str, ...] = ()
    edits: list[Any] = field(default_factory=list)


class Session:
    """model: a live one; opener: opens it when it is first needed; run: a stored audit of it.

    example: the one of the run that is shown first. marks: the file that rationales marked by hand go to (default:
    beside the run; nowhere without one).
    """

    def __init__(
        self,
        model: Model | None = None,
        *,
        opener: Callable[[], Model] | None = None,
        run: Run | None = None,
        example: str | None = None,
        methods: Sequence[str] = METHODS,
        marks: Path | None = None,
        lang: str = "en",
        seed: int = 0,
    ) -> None:
        self._model, self._opener = model, opener
        self.run, self.lang, self._seed = run, lang, seed
        self.methods = tuple(methods)
        self._example = example
        self._marks = marks or (None if run is None else run.path / FILE)
        self._jobs = Jobs()
        self._packs: OrderedDict[str, Held] = OrderedDict()
        self._lock = threading.RLock()
        self._count = 0
        self.first: str | None = None
        judged = [] if run is None else run.manifest.get("judgements") or []
        self._verdict = verdict_entry(judged[0] if judged else None)
        if run is not None:
            made = pack_of_run(run, ids=self._ids(MOST), lazy=True, budget_bytes=1 << 30)
            by_id = {e["id"]: e for e in run.examples()}
            self.first = self._hold(Held(made, rows=[by_id[e.id] for e in made.manifest.examples],
                                         methods=tuple(run.methods())))  # fmt: skip
            if self._model is None and self._opener is None and run.manifest["model"].get("spec") is not None:
                self._opener = lambda: model_of(run)

    # ------------------------------------------------------------------ the door

    def call(self, op: str, body: Body) -> dict[str, Json]:
        """The answer to one request; errors are RegardErrors."""
        if op not in _OPS:
            raise UnknownName("request", op[:40], _OPS)
        with speaking(self.lang):  # threads begin in English
            return _OPS[op](self, body)

    def chunk(self, pack: str, name: str) -> bytes:
        """The gzip bytes of one chunk."""
        held = self._held(pack)
        if name not in held.pack.chunks:
            raise UnknownName("chunk", name[:60], ())
        return held.pack.chunks[name]

    def show(self, example: Example, methods: Sequence[str] = ()) -> str:
        """Ask about an example now, without a queue; the id of its pack, which is shown first from now on."""
        quiet = Job("first", lambda job: {}, threading.Condition())
        self.first = str(self._answered(example, list(methods or self.methods), quiet)["pack"])
        return self.first

    def show_spec(self, value: object) -> str:
        """Somebody's text with their edits, before and after: shown first from now on."""
        quiet = Job("first", lambda job: {}, threading.Condition())
        edited = self._opened(received(value), quiet)["edited"]
        assert isinstance(edited, dict)
        self.first = str(edited["pack"])
        return self.first

    def show_generation(self, text: str, tokens: int) -> str:
        """Let the model go on with a text, and show the attention of the writing."""
        from regard.models.generating import capture_generation

        written = capture_generation(self.model, text, new_tokens=tokens)
        example = Example("text", {"text": text})
        made = pack_of_capture(written, model=self.model.name, examples=[example], made=written.made)
        self.first = self._hold(Held(made))
        return self.first

    @staticmethod
    def of_pack(pack: Pack, *, lang: str = "en") -> Session:
        """A pack without a model: it can be looked at."""
        session = Session(lang=lang)
        session.first = session._hold(Held(pack))
        return session

    def packed(self, budget: int) -> Pack:
        """The first pack again, within a budget of bytes: for a file that holds everything."""
        held = self._held(self.first or "")
        if self.run is not None and held.rows:
            return pack_of_run(self.run, ids=self._ids(IN_A_FILE), budget_bytes=budget)
        if held.owners:
            asked, i = held.owners[0]
            return asked.counterfactual(i, held.edits, budget)[1] if held.edits else asked.pack(budget)
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
        return self._held(name or self.first or "").pack

    # ------------------------------------------------------------------ requests

    def _hello(self, body: Body) -> dict[str, Json]:
        facts = None if self.run is None else self.run.manifest["model"]
        live = self._model
        name = live.name if live is not None else str(facts["name"]) if facts is not None else ""
        labels: list[Json] = list(live.labels) if live is not None else list((facts or {}).get("labels") or [])
        modality = getattr(live, "modality", None) or ("text" if self._is_text() else "other")
        can: dict[str, Json] = {
            "ask": self.is_live and modality == "text", "edit": self.is_live, "alternative": self.is_live,
            "mark": self._marks is not None,
        }  # fmt: skip
        return {
            "model": name, "task": live.task if live is not None else str((facts or {}).get("task", "")),
            "labels": labels, "run": None if self.run is None else self.run.path.name, "about": _about(),
            "methods": list(names("explainer")), "chosen": list(self.methods), "can": can, "pack": self.first,
            "lang": self.lang,
        }  # fmt: skip

    def _is_text(self) -> bool:
        held = self._packs.get(self.first or "")
        return held is None or any(e.text is not None for e in held.pack.manifest.examples)

    def _ask(self, body: Body) -> dict[str, Json]:
        self._count += 1
        example, methods = text_example(body, self._count), method_names(body.get("methods", list(self.methods)))
        return self._jobs.start(lambda job: self._answered(example, methods, job))

    def _answered(self, example: Example, methods: list[str], job: Job) -> dict[str, Json]:
        with speaking(self.lang):
            return self._read(example, methods, job)

    def _read(self, example: Example, methods: list[str], job: Job) -> dict[str, Json]:
        began = time.perf_counter()
        job.step("opening the model", 0, len(methods) + 2)
        asked = Asked.of(self.model, example, seed=self._seed, verdict=self._verdict)
        asked.explain(methods, job)
        owners = [(asked, i) for i in range(len(asked.examples))]
        pack = self._hold(Held(asked.pack(), owners, methods=tuple(methods)))
        return {
            "pack": pack, "said": asked.said(0), "skipped": dict(asked.skipped),
            "seconds": round(time.perf_counter() - began, 3),
        }  # fmt: skip

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
        return {**found, "pack": self._hold(mine), "spec": spec.to_json()}

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
        example, methods = text_example(text, self._count), method_names(spec.params.get("methods", []))
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
        after = self._edited(self._held(str(first["pack"])), 0, listed, job)
        return {**first, "edited": after, "edits": listed}

    def _job(self, body: Body) -> dict[str, Json]:
        after = body.get("after")
        return self._jobs.look(str(body.get("job")), after if isinstance(after, int) else None)

    def _cancel(self, body: Body) -> dict[str, Json]:
        return self._jobs.cancel(str(body.get("job")))

    def _manifest(self, body: Body) -> dict[str, Json]:
        return self._held(str(body.get("pack"))).pack.manifest_json()

    def _marked(self, body: Body) -> dict[str, Json]:
        _, _, name, _ = self._place(body)
        if self._marks is None:
            return {"marks": []}
        return {"marks": [m.to_json() for m in read_marks(self._marks) if m.id == name]}

    def _mark(self, body: Body) -> dict[str, Json]:
        if self._marks is None:
            raise Unsupported("marking a rationale", expected="a run, or --rationales FILE", got="no place to keep it")
        held, at, name, inputs = self._place(body)
        units = held.pack.manifest.examples[at].units
        given, author = body.get("units"), body.get("author")
        if not isinstance(given, list) or len(given) > len(units.names) or not isinstance(author, str):
            raise InputError("mark", expected="a list of units and an author", got=str(type(given).__name__))
        chosen = sorted({positive(u, "unit") for u in given})
        wrong = [u for u in chosen if u >= len(units.names) or units.special[u] or units.part[u] != 0]
        if wrong:
            raise InputError("mark", expected="units of the first text that are not special", got=f"unit {wrong[0]}")
        places = tuple(tuple(float(x) for x in units.places[u]) for u in chosen)
        about: dict[str, Json] = {k: v for k, v in inputs.items() if isinstance(v, str)}
        marks = keep_mark(self._marks, Mark(name, places, author, about=about))
        return {"marks": [m.to_json() for m in marks]}

    # ------------------------------------------------------------------ packs

    def _hold(self, held: Held) -> str:
        name = secrets.token_urlsafe(9)
        with self._lock:
            self._packs[name] = held
            while len(self._packs) > KEPT:
                oldest = next(n for n in self._packs if n != self.first)
                del self._packs[oldest]
        return name

    def _held(self, name: str) -> Held:
        with self._lock:
            if name not in self._packs:
                raise UnknownName("pack", name[:40], ())
            if name != self.first:
                self._packs.move_to_end(name)
            return self._packs[name]

    def _owned(self, body: Body) -> tuple[Held, int]:
        if not self.is_live:
            raise Unsupported("an edit", expected="a live model", got="a stored run whose model cannot be opened")
        held, at, _, _ = self._place(body)
        return held, at

    def _place(self, body: Body) -> tuple[Held, int, str, Mapping[str, Any]]:
        """(pack, example, its id, its inputs)."""
        held, at = self._held(str(body.get("pack"))), positive(body.get("example", 0), "example")
        if at >= len(held.pack.manifest.examples):
            raise UnknownName("example", str(at), map(str, range(len(held.pack.manifest.examples))))
        if held.rows:
            return held, at, str(held.rows[at]["id"]), held.rows[at]["inputs"]
        if not held.owners:
            raise Unsupported("this view", expected="a run or a live model", got="a capture alone")
        asked, i = held.owners[at]
        return held, at, _text_id(asked.examples[i]), asked.examples[i].inputs

    def _owner(self, held: Held, at: int) -> tuple[Asked, int]:
        if not held.owners:
            assert self.run is not None
            run = self.run
            held.owners = [
                (Asked.of(self.model, example_of(run, row), seed=self._seed, verdict=self._verdict), 0)
                for row in held.rows
            ]
        return held.owners[at]


def _text_id(example: Example) -> str:
    """A text marked twice is one example, in whatever session it was typed."""
    said = "\n".join(str(example.inputs[k]) for k in sorted(example.inputs) if isinstance(example.inputs[k], str))
    return hashlib.sha256(said.encode()).hexdigest()[:12] if said else example.id


def _about() -> dict[str, Json]:
    """What the page says about every explainer."""
    shown: dict[str, Json] = {}
    for name in names("explainer"):
        found = entry("explainer", name)
        facts = {key: found.facts.get(key) for key in ("signed", "role", "needs", "cost", "misleads")}
        shown[name] = {"summary": found.summary, **facts}
    return shown


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
