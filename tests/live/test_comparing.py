"""Another text and another checkpoint beside the one that is shown: in the app, in a file, and as pictures."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromium import Browser
from live_caller import Caller, TwoLayers, encode
from pack_reading import head_weights

import regard
from regard.live.session import Session
from regard.live.show import show
from regard.protocols import Model

TEXT, CHANGED = "a good film and a quiet cast", "a good film and a dull cast"


@pytest.fixture(scope="module")
def other() -> Model:
    """A later checkpoint: the same network, other weights."""
    module = TwoLayers()
    for parameter in module.parameters():
        parameter.data.mul_(1.4)
    return regard.wrap(
        module, encode, labels=["negative", "positive"], mask="mask", mask_id=63, special_ids=[0], max_length=96
    )


def test_two_checkpoints_read_the_same_text(
    model: Model, other: Model, served: Callable[[Session], Caller], tmp_path: Path, chromium: Browser
) -> None:
    session = Session(model, others=[other])
    app = served(session)
    job = app.finished("ask", text=TEXT, methods=["attention"])
    assert job["state"] == "done", job
    manifest = app.call("manifest", pack=job["result"]["pack"])
    first, second = manifest["examples"]
    assert first["text"] == second["text"] == TEXT
    assert second["model"] == f"{other.name} ({other.fingerprint[:8]})"  # the name alone would not tell them apart
    assert [(p["left"], p["right"]) for p in manifest["pairs"]] == [(0, 1)]
    item = other.encode(regard.Example("x", {"text": TEXT}))
    assert second["probability"] == pytest.approx(float(other.predict([item])[0].probability[0]), abs=1e-5)
    edit = {"what": "uniform", "site": second["sites"][-1]["key"]}
    mine, theirs = (app.finished("edit", pack=job["result"]["pack"], example=e, edits=[edit])["result"] for e in (0, 1))
    assert mine["before"]["probability"] != pytest.approx(theirs["before"]["probability"], abs=1e-4)

    view = show(model, TEXT, other=other, methods=["attention"], view="compare")
    path = view.save(tmp_path / "two.html")
    pack = view._pack(1 << 24)
    a, b = (np.mean([head_weights(pack, e, 1, h) for h in range(2)], axis=0) for e in (0, 1))
    with chromium.page(path.as_uri(), offline=True) as page:
        page.locator("[data-numbers]").wait_for()
        numbers = dict(page.locator("[data-numbers] tr").evaluate_all(
            "rows => rows.map(r => [...r.children].map(c => c.textContent))"
        ))  # fmt: skip
        assert "not audited" in page.locator("aside.caveat").inner_text()
    wanted = float(0.5 * np.abs(a - b).sum(1).mean())
    assert wanted > 0.01
    assert float(numbers[f"total variation, mean over {len(a)} rows"]) == pytest.approx(wanted, abs=5e-3)
    said = view.save(tmp_path / "two.svg").read_text("utf-8")
    assert other.fingerprint[:8] in said


def test_a_text_is_compared_with_the_one_before_it(app: Caller) -> None:
    before = app.finished("ask", text=TEXT, methods=["attention"])["result"]["pack"]
    job = app.finished("ask", text=CHANGED, methods=["attention"], beside=before)
    manifest = app.call("manifest", pack=job["result"]["pack"])
    assert [e["text"] for e in manifest["examples"]] == [CHANGED, TEXT]
    assert manifest["pairs"][0]["name"] == "this text and the one before"
    gone = app.call("ask", text=CHANGED, methods=[], beside="nothing")
    assert gone["status"] == 404 or "pack" in gone["error"]["said"]


def test_the_page_offers_it(app: Caller, chromium: Browser) -> None:
    from playwright.sync_api import expect

    with chromium.page(app.server.url, only=app.server.address) as page:
        for text in (TEXT, CHANGED):
            page.get_by_placeholder("Type a text").fill(text)
            with page.expect_response(lambda answer: answer.url.endswith("/api/manifest")):
                page.get_by_role("button", name="Look").click()
            page.locator("progress").wait_for(state="detached")
            page.locator("canvas[data-drawn]").wait_for()
            if text == TEXT:
                page.get_by_label("beside this text").check()
        page.locator("#tab-compare").click()
        page.locator("[data-numbers]").wait_for()
        expect(page.locator("[data-declared]")).to_contain_text(re.compile("only in A: dull|example 1"))


def test_a_changed_text_in_a_file(model: Model) -> None:
    pack: Any = show(model, TEXT, changed=CHANGED, methods=["attention"])._pack(1 << 24)
    assert [e.text for e in pack.manifest.examples] == [TEXT, CHANGED]
