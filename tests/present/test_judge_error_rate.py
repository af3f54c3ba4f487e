"""The record of the judge is about the code that was measured, and says so where that has changed."""

from __future__ import annotations

import pytest

from regard.present import judge_error_rate as record

pytestmark = pytest.mark.wording  # reads the words of pages, tables or notes


@pytest.mark.parametrize("same", [True, False])
def test_figures_of_an_earlier_judge_are_told_as_such(same: bool) -> None:
    measured = record.track_record()
    assert measured is not None
    said = record.in_a_sentence({**measured, "sources": record.sources() if same else "0" * 16})
    assert ("was not measured again" in said) is not same
    assert (f"at commit {measured['commit']}" in said) is not same


def test_the_fingerprint_sees_every_file_and_its_name() -> None:
    one = record.fingerprint({"a.py": "x", "b.py": "y"})
    assert one != record.fingerprint({"a.py": "x"})
    assert one != record.fingerprint({"a.py": "y", "b.py": "x"})
    assert len(record.sources()) == len(one) == 16
