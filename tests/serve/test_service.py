"""The service answers as the model does, with the audit of exactly these weights, whoever asks at the same time."""

from __future__ import annotations

import asyncio
import copy
import io
import json
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx
import numpy as np
import pytest
import torch

from regard.audits.conclude import ConcludedRun
from regard.audits.explain import explain
from regard.errors import Busy, EnvironmentProblem, InputError
from regard.models.ask.current_fingerprint import current_fingerprint
from regard.present.messages.messages import say, speaking
from regard.protocols import Model
from regard.records import Example
from regard.serve.app import application
from regard.serve.audited_range import AuditedRange
from regard.serve.batch_worker import BatchWorker, DeadlinePassed, Task
from regard.serve.limits import ServiceLimits
from regard.serve.request_log import RequestLog
from regard.serve.server import open_server
from regard.serve.service import Service, measured_cost, open_service
from regard.store.run import Run

T = TypeVar("T")
TEXTS = [f"the film of {word} day in town number {i}" for i in range(6) for word in ("a superb", "a terrible")]
V1, V2 = "/v1/models/planted", "/v2/models/planted"


def asked(service: Service, work: Callable[[httpx.AsyncClient], Awaitable[T]], **settings: Any) -> T:
    """Run requests against the application in this process."""

    async def session() -> T:
        transport = httpx.ASGITransport(app=application(service, **settings))  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
            return await work(client)

    return asyncio.run(session())


def post(service: Service, path: str, body: Any, **settings: Any) -> httpx.Response:
    async def one(client: httpx.AsyncClient) -> httpx.Response:
        if isinstance(body, bytes):
            return await client.post(path, content=body)
        return await client.post(path, json=body)

    return asked(service, one, **settings)


def get(service: Service, path: str, **settings: Any) -> httpx.Response:
    async def one(client: httpx.AsyncClient) -> httpx.Response:
        return await client.get(path)

    return asked(service, one, **settings)


def direct(model: Model, text: str) -> tuple[str, float]:
    answers, targets = model.predict([model.encode(Example("one", {"text": text}))])
    return model.labels[int(str(targets[0]))], float(answers.probability[0])


def test_predictions_are_those_of_the_model(service: Service, model: Model) -> None:
    rows = post(service, f"{V1}:predict", {"instances": [*TEXTS, {"text": TEXTS[0]}]}).json()["predictions"]
    for row, text in zip(rows, [*TEXTS, TEXTS[0]], strict=True):
        label, probability = direct(model, text)
        assert row["label"] == label
        assert row["probability"] == pytest.approx(probability, abs=1e-5)
        assert sum(row["distribution"].values()) == pytest.approx(1.0, abs=1e-6)


def test_explanations_are_those_of_regard_explain(service: Service, model: Model) -> None:
    body = {"instances": TEXTS[:3], "parameters": {"methods": ["attention", "leave_one_out:operator=mask"]}}
    rows = post(service, f"{V1}:explain", body).json()["explanations"]
    expected = explain(model, TEXTS[:3], ["attention", "leave_one_out:operator=mask"])
    for i, row in enumerate(rows):
        assert row["units"]["names"] == list(expected.units[i].names)
        for method, relevance in expected.relevance.items():
            np.testing.assert_allclose(row["methods"][method]["relevance"], relevance[i], atol=1e-5)
        mark, same = row["methods"]["attention"]["mark"], expected.marks["attention"][i]
        assert same is not None
        assert mark["marked"] == pytest.approx(same.marked, abs=1e-5)  # `random` depends on the name of the example


