"""Tiny models with a known truth through experiments, store and judge."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from three_by_hand import Kind, texts, tiny

from regard.audits.audit import audit
from regard.audits.default_methods import default_methods
from regard.audits.shard import Settings, compute
from regard.cli.root import root
from regard.desk.questions import patched
from regard.judge.evidence import Evidence, evidence_of
from regard.judge.judge import judge
from regard.judge.verdicts import verdicts
from regard.present.messages.messages import render, say
from regard.records import Score, Spec
from regard.store.shard_result import ShardResult

EXPERIMENTS = default_methods("experiment", "standard")[:10]

N = 72


@cache
def page(kind: Kind) -> ShardResult:
    experiments = tuple(Spec.parse("experiment", e) for e in EXPERIMENTS)
    examples = texts(N)
    settings = Settings((Spec("explainer", "attention"),), (), experiments=experiments, companions=tuple(examples[:12]))
    return compute(tiny(kind), examples, settings)


@cache
def evidence(kind: Kind) -> Evidence:
    rows = [{**row, "cluster": row["id"]} for row in page(kind).rows]
    (found,) = evidence_of(rows, page(kind).findings, labels=("no", "yes"))
    return found


def finding(kind: Kind, name: str) -> Score:
    return next(s for s in page(kind).findings if s.metric == name)


@pytest.mark.parametrize(
    ("kind", "reading"),
    [("decides", "read as evidence"), ("bypassed", "nothing to read"), ("neighbour", "do not read")],
)
def test_the_reading_is_the_truth(kind: Kind, reading: str) -> None:
    assert page(kind).problems == ()
    assert dict(page(kind).skipped) == {}
    assert judge(evidence(kind)).reading == reading


def test_the_route_says_where_the_decision_runs() -> None:
    for kind, expected in (("decides", 1.0), ("bypassed", 0.0), ("neighbour", 1.0)):
        assert finding(kind, "route").values.tolist() == [expected] * N, kind  # type: ignore[arg-type]


def test_a_donors_output_gives_the_donors_answer_where_nothing_goes_past_attention() -> None:
    """Whatever the text, all that reaches the answer is the attention's output: it becomes that of the donor."""
    from regard.desk.case import DeskCase
    from regard.desk.desk import Desk
    from regard.experiments._map import maps

    examples = texts(12)
    case = DeskCase(Desk(tiny("decides")), examples[:6], {}, examples[6:])
    ours, theirs = maps(case, "last", "mean", "t"), maps(case.companions, "last", "mean", "t")
    donors = case.companions.base().distribution
    assert donors is not None
    for i, m in enumerate(ours):
        said = patched(case, i, m.reads, [(d, theirs[d].reads) for d in range(6)])
        np.testing.assert_allclose(said.distribution, donors, atol=1e-5)


def test_permutation_passes_the_neighbour_and_pointing_does_not() -> None:
    assert finding("neighbour", "permuted").values.mean() > 0.2
    cells = {row["answer"] for row in judge(evidence("neighbour")).verdicts[2].rows if row["operator"] == "together"}
    assert cells == {"fails"}


def test_the_exact_adversary_is_within_its_cap_and_says_that_it_is_exact() -> None:
    found = finding("decides", "max_jsd")
    assert finding("decides", "linear").values.tolist() == [1.0] * N
    for k, cap in enumerate(found.grid):
        assert (found.curves["change"][:, k] <= cap + 1e-4).all()
    assert (np.diff(found.curves["jsd"], axis=-1) >= -1e-9).all(), "a wider cap allows no less"
    assert (found.values <= np.log(2) + 1e-9).all()


def test_what_is_found_does_not_depend_on_the_shard() -> None:
    """Examples asked in another order, in small shards, leave the same findings."""
    examples = texts(N)
    experiments = tuple(Spec.parse("experiment", e) for e in EXPERIMENTS)
    settings = Settings((Spec("explainer", "attention"),), (), experiments=experiments, companions=tuple(examples[:12]))
    some = [compute(tiny("decides"), examples[i : i + 3][::-1], settings) for i in (0, 3)]
    for score in page("decides").findings:
        known = dict(zip(score.ids, score.values, strict=True))
        for small in some:
            (again,) = (
                s for s in small.findings if (s.metric, s.method, s.where) == (score.metric, score.method, score.where)
            )
            expected = [known[name] for name in again.ids]
            np.testing.assert_allclose(again.values, expected, atol=1e-5, err_msg=f"{score.metric} {score.method}")


