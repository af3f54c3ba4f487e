"""Hostile bodies for `regard serve` in this process: no answer may be a 500, and every refusal is one line of JSON.

Good requests between them show whether a body damaged the service. A soak repeats this for some time and compares
memory, as `soak` does for the local app; its slope is fitted to the medians of ten stretches of time.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from random import Random
from typing import Any

import httpx
import numpy as np
import psutil
from scipy.stats import linregress, t

from benchmarks.fuzz import mutations
from regard.models.open.load import load
from regard.serve.app import application
from regard.serve.binary_tensors import LENGTH_HEADER
from regard.serve.limits import ServiceLimits
from regard.serve.service import Service, open_service

NAME = "fuzzed"
GROWTH, STRETCHES = 1.05, 10
TEXTS = ("a quiet film", "superb", "the cast and the plot of a terrible film", "好 film", "a\u0000b", " ", "x" * 900)
CHAT = [{"role": "user", "content": "Anna lives in Rome. Where does Anna live?"}]


def service(model: str = "planted:decides") -> Service:
    return open_service(load(model), name=NAME, limits=ServiceLimits(deadline=60.0, characters=2000))


def good_request(rng: Random) -> tuple[str, Any]:
    text = rng.choice(TEXTS[:3])
    tensor = {"name": "text", "shape": [1], "datatype": "BYTES", "data": [text]}
    v1, v2 = f"/v1/models/{NAME}", f"/v2/models/{NAME}"
    requests: list[tuple[str, Any]] = [
        (f"{v1}:predict", {"instances": [text, {"text": text}]}),
        (f"{v1}:explain", {"instances": [text], "parameters": {"methods": ["attention"], "units": "word"}}),
        (f"{v1}:explain", {"instances": [text], "methods": ["attention"], "target": "positive", "budget_ms": 500}),
        (f"{v2}/infer", {"id": "1", "inputs": [tensor], "parameters": {"methods": "attention"}}),
        (f"{v2}/infer", {"inputs": [tensor], "outputs": [{"name": "explanation"}], "parameters": {"explain": True}}),
    ]
    return rng.choice(requests)


def hostile_request(rng: Random) -> tuple[str, bytes]:
    """A body of the right kind with one defect."""
    path, body = good_request(rng)
    if rng.random() < 0.15:
        path, body = "/v1/cite", {"messages": CHAT, "answer": "Rome", "sources": ["Anna lives in Rome."], "check": 1}
    elif "instances" in body and rng.random() < 0.3:
        body = {**body, "instances": [rng.choice(TEXTS)]}
    content = mutations.dumps(mutations.json_value(body, rng)).encode("utf-8", "surrogatepass")
    if rng.random() < 0.15:
        content = mutations.data(content, rng)
    return path, content


def _headers(path: str, content: bytes, rng: Random) -> dict[str, str]:
    """A JSON body; sometimes a body of v2 that ends with binary tensors."""
    if not path.endswith("/infer") or rng.random() < 0.7:
        return {"content-type": "application/json"}
    size = rng.choice([0, len(content), len(content) // 2, max(0, len(content) - 4), len(content) + 1, -1])
    return {"content-type": "application/octet-stream", LENGTH_HEADER: str(size)}


async def _sent(served: Service, rng: Random, count: int) -> dict[str, Any]:
    statuses: dict[str, int] = {}
    problems: list[str] = []
    transport = httpx.ASGITransport(app=application(served))  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
        for number in range(count):
            path, content = hostile_request(rng)
            answer = await client.post(path, content=content, headers=_headers(path, content, rng))
            statuses[str(answer.status_code)] = statuses.get(str(answer.status_code), 0) + 1
            if problem := _problem(answer):
                problems.append(f"{path} {content[:300]!r}: {problem}")
            if number % 50 == 0:
                path, body = good_request(rng)
                answer = await client.post(path, json=body)
                if answer.status_code != 200:
                    problems.append(f"good request {path}: {answer.status_code} {answer.text[:200]}")
    return {"statuses": statuses, "problems": problems}


def _problem(answer: httpx.Response) -> str:
    if answer.status_code >= 500:
        return f"{answer.status_code} {answer.text[:200]}"
    try:
        body = json.loads(answer.content)
    except ValueError:
        return "no JSON"
    error = body.get("error", "") if isinstance(body, dict) else ""
    if answer.status_code != 200 and (not error or "\n" in str(error)):
        return f"an error without one clear line: {answer.text[:200]}"
    return ""


def hostile_bodies(seed: int, count: int) -> dict[str, Any]:
    """Send `count` hostile bodies; return their statuses and every problem."""
    served = service()
    try:
        return asyncio.run(_sent(served, Random(f"{seed}/service"), count))
    finally:
        served.drain()


def figures(seed: int, count: int, soak_minutes: float) -> dict[str, Any]:
    """Send `count` bodies, then more for `soak_minutes`, and record the memory of this process."""
    first = hostile_bodies(seed, count)
    served, rng = service(), Random(f"{seed}/service soak")
    process, sent, problems = psutil.Process(), 0, list(first["problems"])
    moments: list[float] = []
    samples: list[int] = []
    began = time.monotonic()
    end = began + 60 * soak_minutes
    while time.monotonic() < end:
        problems += asyncio.run(_sent(served, rng, 100))["problems"]
        sent += 100
        moments.append(time.monotonic() - began)
        samples.append(process.memory_info().rss)
    served.drain()
    warm = samples[len(samples) // 5 :]
    part = max(1, len(warm) // 5)
    growth = statistics.median(warm[-part:]) / statistics.median(warm[:part]) if len(warm) >= 10 else 1.0
    return {
        "bodies": count,
        "statuses": first["statuses"],
        "soak minutes": soak_minutes,
        "soak bodies": sent,
        "memory growth": round(growth, 4),
        "memory MB": round(samples[-1] / 2**20, 1) if samples else None,
        "memory slope": memory_slope(moments, samples),
        "problems": problems[:50],
        "met": not problems and growth <= GROWTH,
    }


def memory_slope(moments: list[float], samples: list[int]) -> dict[str, Any] | None:
    """Return MB per hour after the warm-up with its 95 % t interval, from medians of stretches; None if too short."""
    first = len(samples) // 5
    times, sizes = moments[first:], samples[first:]
    if len(sizes) < 4 * STRETCHES:
        return None
    parts = np.array_split(np.arange(len(sizes)), STRETCHES)
    hours = [float(np.median([times[i] for i in part])) / 3600 for part in parts]
    megabytes = [float(np.median([sizes[i] for i in part])) / 2**20 for part in parts]
    line = linregress(hours, megabytes)
    half = float(t.ppf(0.975, STRETCHES - 2)) * float(line.stderr)
    slope = float(line.slope)
    return {
        "MB per hour": round(slope, 2),
        "interval": [round(slope - half, 2), round(slope + half, 2)],
        "n": STRETCHES,
    }


def told(found: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in found.items())


if __name__ == "__main__":
    import sys

    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    minutes = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    print(json.dumps(figures(13, count, minutes), indent=1))
