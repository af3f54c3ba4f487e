"""The real TensorBoard and the real MLflow: what is written is read back. Skipped where a package is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hand_built_heads import TwoHeads, encode

from regard.tap.monitor.watch import AttentionHealth, Writer
from regard.tap.monitor.writers import MLflowWriter, TensorBoardWriter, installed_writers


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """MLflow that writes to a folder and talks to nobody."""
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a folder needs no database, but must be allowed
    package = pytest.importorskip("mlflow")
    package.set_tracking_uri((tmp_path / "mlruns").as_uri())
    yield package
    while package.active_run() is not None:
        package.end_run()
    package.set_tracking_uri(None)


def trained(writer: Writer) -> AttentionHealth:
    """Seven steps, of which the first, the fourth and the seventh are looked at."""
    module = TwoHeads(sharp=1.0)
    ids = torch.tensor([encode("w3 w4 w5 w6 w7 w8")])
    optimiser = torch.optim.SGD(module.parameters(), lr=0.1)
    health = AttentionHealth(module, every=3, writer=writer)
    for _ in range(7):
        optimiser.zero_grad()
        logits = module(ids, torch.ones_like(ids, dtype=torch.bool))
        torch.nn.functional.cross_entropy(logits, torch.tensor([1])).backward()
        optimiser.step()
        health.step()
    health.close()
    assert not health.problems
    return health


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    reading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = reading.EventAccumulator(str(folder))
    events.Reload()
    return {name: [(e.step, e.value) for e in events.Scalars(name)] for name in events.Tags()["scalars"]}


def wanted(health: AttentionHealth) -> dict[str, list[tuple[int, Any]]]:
    rows: dict[str, list[tuple[int, Any]]] = {}
    for glimpse in health.glimpses:
        for name, value in glimpse.values().items():
            rows.setdefault(name, []).append((glimpse.number, pytest.approx(value, rel=1e-6)))
    assert [step for step, _ in rows["attention/entropy"]] == [1, 4, 7]
    assert {"attention/sink", "attention/collapse", "attention/site0/entropy"} <= set(rows)
    return rows


def test_tensorboard_reads_back_what_training_wrote(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    health = trained(TensorBoardWriter(tmp_path / "events"))
    assert scalars(tmp_path / "events") == wanted(health)


def test_mlflow_reads_back_what_training_wrote(mlflow: Any) -> None:
    with mlflow.start_run() as run:
        health = trained(MLflowWriter())
    client = mlflow.MlflowClient()
    for name, rows in wanted(health).items():
        found = client.get_metric_history(run.info.run_id, name)
        assert [(m.step, m.value) for m in sorted(found, key=lambda m: m.step)] == rows


def test_without_a_run_mlflow_begins_one(mlflow: Any, tmp_path: Path) -> None:
    installed_writers(tmp_path / "events").write(2, {"attention/entropy": 0.5})
    run = mlflow.active_run()
    assert run is not None
    assert mlflow.get_run(run.info.run_id).data.metrics == {"attention/entropy": 0.5}


def test_the_trainer_writes_event_files(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tiny_models import llama
    from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

    from regard.tap.monitor.callback import HealthCallback
    from regard.tap.monitor.writers import Writers

    model = AutoModelForCausalLM.from_pretrained(llama(tmp_path / "llama")).eval()
    rows = [{"input_ids": torch.tensor(ids), "labels": torch.tensor(ids)} for ids in [[1, 5, 9, 12, 20, 33]] * 8]
    callback = HealthCallback(every=2, writer=Writers([TensorBoardWriter(tmp_path / "out" / "attention")]))
    arguments = TrainingArguments(
        str(tmp_path / "out"), max_steps=3, per_device_train_batch_size=2, report_to=[], disable_tqdm=True,
        use_cpu=True, save_strategy="no", logging_strategy="no", dataloader_pin_memory=False,
    )  # fmt: skip
    Trainer(model, arguments, train_dataset=rows, callbacks=[callback]).train()
    assert callback.health is not None
    found = scalars(tmp_path / "out" / "attention")["attention/entropy"]
    assert [step for step, _ in found] == [1, 3]
    assert [value for _, value in found] == pytest.approx(
        [g.values()["attention/entropy"] for g in callback.health.glimpses], rel=1e-6
    )
