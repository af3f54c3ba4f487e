"""An OpenAI-compatible completions server on loopback around a causal language model, for tests and examples."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import torch

from regard.models.ask.chat_model import ChatModel, chat_model
from regard.protocols import Model


class CompletionsStub:
    """Answers `POST /v1/completions` of one model. fail: statuses to answer with first, one per request.

    echo: whether it scores prompts; otherwise it ignores `echo` and continues the text, as many servers do.
    """

    def __init__(self, model: Model, *, fail: tuple[int, ...] = (), echo: bool = True) -> None:
        self.chat: ChatModel = chat_model(model)
        self.echo = echo
        self.failures, self.requests = list(fail), 0
        self._lock = threading.Lock()  # a model never runs in two threads at once

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """(status, JSON)."""
        with self._lock, torch.inference_mode():
            self.requests += 1
            if self.failures:
                return self.failures.pop(0), {"error": {"message": "busy"}}
            if body.get("model") != self.chat.name:
                return 404, {"error": {"message": f"no model {body.get('model')}"}}
            text = str(body["prompt"])
            ids, offsets = self.chat.tokenize(text, special=True)
            if body.get("echo") and self.echo:
                choice = self._echoed(ids, offsets)
            else:
                choice = self._continued(text, ids, max(1, int(body["max_tokens"])), int(body.get("logprobs", 1)))
        return 200, {"choices": [choice], "usage": {"prompt_tokens": len(ids)}}

    def _log_probabilities(self, ids: list[int]) -> torch.Tensor:
        module: Any = self.chat.module
        logits = module(torch.tensor([ids], device=self.chat.device)).logits[0]
        return torch.log_softmax(logits.double(), -1)

    def _echoed(self, ids: list[int], offsets: list[tuple[int, int]]) -> dict[str, Any]:
        """Echo tokens; white space belongs to the token after it, as in byte-level vocabularies."""
        table = self._log_probabilities(ids)
        numbers = [None, *(float(table[i - 1, ids[i]]) for i in range(1, len(ids)))]
        starts = [0, *(stop for _, stop in offsets[:-1])]
        return {"text": "", "logprobs": {"token_logprobs": numbers, "text_offset": starts, "tokens": [""] * len(ids)}}

    def _continued(self, text: str, ids: list[int], count: int, most: int) -> dict[str, Any]:
        table = self._log_probabilities(ids)
        first = int(table[-1].argmax())
        tokens = [first] if count == 1 else self.chat.generate(ids, count)
        before = self.chat.decode(ids)
        whole, one = (self.chat.decode([*ids, *part])[len(before) :] for part in (tokens, [first]))
        likely = table[-1].topk(min(most, table.shape[1]))
        top = {
            self.chat.decode([*ids, token])[len(before) :]: p
            for token, p in zip(likely.indices.tolist(), likely.values.tolist(), strict=True)
        }
        scores = {"token_logprobs": [float(table[-1, first])], "text_offset": [len(text)], "top_logprobs": [top]}
        return {"text": whole, "logprobs": {"tokens": [one], **scores}}


@contextmanager
def served_completions(stub: CompletionsStub) -> Iterator[str]:
    """The base address of the stub on a free port of loopback, `http://127.0.0.1:PORT/v1`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = stub.answer(body) if self.path == "/v1/completions" else (404, {})
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
