"""A small live model, and a way to send the app any request at all."""

from __future__ import annotations

import http.client
import json
import re
from dataclasses import dataclass
from typing import Any

import torch
from chromium import tries
from torch import nn

import regard
from regard.live.server import LOOPBACK, Server
from regard.protocols import Model

WORDS = ("[CLS]", "good", "bad", "film", "not", "the", "a", "quiet", "dull", "long", "cast", "and")


class TwoLayers(nn.Module):
    """Embeddings, two layers of self-attention with two heads, the first position decides."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.embed = nn.Embedding(64, 16)
        self.layers = nn.ModuleList([nn.MultiheadAttention(16, 2, batch_first=True) for _ in range(2)])
        self.out = nn.Linear(16, 2)
        for parameter in self.parameters():
            parameter.data.mul_(1.5)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        h = self.embed(ids)
        for layer in self.layers:
            h = h + layer(h, h, h, key_padding_mask=~mask.bool())[0]
        return self.out(h[:, 0])


def encode(text: str) -> list[int]:
    return [0, *(WORDS.index(w) if w in WORDS else 12 + sum(map(ord, w)) % 50 for w in text.split())]


def small_model() -> Model:
    return regard.wrap(
        TwoLayers(), encode, labels=["negative", "positive"], mask="mask", mask_id=63, special_ids=[0], max_length=96
    )


@dataclass
class Caller:
    """Requests as the page sends them, or as somebody else would."""

    server: Server

    def raw(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        *,
        token: bool = True,
    ) -> tuple[int, dict[str, str], bytes]:
        """(status, headers, body). What is given in `headers` stands instead of what a page would send."""
        sent = {"Host": f"{LOOPBACK}:{self.server.port}"}
        if token:
            sent["Authorization"] = f"Bearer {self.server.token}"
        if body is not None:
            sent["Content-Type"] = "application/json"
        sent |= headers or {}
        connection = http.client.HTTPConnection(LOOPBACK, self.server.port, timeout=240)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            if body is not None and "Transfer-Encoding" not in sent:
                sent.setdefault("Content-Length", str(len(body)))
            for name, value in sent.items():
                connection.putheader(name, value)
            connection.endheaders()
            if body:
                connection.send(body)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def call(self, op: str, **body: Any) -> Any:
        status, _, answer = self.raw("POST", f"/api/{op}", json.dumps(body).encode())
        found = json.loads(answer)
        return found if status == 200 else {"status": status, **found}

    def finished(self, op: str, **body: Any) -> Any:
        """A job from its start to its end."""
        job = self.call(op, **body)
        while job.get("state") in ("waiting", "running"):
            job = self.call("job", job=job["job"], after=job["version"])
        return job


TABLES = """() => { const all = []; const walk = (n) => { for (const c of n.querySelectorAll('*')) {
  if (c.shadowRoot) walk(c.shadowRoot); if (c.tagName === 'TABLE') all.push(c.innerText); } };
  walk(document); return all.join('\\n'); }"""


def table(page: Any) -> str:
    """The text form of the view that is open. A view drawn anew comes with its table folded: unfold it again."""
    from playwright.sync_api import Error

    summary = page.get_by_text("As a table").last
    for _ in tries(page):
        try:
            if not summary.evaluate("e => e.closest('details').open"):
                summary.click()
        except Error:  # the view was replaced between the two steps
            continue
        if text := str(page.evaluate(TABLES)):
            return text
    raise AssertionError("no table")


def asked(page: Any, text: str) -> None:
    """Type a text, press the button, and see that the view is about that text."""
    page.get_by_role("textbox", name=re.compile("^Text for")).fill(text)
    page.get_by_role("button", name="Look", exact=True).click()
    words = set(text.split())
    for _ in tries(page):
        if page.locator("progress").count() == 0 and words <= set(re.split(r"\s+", table(page))):
            return
    raise AssertionError(f"the view is not about {text!r}: {table(page)[:300]}")
