"""Copies of one input are one draw: a thousand rows of four texts prove no more than four."""

from __future__ import annotations

from pathlib import Path

from torch_toy import TorchToy

from regard.audits.audit import audit
from regard.audits.repeated_inputs import with_copies_joined
from regard.records import Example

TEXTS = ["a fine film", "a dull film", "nothing happens here", "what a great cast"]


def test_a_copy_belongs_to_the_cluster_of_the_first_unless_it_has_a_group() -> None:
    rows = [
        Example("a", {"text": "x"}),
        Example("b", {"text": "y"}),
        Example("c", {"text": "x"}, label=1),
        Example("d", {"text": "x"}, group="patient 7"),
        Example("e", {"text": "x", "text_pair": "y"}),
    ]
    assert [e.cluster for e in with_copies_joined(rows)] == ["a", "b", "a", "patient 7", "e"]
    assert [e.id for e in with_copies_joined(rows)] == ["a", "b", "c", "d", "e"]


def test_an_audit_counts_copies_as_one_draw(tmp_path: Path) -> None:
    run = audit(TorchToy(), TEXTS * 5, out=tmp_path, explainers=["random"], metrics=["entropy"], budget="none")
    assert len(run.examples()) == 20
    assert max(summary.clusters for summary in run.summaries()) == 4
