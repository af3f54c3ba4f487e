"""A slice of `make fuzz`: hostile bodies never make the service fail."""

from __future__ import annotations

from benchmarks.fuzz.service import hostile_bodies


def test_hostile_bodies_are_refused_in_one_line() -> None:
    result = hostile_bodies(seed=1, count=300)
    assert result["problems"] == []
    assert result["statuses"].get("400", 0) > 50
