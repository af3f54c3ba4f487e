"""Watching changes nothing, never fails the watched, and sees what a capture sees."""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hand_built_heads import TwoHeads, encode
from tiny_models import llama

from regard.errors import EnvironmentProblem, InputError, Message
from regard.measures.maps import row_entropy
from regard.tap.capture_call import capture_call
from regard.tap.monitor import sample
from regard.tap.monitor.watch import AttentionHealth, watch
from regard.tap.monitor.writers import MLflowWriter, TensorBoardWriter, installed_writers


class Kept:
    def __init__(self) -> None:
        self.rows: list[tuple[int, Mapping[str, float]]] = []

    def write(self, step: int, values: Mapping[str, float]) -> None:
        self.rows.append((step, values))


def batch(text: str = "w3 w4 w5 w6 w7 w8") -> tuple[torch.Tensor, torch.Tensor]:
    ids = torch.tensor([encode(text)])
    return ids, torch.ones_like(ids, dtype=torch.bool)


def language_model(tmp_path: Path) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(llama(tmp_path / "llama")).eval()


def test_every_nth_pass_is_looked_at_and_answers_stay_as_they_are() -> None:
    module, kept = TwoHeads(), Kept()
    given = batch()
    plain = module(*given)
    with watch(module, every=3, writer=kept) as w:
        found = [module(*given) for _ in range(7)]
    assert all(torch.equal(plain, one) for one in found)
    assert (w.passes, w.looks) == (7, 3)
    assert [step for step, _ in kept.rows] == [1, 4, 7]
    assert not w.problems
    assert "forward" not in module.__dict__
    assert 0 <= w.overhead < 50


def test_a_glimpse_sees_what_a_capture_sees(tmp_path: Path) -> None:
    model = language_model(tmp_path)
    ids = torch.tensor([[1, 5, 9, 12, 20, 33, 41]])
    with torch.no_grad():
        with watch(model, every=1) as w:
            watched = model(input_ids=ids).logits
        plain, taps = capture_call(model, lambda: model(input_ids=ids).logits)
    assert torch.equal(watched, plain)
    (glimpse,) = w.glimpses
    assert len(glimpse.sites) == len(taps.sites) == 2
    for seen, site in zip(glimpse.sites, taps.sites, strict=True):
        weights = site.rows(0, range(1, 7)).astype(float)  # the first row of a causal map has one key
        assert seen.entropy == pytest.approx(float(row_entropy(weights).mean()), abs=1e-5)
        assert seen.sink == pytest.approx(float(weights[..., 0].mean()), abs=1e-5)


def test_softmaxes_that_are_no_attention_are_not_counted() -> None:
    class Classified(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = TwoHeads()

        def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            return torch.softmax(self.inner(ids, mask), -1)

    with watch(Classified(), every=1) as w:
        w._attached.module(*batch())
    assert len(w.glimpses[0].sites) == 1


def test_collapse_is_warned_of() -> None:
    sharp, flat = TwoHeads(), TwoHeads(sharp=0.0)
    for module, key in ((sharp, "model_note.narrow"), (flat, "model_note.even")):
        with watch(module, every=1) as w:
            module(*batch())
        assert key in {warning.key for warning in w.warnings if isinstance(warning, Message)}


def test_errors_of_the_service_are_its_own_and_errors_of_the_watch_are_kept() -> None:
    class Broken:
        def write(self, step: int, values: Mapping[str, float]) -> None:
            raise OSError("disk full")

    module = TwoHeads()
    with watch(module, every=1, writer=Broken()) as w:
        module(*batch())
        with pytest.raises(IndexError):
            module(torch.tensor([[99]]), torch.ones(1, 1, dtype=torch.bool))
        module(*batch())
    assert list(w.problems) == ["OSError: disk full"] * 2
    assert w.looks == 2


def test_a_fault_inside_the_look_never_reaches_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object) -> None:
        raise RuntimeError("a bug of ours")

    monkeypatch.setattr(sample, "meaning", broken)
    module = TwoHeads()
    plain = module(*batch())
    with watch(module, every=1) as w:
        assert torch.equal(module(*batch()), plain)
    assert "RuntimeError: a bug of ours" in w.problems


