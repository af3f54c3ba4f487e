"""`regard verdicts` of a run whose experiments were all skipped: one reason, not a list of all."""

from __future__ import annotations

from regard.cli.commands.verdicts import _skipped
from regard.present.messages.messages import render


def test_most_frequent_reason_stands_for_all() -> None:
    skipped = {f"experiment e{i}": "it needs classes" for i in range(12)} | {"lrp": "no gradients"}
    assert render(_skipped(skipped)) == "12 skipped experiments: it needs classes"
    other = render(_skipped(skipped | {"experiment x": "it needs heads"}))
    assert "and 1 for other reasons" in other
    assert "needs heads" not in other
    assert render(_skipped({})) == "a run without experiments"
