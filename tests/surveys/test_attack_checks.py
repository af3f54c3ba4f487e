"""Sanity checks of attacks on invented records: what few examples can and cannot show."""

from __future__ import annotations

import json

import pytest

from regard.measures.count_tests import CountTest, no_weaker, stronger
from regard.records import Attacked, Message
from regard.surveys.attack_sanity import _checked, _differences, _rises


def records(successes: int, n: int, skipped: int = 0) -> list[Attacked]:
    found = [Attacked(str(i), "pgd", "success" if i < successes else "failed") for i in range(n)]
    return [*found, *(Attacked(f"s{i}", "pgd", "skipped") for i in range(skipped))]


def test_near_a_hundred_percent_needs_fifty_nine_successes() -> None:
    assert _rises([records(3, 24), records(24, 24)]) == CountTest("open", 24, 59)
    assert _rises([records(3, 24), records(59, 59)]) == CountTest("passed", 59)
    assert _rises([records(3, 24), records(20, 24)]).outcome == "failed"


def test_a_fall_of_success_fails_the_check_only_if_it_is_significant() -> None:
    assert _rises([records(24, 24), records(23, 24), records(59, 59)]).outcome == "passed", "one of 24 may be chance"
    assert _rises([records(24, 24), records(17, 24), records(59, 59)]).outcome == "failed", "7 falls: p = 1/128"


def test_skipped_examples_are_in_no_comparison() -> None:
    assert _differences(records(5, 6, skipped=3), records(1, 6, skipped=3)) == (4, 0, 6)


@pytest.mark.parametrize(
    ("test", "result", "passed", "key"),
    [
        (stronger(6, 0, 6), "passed", True, "sanity.compared"),
        (stronger(0, 0, 36), "failed", False, "sanity.same"),
        (stronger(2, 0, 6), "open", None, "sanity.open_until"),
        (CountTest("open", 20), "open", None, "sanity.open"),
        (no_weaker(0, 0, 36), "passed", True, "sanity.compared"),
    ],
)
def test_json_says_the_result_its_n_and_what_it_needs(
    test: CountTest, result: str, passed: bool | None, key: str
) -> None:
    check = _checked("noise", test, Message("sanity.compared"), {"rate": 0.5}, failure="same")
    value = json.loads(json.dumps(check.to_json()))
    assert (value["result"], value["passed"]) == (result, passed)
    assert (value["numbers"]["n"], value["numbers"]["needed"]) == (test.n, test.needed)
    assert isinstance(check.sentence, Message)
    assert check.sentence.key == key
