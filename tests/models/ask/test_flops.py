"""The limit that the speed of methods is held against."""

from __future__ import annotations

from pathlib import Path

import pytest
from torch import nn

from regard.audits.audit import audit
from regard.models.ask.flops import flops_per_position, machine_flops


def test_a_matrix_does_two_operations_per_entry_and_a_table_none() -> None:
    layer = nn.Linear(16, 32)
    assert flops_per_position(layer) == 2 * 16 * 32
    assert flops_per_position(nn.Sequential(nn.Embedding(1000, 16), layer, layer)) == 2 * 16 * 32


def test_the_machine_does_some_arithmetic() -> None:
    assert machine_flops() > 1e8


def test_every_method_that_asks_the_model_has_a_share_of_the_limit(tmp_path: Path) -> None:
    run = audit(
        "cancer", "cancer", out=tmp_path / "run", limit=6, explainers=["leave_one_out", "random"], metrics=[],
        profile="quick",
    )  # fmt: skip
    costs = {c["method"]: c for c in run.costs()}
    assert costs["leave_one_out"]["forwards"] > 100
    limit = run.manifest["limit"]
    best = costs["leave_one_out"]["forwards"] * limit["forward_flops"] / limit["machine_flops"]
    assert costs["leave_one_out"]["limit"] == pytest.approx(best / costs["leave_one_out"]["seconds"])
    assert costs["random"]["limit"] is None
