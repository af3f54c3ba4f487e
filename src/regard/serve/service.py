"""The service without HTTP: a model, its audit, the batch worker; requests in, JSON out."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from regard.errors import InputError, phrase
from regard.files import slug
from regard.live.jobs import Cancelled, stoppable
from regard.models.ask.current_fingerprint import current_fingerprint
from regard.present.messages.messages import render
from regard.protocols import Model
from regard.records import Example
from regard.registry import fact_text
from regard.serve.audit_evidence import AuditEvidence, audit_evidence
from regard.serve.batch_worker import BatchWorker, Task, late
from regard.serve.explain_batch import Budget, explain_batch, predict_batch
from regard.serve.limits import ServiceLimits
from regard.serve.metrics_text import ServiceMetrics
from regard.serve.request_bodies import ExplainOptions, InferRequest, ServiceForm
from regard.store.run import Run
from regard.surveys.cite import cite

PREDICT, CITE = "predict", "cite"
PRESETS = {
    "attention": ("attention",),
    "one_pass": ("attention", "lrp"),
    "thorough": ("attention", "lrp", "integrated_gradients", "leave_one_out"),
}
"""Presets of `--method` by cost: one forward pass; one forward and one backward pass; passes per word."""
WARM_TEXT = "this is a short text to measure the cost of one request"


@dataclass(slots=True, eq=False)
class Service:
    """Answers requests about one model. `ready` is false once it drains."""

    model: Model
    name: str
    methods: tuple[str, ...]
    evidence: AuditEvidence
    limits: ServiceLimits
    metrics: ServiceMetrics
    seed: int = 0
    worker: BatchWorker = field(init=False)
    ready: bool = True

    def __post_init__(self) -> None:
        self.worker = BatchWorker(self._compute, queue=self.limits.queue, rows=self.limits.batch)
        self.metrics.gauge("queue_depth", lambda: float(self.worker.depth))
        self.metrics.gauge("ready", lambda: float(self.ready))

    @property
    def form(self) -> ServiceForm:
        return ServiceForm(self.model.modality, self.model.labels, self.methods, self.limits)

    def submit(self, request: InferRequest) -> Future[Any]:
        """Queue a request; the future holds one JSON object per input."""
        key: Hashable = request.options or PREDICT
        deadline = time.monotonic() + self.limits.deadline
        return self.worker.submit(Task(key, request.examples, len(request.examples), deadline))

    def submit_cite(self, arguments: dict[str, Any]) -> Future[Any]:
        deadline = time.monotonic() + self.limits.deadline
        return self.worker.submit(Task((CITE, object()), arguments, 1, deadline))

    def drain(self) -> bool:
        """Refuse new requests and answer those in the queue."""
        self.ready = False
        return self.worker.drain(self.limits.drain)

    # ------------------------------------------------------------------ in the worker's thread

    def _compute(self, key: Hashable, tasks: Sequence[Task]) -> Sequence[Any]:
        self.metrics.batch(sum(task.rows for task in tasks))
        if isinstance(key, tuple) and key[0] == CITE:
            return [self._cite(tasks[0])]
        examples: list[Example] = [example for task in tasks for example in task.payload]
        if key == PREDICT:
            results = predict_batch(self.model, examples, self.limits.batch)
        else:
            assert isinstance(key, ExplainOptions)
            until = min(_end(task, key) for task in tasks)
            rows, seed = self.limits.batch, self.seed
            results = explain_batch(self.model, self.evidence, examples, key, until=until, rows=rows, seed=seed)
        answers: list[Any] = []
        for task in tasks:
            part, results = results[: task.rows], results[task.rows :]
            # one unreadable input refuses its own request, and no other
            error = next((row for row in part if isinstance(row, Exception)), None)
            answers.append(part if error is None else error)
        return answers

    def _cite(self, task: Task) -> Any:
        try:
            with stoppable(Budget(task.deadline)):
                return cite(self.model, **task.payload).to_json()
        except Cancelled:
            return late(task)


def _end(task: Task, options: ExplainOptions) -> float:
    """Deadline of an explanation: the end of its budget, at the latest that of its request."""
    budget = task.deadline if options.budget_ms is None else task.arrival + options.budget_ms / 1000
    return min(budget, task.deadline)


def open_service(
    model: Model,
    run: Run | None = None,
    *,
    name: str = "",
    methods: Sequence[str] = PRESETS["one_pass"],
    limits: ServiceLimits | None = None,
    seed: int = 0,
) -> Service:
    """Build the service of an opened model; run: the audit of these weights."""
    limits = limits or ServiceLimits()
    if not 0 < len(methods) <= limits.methods:
        raise InputError(
            "methods", expected=phrase("errors.serve.to_methods", methods=limits.methods), got=str(len(methods))
        )
    current_fingerprint(model)  # a live model may have been trained on since it was opened
    evidence = audit_evidence(model, run)
    served_name = name or slug(model.name)
    facts = {
        "model": served_name,
        "fingerprint": model.fingerprint,
        "audited": str(evidence.audited).lower(),
        "verdict": str(evidence.summary.get("verdict", "")),
    }
    return Service(
        model=model,
        name=served_name,
        methods=tuple(methods),
        evidence=evidence,
        limits=limits,
        metrics=ServiceMetrics(facts),
        seed=seed,
    )


def measured_cost(service: Service, example: Example, methods: Sequence[str]) -> dict[str, float | None]:
    """Milliseconds of one explanation by each method, and of a prediction (""): the better of two runs."""
    costs: dict[str, float | None] = {}
    for method in ("", *methods):
        options = ExplainOptions((method,)) if method else None
        seconds = []
        for _ in range(2):
            began = time.monotonic()
            rows = service.submit(InferRequest((example,), options)).result()
            seconds.append(time.monotonic() - began)
        skipped = bool(method) and bool(rows[0]["skipped"])
        costs[method] = None if skipped else round(1000 * min(seconds), 2)
    return costs


def preset_methods(text: str) -> tuple[str, ...]:
    """Methods of a preset; () for any other text.

    >>> preset_methods("one_pass")
    ('attention', 'lrp')
    """
    return PRESETS.get(text, ())


def method_cost(name: str) -> str:
    """Cost of a method in words: "1 forward, 1 backward"."""
    return render(fact_text("explainer", name.partition(":")[0], "cost"))