def test_a_stored_run_is_judged_again_without_its_model(tmp_path: Path) -> None:
    from regard.datasets.examples import Examples

    data = Examples("tiny", tuple(texts(64)), ("no", "yes"), ())
    run = audit(
        tiny("decides"), data, out=tmp_path / "run", explainers=["attention", "random"], metrics=["comprehensiveness"],
        experiments=["map_shape", "permutation:times=5", "route", "pointing:sizes=[1]", "top_word", "exclusive"],
        keep=0,
    )  # fmt: skip
    (found,) = verdicts(run, keep=True)
    assert found.reading == "read as evidence"
    assert render(found.attention).startswith("the pooling weights of")
    assert not {"pointing", "route"} & {s.metric for s in run.scores()}, "findings have a drawer of their own"
    shown = CliRunner().invoke(root, ["verdicts", str(tmp_path / "run")])
    assert shown.exit_code == 0, shown.output
    assert "VERDICT: read it as evidence" in shown.output
    (told,) = json.loads(CliRunner().invoke(root, ["verdicts", str(tmp_path / "run"), "--json"]).output)
    assert told["reading"] == "read as evidence"
    report = CliRunner().invoke(root, ["report", str(tmp_path / "run")])
    assert report.exit_code == 0, report.output
    page_text = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert page_text.index("read it as evidence") < page_text.index('<section id="verdicts"')
    assert "Thresholds (fixed in advance)" in page_text


def test_a_run_without_experiments_says_so(tmp_path: Path) -> None:
    from regard.datasets.examples import Examples

    data = Examples("tiny", tuple(texts(6)), ("no", "yes"), ())
    audit(tiny("decides"), data, out=tmp_path / "run", explainers=["random"], metrics=["comprehensiveness"], keep=0)
    shown = CliRunner().invoke(root, ["verdicts", str(tmp_path / "run")])
    assert shown.exit_code == 3
    assert "a run without experiments" in shown.stderr


def test_the_other_attention_that_was_found_is_kept_and_is_as_far_as_it_says() -> None:
    from regard.measures.divergence import jsd

    score = finding("decides", "max_jsd")
    own = next(r for r in page("decides").relevances if r.method == "attention")
    found = 0
    for i, (unit, share, second, rest) in enumerate(score.curves["other"]):
        if unit < 0:
            assert score.values[i] == 0.0
            continue
        other = np.zeros(len(own[i]))
        other[int(unit)] = share
        if second >= 0:
            other[int(second)] = rest
        assert float(other.sum()) == pytest.approx(1.0)
        assert float(jsd(other, own[i] / own[i].sum())) == pytest.approx(float(score.values[i]), abs=1e-5)
        found += 1
    assert found > N / 2


def test_a_head_is_worth_what_its_first_word_is_worth() -> None:
    """One head: it is the attention. On the evidence it is worth much, beside it nothing."""
    worth = {}
    for kind in ("decides", "neighbour"):
        rows = {s.method: s.values for s in page(kind).findings if s.metric == "head_gain"}  # type: ignore[arg-type]
        assert set(rows) == {"attention", "layer 0, head 0"}
        np.testing.assert_allclose(rows["attention"], rows["layer 0, head 0"])
        worth[kind] = float(rows["attention"].mean())
    assert worth["decides"] > 0.1 > 0.05 > worth["neighbour"]


def test_an_answer_that_is_no_number_is_a_problem_of_its_example_and_no_evidence(tmp_path: Path) -> None:
    model = tiny("decides")
    with torch.no_grad():
        model.module.get_parameter("output.weight").fill_(torch.nan)
    run = audit(model, texts(3), out=tmp_path / "run", explainers=["random"], metrics=[], experiments=["permutation"])
    assert [p["stage"] for p in run.problems()] == ["forward"] * 3
    assert all(say("errors.common.finite_numbers") in p["message"] for p in run.problems())
    assert verdicts(run) == [], "nothing is said about weights whose effect is not a number"
    assert not run.manifest["preconditions"]["defects"]