def test_every_explanation_carries_the_audit(service: Service, audited_run: Run) -> None:
    row = post(service, f"{V1}:explain", {"instances": TEXTS[:1], "methods": ["attention"]}).json()["explanations"][0]
    judgement = audited_run.manifest["judgements"][0]
    assert row["audited"] is True
    assert row["audit"]["verdict"] == judgement["reading"]
    assert row["audit"]["fingerprint"] == audited_run.manifest["model"]["fingerprint"]
    trust = row["methods"]["attention"]["trust"]
    stored = {
        (d.metric, dict(d.setting)["operator"]): d
        for d in ConcludedRun(audited_run).conclusions.differences
        if d.method == "attention" and d.metric in ("comprehensiveness", "sufficiency")
    }
    assert {(r["metric"], r["operator"]) for r in trust["against_random"]} == set(stored)
    for r in trust["against_random"]:
        d = stored[r["metric"], r["operator"]]
        assert (r["n"], r["baseline"]) == (d.n, "random")
        assert r["estimate"] == pytest.approx(d.estimate, abs=1e-4)
    assert "predictions" in post(service, f"{V1}:explain", {"instances": TEXTS[:1]}).json()


def test_other_weights_are_not_audited(model: Model, audited_run: Run) -> None:
    other: Any = copy.deepcopy(model)
    with torch.no_grad():
        next(other.module.parameters()).view(-1)[0] += 1e-3
    current_fingerprint(other)
    for run, reason in ((audited_run, "an audit of other weights"), (None, "no audit")):
        service = open_service(other, run, name="planted")
        answer = post(service, f"{V1}:explain", {"instances": TEXTS[:1], "methods": ["attention"]}).json()
        service.drain()
        assert answer["audited"] is False
        row = answer["explanations"][0]
        assert (row["audited"], row["audit"]["reason"]) == (False, reason)
        assert row["methods"]["attention"]["trust"] == {"measured": False}
        assert [w["code"] for w in row["warnings"]] == ["unaudited"]


def test_a_request_may_name_the_target(service: Service, model: Model) -> None:
    text = TEXTS[0]
    label, probability = direct(model, text)
    other = next(name for name in model.labels if name != label)
    body = {"instances": [text], "parameters": {"methods": ["leave_one_out:operator=mask"], "target": other}}
    row = post(service, f"{V1}:explain", body).json()["explanations"][0]
    assert row["prediction"]["label"] == label
    assert row["target"]["label"] == other
    assert row["target"]["probability"] == pytest.approx(1 - probability, abs=1e-5)
    own = post(service, f"{V1}:explain", {**body, "parameters": {"methods": ["leave_one_out:operator=mask"]}})
    straight = own.json()["explanations"][0]["methods"]["leave_one_out:operator=mask"]["relevance"]
    turned = row["methods"]["leave_one_out:operator=mask"]["relevance"]
    np.testing.assert_allclose(turned, [-value for value in straight], atol=1e-4)  # two classes: the log-odds turn


def test_a_spent_budget_leaves_the_prediction(service: Service) -> None:
    body = {"instances": ["the film of a superb day in town " * 12], "methods": ["kernel_shap"], "budget_ms": 1}
    row = post(service, f"{V1}:explain", body).json()["explanations"][0]
    assert row["methods"] == {}
    assert list(row["skipped"]) == ["kernel_shap"]
    assert row["prediction"]["label"] in ("negative", "positive")


def test_v2_has_the_same_numbers_and_an_explanation(service: Service, model: Model) -> None:
    tensor = {"name": "text", "shape": [2], "datatype": "BYTES", "data": TEXTS[:2]}
    outputs = [{"name": "probability"}, {"name": "explanation"}]
    body = {"id": "7", "inputs": [tensor], "outputs": outputs, "parameters": {"methods": "attention"}}
    answer = post(service, f"{V2}/infer", body).json()
    by_name = {output["name"]: output for output in answer["outputs"]}
    assert (answer["id"], answer["model_name"], set(by_name)) == ("7", "planted", {"probability", "explanation"})
    for i in range(2):
        assert by_name["probability"]["data"][i] == pytest.approx(direct(model, TEXTS[i])[1], abs=1e-5)
        assert json.loads(by_name["explanation"]["data"][i])["audited"] is True
    metadata = get(service, V2).json()
    assert metadata["inputs"] == [{"name": "text", "datatype": "BYTES", "shape": [-1]}]
    assert "explanation" in {output["name"] for output in metadata["outputs"]}


