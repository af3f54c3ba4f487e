"""The settings under which property tests run."""

from __future__ import annotations

from hypothesis import settings


def test_property_tests_have_no_deadline_and_fixed_examples() -> None:
    assert settings.default is not None
    assert settings.default.deadline is None
    assert settings.default.derandomize
