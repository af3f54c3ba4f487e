"""A live model behind the requests: texts, methods, cancelling, edits, other attention, rationales by hand."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_caller import Caller

import regard
from regard.audits.more_metrics import judge_again
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.live.jobs import MOST_WAITING, Job, Jobs
from regard.live.session import Session
from regard.metrics.token_f1 import token_f1
from regard.protocols import Model
from regard.records import Edit, Example, Spec
from regard.store.rationales import FILE, Mark, keep_mark, read_marks
from regard.store.run import Run

TEXT = "not a good film and the cast dull"
LAST = "layers.1"


@pytest.fixture(scope="module")
def asked(app: Caller) -> dict[str, Any]:
    job = app.finished("ask", text=TEXT, methods=["attention", "leave_one_out", "integrated_gradients"])
    assert job["state"] == "done", job
    return dict(job["result"])


def edited(app: Caller, pack: str, *edits: dict[str, Any]) -> dict[str, Any]:
    job = app.finished("edit", pack=pack, example=0, edits=list(edits))
    assert job["state"] == "done", job.get("error")
    return dict(job["result"])


# ---------------------------------------------------------------------------------------------- texts


def test_hello_says_what_can_be_done(app: Caller) -> None:
    hello = app.call("hello")
    assert hello["labels"] == ["negative", "positive"]
    assert hello["can"] == {"ask": True, "edit": True, "alternative": True, "mark": True}
    assert {"attention", "rollout", "leave_one_out"} <= set(hello["methods"])
    assert hello["about"]["leave_one_out"]["summary"]


def test_a_text_is_captured_and_explained_as_the_functions_do_it(
    app: Caller, asked: dict[str, Any], model: Model
) -> None:
    manifest = app.call("manifest", pack=asked["pack"])
    example = manifest["examples"][0]
    capture = regard.capture(model, TEXT)
    assert [s["key"] for s in example["sites"]] == [s.site.key for s in capture.sites]
    assert example["probability"] == pytest.approx(float(capture.answers.probability[0]), abs=1e-6)
    wanted = regard.explain(model, TEXT, ["attention", "leave_one_out"])
    import gzip

    status, _, body = app.raw("GET", f"/api/chunk/{asked['pack']}/0/relevance")
    assert status == 200
    rows = np.frombuffer(gzip.decompress(body), "<f4").reshape(3, -1)
    assert np.allclose(rows[0], wanted.relevance["attention"][0], atol=1e-6)
    assert np.allclose(rows[1], wanted.relevance["leave_one_out"][0], atol=1e-6)


def test_a_second_text_takes_less_than_a_second(app: Caller, asked: dict[str, Any]) -> None:
    job = app.finished("ask", text="the film not long but good", methods=["attention", "leave_one_out"])
    assert job["result"]["seconds"] < 1.0


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"text": ""}, "a text of 1 to"),
        ({"text": "x " * 20_000}, "a text of 1 to"),
        ({"text": 3}, "a text of 1 to"),
        ({"text": "a film", "methods": "attention"}, "a list of at most 16 names"),
        ({"text": "a film", "methods": ["atention"]}, "attention"),
        ({"text": "a film", "methods": ["rollout:residul=1"]}, "residual"),
    ],
)
def test_a_wrong_question_is_answered_in_words(app: Caller, body: dict[str, Any], said: str) -> None:
    answer = app.call("ask", **body)
    if "job" in answer:
        answer = app.call("job", job=answer["job"], after=99)
    assert said in answer["error"]["said"]


def test_what_a_model_cannot_do_is_said_beside_what_it_can(app: Caller) -> None:
    job = app.finished("ask", text="a film", methods=["attention", "given"])
    assert job["state"] == "done"
    assert list(job["result"]["skipped"]) == ["given"]


# ---------------------------------------------------------------------------------------------- jobs


def test_a_long_job_shows_where_it_is_and_can_be_cancelled(app: Caller) -> None:
    before = app.finished("ask", text="a quiet film", methods=["attention"])["result"]
    job = app.call("ask", text=" ".join(["the good film"] * 30), methods=["kernel_shap:samples=20000", "attention"])
    seen = []
    while job["stage"] != "kernel_shap:samples=20000":
        assert job["state"] in ("waiting", "running"), job
        job = app.call("job", job=job["job"], after=job["version"])
        seen.append((job["stage"], job["done"], job["total"]))
    assert seen[-1][2] > seen[-1][1] >= 2
    assert app.call("cancel", job=job["job"])["state"] == "cancelled"
    after = app.finished("ask", text="a quiet film", methods=["attention"])["result"]
    assert after["said"] == before["said"], "the model is as it was"
    assert app.call("job", job=job["job"])["state"] == "cancelled"


def test_a_job_that_waits_can_be_cancelled_and_the_queue_has_an_end() -> None:
    jobs, go = Jobs(), threading.Event()

    def work(job: Job) -> dict[str, Any]:
        go.wait(10)
        return {"fine": True}

    first = jobs.start(work)
    while jobs.look(str(first["job"]))["state"] == "waiting":
        time.sleep(0.01)
    waiting = [jobs.start(work) for _ in range(MOST_WAITING)]
    with pytest.raises(regard.errors.RegardError, match="at most"):
        jobs.start(work)
    assert jobs.cancel(str(waiting[0]["job"]))["state"] == "cancelled"
    go.set()
    done = jobs.look(str(waiting[-1]["job"]))
    while done["state"] not in ("done", "cancelled"):
        done = jobs.look(str(waiting[-1]["job"]), after=int(str(done["version"])))
    assert done["state"] == "done"
    assert jobs.look(str(waiting[0]["job"]))["state"] == "cancelled"
    jobs.close()


def test_a_job_that_fails_says_why() -> None:
    jobs = Jobs()

    def work(job: Job) -> dict[str, Any]:
        raise regard.errors.InputError("text", expected="words", got="none")

    shown = jobs.start(work)
    while shown["state"] not in ("failed", "done"):
        shown = jobs.look(str(shown["job"]), after=int(str(shown["version"])))
    assert shown["state"] == "failed"
    assert shown["error"]["said"] == "text: expected words; got none"  # type: ignore[index,call-overload]
    jobs.close()


# ---------------------------------------------------------------------------------------------- edits


def test_no_edit_changes_nothing(app: Caller, asked: dict[str, Any]) -> None:
    found = edited(app, asked["pack"])
    assert found["before"] == found["after"]
    assert found["change"] == 0.0


@pytest.mark.parametrize(
    "edit",
    [
        {"what": "uniform", "site": LAST},
        {"what": "uniform", "site": LAST, "heads": [1], "queries": [0]},
        {"what": "knock_out", "site": "*", "queries": [0], "keys": [3]},
        {"what": "mask_heads", "site": LAST, "heads": [0]},
        {"what": "permute", "site": LAST, "seed": 4},
        {"what": "scale", "site": LAST, "keys": [3], "factor": 0.5},
    ],
)
def test_edits_do_what_the_records_do(app: Caller, asked: dict[str, Any], model: Model, edit: dict[str, Any]) -> None:
    found = edited(app, asked["pack"], edit)
    encoded = model.encode(Example("x", {"text": TEXT}))
    _, targets = model.predict([encoded])
    places = {k: tuple(v) for k, v in edit.items() if isinstance(v, list)}
    rest = {k: v for k, v in edit.items() if k in ("seed", "factor")}
    answers = model.forward([encoded], targets, [Edit(edit["what"], site=edit["site"], **places, **rest)])
    assert answers.distribution is not None
    assert [p for _, p in found["after"]["distribution"]] == pytest.approx(answers.distribution[0].tolist(), abs=1e-5)
    assert found["change"] > 0
    both = app.call("manifest", pack=found["pack"])
    assert len(both["examples"]) == 2
    assert both["pairs"][0]["left"] == 0


def rows_of(app: Caller, pack: str, example: int, site: int) -> np.ndarray:
    """(head, query, key) weights as the page sees them."""
    import gzip

    entry = app.call("manifest", pack=pack)["examples"][example]["sites"][site]
    body = app.raw("GET", f"/api/chunk/{pack}/{example}/{site}/all")[2]
    packed = np.frombuffer(gzip.decompress(body), np.uint8).reshape(entry["heads"], entry["rows"], entry["columns"])
    return (packed / 255.0) ** 2 * np.array(entry["tops"])[:, None, None]


def test_moved_mass_goes_where_it_was_dragged_and_rows_keep_their_sum(app: Caller, asked: dict[str, Any]) -> None:
    move = {"what": "move", "site": LAST, "heads": [1], "queries": [0], "from": 1, "to": 4, "share": 0.75}
    found = edited(app, asked["pack"], move)
    before, after = rows_of(app, found["pack"], 0, 1), rows_of(app, found["pack"], 1, 1)
    assert after[1, 0, 1] == pytest.approx(0.25 * before[1, 0, 1], abs=0.01)
    assert after[1, 0, 4] == pytest.approx(before[1, 0, 4] + 0.75 * before[1, 0, 1], abs=0.01)
    assert np.allclose(after[0], before[0], atol=1e-6), "the other head is as it was"
    assert np.allclose(after[1, 1:], before[1, 1:], atol=1e-6), "the other rows are as they were"
    assert np.allclose(after.sum(-1), 1, atol=0.05)


def test_a_move_back_restores_the_answer_and_undo_too(app: Caller, asked: dict[str, Any]) -> None:
    """The list of edits is all there is: one less is an undo; a move starts from the row as it then is."""
    there = {"what": "move", "site": LAST, "heads": [0], "queries": [0], "from": 3, "to": 0, "share": 1.0}
    blank = {"what": "knock_out", "site": "layers.0", "keys": [2]}
    with_first = edited(app, asked["pack"], blank)
    two = edited(app, asked["pack"], blank, there)
    assert two["after"] != with_first["after"]
    assert edited(app, asked["pack"], blank)["after"] == with_first["after"]
    row = rows_of(app, two["pack"], 1, 1)[0, 0]
    assert row[3] == 0.0


def test_an_edit_of_one_layer_moves_the_attention_of_the_next(app: Caller, asked: dict[str, Any]) -> None:
    found = edited(app, asked["pack"], {"what": "uniform", "site": "layers.0"})
    assert np.allclose(rows_of(app, found["pack"], 1, 0), 1 / 9, atol=0.01)
    assert not np.allclose(rows_of(app, found["pack"], 0, 1), rows_of(app, found["pack"], 1, 1), atol=0.01)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ({"what": "unifrom", "site": "*"}, "uniform"),
        ({"what": "uniform", "site": "nowhere"}, "layers.0"),
        ({"what": "uniform"}, "the key of a site"),
        ({"what": "uniform", "site": LAST, "heads": [9]}, "heads below 2"),
        ({"what": "uniform", "site": LAST, "heads": [-1]}, "0 or more"),
        ({"what": "uniform", "site": LAST, "head": 1}, "heads"),
        ({"what": "replace", "site": LAST}, "heads x queries x keys"),
        ({"what": "replace", "site": LAST, "values": [[["x"]]]}, "an array of numbers"),
        ({"what": "replace", "site": LAST, "values": [[[2.0, 0.0]]]}, "at most 1"),
        ({"what": "replace", "site": LAST, "values": [[[-0.1, 0.0]]]}, "0 or more"),
        ({"what": "scale", "site": LAST, "factor": 1e9}, "0 to 100"),
        ({"what": "move", "site": LAST, "from": 0, "to": 99}, "below 9"),
        ({"what": "move", "site": "nowhere", "from": 0, "to": 1}, "layers.0"),
        ("uniform", "an object"),
    ],
)
def test_a_wrong_edit_is_answered_in_words(app: Caller, asked: dict[str, Any], edit: Any, said: str) -> None:
    job = app.finished("edit", pack=asked["pack"], example=0, edits=[edit])
    assert job["state"] == "failed"
    assert said in job["error"]["said"]


def test_edits_are_shared_as_a_spec(
    app: Caller, asked: dict[str, Any], model: Model, served: Callable[..., Any]
) -> None:
    found = edited(
        app, asked["pack"], {"what": "uniform", "site": LAST}, {"what": "knock_out", "site": "*", "keys": [2]}
    )
    spec = Spec.from_json(json.loads(json.dumps(found["spec"])))
    assert spec.kind == "edits"
    other = served(Session(model))
    job = other.finished("open", spec=spec.to_json())
    assert job["state"] == "done", job
    assert job["result"]["edited"]["after"] == found["after"]
    strange = {**found["spec"], "params": {**found["spec"]["params"], "fingerprint": "0" * 64}}
    job = other.finished("open", spec=strange)
    assert "edits of this model" in job["error"]["said"]
    assert other.call("open", spec={"kind": "explainer"})["status"] == 400


def test_another_attention_with_the_same_answer(app: Caller, asked: dict[str, Any]) -> None:
    job = app.finished("alternative", pack=asked["pack"], example=0)
    assert job["state"] == "done", job
    found = job["result"]
    assert found["source"] == "search"
    if found["edits"]:
        after = edited(app, asked["pack"], *found["edits"])
        assert after["change"] == pytest.approx(found["change"], abs=1e-3)
        assert after["change"] <= 0.05 + 1e-3
        assert found["divergence"] > 0.1


# ---------------------------------------------------------------------------------------------- a stored run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A small audit of a model that has a name, so that it can be opened again."""
    out = tmp_path_factory.mktemp("run") / "run"
    return regard.audit(
        "planted:decides", out=out, limit=8, explainers=("attention", "leave_one_out"), metrics=("comprehensiveness",),
        experiments=("exclusive",), keep=3,
    )  # fmt: skip