def test_health_and_metrics(service: Service) -> None:
    post(service, f"{V1}:predict", {"instances": TEXTS[:1]})
    assert get(service, "/v2/health/live").status_code == 200
    assert get(service, "/v2/health/ready").json() == {"ready": True}
    assert get(service, f"{V2}/ready").status_code == 200
    assert get(service, "/v2/models/other/ready").status_code == 404
    prometheus = pytest.importorskip("prometheus_client.parser")
    families = {f.name: f for f in prometheus.text_string_to_metric_families(get(service, "/metrics").text)}
    assert {"regard_requests", "regard_request_seconds", "regard_batch_rows", "regard_queue_depth"} <= set(families)
    counts = {tuple(s.labels.values()): s.value for s in families["regard_requests"].samples}
    assert counts["predict", "200"] >= 1


def test_answers_and_metrics_speak_the_language_of_the_service(model: Model) -> None:
    with speaking("zh"):
        service = open_service(model, name="planted", limits=ServiceLimits(deadline=120.0))
        metrics = get(service, "/metrics").text
        caveat = say("caveat")
    answer = post(service, f"{V1}:explain", {"instances": TEXTS[:1], "methods": ["attention"]}).json()
    service.drain()
    assert answer["explanations"][0]["caveat"] == caveat, "computed in a thread that began in Chinese"
    assert "# HELP regard_queue_depth 排队中的请求数。" in metrics.splitlines()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "expected JSON"),
        (b"[]", "a JSON object"),
        ({}, "a list of 1 to"),
        ({"instances": []}, "a list of 1 to"),
        ({"instances": [""]}, "a text"),
        ({"instances": [{"txt": "a"}]}, "'txt'"),
        ({"instances": ["a"], "methods": ["no_such"]}, "no such explainer"),
        ({"instances": ["a"], "methods": ["given:function=x.py:f"]}, "adapter"),
        ({"instances": ["a"], "target": "neutral"}, "a class"),
        ({"instances": ["a"], "budget_ms": 0}, "a whole number"),
        ({"instances": ["a"], "units": "letter"}, "unit or word"),
        (b'{"instances": ["\\ud800"]}', "lone surrogate"),
    ],
)
def test_bad_requests_are_one_clear_line(service: Service, body: Any, words: str) -> None:
    answer = post(service, f"{V1}:explain", body)
    assert answer.status_code == 400
    assert words in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def test_an_unreadable_input_fails_its_own_request_only(service: Service) -> None:
    async def both(client: httpx.AsyncClient) -> list[httpx.Response]:
        bad = {"instances": [TEXTS[0], {"text": "a", "text_pair": "b"}]}
        bodies = [bad, {"instances": TEXTS[:2]}, bad, {"instances": TEXTS[2:4]}]
        return await asyncio.gather(*(client.post(f"{V1}:predict", json=body) for body in bodies))

    statuses = [answer.status_code for answer in asked(service, both)]
    assert statuses[1::2] == [200, 200]
    assert set(statuses[::2]) <= {200, 400}  # a model may read pairs; this one decides for itself


def test_key_size_and_type_are_checked_before_any_work(service: Service) -> None:
    async def calls(client: httpx.AsyncClient) -> list[int]:
        body = json.dumps({"instances": TEXTS[:1]})
        kind = {"content-type": "application/json"}
        heads = [{}, {"x-api-key": "other"}, {"x-api-key": "secret"}, {"authorization": "Bearer secret"}]
        answers = [await client.post(f"{V1}:predict", content=body, headers={**kind, **head}) for head in heads]
        answers.append(await client.get("/v2/health/ready"))
        answers.append(await client.get(f"{V2}/ready"))
        answers.append(await client.get("/metrics"))
        key = {"x-api-key": "secret"}
        answers.append(await client.post(f"{V1}:predict", content="x" * (2 << 20), headers={**kind, **key}))
        answers.append(await client.post(f"{V1}:predict", content="x", headers={"content-type": "text/html", **key}))
        return [answer.status_code for answer in answers]

    assert asked(service, calls, keys=["secret"]) == [401, 401, 200, 200, 200, 200, 401, 413, 415]
    with pytest.raises(EnvironmentProblem, match="API key"):
        open_server(service, host="0.0.0.0")