def test_many_threads_are_counted_once_each_and_get_their_own_answers() -> None:
    module = TwoHeads()
    texts = [" ".join(f"w{2 + (i + k) % 37}" for k in range(5 + i)) for i in range(6)]
    plain = [module(*batch(t)) for t in texts]
    answers: dict[int, list[torch.Tensor]] = {i: [] for i in range(6)}

    def serve(i: int) -> None:
        for _ in range(20):
            answers[i].append(module(*batch(texts[i])))

    with watch(module, every=5) as w:
        threads = [threading.Thread(target=serve, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (w.passes, w.looks, len(w.problems)) == (120, 24, 0)
    assert sorted(g.number for g in w.glimpses) == list(range(1, 121, 5))
    assert all(torch.equal(one, plain[i]) for i in range(6) for one in answers[i])


def test_what_cannot_be_watched_is_told() -> None:
    with pytest.raises(InputError, match="at least 1"):
        watch(TwoHeads(), every=0)
    with pytest.raises(InputError, match="a torch module or a regard model"):
        watch("bilstm")
    compiled = torch.compile(TwoHeads(), backend="eager")
    with watch(compiled) as w:
        pass
    assert list(w.problems) == [Message("model_note.compiled")]


def test_a_training_loop_of_ones_own() -> None:
    module, kept = TwoHeads(sharp=1.0), Kept()
    optimiser = torch.optim.SGD(module.parameters(), lr=0.1)
    health = AttentionHealth(module, every=4, writer=kept)
    for _ in range(9):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(module(*batch()), torch.tensor([1])).backward()
        optimiser.step()
        health.step()
    health.close()
    assert [step for step, _ in kept.rows] == [1, 5, 9]
    assert {"attention/entropy", "attention/sink", "attention/collapse"} <= set(kept.rows[0][1])
    assert all(np.isfinite(list(values.values())).all() for _, values in kept.rows)
    assert "forward" not in module.__dict__


def test_the_trainer_of_transformers(tmp_path: Path) -> None:
    from transformers import Trainer, TrainingArguments

    from regard.tap.monitor.callback import HealthCallback

    model, kept = language_model(tmp_path), Kept()
    rows = [{"input_ids": torch.tensor(ids), "labels": torch.tensor(ids)} for ids in [[1, 5, 9, 12, 20, 33]] * 8]
    callback = HealthCallback(every=2, writer=kept)
    arguments = TrainingArguments(
        str(tmp_path / "out"), max_steps=5, per_device_train_batch_size=2, report_to=[], disable_tqdm=True,
        use_cpu=True, save_strategy="no", logging_strategy="no", dataloader_pin_memory=False,
    )  # fmt: skip
    Trainer(model, arguments, train_dataset=rows, callbacks=[callback]).train()
    assert [step for step, _ in kept.rows] == [1, 3, 5]
    assert kept.rows[0][1]["attention/entropy"] > 0
    assert callback.health is not None
    assert not callback.health.problems
    assert "forward" not in model.__dict__


def test_writers_are_used_if_installed_and_never_required(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    written: list[tuple[str, object]] = []

    class SummaryWriter:
        def __init__(self, folder: str) -> None:
            written.append(("folder", folder))

        def add_scalar(self, name: str, value: float, step: int) -> None:
            written.append((name, (value, step)))

        def flush(self) -> None:
            written.append(("flush", None))

    board, flow = types.ModuleType("torch.utils.tensorboard"), types.ModuleType("mlflow")
    board.SummaryWriter = SummaryWriter  # type: ignore[attr-defined]
    flow.log_metrics = lambda values, step: written.append(("mlflow", (values, step)))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", board)
    monkeypatch.setitem(sys.modules, "mlflow", flow)
    installed_writers(tmp_path).write(3, {"attention/entropy": 0.5})
    assert written == [
        ("folder", str(tmp_path)), ("attention/entropy", (0.5, 3)), ("flush", None),
        ("mlflow", ({"attention/entropy": 0.5}, 3)),
    ]  # fmt: skip
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    monkeypatch.setitem(sys.modules, "mlflow", None)
    assert installed_writers(tmp_path).each == []
    with pytest.raises(EnvironmentProblem, match="package tensorboard"):
        TensorBoardWriter(tmp_path)
    with pytest.raises(EnvironmentProblem, match="package mlflow"):
        MLflowWriter()
