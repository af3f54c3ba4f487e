"""A run is a function of its identity: kills, resumes, workers and threads change no byte of it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import killed_audit
import pytest
import torch
from run_content import stored_bytes
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch_toy import WORDS, Texts, sentences
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from regard.audits import torch_threads
from regard.audits.audit import audit
from regard.audits.torch_threads import threads_for
from regard.models.open.load import load
from regard.store.run import Run

TEXTS = sentences(20, longest=12)
"""Three shards."""
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
OPTIONS: dict[str, Any] = {
    "keep": 20, "profile": "quick", "budget": "none", "explainers": ["attention", "input_x_gradient", "leave_one_out"],
    "metrics": ["entropy"], "experiments": ["map_shape", "permutation:times=2", "route"],
}  # fmt: skip


class Stopped(BaseException):
    """Stands for the end of a process."""


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("bert")
    words = Tokenizer(models.WordLevel({w: i for i, w in enumerate([*SPECIAL, *WORDS])}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]",
    ).save_pretrained(folder)  # fmt: skip
    torch.manual_seed(0)
    config: Any = BertConfig(
        vocab_size=len(SPECIAL) + len(WORDS), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=32, initializer_range=0.3,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module", params=["bilstm", "bert"])
def undisturbed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Run]:
    """A model, and its audit from the first shard to the last in one process."""
    model = request.getfixturevalue("bert") if request.param == "bert" else request.param
    return model, audit(load(model), Texts(TEXTS), out=tmp_path_factory.mktemp("undisturbed"), **OPTIONS)


def _stop_after(shards: int) -> Callable[[int, int, float | None], None]:
    reports: list[int] = []

    def progress(done: int, total: int, eta: float | None) -> None:
        reports.append(done)
        if len(reports) > shards:  # the first report comes before the first shard
            raise Stopped

    return progress


@pytest.mark.parametrize("stops", [[2], [1, 1, 1]])
def test_audit_stopped_between_shards_equals_undisturbed_audit(
    undisturbed: tuple[str, Run], stops: list[int], tmp_path: Path
) -> None:
    model, whole = undisturbed
    for shards in stops:
        with pytest.raises(Stopped):
            audit(load(model), Texts(TEXTS), out=tmp_path, progress=_stop_after(shards), **OPTIONS)
    resumed = audit(load(model), Texts(TEXTS), out=tmp_path, **OPTIONS)
    assert len(whole._results) == 3
    assert stored_bytes(resumed) == stored_bytes(whole)


@pytest.mark.slow
@pytest.mark.parametrize("undisturbed", ["bilstm"], indirect=True)
def test_two_workers_give_the_bytes_of_one(undisturbed: tuple[str, Run], tmp_path: Path) -> None:
    model, whole = undisturbed
    before = torch.get_num_threads()
    torch.set_num_threads(2)  # a small model gets one thread however many there are
    try:
        there = audit(load(model), Texts(TEXTS), out=tmp_path, workers=2, **OPTIONS)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert stored_bytes(there) == stored_bytes(whole)


@pytest.mark.slow
def test_killed_audit_with_two_workers_equals_undisturbed_audit_with_one(bert: str, tmp_path: Path) -> None:
    texts, options = Texts(killed_audit.TEXTS), killed_audit.OPTIONS
    whole = audit(load(bert), texts, out=tmp_path / "whole", **options)  # type: ignore[arg-type]
    process = killed_audit.start(tmp_path / "killed", 2, bert)
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(3)] == ["0\n", "8\n", "16\n"]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert Run(tmp_path / "killed").progress[0] < 40
    resumed = audit(load(bert), texts, out=tmp_path / "killed", **options)  # type: ignore[arg-type]
    assert stored_bytes(resumed) == stored_bytes(whole)


def test_resumed_run_keeps_its_number_of_threads(bert: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_threads, "SMALL", 0.0)
    model, seen = load(bert), []

    def note(done: int, total: int, eta: float | None) -> None:
        seen.append(torch.get_num_threads())

    few: dict[str, Any] = {"explainers": ["attention"], "metrics": ["entropy"], "progress": note}
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert [threads_for(model, workers) for workers in (1, 2)] == [3, 1]
        run = audit(model, Texts(TEXTS), out=tmp_path, **few)
        torch.set_num_threads(2)
        again = audit(model, Texts(TEXTS), out=tmp_path, **few)
    finally:
        torch.set_num_threads(before)
    assert {*seen} == {3}
    assert run._facts["identity"]["threads"] == again._facts["identity"]["threads"] == 3