def test_logs_hold_no_text_unless_the_operator_wants_it(service: Service) -> None:
    for texts in (False, True):
        out = io.StringIO()
        post(service, f"{V1}:predict", {"instances": ["superb secret"]}, log=RequestLog(out, texts=texts))
        line = json.loads(out.getvalue())
        assert (line["event"], line["operation"], line["status"], line["rows"]) == ("request", "predict", 200, 1)
        assert ("superb" in out.getvalue()) is texts


def test_every_request_is_a_span_without_its_text(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry import trace
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    spans, provider = InMemorySpanExporter(), sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    log = RequestLog()
    post(service, f"{V1}:predict", {"instances": ["superb secret"]}, log=log)
    post(service, f"{V1}:explain", {"instances": ["superb secret"], "parameters": {"target": "secret"}}, log=log)
    stored = [json.loads(span.to_json()) for span in spans.get_finished_spans()]
    assert [span["name"] for span in stored] == ["regard.predict", "regard.explain"]
    assert [span["attributes"]["regard.status"] for span in stored] == [200, 400]
    assert "secret" not in json.dumps(stored)


def test_a_full_queue_refuses_with_retry_after(model: Model) -> None:
    service = open_service(model, name="planted", limits=ServiceLimits(queue=2, batch=1, deadline=60.0))
    gate = threading.Event()
    blocked = service.worker.submit(Task("predict", [], 0, time.monotonic() + 60))
    blocked.result()
    original, service.worker._compute = (
        service.worker._compute,
        lambda key, tasks: (gate.wait(), [None] * len(tasks))[1],
    )

    async def crowd(client: httpx.AsyncClient) -> list[httpx.Response]:
        waiting = [asyncio.create_task(client.post(f"{V1}:predict", json={"instances": [t]})) for t in TEXTS[:6]]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.sleep(0.05)
        service.worker._compute = original
        gate.set()
        return [await answer for answer in waiting]

    answers = asked(service, crowd)
    service.drain()
    refused = [a for a in answers if a.status_code == 429]
    assert len(refused) in (3, 4)  # two wait, and one runs if the worker took it in time
    assert all(1 <= int(a.headers["retry-after"]) <= 60 for a in refused)


def test_a_passed_deadline_is_504_and_costs_no_pass(model: Model) -> None:
    service = open_service(model, name="planted", limits=ServiceLimits(deadline=0.05))
    calls: list[int] = []
    compute = service.worker._compute

    def slow(key: Any, tasks: Any) -> Any:
        calls.append(len(tasks))
        time.sleep(0.3)
        return compute(key, tasks)

    service.worker._compute = slow

    async def two(client: httpx.AsyncClient) -> list[int]:
        first = asyncio.create_task(client.post(f"{V1}:predict", json={"instances": TEXTS[:1]}))
        await asyncio.sleep(0.02)
        second = await client.post(f"{V1}:predict", json={"instances": TEXTS[1:2]})
        return [(await first).status_code, second.status_code]

    assert asked(service, two) == [504, 504]
    service.drain()
    assert calls == [1]


def test_draining_answers_what_waits_and_refuses_the_rest() -> None:
    began, gate = threading.Event(), threading.Event()

    def compute(key: Any, tasks: Any) -> list[Any]:
        began.set()
        gate.wait()
        return [task.payload for task in tasks]

    worker = BatchWorker(compute, queue=8, rows=1)
    futures = [worker.submit(Task("k", i, 1, time.monotonic() + 600)) for i in range(4)]
    began.wait()
    closing = threading.Thread(target=worker.drain, args=(600,))
    closing.start()
    while not worker._closed:
        time.sleep(0.001)
    with pytest.raises(Busy):
        worker.submit(Task("k", 9, 1, time.monotonic() + 600))
    gate.set()
    closing.join()
    assert [future.result() for future in futures] == [0, 1, 2, 3]


def test_batches_hold_equal_keys_in_order() -> None:
    gate, batches = threading.Event(), []

    def compute(key: Any, tasks: Any) -> list[Any]:
        gate.wait()
        batches.append((key, [task.payload for task in tasks]))
        return [task.payload for task in tasks]

    worker = BatchWorker(compute, queue=99, rows=3)
    end = time.monotonic() + 600
    futures = [worker.submit(Task("first", 0, 1, end))]
    while worker.depth:
        time.sleep(0.001)
    futures += [worker.submit(Task("ab"[i % 2], i, 1, end)) for i in range(1, 9)]
    expired = worker.submit(Task("a", -1, 1, time.monotonic() - 1))
    gate.set()
    assert [future.result() for future in futures] == list(range(9))
    assert batches == [("first", [0]), ("b", [1, 3, 5]), ("a", [2, 4, 6]), ("b", [7]), ("a", [8])]
    with pytest.raises(DeadlinePassed):
        expired.result()
    worker.drain(600)


def test_many_clients_get_their_own_answers_over_a_socket(service: Service, model: Model) -> None:
    texts = [f"{word} {'the ' * (i % 7)}film {i}" for i in range(60) for word in ("superb", "terrible")]
    limits = ServiceLimits(deadline=600.0)
    own = open_service(model, None, name="planted", limits=limits)
    server = open_server(own).start()

    async def session() -> list[tuple[int, Any]]:
        pool = httpx.Limits(max_connections=16)
        async with httpx.AsyncClient(base_url=server.address, limits=pool, timeout=600) as client:

            async def one(i: int) -> tuple[int, Any]:
                parts = [texts[i], texts[(7 * i) % len(texts)]]
                kind = "explain" if i % 5 == 0 else "predict"
                body = {"instances": parts, **({"methods": ["attention"]} if kind == "explain" else {})}
                return i, (await client.post(f"{V1}:{kind}", json=body)).json()

            return await asyncio.gather(*(one(i) for i in range(len(texts))))

    answers = asyncio.run(session())
    server.close()
    assert len(answers) == len(texts)
    expected = {text: direct(model, text) for text in texts}
    for i, answer in answers:
        for row, text in zip(answer["predictions"], [texts[i], texts[(7 * i) % len(texts)]], strict=True):
            assert row["label"] == expected[text][0]
            assert row["probability"] == pytest.approx(expected[text][1], abs=1e-5)
        for row, text in zip(answer.get("explanations", ()), [texts[i]], strict=False):
            assert row["units"]["names"] == text.split()
    assert own.metrics._rows.n < len(texts)  # requests shared batches


def test_inputs_outside_the_audit_are_warned_about() -> None:
    words = ["good", "bad", "film", "plot", "cast", "music", "story", "end"]
    rows = [
        {
            "inputs": {"text": " ".join(words[(i + k) % 8] for k in range(4 + i % 3))},
            "units": {"special": [True, *[False] * (4 + i % 3)]},
            "predicted": "pos" if i % 10 else "neg",
        }
        for i in range(40)
    ]
    audited = AuditedRange.of(rows)
    assert audited.lengths == (4, 6)

    def codes(text: str, length: int, label: str) -> list[str]:
        return [code for code, _ in audited.outside({"text": text}, length, label)]

    assert codes("good film cast story", 4, "pos") == []
    assert codes("good film cast story", 7, "pos") == ["length"]
    assert codes("good film cast story", 3, "neg") == ["length", "class"]  # 4 of 40 predictions
    assert codes("ein guter und langer", 4, "pos") == ["language"]
    assert codes("хороший film cast story", 4, "pos") == ["language"]


def test_costs_are_measured_per_method(service: Service) -> None:
    costs = measured_cost(service, Example("sample", {"text": TEXTS[0]}), ["attention", "lrp"])
    assert list(costs) == ["", "attention", "lrp"]
    assert all(value is None or value > 0 for value in costs.values())
    with pytest.raises(InputError):
        open_service(service.model, methods=[])
