"""Memory of an audit: a finished shard leaves nothing behind, even without a run of the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import adapter_zoo
import numpy as np
import pytest
import torch
from torch_toy import Texts

from regard.audits import worker
from regard.audits.audit import audit
from regard.audits.plan import shards
from regard.audits.shard import Settings
from regard.models.open.wrap import wrap
from regard.protocols import Model
from regard.records import Attention, Example, Spec
from regard.store.example_json import example_to_json
from regard.store.shard_result import ShardResult
from regard.tap.pass_history import forget_passes

LENGTH, SIZE = 40, 8
SETTINGS = Settings(
    (Spec("explainer", "attention"), Spec("explainer", "lrp")),
    (Spec("metric", "comprehensiveness"),),
    experiments=tuple(
        Spec.parse("experiment", name)
        for name in (
            "map_shape",
            "permutation:times=2",
            'explanation_drift:explainers=["attention"],noises=1,share=1.0',
        )
    ),
)


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Only reference counts free memory inside the test."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="module")
def model() -> Model:
    return wrap(adapter_zoo.bert("ForSequenceClassification"), adapter_zoo.bert_tokenizer())


def texts(count: int) -> list[str]:
    """Texts of one length, which share a pass."""
    words = [word for word in adapter_zoo.bert_tokenizer().get_vocab() if word.isalpha()]
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(words, LENGTH)) for _ in range(count)]


def page_of(model: Model, start: int, *, keep: bool = False) -> ShardResult:
    examples = [Example(f"t{start + i}", {"text": text}) for i, text in enumerate(texts(start + SIZE)[start:])]
    payload: dict[str, Any] = {
        "examples": [example_to_json(example) for example in examples],
        "settings": SETTINGS.to_json(),
        "keep": [example.id for example in examples] if keep else [],
        "walk": [],
    }
    return worker.do_shard(model, payload)


def held_bytes() -> int:
    """Bytes of all tensors of this process that are alive, beside what later passes of one shard may use again."""
    forget_passes()
    storages = [o.untyped_storage() for o in gc.get_objects() if isinstance(o, torch.Tensor)]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


def test_finished_shards_hold_no_tensors(model: Model, no_collector: None) -> None:
    page_of(model, 0)
    gc.collect()
    first = held_bytes()
    for shard in (1, 2):
        page = page_of(model, shard * SIZE)
        assert not page.problems
        assert held_bytes() == first


def test_stored_attention_holds_its_own_example_only(model: Model) -> None:
    page = page_of(model, 0, keep=True)
    assert len(page.attentions) == SIZE
    for sites in page.attentions.values():
        for attention in sites:
            root: Any = attention.weights
            while isinstance(root.base, np.ndarray):
                root = root.base
            assert attention.weights.shape[0] == 1
            assert root.nbytes == attention.weights.nbytes


def test_stored_shard_is_gone_before_the_next_one_begins(
    model: Model, no_collector: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    counts: list[int] = []
    compute = worker.do_shard

    def counted(model: Model, payload: Mapping[str, Any]) -> ShardResult:
        counts.append(sum(isinstance(o, (ShardResult, Attention)) for o in gc.get_objects()))
        return compute(model, payload)

    monkeypatch.setattr(worker, "do_shard", counted)
    data = texts(3 * SIZE)
    audit(
        model, Texts(tuple(data)), out=tmp_path, budget="none", keep=len(data), explainers=["attention"], metrics=[],
        experiments=["map_shape"],
    )  # fmt: skip
    assert len(counts) == len(shards(dict.fromkeys(data, LENGTH)))
    assert counts == [0] * len(counts)
