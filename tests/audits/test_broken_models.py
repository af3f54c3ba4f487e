"""NaN and infinity are unknown: no number, verdict or picture treats them as a value, wherever they come from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import broken_models as broken
import numpy as np
import pytest

from regard.attacks._goal import Goal
from regard.audits.audit import audit
from regard.audits.preconditions import examine
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.finite_answers import known
from regard.desk.questions import edited
from regard.errors import InputError
from regard.judge.evidence import evidence_of
from regard.judge.judge import judge
from regard.judge.mean_tests import Mean
from regard.judge.verdicts import _methods, verdicts
from regard.measures.degenerate import constant_gap, uniform_gap
from regard.measures.intervals import ClusterSums
from regard.measures.mean_interval import mean_interval
from regard.present.pack.pack import pack_of_run
from regard.present.report.report import report
from regard.records import Answers, Edit, Judgement, Message, Score, Site
from regard.store.run import Run
from regard.surveys.heads.importance import ranking, same_decision
from regard.surveys.heads.naming import Head

FEW: dict[str, Any] = {
    "explainers": ["attention", "leave_one_out", "input_x_gradient", "random"],
    "metrics": ["comprehensiveness", "sufficiency", "agreement", "decision_flip"],
    "experiments": ["map_shape", "permutation", "route", "pointing", "top_word"],
    "keep": 2,
}
EXAMPLES = broken.texts(12)
Table = dict[tuple[str, ...], Any]


def audited(fault: Any, out: Path) -> tuple[broken.Net, Run]:
    net = broken.Net(fault)
    run = audit(broken.model(net), EXAMPLES, out=out, **FEW)
    verdicts(run, keep=True)
    return net, Run(out)


def numbers(run: Run) -> Table:
    """Every number that is stored about an example."""
    found: Table = {}
    for row in run.examples():
        found["row", row["id"]] = [row["value"], row["probability"], *(row["distribution"] or [None] * 2)]
    for method in run.methods():
        relevance = run.relevance(method)
        found |= {("relevance", method, name): relevance[i] for i, name in enumerate(relevance.ids)}
    for score in (*run.scores(), *run.findings()):
        key = (score.metric, score.method, json.dumps(dict(score.where), sort_keys=True, default=str))
        found |= {(*key, name): value for name, value in zip(score.ids, score.values, strict=True)}
        for curve, rows in score.curves.items():
            if len(rows) == len(score.ids) and np.asarray(rows).dtype.kind == "f":
                found |= {(*key, curve, name): row for name, row in zip(score.ids, rows, strict=True)}
    for name in run.kept():
        found |= {("attention", name, a.site.key): a.weights for a in run.capture(name)}
    return found


def unlike(touched: Table, clean: Table) -> list[tuple[str, ...]]:
    """Numbers that are neither unknown nor those of the clean run."""
    found = []
    for key, value in touched.items():
        ours, theirs = np.asarray(value, np.float64), np.asarray(clean[key], np.float64)
        if not (np.isnan(ours) | np.isclose(ours, theirs, rtol=1e-3, atol=1e-4)).all():
            found.append(key)
    return found


def cleaned(touched: list[Score], sound: list[Score]) -> list[Score]:
    """The numbers of the sound run, for exactly those examples about which the touched run has one."""
    known = {(s.metric, s.method, str(dict(s.where))): s for s in sound}
    found = []
    for score in touched:
        other = known[score.metric, score.method, str(dict(score.where))]
        at = [other.ids.index(name) for name in score.ids]
        values = np.where(np.isnan(score.values), np.nan, other.values[at])
        curves = {name: np.asarray(rows)[at] for name, rows in other.curves.items() if len(rows) == len(other.ids)}
        found.append(replace(score, values=values, curves={**score.curves, **curves}))
    return found


def judged(run: Run, findings: list[Score], scores: list[Score]) -> list[Judgement]:
    """What the judge says about these numbers."""
    own, plain = _methods(run.manifest)
    defects = run.manifest["preconditions"]["defects"]
    labels = run.manifest["model"]["labels"]
    evidence = evidence_of(
        run.examples(), findings, defects=defects, labels=labels, scores=scores, own=own, plain=plain
    )
    return [judge(one) for one in evidence]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Run, Table]:
    net, run = audited(None, tmp_path_factory.mktemp("clean") / "run")
    assert not run.problems()
    return net.calls, run, numbers(run)


@pytest.mark.parametrize("seed", range(6))
def test_nan_and_inf_at_random_calls_are_never_a_value(
    seed: int, tmp_path: Path, clean: tuple[int, Run, Table]
) -> None:
    calls, sound, table = clean
    rng = np.random.default_rng(seed)
    chosen = {int(c) for c in 1 + rng.choice(calls, size=1 + 4 * (seed % 4), replace=False)}
    fault = broken.At(chosen, (np.nan, np.inf, -np.inf)[seed % 3], whole=bool(seed % 2))
    _, run = audited(fault, tmp_path / "run")
    assert fault.hits
    assert unlike(numbers(run), table) == []
    # whatever was hit is told: as a problem of an example, or as a model that does not repeat its answers
    assert run.problems() or not run.manifest["repeatability"]["repeats"] or fault.hits == 1
    known_alone = [cleaned(list(of(run)), list(of(sound))) for of in (Run.findings, Run.scores)]
    for ours, theirs in zip(verdicts(run), judged(run, *known_alone), strict=True):
        pairs = zip(ours.verdicts, theirs.verdicts, strict=True)
        assert [(a.question, a.answer) for a, b in pairs if a.answer not in ("uninformative", b.answer)] == []
    assert run.manifest["preconditions"]["defects"] == sound.manifest["preconditions"]["defects"]
    page = report(run)
    assert ">nan<" not in page
    assert "NaN," not in page
    packed = pack_of_run(run)
    json.dumps(packed.manifest_json(), allow_nan=False)


def test_a_model_that_only_gives_nan_leaves_no_number(tmp_path: Path) -> None:
    fault = broken.At(set(range(10_000)), np.nan, whole=True)
    run = audit(broken.model(broken.Net(fault)), EXAMPLES[:3], out=tmp_path / "run", **FEW)
    assert {p["stage"] for p in run.problems()} == {"forward"}
    assert not any(s.n for s in run.summaries())
    assert run.methods() == []


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_edits_that_give_nan_do_not_say_that_attention_is_unused(value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    model = broken.model(broken.Net())
    plain = model.forward

    def forward(batch: Any, targets: Any, edits: Any = ()) -> Answers:
        answers = plain(batch, targets, edits)
        if not edits:
            return answers
        spoilt = np.full(len(answers.value), value)
        return replace(answers, value=spoilt, probability=spoilt, distribution=np.full((len(spoilt), 2), np.nan))

    monkeypatch.setattr(model, "forward", forward)
    seen = examine(model, EXAMPLES[:3])
    assert seen.sites == 1
    assert not seen.defects
    assert isinstance(seen.notes[0], Message)
    assert seen.notes[0].key == "defect.untested"


def test_the_desk_remembers_nothing_that_is_unknown() -> None:
    fault = broken.At({2}, np.nan, whole=False)
    case = DeskCase(Desk(broken.model(broken.Net(fault))), EXAMPLES[:2])
    case.base()
    drops = [np.eye(len(u), dtype=bool)[:1] for u in case.units]
    with pytest.raises(InputError, match="finite numbers"):
        case.removed(drops)
    assert np.isfinite(case.removed(drops).value).all()
    fault.calls = set(range(1000))
    with pytest.raises(InputError, match="finite numbers"):
        edited(case, [[[Edit("uniform")]], [[Edit("uniform")]]])


def test_unknown_answers_are_refused_one_and_all() -> None:
    def answers(*values: float, rows: Any = None) -> Answers:
        v = np.array(values)
        return Answers(np.arange(len(v) + 1), v, np.full(len(v), 0.5), rows)

    assert known(answers(1.0, 2.0), "m").value.tolist() == [1.0, 2.0]
    for bad in (answers(1.0, np.nan), answers(np.inf), answers(1.0, rows=np.array([[np.nan, 1.0]]))):
        with pytest.raises(InputError, match="NaN or infinite ones for 1 of"):
            known(bad, "m")


# ---------------------------------------------------------------------- functions that see numbers from anywhere


def test_means_count_what_is_not_finite_as_undefined() -> None:
    values, names = [1.0, np.inf, np.nan, 3.0], list("abcd")
    sums = ClusterSums.of(values, names)
    assert (sums.n, sums.undefined, sums.mean) == (2, 2, 2.0)
    assert mean_interval([1.0, np.inf, 0.0], list("abc")).estimate == 0.5
    mean = Mean.of(np.array(values), names)
    assert (mean.n, mean.estimate) == (2, 2.0)
    both = Mean.over_seeds(np.array([[1.0, np.inf], [np.nan, np.nan], [3.0, 3.0]]), list("abc"))
    assert (both.n, both.estimate) == (2, 2.0)


def test_weights_that_are_no_numbers_are_neither_uniform_nor_constant() -> None:
    fine, odd = np.array([[[0.5, 0.5, 0.0]]]), np.array([[[0.5, 0.5, np.nan]]])
    assert uniform_gap(fine) == [0.0]
    assert np.isnan(uniform_gap(odd)).all()
    assert np.isnan(constant_gap(fine, odd)).all()


def test_an_unknown_answer_is_no_success_of_an_attack() -> None:
    goal = Goal((0,), None, ("",), np.array([[0.9, 0.1]]))
    rows = np.array([[0.1, 0.9], [np.nan, 0.9], [0.1, np.nan], [np.nan, np.nan]])
    assert goal.reached(0, rows).tolist() == [True, False, False, False]
    assert [goal.predicted(0, row) for row in rows] == [1, 0, 0, 0]


def test_a_head_of_unknown_importance_goes_last_and_unknown_decisions_are_not_the_same() -> None:
    site = Site("x", 0, "self", 0, 3)
    heads = [Head(f"0.{i}", site, i) for i in range(3)]
    order = ranking(np.array([[0.2, np.nan, 0.1], [0.2, np.nan, np.nan]]), heads)
    assert np.argsort(order).tolist() == [2, 0, 1]
    base = Answers(np.arange(3), np.zeros(2), np.zeros(2), np.array([[0.9, 0.1], [0.9, 0.1]]))
    odd = replace(base, distribution=np.array([[0.9, 0.1], [np.nan, np.nan]]))
    same = same_decision(base, odd)
    assert same is not None
    np.testing.assert_array_equal(same, [1.0, np.nan])
