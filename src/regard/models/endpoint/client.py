"""Requests to a completions endpoint: retries, rate limit, cache, and a count of requests and tokens."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import sqlite3
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import EnvironmentProblem, InputError, Text, Unsupported, phrase
from regard.models.endpoint.address import EndpointAddress

KEYS = ("REGARD_ENDPOINT_KEY", "OPENAI_API_KEY")
LARGEST_ANSWER = 64 << 20
LONGEST_PAUSE = 30.0
FORMAT = 2
"""Version of cached answers; those of version 1 may come from servers that ignore `echo`."""


@dataclass(frozen=True, slots=True)
class ScoredText:
    """Log-probabilities of the tokens of a text, and where each begins; the first token has none (NaN)."""

    offsets: tuple[int, ...]
    log_probabilities: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Continuation:
    """The text that the model writes after a prompt, greedily, and the log-probability of its first token."""

    text: str
    first: str
    log_probability: float


class EndpointClient:
    """Client of one model of one endpoint. requests, tokens: sent so far, without answers from the cache."""

    def __init__(self, address: EndpointAddress, folder: Path | None) -> None:
        self.address = address
        self.requests, self.tokens, self.cached = 0, 0, 0
        self._lock, self._next = threading.Lock(), 0.0
        self._cache = _Cache(folder / "answers.sqlite") if folder is not None and address.cache else None
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({})) if address.local else None

    def continuations(self, prompts: Sequence[str], new_tokens: int = 1) -> list[Continuation]:
        settings = {"max_tokens": new_tokens, "temperature": 0, "logprobs": 1}
        rows = self._all([{**settings, "prompt": prompt} for prompt in prompts])
        return [Continuation(str(row["text"]), str(row["first"]), float(row["log_probability"])) for row in rows]

    def first_tokens(self, prompts: Sequence[str], most: int) -> list[dict[str, float]]:
        """Log-probabilities of the `most` likeliest first tokens after each prompt; needs no `echo`."""
        settings = {"max_tokens": 1, "temperature": 0, "logprobs": most}
        rows = self._all([{**settings, "prompt": prompt} for prompt in prompts])
        return [dict(row["top"]) for row in rows]

    def scores(self, texts: Sequence[str]) -> list[ScoredText]:
        """Score whole texts; the endpoint must support `echo` with `logprobs`."""
        settings = {"max_tokens": 0, "temperature": 0, "logprobs": 1, "echo": True}
        rows = self._all([{**settings, "prompt": text} for text in texts])
        nan = float("nan")
        return [
            ScoredText(tuple(row["offsets"]), tuple(nan if p is None else float(p) for p in row["log_probabilities"]))
            for row in rows
        ]

    def _all(self, bodies: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        with ThreadPoolExecutor(self.address.parallel) as pool:
            return list(pool.map(self._one, bodies))

    def _one(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        body = {"model": self.address.model, **settings}
        key = hashlib.sha256(json.dumps([FORMAT, self.address.url, body], sort_keys=True).encode()).hexdigest()
        stored = self._cache.get(key) if self._cache is not None else None
        if stored is not None:
            self.cached += 1
            return stored
        answer = self._sent("/completions", body)
        row = _reduced(answer, settings, name=self.address.model)
        with self._lock:
            self.requests += 1
            self.tokens += int((answer.get("usage") or {}).get("prompt_tokens") or 0)
        if self._cache is not None:
            self._cache.put(key, row)
        return row

    def _sent(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request; retry after a refusal (429), or a failure of the server or of the connection."""
        problem: Text = ""
        for turn in range(self.address.retries + 1):
            self._wait_turn()
            try:
                return self._answer(path, body)
            except urllib.error.HTTPError as error:
                detail = error.read(2000).decode("utf-8", "replace").strip()
                problem = " ".join(f"{error.code} {detail[:200]}".split())
                pause = _pause(error.headers.get("Retry-After"), turn)
                if error.code not in (408, 409, 429) and error.code < 500:
                    break
            except InputError as error:
                problem, pause = error.message, _pause(None, turn)
            except (OSError, http.client.HTTPException, ValueError) as error:
                problem, pause = " ".join(f"{type(error).__name__}: {error}".split()), _pause(None, turn)
            if turn < self.address.retries:
                time.sleep(pause)
        raise EnvironmentProblem(
            phrase("errors.models.endpoint_url", url=self.address.url),
            expected=phrase("errors.models.answer_model", model=self.address.model),
            got=problem,
            remedy=phrase("errors.models.check_address_model_name"),
        )

    def _answer(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"}
        key = next((os.environ[name] for name in KEYS if os.environ.get(name)), "")
        if key and (self.address.local or self.address.url.startswith("https:")):
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(self.address.url + path, json.dumps(body).encode(), headers)
        opener = self._opener.open if self._opener is not None else urllib.request.urlopen
        with opener(request, timeout=self.address.seconds) as response:
            answer = json.loads(response.read(LARGEST_ANSWER))
        if not isinstance(answer, dict):
            raise InputError(phrase("errors.models.answer_no_json_object"))
        return answer

    def _wait_turn(self) -> None:
        """Respect the rate limit by sending requests at equal intervals."""
        if not self.address.rate:
            return
        with self._lock:
            now = time.monotonic()
            at = max(now, self._next)
            self._next = at + 1.0 / self.address.rate
        time.sleep(max(0.0, at - now))


def _pause(retry_after: str | None, turn: int) -> float:
    """
    >>> _pause(None, 0), _pause(None, 3), _pause("2", 0), _pause("soon", 0)
    (0.25, 2.0, 2.0, 0.25)
    """
    try:
        wished = float(retry_after) if retry_after else 0.0
    except ValueError:
        wished = 0.0
    return min(LONGEST_PAUSE, max(wished, 0.25 * float(2**turn)))


def _reduced(answer: Mapping[str, Any], settings: Mapping[str, Any], *, name: str) -> dict[str, Any]:
    """Return the numbers of an answer; drop the text of an echoed prompt.

    A server that ignores `echo` sends log-probabilities of text that it wrote instead. The first token of a prompt has
    none, so a number there betrays it; tokens after the end of the prompt are the server's own, too.
    """
    try:
        choice = answer["choices"][0]
        table = choice["logprobs"]
        numbers = [None if p is None else float(p) for p in table["token_logprobs"]]
        if settings.get("echo"):
            offsets = [int(at) for at in table["text_offset"]]
            if len(offsets) != len(numbers) or not offsets:
                raise InputError(phrase("errors.models.offsets_unlike_tokens"))
            if offsets[0] != 0 or numbers[0] is not None:
                raise InputError(phrase("errors.models.prompt_not_echoed"))
            inside = [i for i, at in enumerate(offsets) if at < len(settings["prompt"])]
            return {"offsets": [offsets[i] for i in inside], "log_probabilities": [numbers[i] for i in inside]}
        row: dict[str, Any] = {
            "text": str(choice["text"]),
            "first": str(table["tokens"][0]),
            "log_probability": numbers[0],
        }
        if settings["logprobs"] > 1:
            row["top"] = {str(token): float(p) for token, p in table["top_logprobs"][0].items()}
        return row
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, InputError) as error:
        echo = bool(settings.get("echo"))
        detail = error.message if isinstance(error, InputError) else type(error).__name__
        raise Unsupported(
            phrase("errors.models.endpoint_model", name=name),
            expected=phrase("errors.models.echoed_prompt")
            if echo
            else phrase("errors.models.completions_with_logprobs"),
            got=phrase("errors.models.answer_without_them", type=detail),
            remedy=phrase("errors.models.endpoint_that_scores")
            if echo
            else phrase("errors.models.endpoint_that_returns_log"),
        ) from error


class _Cache:
    """Answers by the hash of their request, shared by all processes."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._lock = path, threading.Lock()
        with self._lock, self._connected() as table:
            table.execute("create table if not exists answer (key text primary key, value text)")

    def get(self, key: str) -> dict[str, Any] | None:
        with self._lock, self._connected() as table:
            row = table.execute("select value from answer where key = ?", (key,)).fetchone()
        value = None if row is None else json.loads(row[0])
        return value if isinstance(value, dict) else None

    def put(self, key: str, value: Mapping[str, Any]) -> None:
        with self._lock, self._connected() as table:
            table.execute("insert or replace into answer values (?, ?)", (key, json.dumps(value)))

    def _connected(self) -> _Connection:
        return _Connection(self._path)


class _Connection:
    """Connection that is committed and closed at the end of its block."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, timeout=60)

    def __enter__(self) -> sqlite3.Connection:
        return self._connection

    def __exit__(self, *_: object) -> None:
        self._connection.commit()
        self._connection.close()