def test_a_run_is_shown_and_its_model_is_opened_when_it_is_needed(
    run: Run, served: Callable[[Session], Caller]
) -> None:
    app = served(Session(run=run))
    hello = app.call("hello")
    assert hello["run"] == run.path.name
    assert hello["can"]["edit"]
    manifest = app.call("manifest", pack=hello["pack"])
    assert {e["id"] for e in manifest["examples"]} <= {e["id"] for e in run.examples()}
    site = manifest["examples"][0]["sites"][0]["key"]
    found = edited(app, hello["pack"], {"what": "uniform", "site": site})
    assert found["before"]["probability"] == pytest.approx(manifest["examples"][0]["probability"], abs=1e-5)


def test_the_alternative_of_the_audit_is_the_one_that_it_kept(run: Run, served: Callable[[Session], Caller]) -> None:
    app = served(Session(run=run))
    pack = app.call("hello")["pack"]
    ids = [e["id"] for e in app.call("manifest", pack=pack)["examples"]]
    score = next(s for s in run.findings() if s.metric == "max_jsd")
    at = next(i for i, name in enumerate(ids) if score.values[score.ids.index(name)] > 0.05)
    found = app.finished("alternative", pack=pack, example=at)["result"]
    assert found["source"] == "audit"
    assert found["divergence"] == pytest.approx(float(score.values[score.ids.index(ids[at])]))
    job = app.finished("edit", pack=pack, example=at, edits=found["edits"])
    assert job["result"]["change"] == pytest.approx(found["change"], abs=1e-3)


