from __future__ import annotations

import errno
import json
import multiprocessing
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import killed_audit
import pyarrow.parquet as pq
import pytest
from run_content import content, stored_bytes
from torch_toy import Texts, TorchToy, sentences

from regard.audits.audit import audit
from regard.audits.options import AuditOptions
from regard.audits.repeatability import PROBES
from regard.errors import EnvironmentProblem, InputError, RegardError, UnknownName
from regard.present.messages.messages import render
from regard.records import Spec
from regard.store.export import TABLES
from regard.store.run import Run

TEXTS = Texts(sentences(20))
FEW = ["leave_one_out", "random"]
EVERYTHING: dict[str, Any] = {"budget": "none", "keep": 4, "metrics": ["comprehensiveness", "sufficiency", "agreement"]}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return audit(TorchToy(), TEXTS, out=tmp_path_factory.mktemp("audit") / "run", **EVERYTHING)


def test_a_plain_list_of_examples_is_data_and_other_things_are_refused_in_words(tmp_path: Path) -> None:
    run = audit(TorchToy(), [*Texts(sentences(3))], out=tmp_path / "run", explainers=["random"], metrics=["entropy"])
    assert run.manifest["data"]["name"] == "in-memory"
    assert len(run.examples()) == 3
    with pytest.raises(InputError, match=r"regard\.Example; got int"):
        audit(TorchToy(), [3], out=tmp_path / "other")


def test_a_whole_audit(undisturbed: Run) -> None:
    run = undisturbed
    assert run.manifest["status"] == "complete"
    assert run.progress == (20, 20)
    assert run.problems() == []
    assert run.methods() == [
        "attention", "rollout", "input_x_gradient", "integrated_gradients", "lrp", "leave_one_out", "random"
    ]  # fmt: skip
    for key in ("model", "data", "seed", "profile", "versions", "specs", "created", "command", "checked", "estimate"):
        assert run.manifest[key] is not None, key
    assert run.manifest["model"]["fingerprint"] == "toy-0"
    assert len(run.kept()) == 4
    assert {e["label"] for e in run.examples()} == {"bad", "good"}  # 0 and 1 in the data
    assert run.manifest["label_table"][0]["matched by"] == "class index"
    (site,) = run.capture(run.kept()[0])
    assert site.weights.sum(-1) == pytest.approx(1, abs=1e-6)


def test_every_number_has_n_interval_seed_and_role(undisturbed: Run) -> None:
    summaries = undisturbed.summaries()
    assert {s.metric for s in summaries} == {"comprehensiveness", "sufficiency", "agreement"}
    assert {s.role for s in summaries} == {"method", "baseline", "ceiling"}
    for s in summaries:
        assert s.n + s.undefined == len(
            [e for e in undisturbed.examples() if s.where.get("class") in (None, e["predicted"])]
        )
        if s.n:
            assert s.low <= s.estimate <= s.high
            assert (s.seed, s.level) == (0, 0.95)
    assert {s.where.get("class") for s in summaries} == {None, "bad", "good"}
    assert {s.where.get("operator") for s in summaries if s.metric == "sufficiency"} == {"delete", "mask"}


def test_the_tables_are_written(undisturbed: Run) -> None:
    for name in TABLES:
        rows = pq.read_table(undisturbed.path / "tables" / f"{name}.parquet").num_rows
        assert (rows > 0) == (name not in ("problems", "findings")), name


def test_a_finished_audit_computes_nothing_again(undisturbed: Run) -> None:
    toy = TorchToy()
    again = audit(toy, TEXTS, out=undisturbed.path, **EVERYTHING)
    assert content(again) == content(undisturbed)
    assert toy.calls["predict"] == 1  # the look at the model


def test_progress_and_sentences(tmp_path: Path) -> None:
    steps: list[tuple[int, int, float | None]] = []
    said: list[str] = []
    audit(
        TorchToy(), TEXTS, out=tmp_path / "run", budget="none", explainers=FEW, metrics=["agreement"],
        progress=lambda *step: steps.append(step), announce=said.append,
    )  # fmt: skip
    assert [s[0] for s in steps] == sorted(s[0] for s in steps)
    assert steps[0][0] == 0
    assert steps[-1][:2] == (20, 20)
    assert steps[-1][2] == pytest.approx(0)
    assert all(s[2] is not None and s[2] >= 0 for s in steps[1:]), "nothing is known before the pilot"
    assert any("made up for a test" in s for s in said)
    assert any("forward passes" in s for s in said)


class Stopped(TorchToy):
    """Raises what it is given after some calls."""

    def __init__(self, error: BaseException, after: int) -> None:
        super().__init__()
        self.error, self.left = error, after

    def forward(self, batch: Any, targets: Any, edits: Any = ()) -> Any:
        self.left -= 1
        if self.left == 0:
            raise self.error
        return super().forward(batch, targets, edits)


