"""The ASGI application: routes of KServe v1, Open Inference Protocol v2, citations, health and metrics."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from regard.errors import Busy, EnvironmentProblem, InputError, RegardError, phrase
from regard.live.guard import App
from regard.live.server import EXTRA
from regard.present.messages.messages import rendered
from regard.records import Json
from regard.serve.access import ServiceGuard
from regard.serve.batch_worker import DeadlinePassed
from regard.serve.binary_tensors import LENGTH_HEADER, BinaryBody, packed_answer, unpacked_body
from regard.serve.metrics_text import CONTENT_TYPE
from regard.serve.request_bodies import EXPLANATION, InferRequest, parse_body, read_cite, read_v1, read_v2
from regard.serve.request_log import RequestLog
from regard.serve.service import Service
from regard.visible import visible

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

OUTPUTS = ("label", "probability", "value", "distribution")


def application(service: Service, *, keys: Sequence[str] = (), log: RequestLog | None = None) -> App:
    """Build the application of a service behind its guard; keys: see `access.ServiceGuard`."""
    try:
        from starlette.applications import Starlette
        from starlette.responses import Response
        from starlette.routing import Route
    except ImportError as error:
        raise EnvironmentProblem(
            "regard serve", expected="starlette", got=phrase("errors.common.none"), remedy=EXTRA
        ) from error
    routes = _Routes(service, log or RequestLog())

    async def metrics(request: Request) -> Response:
        return Response(service.metrics.text(), media_type=CONTENT_TYPE)

    posts = {
        "/v1/models/{name}:predict": routes.predict,
        "/v1/models/{name}:explain": routes.explain,
        "/v2/models/{name}/infer": routes.infer,
        "/v2/models/{name}/versions/{version}/infer": routes.infer,
        "/v1/cite": routes.cite,
    }
    gets = {
        "/": routes.alive,
        "/v1/models": routes.models,
        "/v1/models/{name}": routes.v1_model,
        "/v2": routes.server,
        "/v2/health/live": routes.alive,
        "/v2/health/ready": routes.server_ready,
        "/v2/models/{name}": routes.v2_model,
        "/v2/models/{name}/ready": routes.model_ready,
        "/metrics": metrics,
    }
    app = Starlette(
        routes=[
            *(Route(path, handler, methods=["POST"]) for path, handler in posts.items()),
            *(Route(path, handler, methods=["GET"]) for path, handler in gets.items()),
        ]
    )
    return ServiceGuard(app, keys=keys, body_bytes=service.limits.body_bytes)


class _Routes:
    def __init__(self, service: Service, log: RequestLog) -> None:
        self.service, self.log = service, log

    # ------------------------------------------------------------------ work

    async def predict(self, request: Request) -> Response:
        return await self._infer(request, "predict", self._v1_predictions)

    async def explain(self, request: Request) -> Response:
        return await self._infer(request, "explain", self._v1_explanations)

    async def infer(self, request: Request) -> Response:
        return await self._infer(request, "infer", self._v2_outputs)

    async def cite(self, request: Request) -> Response:
        async def work(body: dict[str, Any], fields: dict[str, Any]) -> Any:
            arguments = read_cite(body, self.service.limits)
            return rendered(await self._result(self.service.submit_cite(arguments)))

        return await self._answered(request, "cite", work)

    async def _infer(self, request: Request, operation: str, shape: Callable[[InferRequest, Any], Any]) -> Response:
        async def work(body: dict[str, Any], fields: dict[str, Any]) -> Any:
            form = self.service.form
            if operation == "infer":
                parsed = read_v2(body, form)
            else:
                parsed = read_v1(body, form, explain=operation == "explain")
            fields["rows"] = len(parsed.examples)
            if parsed.options is not None:
                fields["methods"] = ",".join(parsed.options.methods)
            answer = shape(parsed, await self._result(self.service.submit(parsed)))
            if not parsed.binary:
                return answer
            every = tuple(tensor["name"] for tensor in answer["outputs"])
            return packed_answer(answer, every if parsed.binary == ("*",) else parsed.binary)

        return await self._answered(request, operation, work)

    async def _answered(
        self, request: Request, operation: str, work: Callable[[dict[str, Any], dict[str, Any]], Awaitable[Any]]
    ) -> Response:
        """Run the work of a request; render every failure as one line of JSON with its status."""
        began, headers = time.monotonic(), dict[str, str]()
        body: dict[str, Any] = {}
        with self.log.span(f"regard.{operation}", {"regard.model": self.service.name}) as fields:
            try:
                self._check_name(request)
                size = request.headers.get(LENGTH_HEADER)
                content = await request.body()
                body = parse_body(content) if size is None else unpacked_body(content, size)
                status, answer = 200, await work(body, fields)
            except Busy as error:
                status, answer = (429 if self.service.ready else 503), {"error": str(error)}
                headers["retry-after"] = str(self.service.worker.retry_after())
            except DeadlinePassed as error:
                status, answer = 504, {"error": str(error)}
            except UnknownModel as error:
                status, answer = 404, {"error": str(error)}
            except RegardError as error:
                status, answer = (503 if isinstance(error, EnvironmentProblem) else 400), {"error": str(error)}
            except Exception as error:  # no request ends the service
                refusal = phrase("errors.common.internal_error", error=type(error).__name__)
                status, answer = 500, {"error": str(refusal)}
                self.log.write("internal_error", operation=operation, kind=type(error).__name__)
            fields["status"] = status
        if status != 200:
            answer = {"error": visible(" ".join(str(answer["error"]).split()))}
        seconds = time.monotonic() - began
        self.service.metrics.request(operation, status, seconds)
        words: dict[str, Json] = {"body": body} if self.log.texts else {}
        logged = {k: v for k, v in fields.items() if k != "seconds"}
        self.log.write("request", operation=operation, seconds=round(seconds, 4), **logged, **words)
        return _binary(answer) if isinstance(answer, BinaryBody) else _json(answer, status, headers)

    async def _result(self, future: Future[Any]) -> Any:
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.service.limits.deadline)
        except TimeoutError:
            seconds = f"{self.service.limits.deadline:g} s"
            raise DeadlinePassed(
                phrase("errors.common.this_request"),
                expected=phrase("errors.serve.answer_within", seconds=seconds),
                got=phrase("errors.common.none"),
            ) from None

    # ------------------------------------------------------------------ shapes

    def _v1_predictions(self, request: InferRequest, rows: Any) -> Json:
        return {"predictions": rows, **self._header()}

    def _v1_explanations(self, request: InferRequest, rows: Any) -> Json:
        return {"explanations": rows, "predictions": [row["prediction"] for row in rows], **self._header()}

    def _v2_outputs(self, request: InferRequest, rows: Any) -> Json:
        predictions = rows if request.options is None else [row["prediction"] for row in rows]
        outputs: list[Json] = []
        for name in OUTPUTS:
            column = [row[name] for row in predictions]
            if request.outputs and name not in request.outputs:
                continue
            if name == "label":
                outputs.append(_tensor(name, "BYTES", [len(rows)], [str(value) for value in column]))
            elif name != "distribution":
                outputs.append(_tensor(name, "FP64", [len(rows)], column))
            elif all(isinstance(value, dict) for value in column):
                flat = [p for value in column for p in value.values()]
                outputs.append(_tensor(name, "FP64", [len(rows), len(column[0])], flat))
        if request.options is not None:
            texts: list[Json] = [json.dumps(row, allow_nan=False) for row in rows]
            outputs.append(_tensor(EXPLANATION, "BYTES", [len(rows)], texts))
        answer: dict[str, Json] = {"model_name": self.service.name, "outputs": outputs}
        return {**answer, **({"id": request.id} if request.id else {}), "parameters": self._header()}

    def _header(self) -> dict[str, Json]:
        return {"audited": self.service.evidence.audited, "fingerprint": self.service.model.fingerprint}

    # ------------------------------------------------------------------ facts

    async def alive(self, request: Request) -> Response:
        return _json({"status": "alive", "live": True})

    async def server_ready(self, request: Request) -> Response:
        return _json({"ready": self.service.ready}, 200 if self.service.ready else 503)

    async def model_ready(self, request: Request) -> Response:
        if not self._is_served(request):
            return _unknown(request)
        return _json({"name": self.service.name, "ready": self.service.ready}, 200 if self.service.ready else 503)

    async def models(self, request: Request) -> Response:
        return _json({"models": [self.service.name]})

    async def v1_model(self, request: Request) -> Response:
        if not self._is_served(request):
            return _unknown(request)
        return _json({"name": self.service.name, "ready": self.service.ready, **self._header()})

    async def server(self, request: Request) -> Response:
        return _json({"name": "regard", "version": version("regard"), "extensions": ["binary_tensor_data"]})

    async def v2_model(self, request: Request) -> Response:
        if not self._is_served(request):
            return _unknown(request)
        model, form = self.service.model, self.service.form
        is_text = form.modality == "text"
        entry = "text" if is_text else {"tabular": "row"}.get(form.modality, form.modality)
        inputs: list[Json] = [_metadata(entry, "BYTES" if is_text else "FP64", [-1] if is_text else [-1, -1])]
        outputs: list[Json] = [_metadata("label", "BYTES", [-1])]
        outputs += [_metadata(name, "FP64", [-1]) for name in ("probability", "value")]
        if model.labels:
            outputs.append(_metadata("distribution", "FP64", [-1, len(model.labels)]))
        outputs.append(_metadata(EXPLANATION, "BYTES", [-1]))
        return _json(
            {
                "name": self.service.name,
                "versions": [model.fingerprint[:12]],
                "platform": "regard",
                "inputs": inputs,
                "outputs": outputs,
                "parameters": {
                    "task": model.task,
                    "labels": list(model.labels),
                    "methods": list(self.service.methods),
                    "audit": dict(self.service.evidence.summary),
                },
            }
        )

    def _is_served(self, request: Request) -> bool:
        return str(request.path_params["name"]) == self.service.name

    def _check_name(self, request: Request) -> None:
        name = request.path_params.get("name")
        if name is not None and name != self.service.name:
            raise UnknownModel(
                phrase("errors.common.model_live", live=repr(str(name)[:80])),
                expected=self.service.name,
                got=phrase("errors.serve.no_such_model"),
            )


class UnknownModel(InputError):
    """Request for a model that this service does not have."""


def _unknown(request: Request) -> Response:
    name = repr(str(request.path_params["name"])[:80])
    return _json({"error": str(phrase("errors.serve.model_not_served", name=name))}, 404)


def _tensor(name: str, datatype: str, shape: Sequence[int], data: Sequence[Json]) -> Json:
    return {"name": name, "datatype": datatype, "shape": list(shape), "data": list(data)}


def _metadata(name: str, datatype: str, shape: Sequence[int]) -> Json:
    return {"name": name, "datatype": datatype, "shape": list(shape)}


def _binary(answer: BinaryBody) -> Response:
    from starlette.responses import Response

    headers = {LENGTH_HEADER: str(answer.json_size)}
    return Response(answer.content, 200, headers, media_type="application/octet-stream")


def _json(answer: Json, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    from starlette.responses import Response

    body = json.dumps(answer, allow_nan=False, ensure_ascii=False).encode()
    return Response(body, status, headers, media_type="application/json")
