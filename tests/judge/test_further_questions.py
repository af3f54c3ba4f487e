"""The questions beside the map: made evidence about siblings, other networks, methods, heads and noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from made_evidence import made

from regard.judge.better_method import better_head
from regard.judge.evidence import Evidence, evidence_of
from regard.judge.judge import judge
from regard.judge.mean_tests import Mean
from regard.judge.other_evidence import Beside, Table, beside_of
from regard.records import Floats, Json, Judgement, Message, Score, Verdict, encoded

N = 120
RNG = np.random.default_rng(7)
SEEDS, TRANSFER, STABLE, METHOD, HEAD = "seeds", "transfer", "stable", "better_method", "better_head"


def table(mean: float, seeds: int = 1, spread: float = 0.05, **where: Json) -> Table:
    ids = tuple(f"e{i}" for i in range(N))
    return Table(ids, ids, mean + spread * RNG.standard_normal((N, seeds)), where)


def asked(beside: Beside, evidence: Evidence | None = None) -> Judgement:
    base = evidence or made()
    far = np.clip(0.5 + 0.02 * RNG.standard_normal(len(base)), 0, 0.69)
    single = {**base.single, "max_jsd": far} if "max_jsd" not in base.single else dict(base.single)
    return judge(replace(base, single=single, beside=beside))


def first(verdict: Verdict) -> dict[str, Any]:
    """The sentence, or the first of several."""
    sentence: Any = encoded(verdict.sentence)
    return sentence["params"]["parts"][0] if sentence["message"] == "sentences" else sentence


def key(verdict: Verdict) -> str:
    return str(first(verdict)["message"])


def params(verdict: Verdict) -> dict[str, Any]:
    return first(verdict)["params"]


def the(judgement: Judgement, question: str) -> Verdict:
    (found,) = [v for v in judgement.verdicts if v.question == question]
    return found


def siblings(apart: float, chance: float, **more: float) -> Beside:
    tables: dict[str, tuple[Table, ...]] = {
        "seed_jsd": (table(apart, 4),), "seed_jsd_chance": (table(chance),),
    }  # fmt: skip
    if more:
        tables["transfer_gain"] = tuple(table(v, 4, of=k.replace("_", " ")) for k, v in more.items())
    return Beside(tables)


def test_nothing_known_beside_the_map_is_said_so_and_changes_no_other_answer() -> None:
    plain, more = judge(made()), asked(siblings(0.1, 0.6, attention=0.2, best=0.25))
    assert [v.answer for v in plain.verdicts[:6]] == [v.answer for v in more.verdicts[:6]]
    assert [v.contrasts for v in plain.verdicts[:4]] == [v.contrasts for v in more.verdicts[:4]]
    assert plain.reading == more.reading
    for verdict in (v for v in plain.verdicts[6:] if v.question != "mixture"):
        assert verdict.answer == "uninformative"
        assert key(verdict).endswith("not_tested")


@pytest.mark.parametrize(
    ("apart", "answer"), [(0.05, "holds"), (0.5, "fails"), (0.45, "uninformative")]
)  # other attention is .5 nats away, the margin .05
def test_seed_noise(apart: float, answer: str) -> None:
    assert the(asked(siblings(apart, 0.6)), SEEDS).answer == answer


def test_a_lower_bound_on_seed_noise_cannot_show_that_others_are_farther() -> None:
    found = the(asked(Beside({"seed_jsd": (table(0.05, 4, bound="lower"),)})), SEEDS)
    assert (found.answer, found.rule) == ("uninformative", "Q6.lower bound on seeds")


def test_a_search_that_found_nothing_farther_cannot_fail() -> None:
    evidence = made()
    evidence = replace(evidence, single={**evidence.single, "linear": np.zeros(len(evidence))})
    found = the(asked(siblings(0.6, 0.6), evidence), SEEDS)
    assert (found.answer, found.rule) == ("uninformative", "Q6.lower bound on others")


@pytest.mark.parametrize(
    ("word", "best", "answer"),
    [(0.2, 0.22, "holds"), (0.02, 0.22, "fails"), (0.11, 0.22, "mixed"), (0.0, 0.0, "uninformative")],
)
def test_transfer_by_siblings(word: float, best: float, answer: str) -> None:
    assert the(asked(siblings(0.1, 0.6, attention=word, best=best)), TRANSFER).answer == answer


def words(base: float, flat: float) -> Beside:
    tables = tuple(
        Table(t.ids, t.clusters, (t.values < p).astype(float), {"attention": name})
        for name, p in (("base", base), ("uniform", flat))
        for t in [Table(tuple(map(str, range(2000))), tuple(map(str, range(2000))), RNG.random((2000, 3)))]
    )
    return Beside({"probe_correct": tables})


@pytest.mark.parametrize(("base", "answer"), [(0.9, "holds"), (0.7, "fails")])
def test_transfer_by_words(base: float, answer: str) -> None:
    found = the(asked(words(base, 0.7 if base > 0.8 else 0.72)), TRANSFER)
    assert found.answer == answer
    assert key(found).startswith("judge.transfer.bag_")


def test_two_ways_that_contradict_are_mixed() -> None:
    both = Beside({**siblings(0.1, 0.6, attention=0.0, best=0.3).tables, **words(0.9, 0.7).tables})
    assert the(asked(both), TRANSFER).answer == "mixed"


@pytest.mark.parametrize(
    ("apart", "moved", "answer"),
    [(0.1, 0.1, "holds"), (0.55, 0.9, "fails"), (0.1, 0.9, "mixed"), (0.3, 0.5, "mixed"), (0.1, None, "holds")],
)
def test_stability(apart: float, moved: float | None, answer: str) -> None:
    beside = siblings(apart, 0.6)
    if moved is not None:
        beside = replace(beside, moved={"attention": moved + 0.02 * RNG.standard_normal(len(made()))})
    assert the(asked(beside), STABLE).answer == answer


def test_noise_in_the_text_counts_by_rank_and_only_for_attention() -> None:
    ranks = (table(0.95, of="attention", noise="keyboard", severity=3), table(0.0, of="random", noise="keyboard"))
    found = the(asked(Beside({"explanation_rank": ranks})), STABLE)
    assert found.answer == "holds"
    assert {"noise": "keyboard", "severity": 3} in [n["params"] for n in params(found)["still"]]
    low = (table(0.05, of="attention", noise="swap", severity=5),)
    assert the(asked(Beside({"explanation_rank": low})), STABLE).answer == "fails"


def methods(**worth: float) -> dict[str, dict[str, Floats]]:
    n = len(made())
    noisy = {name: {o: v + 0.05 * RNG.standard_normal(n) for o in ("mask", "delete")} for name, v in worth.items()}
    return {**noisy, "random": {o: 0.05 * RNG.standard_normal(n) for o in ("mask", "delete")}}


def test_the_best_method_is_named_and_compared_with_attention() -> None:
    found = the(asked(Beside(methods=methods(attention=0.1, rollout=0.0, gradients=0.3))), METHOD)
    assert found.answer == "holds"
    assert (key(found), params(found)["method"]) == ("judge.better_method.holds", "gradients")
    assert [row["method"] for row in found.rows] == ["gradients", "attention", "rollout"]


def test_attention_itself_may_be_the_best() -> None:
    found = the(asked(Beside(methods=methods(attention=0.3, rollout=0.0))), METHOD)
    assert key(found) == "judge.better_method.attention"


def test_none_that_beats_random_is_an_answer() -> None:
    found = the(asked(Beside(methods=methods(attention=0.0, rollout=0.01, gradients=-0.02))), METHOD)
    assert (found.answer, found.rule) == ("fails", "Q11.none")


def test_a_method_is_not_judged_by_its_own_operator_alone_and_baselines_are_no_candidates() -> None:
    some = methods(one=0.4, two=0.0, position=0.4)
    del some["one"]["delete"]
    found = the(asked(Beside(methods=some, own={"one": "mask"}, plain=frozenset({"position"}))), METHOD)
    assert [row["method"] for row in found.rows] == ["two"]


def test_a_method_that_shows_the_same_without_a_model_is_not_named() -> None:
    n = len(made())
    sane = 0.1 * RNG.standard_normal(n)
    beside = Beside(methods=methods(edges=0.4, other=0.0), forgets={"edges": 0.9 + sane, "other": sane})
    assert the(asked(beside), METHOD).answer == "uninformative"


def heads(*worth: float, attention: float = 0.1) -> Beside:
    tables = [table(v, of=f"layer 0, head {k}") for k, v in enumerate(worth)]
    return Beside({"head_gain": (table(attention, of="attention"), *tables)})


@pytest.mark.parametrize(
    ("worth", "answer"),
    [((0.3, 0.0, 0.1), "holds"), ((0.1, 0.1, 0.09), "fails"), ((0.0,) * 12, "fails"), ((0.3,), "uninformative")],
)
def test_heads(worth: tuple[float, ...], answer: str) -> None:
    found = the(asked(heads(*worth)), HEAD)
    assert found.answer == answer
    if answer == "holds":
        assert params(found)["head"] == "layer 0, head 0"


def test_many_heads_of_pure_chance_are_rarely_one_worth_reading() -> None:
    """The null: 72 heads that are all like the audited attention, 40 times."""
    evidence = made(n=5)
    wrong = sum(better_head(replace(evidence, beside=heads(*([0.1] * 72)))).answer == "holds" for _ in range(40))
    assert wrong <= 2


def test_what_training_says_is_only_asked_where_it_was_tried() -> None:
    plain = [v.question for v in asked(Beside()).verdicts]
    assert not any(q in ("task", "hide") for q in plain)
    ids = tuple(map(str, range(1500)))

    def right(p: float, name: str) -> Table:
        return Table(ids, ids, (RNG.random((1500, 3)) < p).astype(float), {"attention": name})

    control = Beside({"control_correct": (right(0.9, "trained"), right(0.7, "uniform"))})
    assert the(asked(control), "task").answer == "holds"
    control = Beside({"control_correct": (right(0.9, "trained"), right(0.9, "uniform"))})
    assert the(asked(control), "task").answer == "fails"
    hidden = {"network": "deceptive", "rows": "texts"}
    for mass, use, answer in ((0.01, 0.4, "holds"), (0.3, 0.4, "fails"), (0.01, 0.0, "fails")):
        beside = Beside(
            {"hidden_attention": (table(mass, 2, 0.01, **hidden),), "hidden_use": (table(use, 2, 0.01, **hidden),)}
        )
        assert the(asked(beside), "hide").answer == answer


def test_where_there_is_nothing_to_read_other_methods_are_still_named() -> None:
    beside = replace(siblings(0.1, 0.6, attention=0.2, best=0.2), methods=methods(attention=0.0, gradients=0.3))
    found = asked(beside, made(change=0.08, route=0.0, noise=0.01))
    assert found.reading == "nothing to read"
    for words_ in (SEEDS, TRANSFER, STABLE):
        assert the(found, words_).answer == "uninformative"
        assert the(found, words_).overruled == Message("judge.rule.not_asked")
    assert the(found, METHOD).answer == "holds"


def test_seeds_are_drawn_too() -> None:
    """Values that differ between seeds and not between examples: the error is that of the seeds."""
    values = np.tile(np.array([0.1, 0.3, 0.5]), (200, 1))
    mean = Mean.over_seeds(values, [str(i) for i in range(200)])
    assert mean.estimate == pytest.approx(0.3)
    assert mean.error == pytest.approx(0.2 / np.sqrt(3))
    assert mean.freedom == pytest.approx(2)
    alike = Mean.over_seeds(values[:, :1] + RNG.standard_normal((200, 1)), [str(i) for i in range(200)])
    assert alike.freedom is None


def test_metrics_of_a_run_become_the_worth_of_methods() -> None:
    ids = ("a", "b")
    scores = [
        Score("comprehensiveness", "x", ids, np.array([0.4, 0.2]), "higher", {"operator": "mask"}),
        Score("sufficiency", "x", ids, np.array([0.1, 0.0]), "lower", {"operator": "mask"}),
        Score("comprehensiveness", "y", ids, np.array([0.4, 0.2]), "higher", {"operator": "mask"}),
        Score("max_sensitivity", "x", ("b",), np.array([0.3]), "lower"),
    ]
    found = beside_of([], scores, ids, {}, own={}, plain=())
    np.testing.assert_allclose(found.methods["x"]["mask"], [0.15, 0.1])
    assert "y" not in found.methods
    np.testing.assert_array_equal(found.moved["x"], [np.nan, 0.3])


def test_what_trains_about_another_layer_is_no_second_map() -> None:
    rows = [
        {"id": i, "predicted": "x", "target": 0, "probability": 0.9, "distribution": [0.9, 0.1], "cluster": i}
        for i in ("a", "b")
    ]
    map_ = Score("keys", "attention", ("a", "b"), np.array([4.0, 5.0]), "none", {"layers": "all", "heads": "mean"})
    seeds = Score(
        "seed_jsd", "attention", ("a", "b"), np.array([0.1, 0.2]), "none", {"layers": "last", "heads": "mean"}
    )
    (found,) = evidence_of(rows, [map_, seeds])
    assert found.layers == "all"
    assert found.beside.table("seed_jsd") is not None
    (alone,) = evidence_of(rows, [seeds])
    assert alone.beside.table("seed_jsd") is not None


def test_of_good_methods_the_one_that_is_surest_to_be_good_is_named() -> None:
    """A method that was asked about few examples, and looks a little better there, does not lead."""
    few = methods(attention=0.1, gradients=0.3, lime=0.33)
    spread = np.where(np.arange(N) % 2, 0.1, -0.1)
    few["lime"] = {o: np.where(np.arange(N) < 14, values + spread, np.nan) for o, values in few["lime"].items()}
    found = the(asked(Beside(methods=few)), METHOD)
    assert found.answer == "holds"
    assert params(found)["method"] == "gradients"
    assert "lime" in str(found.sentence)
    # what the report's exhibit goes by
    assert found.question == METHOD
    assert found.contrasts[0].subject == "gradients"
