"""A pruned model is the whole model with its heads switched off, written, and the numbers say so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tiny_models import TEXTS, bart, llama

from regard.errors import InputError, UnknownName, Unsupported
from regard.models.open.load import load
from regard.records import Edit, Example
from regard.surveys.prune import prune


@pytest.mark.parametrize(
    ("heads", "how", "left"),
    [
        ("L0H1,L1H2", "silenced", 4),  # the layers would keep different groups
        ("L0H0,L0H2,L1H1,L1H3", "dropped", 2),  # one of each group
        ("L0H0,L0H1,L1H2,L1H3", "dropped", 2),  # a whole group, with its keys and values
    ],
)
def test_heads_of_a_grouped_query_model(heads: str, how: str, left: int, tmp_path: Path) -> None:
    folder, out = llama(tmp_path / "llama"), tmp_path / "pruned"
    found = prune(folder, heads=heads, out=out, data=TEXTS, limit=8)
    assert found.how == how, found.why
    assert found.error < 1e-4
    config = json.loads((out / "config.json").read_text())
    assert config["num_attention_heads"] == left
    assert (found.after.parameters < found.before.parameters) == (how == "dropped")
    assert found.after.not_zero < found.before.not_zero
    masks = [Edit("mask_heads", f"model.layers.{a}.self_attn", (int(b),)) for a, b in
             (name[1:].split("H") for name in heads.split(","))]  # fmt: skip
    model, written = load(folder), load(str(out))
    item = model.encode(Example("a", {"text": TEXTS[9]}))
    _, targets = model.predict([item])
    masked = model.forward([item], targets, masks).value
    assert written.forward([written.encode(Example("a", {"text": TEXTS[9]}))], targets).value == pytest.approx(masked)
    record = json.loads((out / "pruning.json").read_text())
    assert record["heads"] == heads.split(",")


def test_a_fraction_is_ranked_on_other_examples_than_it_is_audited_on(tmp_path: Path) -> None:
    found = prune(bart(tmp_path / "bart"), fraction=0.34, out=tmp_path / "pruned", data=TEXTS, limit=8)
    assert len(found.heads) == 2
    assert found.of == 6
    assert found.n == 4
    assert found.how == "silenced"
    assert {row.measure for row in found.audit} == {"objective"}
    row = found.audit[0]
    assert row.low <= row.change <= row.high
    assert load(found.path).task == "sequence_to_sequence"


def test_a_network_of_our_own(tmp_path: Path) -> None:
    found = prune("digits", heads="0.0,1.1", out=tmp_path / "pruned", limit=24)
    assert found.error < 1e-4
    measures = {row.measure: row for row in found.audit}
    assert measures["agreement"].before == 1.0
    assert 0 <= measures["accuracy"].after <= 1
    assert measures["accuracy"].n == 24
    about = json.loads((tmp_path / "pruned" / "regard.json").read_text())
    assert about["pruned"] == ["L0H0", "L1H1"]


def test_what_cannot_be_pruned_is_told(tmp_path: Path) -> None:
    folder = llama(tmp_path / "llama")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("mine")
    with pytest.raises(UnknownName, match=r"head '0\.9'"):
        prune(folder, heads="0.9", out=tmp_path / "a", data=TEXTS, limit=2)
    with pytest.raises(InputError, match="a new or empty one"):
        prune(folder, heads="0.1", out=tmp_path / "taken", data=TEXTS, limit=2)
    with pytest.raises(InputError, match="share between 0 and 1"):
        prune(folder, fraction=1.5, out=tmp_path / "a", data=TEXTS)
    with pytest.raises(InputError, match="neither"):
        prune(folder, out=tmp_path / "a", data=TEXTS)
    with pytest.raises(Unsupported, match="the pooling that the answer is read from"):
        prune("bilstm", heads="0.0", out=tmp_path / "a", limit=2)
    assert not (tmp_path / "a").exists()
