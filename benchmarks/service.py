"""`regard serve` under load: predictions per second of 1, 8 and 64 clients against a bare batched forward loop.

Both sides tokenize and run the same texts on the same model with one torch thread, in turns; the best of the repeats
counts. The ratio is by wall clock. The service is a process of its own on loopback; clients share the other core.
The loop takes as many texts at once as there are clients, at most 32 (`--batch` of the service): no service can batch
more requests than wait. `of a loop of 32` is the ratio to a loop of 32 texts whatever the number of clients, and `by
CPU time` the ratio of CPU seconds of the two processes, which other work on the machine disturbs less.

    OMP_NUM_THREADS=1 python -m benchmarks.service     about 90 s on two quiet cores
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from contextlib import AsyncExitStack

import httpx
import numpy as np
import psutil

from benchmarks.lines import Line
from regard.datasets.read import read
from regard.models.open.load import load
from regard.protocols import Model
from regard.records import Example

MODEL, DATA, NAME = "minilm", "reviews", "minilm"
CLIENTS = (1, 8, 64)
BATCH, TEXTS, REPEATS = 32, 256, 3
BAR = 0.8
PREDICT = f"/v1/models/{NAME}:predict"


def run() -> list[Line]:
    model = load(MODEL, device="cpu")
    texts = [str(example.inputs["text"]) for example in read(DATA, limit=TEXTS)]
    process, address = started(MODEL)
    try:
        expected = bare(model, texts, BATCH)[1]
        return [_load_line(model, process.pid, address, texts, expected, clients=clients) for clients in CLIENTS]
    finally:
        process.terminate()
        process.wait(60)


def _load_line(
    model: Model, pid: int, address: str, texts: list[str], expected: dict[str, float], *, clients: int
) -> Line:
    """Measure the service and the loops in turns."""
    sent = texts if clients > 1 else texts[:64]
    rates = {"served": 0.0, "bare": 0.0, "bare 32": 0.0}
    cpu = {"served": np.inf, "bare": np.inf}
    latencies: list[float] = []
    for _ in range(REPEATS):
        began = time.process_time()
        rates["bare"] = max(rates["bare"], bare(model, sent, min(clients, BATCH))[0])
        cpu["bare"] = min(cpu["bare"], time.process_time() - began)
        rates["bare 32"] = max(rates["bare 32"], bare(model, sent, BATCH)[0])
        began = _cpu(pid)
        rate, seconds, answers = asyncio.run(loaded(address, sent, clients))
        cpu["served"] = min(cpu["served"], _cpu(pid) - began)
        wrong = sum(abs(a - expected[t]) > 1e-4 for t, a in answers.items())
        assert len(answers) == len(set(sent)), "an answer was lost"
        assert not wrong, f"{wrong} answers belong to other texts"
        if rate > rates["served"]:
            rates["served"], latencies = rate, seconds
    p50, p95 = (float(np.quantile(latencies, q)) for q in (0.5, 0.95))
    return Line(
        f"predictions of {clients} clients against a bare forward loop",
        rates["served"] / rates["bare"],
        BAR if clients >= 8 else 0.0,
        ">=",
        {
            "served per s": rates["served"],
            "bare per s": rates["bare"],
            "of a loop of 32": rates["served"] / rates["bare 32"],
            "by CPU time": cpu["bare"] / cpu["served"],
            "p50 ms": 1000 * p50,
            "p95 ms": 1000 * p95,
            "n": float(len(sent)),
            "repeats": float(REPEATS),
            "load": os.getloadavg()[0],
        },
    )


def _cpu(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def bare(model: Model, texts: list[str], batch: int) -> tuple[float, dict[str, float]]:
    """Return texts per second of a loop over batches, and the probability of each text."""
    began, answers = time.perf_counter(), {}
    for start in range(0, len(texts), batch):
        part = texts[start : start + batch]
        rows, _ = model.predict([model.encode(Example(str(i), {"text": text})) for i, text in enumerate(part)])
        answers |= dict(zip(part, rows.probability.tolist(), strict=True))
    return len(texts) / (time.perf_counter() - began), answers


async def loaded(address: str, texts: list[str], clients: int) -> tuple[float, list[float], dict[str, float]]:
    """Send requests of one text each over `clients` open connections: rate, latencies, answers."""
    waiting, latencies, answers = iter(texts), [], dict[str, float]()

    async def client(session: httpx.AsyncClient) -> None:
        for text in waiting:
            began = time.perf_counter()
            answer = await session.post(PREDICT, json={"instances": [text]})
            latencies.append(time.perf_counter() - began)
            assert answer.status_code == 200, answer.text
            answers[text] = answer.json()["predictions"][0]["probability"]

    async with AsyncExitStack() as stack:
        # opening connections is the client's cost and not part of the load
        sessions = [httpx.AsyncClient(base_url=address, timeout=120, verify=False) for _ in range(clients)]
        for session in sessions:
            await stack.enter_async_context(session)
            await session.get("/v2/health/live")
        began = time.perf_counter()
        await asyncio.gather(*(client(session) for session in sessions))
        return len(texts) / (time.perf_counter() - began), latencies, answers


def started(model: str) -> tuple[subprocess.Popen[str], str]:
    """Start the service as a process; return its address."""
    words = ["serve", model, "--name", NAME, "--port", "0", "--log", os.devnull, "--device", "cpu", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "regard", *words, "--batch", str(BATCH), "--method", "attention"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "http://" in line:
            return process, "http://" + line.split("http://")[1].split("/")[0]
    raise RuntimeError("the service did not start")


if __name__ == "__main__":
    for line in run():
        print(line.shown(), json.dumps(line.detail))