def test_control_c_leaves_a_run_that_can_go_on(tmp_path: Path, undisturbed: Run) -> None:
    with pytest.raises(KeyboardInterrupt):
        audit(Stopped(KeyboardInterrupt(), 20), TEXTS, out=tmp_path / "run", **EVERYTHING)
    stopped = Run(tmp_path / "run")
    assert stopped.manifest["status"] == "interrupted"
    done, total = stopped.progress
    assert 0 < done < total
    toy = TorchToy()
    assert content(audit(toy, TEXTS, out=tmp_path / "run", **EVERYTHING)) == content(undisturbed)
    assert toy.calls["predict"] == total - done + 1 + PROBES  # what was done stays done; some are asked twice


def test_a_full_disk_keeps_what_was_there(tmp_path: Path, undisturbed: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [0]
    real = os.fsync

    def full(descriptor: int) -> None:
        calls[0] += 1
        if calls[0] > 25:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EnvironmentProblem, match="free disk space"):
        audit(TorchToy(), TEXTS, out=tmp_path / "run", **EVERYTHING)
    monkeypatch.undo()
    assert Run(tmp_path / "run").progress[0] > 0
    assert content(audit(TorchToy(), TEXTS, out=tmp_path / "run", **EVERYTHING)) == content(undisturbed)


def _options(**changed: Any) -> dict[str, Any]:
    return {"model": TorchToy(), "data": TEXTS, "explainers": FEW, "metrics": ["agreement"], **changed}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"seed": 1}, "seed was 0 and is now 1"),
        ({"model": TorchToy(seed=3)}, "model was toy-0 and is now toy-3"),
        ({"explainers": ["random"]}, r"specs was \[leave_one_out:operator=delete, random"),
        ({"keep": 2}, "keep was 12 and is now 2"),
        ({"data": Texts(sentences(20, seed=5))}, "examples was"),
        ({"resume": False}, "expected a new directory"),
    ],
)
def test_going_on_with_something_else_is_refused_with_what_differs(
    tmp_path: Path, changed: dict[str, Any], words: str
) -> None:
    path = tmp_path / "run"
    audit(**_options(), out=path)
    before = content(Run(path))
    with pytest.raises(InputError, match=words):
        audit(**_options(**changed), out=path)
    assert content(Run(path)) == before


