"""Gates on made runs, with answers that were worked out by hand."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_run import ids, made_run, noisy, ranked, share

from regard.errors import EnvironmentProblem, InputError
from regard.gate.check import Check
from regard.gate.gate import VERDICTS, Outcome, gate, refused
from regard.gate.outputs import junit, markdown, write
from regard.gate.policy import parse_policy
from regard.measures.intervals import Interval
from regard.present.messages.messages import render
from regard.records import Score


def accuracy(bound: str, more: str = "") -> str:
    return f'[[gate]]\nmetric = "accuracy"\n{bound}\n{more}\n'


@pytest.mark.parametrize(
    ("bound", "result", "code"),
    [
        # 90 of 100: Wilson's interval is 0.826 to 0.945
        ("min = 0.82", "pass", 0),
        ("min = 0.83", "inconclusive", 3),
        ("min = 0.94", "inconclusive", 3),
        ("min = 0.95", "fail", 1),
        ("max = 0.95", "pass", 0),
        ("max = 0.93", "inconclusive", 3),
        ("max = 0.82", "fail", 1),
    ],
)
def test_the_bound_decides_not_the_estimate(tmp_path: Path, bound: str, result: str, code: int) -> None:
    run = made_run(tmp_path / "run", share(100, 90))
    outcome = gate(run, parse_policy(accuracy(bound)))
    (check,) = outcome.checks
    assert (check.found.estimate, round(check.found.low, 3), round(check.found.high, 3)) == (0.9, 0.826, 0.945)
    assert (check.result, outcome.exit_code) == (result, code)
    assert f"(exit {code})" in str(outcome.verdict)


def test_noise_has_to_be_asked_for(tmp_path: Path) -> None:
    findings = [noisy(100, "keyboard", 3, 70), noisy(100, "keyboard", 5, 50), noisy(100, "case", 3, 88)]
    run = made_run(tmp_path / "run", share(100, 90), findings=findings)

    def estimates(where: str) -> list[float]:
        return [c.found.estimate for c in gate(run, parse_policy(accuracy("min = 0.1", f"where = {where}"))).checks]

    assert estimates("{}") == [0.9], "without a noise: the input as it is"
    assert estimates('{ noise = "keyboard", severity = 3 }') == [0.7]
    assert estimates('{ noise = "key*" }') == [0.7, 0.5]
    assert estimates('{ noise = ["keyboard", "case"], severity = 3 }') == [0.7, 0.88]
    assert sorted(estimates('{ noise = "any" }')) == [0.5, 0.7, 0.88, 0.9]
    assert estimates('{ noise = "any", severity = [3, 5] }') == [0.7, 0.5, 0.88]


def test_calibration_and_attacks(tmp_path: Path) -> None:
    clean = {"experiment": "noise", "noise": "none", "severity": 0}
    sure = Score("confidence", "model", ids(100), np.full(100, 0.9), "none", clean)
    under = [
        Score("accuracy", "model", ids(100), np.zeros(100), "higher", {"attack": name, **more})
        for name, more in (("greedy_word", {}), ("random_words", {"role": "baseline"}))
    ]
    drifts = [
        Score("explanation_rank", "attention", ids(100), np.full(100, value) + np.arange(100) / 1e4, "higher", where)
        for value, where in ((0.9, {"noise": "keyboard", "severity": 3}), (0.1, {"attack": "greedy_word"}))
    ]
    findings = [sure, noisy(100, "keyboard", 3, 70), *under, *drifts]
    run = made_run(tmp_path / "run", share(100, 90), findings=findings)
    (error,) = gate(run, parse_policy('[[gate]]\nmetric = "ece"\nmax = 0.2')).checks
    assert error.found.estimate == pytest.approx(0.0)
    assert error.result == "pass"
    with pytest.raises(InputError, match="brier or nll"):
        gate(run, parse_policy('[[gate]]\nmetric = "ece"\ndrop = 0.1'), baseline=run)
    every = gate(run, parse_policy(accuracy("min = 0.1", 'where = { noise = "any" }'))).checks
    assert sorted(c.found.estimate for c in every) == [0.7, 0.9], "attacks have to be asked for"
    (attacked,) = gate(run, parse_policy(accuracy("min = 0.1", 'where = { attack = "any" }'))).checks
    assert (attacked.where["attack"], attacked.result) == ("greedy_word", "fail")
    (rank,) = gate(run, parse_policy('[[gate]]\nmetric = "explanation_rank"\nmin = 0.8')).checks
    assert rank.where["noise"] == "keyboard", "a metric that is only there under noise is about every noise"


def test_parts(tmp_path: Path) -> None:
    right = [i % 2 == 0 or i < 50 for i in range(100)]  # odd examples (positive) from 50 on are wrong
    run = made_run(tmp_path / "run", right)
    by_label = gate(run, parse_policy(accuracy("min = 0.5", 'where = { label = "any" }'))).checks
    assert {c.where["label"]: (c.found.estimate, c.n) for c in by_label} == {
        "negative": (1.0, 50),
        "positive": (0.5, 50),
    }
    (one,) = gate(run, parse_policy(accuracy("min = 0.5", 'where = { class = "positive" }'))).checks
    assert (one.found.estimate, one.n) == (1.0, 25)
    (slice_,) = gate(run, parse_policy(accuracy("min = 0.5", 'where = { year = "1990" }'))).checks
    assert slice_.n == 100


@pytest.mark.parametrize(
    ("policy", "near"),
    [
        ('[[gate]]\nmetric = "acuracy"\nmin = 0.5', "accuracy"),
        ('[[gate]]\nmetric = "accuracy"\nwhere = { nois = "keyboard" }\nmin = 0.5', "noise"),
        ('[[gate]]\nmetric = "accuracy"\nwhere = { noise = "keybord" }\nmin = 0.5', "keyboard"),
        ('[[gate]]\nmetric = "accuracy"\nwhere = { noise = "keyboard", severity = 9 }\nmin = 0.5', "3"),
        ('[[gate]]\nmetric = "accuracy"\nwhere = { class = "positiv" }\nmin = 0.5', "positive"),
        ('[[gate]]\nmetric = "entropy"\nmethod = "atention"\nmin = 0.5', "attention"),
        ('[[gate]]\nmetric = "sufficiency"\nmin = 0.5', "--metrics sufficiency"),
        ('[[gate]]\nmetric = "entropy"\ndrop = 0.1', "no baseline"),
        ("[[drift]]\nmin = 0.5", "--baseline"),
    ],
)
def test_a_mistyped_name_never_passes(tmp_path: Path, policy: str, near: str) -> None:
    entropy = Score("entropy", "attention", ids(100), np.full(100, 0.5), "none")
    run = made_run(tmp_path / "run", share(100, 90), scores=[entropy], findings=[noisy(100, "keyboard", 3, 70)])
    with pytest.raises(InputError) as error:
        gate(run, parse_policy(policy))
    assert near in str(error.value)
    assert error.value.exit_code == 2


def test_baselines_are_not_every_method(tmp_path: Path) -> None:
    scores = [Score("entropy", m, ids(20), np.linspace(0, 1, 20), "none") for m in ("attention", "random", "lime")]
    run = made_run(tmp_path / "run", share(20, 20), scores=scores)
    text = '[[gate]]\nmetric = "entropy"\nmin = 0.1\n'
    assert [c.name for c in gate(run, parse_policy(text)).checks] == ["entropy of attention", "entropy of lime"]
    assert len(gate(run, parse_policy(text + 'method = "random"')).checks) == 1


def test_what_was_not_finished_or_is_too_little_never_passes(tmp_path: Path) -> None:
    running = made_run(tmp_path / "running", share(100, 100), status="interrupted")
    outcome = gate(running, parse_policy(accuracy("min = 0.1")))
    assert outcome.exit_code == 3
    assert "not complete" in render(outcome.checks[0].reason)
    assert any("interrupted" in render(note) for note in outcome.notes)
    assert gate(running, parse_policy(accuracy("max = 0.1"))).exit_code == 1, "but it may fail"
    few = made_run(tmp_path / "few", share(9, 9))
    assert gate(few, parse_policy(accuracy("min = 0.1"))).exit_code == 3
    grouped = made_run(tmp_path / "grouped", share(90, 90), groups=[f"g{i % 9}" for i in range(90)])
    outcome = gate(grouped, parse_policy(accuracy("min = 0.1")))
    assert outcome.exit_code == 3, "ninety rows of nine patients are nine draws"
    assert (outcome.checks[0].n, outcome.checks[0].clusters) == (90, 9)
    empty = Score("tau", "attention", ids(20), np.full(20, np.nan), "higher")
    run = made_run(tmp_path / "empty", share(20, 20), scores=[empty])
    assert gate(run, parse_policy('[[gate]]\nmetric = "tau"\nmin = 0.1')).exit_code == 3


def test_open_checks_as_the_policy_says(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", share(100, 90))
    open_ = accuracy("min = 0.9", 'name = "clean"')
    assert gate(run, parse_policy(open_)).exit_code == 3
    assert gate(run, parse_policy('inconclusive = "fail"\n' + open_)).exit_code == 1
    assert gate(run, parse_policy('inconclusive = "warn"\n' + open_)).exit_code == 0
    assert gate(run, parse_policy('inconclusive = "warn"\n' + open_), inconclusive="report").exit_code == 3
    failing = accuracy("min = 0.99", 'name = "clean"')
    assert gate(run, parse_policy(failing + open_)).exit_code == 1, "a failure outweighs what is open"
    assert gate(run, parse_policy(failing), allow_fail=["clean"]).exit_code == 0
    assert gate(run, parse_policy(failing + 'level = "warn"')).exit_code == 0
    with pytest.raises(InputError, match="Try: clean"):
        gate(run, parse_policy(failing), allow_fail=["claen"])


def test_holm_widens_intervals_no_more_than_it_must(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", share(100, 90))
    text = accuracy("min = 0.82") * 5
    plain, corrected = gate(run, parse_policy(text)), gate(run, parse_policy('correction = "holm"\n' + text))
    assert plain.exit_code == 0
    assert corrected.exit_code == 3
    assert corrected.checks[0].found.level == pytest.approx(0.99), "five that are open share the error"
    assert "Holm's correction over 5 checks" in render(corrected.notes[0])


def test_what_is_decided_leaves_its_share_of_the_error_to_the_others(tmp_path: Path) -> None:
    """By hand: 90 of 100, lower ends .826 at 95 % and .800 at 99 % (Wilson)."""
    run = made_run(tmp_path / "run", share(100, 90))
    clear = accuracy("min = 0.5") * 4
    stepped = gate(run, parse_policy('correction = "holm"\n' + clear + accuracy("min = 0.82")))
    assert stepped.exit_code == 0, "Bonferroni would leave the last one open"
    assert [round(c.found.level, 4) for c in stepped.checks] == [0.99, 0.99, 0.99, 0.99, 0.95]
    two = gate(run, parse_policy('correction = "holm"\n' + clear + accuracy("min = 0.82") * 2))
    assert [c.result for c in two.checks[-2:]] == ["inconclusive"] * 2, "two that are left share it: 97.5 %"
    assert two.checks[-1].found.level == pytest.approx(0.975)
    failing = gate(run, parse_policy('correction = "holm"\n' + clear + accuracy("min = 0.99") + accuracy("min = 0.82")))
    assert [c.result for c in failing.checks[-2:]] == ["fail", "pass"]


def test_paired_over_the_same_examples(tmp_path: Path) -> None:
    old = made_run(tmp_path / "old", share(200, 160), fingerprint="bb")
    same = made_run(tmp_path / "same", share(200, 160))
    worse = made_run(tmp_path / "worse", share(200, 130))
    drop = parse_policy(accuracy("drop = 0.05"))
    fine = gate(same, drop, baseline=old)
    assert fine.exit_code == 0
    (check,) = fine.checks
    assert (check.found.estimate, check.p) == (0.0, 1.0)
    assert -0.05 < check.found.low < 0 < check.found.high, "no change in 200 is not proof of none"
    bad = gate(worse, drop, baseline=old)
    assert bad.exit_code == 1
    assert bad.checks[0].found.estimate == pytest.approx(-0.15)
    assert bad.checks[0].p < 1e-6
    assert gate(old, drop, baseline=worse).exit_code == 0, "better is no drop"
    assert gate(old, parse_policy(accuracy("change = 0.05")), baseline=worse).exit_code == 1
    assert gate(same, parse_policy(accuracy("drop = 0.001")), baseline=old).exit_code == 3


def test_a_drop_needs_a_direction(tmp_path: Path) -> None:
    def run(name: str, level: float) -> Path:
        wobble = np.random.default_rng(0).normal(0, 0.01, 50)
        score = Score("entropy", "attention", ids(50), level + wobble, "none")
        lower = Score("sufficiency", "attention", ids(50), level + wobble, "lower")
        return made_run(tmp_path / name, share(50, 40), scores=[score, lower]).path

    old, new = run("old", 0.5), run("new", 0.7)
    with pytest.raises(InputError, match="better"):
        gate(new, parse_policy('[[gate]]\nmetric = "entropy"\ndrop = 0.1'), baseline=old)
    assert (
        gate(new, parse_policy('[[gate]]\nmetric = "entropy"\ndrop = 0.1\nbetter = "lower"'), baseline=old).exit_code
        == 1
    )
    assert gate(new, parse_policy('[[gate]]\nmetric = "sufficiency"\ndrop = 0.1'), baseline=old).exit_code == 1
    assert gate(new, parse_policy('[[gate]]\nmetric = "sufficiency"\ndrop = 0.3'), baseline=old).exit_code == 0


def test_baselines_that_cannot_be_compared_with(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", share(50, 40))
    other = made_run(tmp_path / "other", share(50, 40), text="other words in here now")
    policy = parse_policy(accuracy("drop = 0.5"))
    with pytest.raises(InputError, match="the same examples under the same names"):
        gate(run, policy, baseline=other)
    with pytest.raises(EnvironmentProblem):
        gate(run, policy, baseline=tmp_path / "nowhere")
    part = made_run(tmp_path / "part", share(30, 30))
    outcome = gate(run, policy, baseline=part)
    assert outcome.checks[0].n == 30
    assert any("30 shared examples of 50" in render(note) for note in outcome.notes)


@pytest.mark.wording
def test_drift_of_explanations(tmp_path: Path) -> None:
    up, down = [1.0, 2.0, 3.0, 4.0, 5.0], [5.0, 4.0, 3.0, 2.0, 1.0]
    swapped = [2.0, 1.0, 3.0, 4.0, 5.0]  # one of ten pairs the other way round: tau 0.8
    old = made_run(
        tmp_path / "old", share(40, 40), relevances=[ranked("attention", [up] * 40), ranked("lime", [up] * 40)]
    )
    # ten predictions change, and with them their explanations
    new = made_run(
        tmp_path / "new", share(40, 30),
        relevances=[ranked("attention", [swapped] * 30 + [down] * 10), ranked("lime", [down] * 40)],
    )  # fmt: skip
    outcome = gate(new, parse_policy("[[drift]]\nmin = 0.7"), baseline=old)
    found = {c.name.split("(")[0].strip(): c for c in outcome.checks}
    assert found["drift of attention"].found.estimate == pytest.approx(0.8)
    assert found["drift of attention"].n == 30
    assert found["drift of attention"].result == "pass"
    assert found["drift of lime"].found.estimate == pytest.approx(-1.0)
    assert outcome.exit_code == 1
    assert "30 of 40" in found["drift of attention"].name
    assert any("30 of 40" in render(note) for note in outcome.notes)
    (wide,) = gate(
        new, parse_policy('[[drift]]\nmin = 0.7\nmethod = "attention"\nall_examples = true'), baseline=old
    ).checks
    assert wide.found.estimate == pytest.approx((30 * 0.8 - 10) / 40)
    (top,) = gate(
        new, parse_policy('[[drift]]\nmin = 0.7\nmethod = "attention"\nmeasure = "top_k"\nk = 2'), baseline=old
    ).checks
    assert top.found.estimate == 1.0
    (said,) = gate(new, parse_policy('[[drift]]\nmin = 0.9\nmeasure = "predictions"'), baseline=old).checks
    assert (said.found.estimate, said.result) == (0.75, "fail")
    with pytest.raises(InputError, match="Try: attention"):
        gate(new, parse_policy('[[drift]]\nmin = 0.7\nmethod = "atention"'), baseline=old)


checks = st.lists(
    st.builds(
        Check,
        name=st.text(max_size=8),
        result=st.sampled_from(["pass", "fail", "inconclusive"]),
        level=st.sampled_from(["block", "warn"]),
        required=st.just("lower end >= 0.8"),
        found=st.just(Interval(0.9, 0.8, 0.95, 0.95)),
        n=st.just(10),
        clusters=st.just(10),
    ),
    max_size=6,
)


@given(checks, st.sampled_from(["report", "fail", "warn"]))
def test_the_verdict_is_the_exit_code(found: list[Check], open_ones: str) -> None:
    outcome = Outcome("run", "policy.toml", tuple(found), (), open_ones)
    code = outcome.exit_code
    assert str(outcome.verdict).startswith(f"{VERDICTS[code].upper()} (exit {code})")
    assert f"{VERDICTS[code].upper()} (exit {code})" in markdown(outcome, render)
    suite = ET.fromstring(junit(outcome, render).encode()).find("testsuite")
    bad = int(suite.get("failures")) + int(suite.get("errors"))
    assert (code == 0) == (bad == 0), "what CI reads from JUnit is what the exit code says"
    assert int(suite.get("tests")) == len(found) == len(suite.findall("testcase"))


def test_files_for_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = made_run(tmp_path / "run", share(100, 90))
    outcome = gate(run, parse_policy(accuracy("min = 0.99", 'name = "a|b<c>"') + accuracy("min = 0.9")))
    table = [line for line in markdown(outcome, render).splitlines() if line.startswith("| ")]
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1, "no name breaks the table"
    path = tmp_path / "step.md"
    write(outcome, path, markdown, render)
    write(outcome, path, markdown, render)
    assert path.read_text("utf-8").count("## regard gate") == 1
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    write(outcome, path, markdown, render)
    assert path.read_text("utf-8").count("## regard gate") == 2, "a step's summary is added to"
    (tmp_path / "file").write_text("x")
    with pytest.raises(EnvironmentProblem):
        write(outcome, tmp_path / "file" / "below.xml", junit, render)
    problem = refused(InputError("metric 'x'", got="no such metric"), "run", "policy.toml")
    assert (problem.exit_code, str(problem.verdict)[:19]) == (2, "BAD POLICY OR INPUT")
    assert ET.fromstring(junit(problem, render).encode()).find("testsuite").get("errors") == "1"
