"""Every explainer says how it is computed, what it costs, when it misleads and who thought of it: its page shows it."""

from __future__ import annotations

import pytest

from regard.registry import entry, names


@pytest.mark.parametrize("name", names("explainer"))
def test_every_fact_is_stated(name: str) -> None:
    facts = entry("explainer", name).facts
    for fact in ("formula", "cost", "misleads"):
        assert facts[fact], f"{name} does not state its {fact}"
    assert facts["cite"] or name == "given", f"{name} has no reference"
    assert facts["role"] in ("method", "baseline")