@pytest.mark.parametrize(
    ("changed", "kind", "words"),
    [
        ({"profile": "quik"}, UnknownName, "quick"),
        ({"explainers": ["atention"]}, UnknownName, "attention"),
        ({"explainers": ["rollout:resdual=1"]}, UnknownName, "residual"),
        ({"explainers": []}, InputError, "at least one"),
        ({"metrics": ["suficiency"]}, UnknownName, "sufficiency"),
        ({"data": Texts(())}, InputError, "at least one example"),
        ({"data": None}, InputError, "a data set for this model"),
        ({"workers": 0}, InputError, "at least 1"),
        ({"labels": "neg=0,pos=7"}, InputError, "0 to 1"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, changed: dict[str, Any], kind: type[RegardError], words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        audit(**_options(**changed), out=tmp_path / "run")
    assert "\n" not in str(caught.value)


def test_a_run_with_bad_examples_keeps_the_good_ones(tmp_path: Path) -> None:
    texts = Texts((*sentences(6), "", "a poisonous film", "one"))
    run = audit(TorchToy(raises_on="poisonous"), texts, out=tmp_path / "run", explainers=FEW, metrics=["sufficiency"])
    assert {(p["id"], p["stage"]) for p in run.problems()} == {("t6", "encode"), ("t7", "forward")}
    assert run.manifest["status"] == "complete"
    assert len(run.relevance("random").ids) == 7
    assert run.progress == (9, 9)


def test_a_run_of_nothing_but_bad_examples_says_so(tmp_path: Path) -> None:
    run = audit(TorchToy(), Texts(("", " ")), out=tmp_path / "run")
    assert len(run.problems()) == 2
    assert run.summaries() == []


def test_a_method_the_model_does_not_support_is_named_with_the_reason(tmp_path: Path) -> None:
    said: list[str] = []
    run = audit(TorchToy(blind=True), TEXTS, out=tmp_path / "run", metrics=["agreement"], announce=said.append)
    assert set(run.skipped) == {"attention", "rollout"}
    assert run.manifest["skipped"] == run.skipped
    assert any("skipped attention" in s and "it is blind" in s for s in said)
    assert "leave_one_out" in run.methods()
    assert run.kept() == []


@pytest.mark.wording
def test_long_texts_become_windows_of_one_cluster(tmp_path: Path) -> None:
    long = " ".join(sentences(12)[i] for i in range(12))
    run = audit(TorchToy(), Texts((long, *sentences(3))), out=tmp_path / "run", explainers=FEW, metrics=["sufficiency"])
    windows = [e for e in run.examples() if e["parent"] == "t0"]
    assert len(windows) > 1
    assert any("windows" in render(note) for note in run.manifest["data"]["notes"])
    (summary,) = [
        s for s in run.summaries() if s.method == "random" and len(s.where) == 1 and s.where["operator"] == "mask"
    ]
    assert (summary.n, summary.clusters) == (len(windows) + 3, 4)


def test_a_live_model_runs_here_and_the_message_says_so(tmp_path: Path) -> None:
    said: list[str] = []
    toy = TorchToy(live=True)
    few: dict[str, Any] = {"explainers": FEW, "metrics": ["agreement"], "budget": "none"}
    audit(toy, TEXTS, out=tmp_path / "run", workers=2, announce=said.append, **few)
    assert any("runs in this process" in s for s in said)
    assert toy.calls["predict"] == len(TEXTS) + 1 + PROBES  # the look at the model, and some asked twice


@pytest.mark.slow
def test_an_example_that_kills_its_worker_is_reported_and_the_others_are_done(tmp_path: Path) -> None:
    texts = Texts((*sentences(9), "a deadly film"))
    deadly = TorchToy(dies_on="deadly")
    deadly.encode(next(iter(texts)))
    # the look at the model goes to an example of middling length, so this process survives
    run = audit(deadly, texts, out=tmp_path / "run", explainers=FEW, metrics=["agreement"], workers=2)
    (problem,) = run.problems()
    assert (problem["id"], problem["stage"]) == ("t9", "worker")
    assert "SIGKILL" in problem["message"]
    assert len(run.relevance("leave_one_out").ids) == 9
    again = audit(deadly, texts, out=tmp_path / "run", explainers=FEW, metrics=["agreement"], workers=2)
    assert content(again) == content(run)


def _start(out: Path, workers: int) -> subprocess.Popen[str]:
    return killed_audit.start(out, workers)


def _killed_after(process: subprocess.Popen[str], wait: Callable[[], float], *, reports: int) -> bool:
    """Kill it some time after it has reported so often; False if it was faster."""
    assert process.stdout is not None
    for _ in range(reports):
        process.stdout.readline()
    time.sleep(wait())
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read()
    process.stdout.close()
    process.wait()
    return "complete" not in rest


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "kills"), [(1, 3), (2, 1)])
def test_killed_at_random_moments_the_tables_are_those_of_an_undisturbed_run(
    tmp_path: Path, workers: int, kills: int
) -> None:
    undisturbed = audit(TorchToy(), Texts(killed_audit.TEXTS), out=tmp_path / "undisturbed", **killed_audit.OPTIONS)  # type: ignore[arg-type]
    moments = random.Random(workers)
    out = tmp_path / "killed"
    killed, before = 0, 0
    for _ in range(kills):
        killed += _killed_after(_start(out, workers), lambda: moments.uniform(0.0, 0.5), reports=workers)
        done = Run(out).progress[0]
        assert done >= before  # nothing that was committed is lost
        before = done
    assert killed
    process = _start(out, workers)
    assert "complete complete" in process.communicate()[0]
    run = Run(out)
    assert stored_bytes(run) == stored_bytes(undisturbed)
    assert not list(out.rglob("*.part"))


@pytest.mark.slow
def test_an_interruption_ends_the_workers_at_once(tmp_path: Path) -> None:
    def stop(done: int, total: int, eta: float | None) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit(
            TorchToy(), TEXTS, out=tmp_path / "run", budget="none", explainers=FEW, metrics=[], workers=2, progress=stop
        )
    assert multiprocessing.active_children() == []
    assert Run(tmp_path / "run").manifest["status"] == "interrupted"
    assert 0 < Run(tmp_path / "run").progress[0] < 20


def test_python_gets_verdicts_and_their_fate_on_shifted_data(tmp_path: Path) -> None:
    experiments = ["map_shape", "permutation:times=4", "route", "pointing:sizes=[1]", "top_word", "exclusive"]
    run = audit(
        "planted:pointed", out=tmp_path / "run", limit=12, explainers=["attention", "random"], metrics=["entropy"],
        experiments=experiments, shift="planted_texts:seed=1",
    )  # fmt: skip
    (judgement,) = run.manifest["judgements"]
    assert len(judgement["verdicts"]) >= 6
    assert run.manifest["shift"]["attentions"]
    assert Run(tmp_path / "run" / "shift").manifest["judgements"]


def test_an_unknown_option_is_refused_with_near_misses(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="limit"):
        audit("bilstm", out=tmp_path / "run", limits=3)


def test_options_survive_json() -> None:
    options = AuditOptions(
        limit=3, explainers=["random", Spec("explainer", "attention", {"heads": 1})], labels={"a": 0}
    )
    assert AuditOptions.from_json(json.loads(json.dumps(options.to_json()))) == options