# ---------------------------------------------------------------------------------------------- rationales


def test_a_mark_is_kept_beside_the_run_and_read_by_the_plausibility_metrics(
    run: Run, served: Callable[[Session], Caller]
) -> None:
    app = served(Session(run=run))
    pack = app.call("hello")["pack"]
    example = app.call("manifest", pack=pack)["examples"][0]
    free = [i for i, special in enumerate(example["units"]["special"]) if not special]
    marked = app.call("mark", pack=pack, example=0, units=free[:2], author="Ada  Lovelace")
    (mark,) = marked["marks"]
    assert mark["author"] == "Ada Lovelace"
    assert mark["date"].startswith("20")
    assert app.call("marks", pack=pack, example=0) == marked
    fresh = Run(run.path)
    row = next(e for e in fresh.examples() if e["id"] == example["id"])
    assert row["marked_by"] == ["Ada Lovelace"]
    assert row["rationale"] == [example["units"]["places"][i] for i in free[:2]]
    scores, _ = judge_again(fresh, ["token_f1"])
    values = {s.method: dict(zip(s.ids, s.values, strict=True))[example["id"]] for s in scores}
    relevance = fresh.relevance("leave_one_out")
    own = relevance[relevance.ids.index(example["id"])][free]
    top = set(np.argsort(-own, kind="stable")[:2])
    assert values["leave_one_out"] == pytest.approx(len(top & {0, 1}) / 2)
    (run.path / FILE).unlink()


