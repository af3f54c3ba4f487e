"""`regard serve` through the clients of other projects: kserve (v1, v2) and tritonclient (JSON and binary tensors).

The bar: every prediction and every explanation is that of the model in this process. `make bench` installs the clients
into a folder of the virtual environment; CLIENTS names another one. A client that is missing is a line that misses.

    python -m benchmarks.service_clients
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lines import Line
from benchmarks.service import started
from regard.audits.explain import explain
from regard.datasets.read import read
from regard.models.open.load import load
from regard.protocols import Model
from regard.records import Example

MODEL, NAME, METHOD = "planted:decides", "minilm", "attention"
FOLDER = os.environ.get("CLIENTS", str(Path(sys.prefix) / "service-clients"))
CLOSE = 1e-4


class Expected:
    """Return predictions and relevances of the model in this process, by text."""

    def __init__(self, model: Model, texts: list[str]) -> None:
        self.texts = texts
        rows, _ = model.predict([model.encode(Example(str(i), {"text": text})) for i, text in enumerate(texts)])
        self.probability = dict(zip(texts, rows.probability.tolist(), strict=True))
        self.relevance = {text: np.asarray(explain(model, text, [METHOD]).relevance[METHOD][0]) for text in texts}

    def share(self, probabilities: Any) -> float:
        """Return the share of right predictions."""
        rows = zip(self.texts, probabilities, strict=True)
        return float(np.mean([abs(float(p) - self.probability[text]) < CLOSE for text, p in rows]))

    def explained(self, explanations: list[Any]) -> float:
        """Return the share of right explanations, each with its audit mark."""
        right = []
        for text, row in zip(self.texts, explanations, strict=True):
            values = np.asarray(row["methods"][METHOD]["relevance"])
            right.append(row["audited"] is False and np.allclose(values, self.relevance[text], atol=CLOSE))
        return float(np.mean(right))


def by_triton(address: str, expected: Expected, *, binary: bool) -> dict[str, float]:
    http: Any = importlib.import_module("tritonclient.http")
    client = http.InferenceServerClient(url=address.removeprefix("http://"))
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready(NAME)
    assert client.get_model_metadata(NAME)["inputs"][0]["datatype"] == "BYTES"
    tensor = http.InferInput("text", [len(expected.texts)], "BYTES")
    array = np.array([text.encode() for text in expected.texts], dtype=object)
    tensor.set_data_from_numpy(array, binary_data=binary)
    probability = http.InferRequestedOutput("probability", binary_data=binary)
    answer = client.infer(NAME, [tensor], outputs=[probability]).as_numpy("probability")
    explanation = http.InferRequestedOutput("explanation", binary_data=binary)
    texts = client.infer(NAME, [tensor], outputs=[explanation], parameters={"methods": METHOD})
    rows = [json.loads(text) for text in texts.as_numpy("explanation")]
    whole = client.infer(NAME, [tensor])  # this client's defaults: every output as bytes
    assert whole.as_numpy("distribution").shape == (len(expected.texts), 2)
    return {"infer": expected.share(answer), "explanation": expected.explained(rows)}


def by_kserve(address: str, expected: Expected) -> dict[str, float]:
    return asyncio.run(_by_kserve(address, expected))


async def _by_kserve(address: str, expected: Expected) -> dict[str, float]:
    kserve: Any = importlib.import_module("kserve")
    rest: Any = importlib.import_module("kserve.inference_client")
    first = kserve.InferenceRESTClient(rest.RESTConfig(protocol="v1"))
    assert await first.is_server_live(address)
    assert await first.is_model_ready(address, NAME)
    body = {"instances": expected.texts}
    answer = await first.infer(address, body, model_name=NAME)
    shares = {"predict": expected.share([row["probability"] for row in answer["predictions"]])}
    body = {**body, "parameters": {"methods": [METHOD]}}
    answer = await first.explain(address, NAME, body)
    shares["explain"] = expected.explained(answer["explanations"])
    second = kserve.InferenceRESTClient(rest.RESTConfig(protocol="v2"))
    assert await second.is_server_ready(address)
    assert await second.is_model_ready(address, NAME)
    for binary in (False, True):
        tensor = kserve.InferInput("text", [len(expected.texts)], "BYTES")
        tensor.set_data_from_numpy(np.array(expected.texts, dtype=object), binary_data=binary)
        request = kserve.InferRequest(NAME, [tensor], parameters={"binary_data_output": binary})
        reply = await second.infer(address, request, model_name=NAME)
        column = next(output for output in reply.outputs if output.name == "probability")
        shares[f"infer, binary {binary}".lower()] = expected.share(column.as_numpy())
    return shares


def run() -> list[Line]:
    sys.path.append(FOLDER)
    texts = [str(example.inputs["text"]) for example in read("reviews", limit=8)]
    expected = Expected(load(MODEL), texts)
    process, address = started(MODEL)
    clients: dict[str, Callable[[], dict[str, float]]] = {
        "tritonclient, JSON": lambda: by_triton(address, expected, binary=False),
        "tritonclient, binary tensors": lambda: by_triton(address, expected, binary=True),
        "kserve": lambda: by_kserve(address, expected),
    }
    lines = []
    try:
        for name, call in clients.items():
            try:
                shares: dict[str, float | str] = {**call()}
            except ImportError as error:
                shares = {"not installed": str(error)}
            right = [share for share in shares.values() if isinstance(share, float)]
            lines.append(Line(f"right answers through {name}, share", min(right, default=0.0), 1.0, ">=", shares))
    finally:
        process.terminate()
        process.wait(60)
    return lines


if __name__ == "__main__":
    results = run()
    for line in results:
        print(line.shown())
    sys.exit(not all(line.met for line in results))
