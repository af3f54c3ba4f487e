"""Whole attacks: resumed where they stopped, transferred, checked; and what an estimate makes of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.errors import InputError, Unsupported
from regard.models.ask.randomised import randomised_copy
from regard.models.open.load import load
from regard.protocols import Model
from regard.records import Attacked, Example, Threat
from regard.surveys.attack import AttackRun, attack
from regard.surveys.attack_records import FILE, Lines, from_json, to_json
from regard.surveys.attack_table import WORST, row
from regard.tap.pass_history import forget_passes

TEXTS = ("a quiet , moving film", "a dull and tedious mess", "an honest , funny story", "bad acting and a bad script")
EXAMPLES = [Example(str(i), {"text": text}, label=("positive", "negative")[i % 2]) for i, text in enumerate(TEXTS)]
THREAT = Threat(budget=40, max_share=0.5)


@pytest.fixture(scope="module")
def bilstm() -> Model:
    return load("bilstm", device="cpu")


def test_rows_have_their_denominator_interval_and_worst_case(bilstm: Model) -> None:
    wrong = Example("wrong", {"text": TEXTS[0]}, label="negative")
    run = attack(bilstm, [*EXAMPLES, wrong], ["greedy_word", "hotflip"], threat=THREAT)
    assert [r.attack for r in run.rows] == ["greedy_word", "hotflip", WORST]
    for r in run.rows:
        assert (r.n, r.attacked, r.skipped) == (5, 4, {"misclassified": 1})
        assert r.rate == r.successes / 4
        assert r.low <= r.rate <= r.high
        assert r.holds == (4 - r.successes) / 5
        assert [share for _, share in r.budget] == sorted(share for _, share in r.budget)
    assert run.rows[2].successes >= max(r.successes for r in run.rows[:2])
    assert run.accuracy == 0.8
    assert len(run.checks) == 3
    assert any("attention jensen_shannon" in one.extras for found in run.found.values() for one in found)
    json.dumps(run.to_json())


def test_resumed_attack_equals_undisturbed_attack(bilstm: Model, tmp_path: Path) -> None:
    def go(out: Path) -> AttackRun:
        return attack(bilstm, EXAMPLES, ["greedy_char", "hotflip"], threat=THREAT, out=out)

    undisturbed = go(tmp_path / "whole")
    whole = (tmp_path / "whole" / FILE).read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    assert len(ends) == 9
    for end in (ends[0], ends[2] + 40, ends[4], ends[6] + 1):  # nothing yet; within a line; one attack; within the next
        cut = tmp_path / str(end)
        cut.mkdir()
        (cut / FILE).write_bytes(whole[:end])
        forget_passes()  # as in a new process
        resumed = go(cut)
        assert (cut / FILE).read_bytes() == whole
        assert resumed.found == undisturbed.found
        assert resumed.checks == undisturbed.checks
    with pytest.raises(InputError, match="another attack"):
        attack(bilstm, EXAMPLES, ["greedy_char"], threat=Threat(budget=3), out=cut, check=False)


def test_records_travel(bilstm: Model) -> None:
    run = attack(bilstm, EXAMPLES, ["greedy_word"], threat=THREAT, check=False)
    for one, example in zip(run.found["greedy_word"], run.examples, strict=True):
        back = from_json(json.loads(json.dumps(to_json(one, "greedy_word", example))))
        assert back == one


def test_transfer_is_whole_on_the_diagonal(bilstm: Model) -> None:
    other = randomised_copy(bilstm, 0.3, 0)
    run = attack(bilstm, EXAMPLES, ["hotflip"], threat=THREAT, to=[other], check=False, watch=None)
    names = (bilstm.name, other.name)
    assert {(t.source, t.target) for t in run.transfers} == {(a, b) for a in names for b in names}
    for t in run.transfers:
        assert t.source != t.target or t.fooled == t.n
        assert not t.n or t.low <= t.rate <= t.high
    with pytest.raises(InputError, match="different models"):
        attack(bilstm, EXAMPLES, ["hotflip"], threat=THREAT, to=[bilstm], check=False, watch=None)


def test_an_attack_of_another_kind_is_refused_before_it_starts(bilstm: Model) -> None:
    with pytest.raises(Unsupported, match="an attack on image"):
        attack("digits", None, ["greedy_word"], n=2)
    with pytest.raises(InputError, match="at least one attack"):
        attack(bilstm, EXAMPLES, [])


def test_an_empty_denominator_is_no_number() -> None:
    found = row("x", "black box", [Attacked("a", "x", "skipped", why="misclassified")], 10)
    assert found.attacked == 0
    assert found.rate != found.rate


LINE = {
    "attack": "a", "id": "0", "status": "failed", "why": "", "queries": 1, "label": 0, "before": 0, "after": 0,
    "said_before": [0.5], "said_after": [0.5], "perturbed": None, "similarity": 1.0, "similarity_is": "x",
    "curve": [[1, 0.5]], "origin": None, "extras": {}, "notes": [], "original": {}, "adversarial": None,
}  # fmt: skip
DAMAGE = {
    "half a line": '{"attack": "a"',
    "no object": "[]",
    "a status that is not": json.dumps({**LINE, "status": "maybe"}),
    "a number as text": json.dumps({**LINE, "queries": "1"}),
    "no base64": json.dumps(
        {**LINE, "adversarial": {"id": "0", "label": 0, "rationale": None, "group": None, "parent": None, "slices": {},
                                 "inputs": {"image": {"array": "x", "dtype": "<f4", "shape": [2]}}}}
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_line_is_named_and_nothing_is_lost(what: str, tmp_path: Path) -> None:
    good = json.dumps({**LINE, "why": "a\u2028b"}, ensure_ascii=False)
    text = "\n".join(['{"who": 1}', good, DAMAGE[what], good]) + "\n"
    (tmp_path / FILE).write_text(text, "utf-8")
    with pytest.raises(InputError, match=rf"{FILE}, line 3.*remove that line"):
        Lines(tmp_path, {"who": 1})
    assert (tmp_path / FILE).read_text("utf-8") == text


def test_a_line_that_was_cut_off_is_dropped(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"who": 1}\n' + json.dumps(LINE) + '\n{"attack": "a", "id', "utf-8")
    lines = Lines(tmp_path, {"who": 1})
    lines.close()
    assert [*lines.known] == [("a", "0")]