def test_a_mark_of_a_typed_text_is_a_row_of_a_data_set(app: Caller, asked: dict[str, Any], model: Model) -> None:
    app.call("mark", pack=asked["pack"], example=0, units=[3, 8], author="Bo")
    again = app.finished("ask", text=TEXT, methods=[])["result"]["pack"]
    (mark,) = app.call("marks", pack=again, example=0)["marks"]
    assert mark["text"] == TEXT
    assert [TEXT[int(a) : int(b)] for a, b in mark["rationale"]] == ["good", "dull"]
    file = app.server.session._marks
    assert file is not None
    (example,) = regard.read(str(file))
    assert example.rationale == ((6.0, 10.0), (29.0, 33.0))
    case = DeskCase(Desk(model), [example])
    score = token_f1(case, case.relevance("leave_one_out"))
    assert score.ids == (example.id,)
    assert np.isfinite(score.values).all()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"units": [0], "author": "A"}, "not special"),
        ({"units": [99], "author": "A"}, "not special"),
        ({"units": [1], "author": " "}, "a name"),
        ({"units": [1], "author": "a\u0000b"}, "a name"),
        ({"units": [1], "author": "x" * 200}, "a name"),
        ({"units": "1", "author": "A"}, "a list of units"),
    ],
)
def test_a_wrong_mark_is_refused(app: Caller, asked: dict[str, Any], body: dict[str, Any], said: str) -> None:
    answer = app.call("mark", pack=asked["pack"], example=0, **body)
    assert said in answer["error"]["said"]


def test_marks_of_many_hands_at_once_are_all_kept(tmp_path: Path) -> None:
    """Several writers wait for each other; a reader never sees half a file; the newest of an author stands."""
    file = tmp_path / "run" / FILE
    people = [f"person {i}" for i in range(12)]
    with ThreadPoolExecutor(6) as pool:
        reading = [pool.submit(read_marks, file) for _ in range(20)]
        for _ in pool.map(lambda who: keep_mark(file, Mark("a", ((0.0, 2.0),), who)), people):
            pass
        for seen in reading:
            seen.result()
    assert sorted(m.author for m in read_marks(file)) == sorted(people)
    keep_mark(file, Mark("a", (), people[0]))
    assert [m.rationale for m in read_marks(file) if m.author == people[0]] == [()]
    assert len(read_marks(file)) == 12
    file.write_text('{"id": 1}\n', "utf-8")
    with pytest.raises(regard.errors.InputError, match="line 1"):
        read_marks(file)


def test_a_text_that_nobody_could_look_at_is_refused_at_once() -> None:
    with pytest.raises(regard.errors.InputError, match=r"200000 characters.*a passage of it"):
        regard.show("bilstm", "good film " * 20_000)
