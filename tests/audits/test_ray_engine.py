"""What only the Ray engine must survive: notices to leave, the death of its driver, code that nobody allowed."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import killed_audit
import pytest
import test_engines
from run_content import stored_bytes
from torch_toy import Texts, TorchToy

from regard.audits.audit import audit
from regard.audits.engines.ray import RayActors, ray
from regard.audits.options import AuditOptions
from regard.audits.scheduler import engine_of
from regard.audits.worker import _with_code
from regard.errors import EnvironmentProblem, InputError
from regard.protocols import Task
from regard.records import Spec
from regard.registry import build
from regard.store.run import Run
from regard.store.run_status import run_status


def act(state: dict[str, str], payload: dict[str, Any]) -> object:
    """What test_engines does, and the notice of a spot machine in the middle of a task."""
    notice = payload.get("notice")
    if notice and not Path(notice).exists():
        Path(notice).touch()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    return test_engines.act(state, payload)


def test_every_task_has_one_outcome_whatever_happens_to_its_worker(ray_cluster: None, tmp_path: Path) -> None:
    tasks = [
        Task("deadly", {"x": 4, "die": True}),
        *(Task(f"k{i}", {"x": i}) for i in range(3)),
        Task("bad", {"x": 9, "raise": True}),
        Task("killed once", {"x": 5, "die": True, "grave": str(tmp_path / "grave")}),
        Task("notice", {"x": 6, "notice": str(tmp_path / "notice")}),
    ]
    outcomes = [*ray(workers=2, retries=1).run(test_engines.SETUP, {}, "test_ray_engine:act", tasks)]
    assert sorted(o.key for o in outcomes) == sorted(t.key for t in tasks)
    by_key = {o.key: o for o in outcomes}
    assert (by_key["deadly"].status, str(by_key["deadly"].message)) == ("dead", "its worker died 2 times")
    assert (by_key["bad"].status, by_key["bad"].message) == ("error", "ValueError: no")
    good = {key: o for key, o in by_key.items() if key not in ("deadly", "bad")}
    doubles = {"k0": 0, "k1": 2, "k2": 4, "killed once": 10, "notice": 12}
    assert {key: o.result["double"] for key, o in good.items()} == doubles
    assert all(o.worker.endswith(f":{o.result['worker']}") for o in good.values())


def test_model_that_cannot_be_opened_is_an_error_with_its_reason(ray_cluster: None) -> None:
    task = Task("a", {"x": 1})
    with pytest.raises(InputError, match="a bad one"):
        list(ray(workers=1).run(test_engines.SETUP, {"refuse": "yes"}, test_engines.WORK, [task]))


def test_audit_whose_driver_is_killed_continues_and_equals_serial_audit(ray_cluster: None, tmp_path: Path) -> None:
    import ray as cluster

    undisturbed = audit(TorchToy(), Texts(killed_audit.TEXTS), out=tmp_path / "serial", **killed_audit.OPTIONS)  # type: ignore[arg-type]
    out = tmp_path / "killed"
    address = cluster.get_runtime_context().gcs_address
    driver = killed_audit.start(out, f"ray:address={address},workers=2")
    assert driver.stdout is not None
    reported = [int(driver.stdout.readline()) for _ in range(3)][-1]  # one before the first shard
    status = run_status(out)
    assert status.status == "running"
    assert len(status.activity["workers"]) >= 1
    driver.kill()
    driver.wait()
    driver.stdout.close()
    assert run_status(out).status == "stopped"
    stored = Run(out).progress[0]
    assert reported <= stored < len(killed_audit.TEXTS)
    computed: list[int] = []
    audit(
        TorchToy(),
        Texts(killed_audit.TEXTS),
        out=out,
        progress=lambda done, total, eta: computed.append(done),
        **killed_audit.OPTIONS,  # type: ignore[arg-type]
    )
    assert computed[0] == stored  # nothing that the ledger had was computed again
    assert stored_bytes(Run(out)) == stored_bytes(undisturbed)
    assert run_status(out).status == "complete"


def test_worker_that_fits_no_machine_is_refused(ray_cluster: None) -> None:
    with pytest.raises(EnvironmentProblem, match="99 GPU"):
        list(RayActors(gpus=99).run("a:b", {}, "a:b", [Task("a", {})]))


class _Named:
    name, labels = "mine", ("a", "b")
    spec = Spec("model", "mine.py:make")


def test_python_file_reaches_workers_only_if_this_command_allows_code(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def make(): ...\n", "utf-8")
    model = _Named()
    model.spec = Spec("model", f"{file}:make")
    with pytest.raises(InputError, match="allow"):
        engine_of(model, AuditOptions(engine="ray"), 1, print)  # type: ignore[arg-type]
    _, setup = engine_of(model, AuditOptions(engine="ray", allow_code=True), 1, print)  # type: ignore[arg-type]
    assert setup["code"] == "def make(): ...\n"
    _, setup = engine_of(model, AuditOptions(engine="processes"), 1, print)  # type: ignore[arg-type]
    assert "code" not in setup  # the user named the file, and the worker is this machine
    assert _with_code(f"{file}:make", "def make(): ...\n") == f"{file}:make"
    elsewhere = _with_code(f"{tmp_path / 'absent.py'}:make", "def make(): return 7\n")
    path, _, factory = elsewhere.rpartition(":")
    assert (Path(path).read_text("utf-8"), factory) == ("def make(): return 7\n", "make")


def test_engine_is_found_by_name_with_its_parameters() -> None:
    spec = Spec.parse("engine", "ray:address=auto,workers=16,gpus=1")
    assert build(spec)() == RayActors("auto", 16, gpus=1)
    with pytest.raises(InputError, match="at least 1"):
        ray(workers=0)
