"""The published protocols on models whose truth can be read off, against formulas written another way."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from numpy.testing import assert_allclose
from scipy import stats
from three_by_hand import Kind, texts, tiny
from torch import Tensor, nn

from regard.audits.audit import audit
from regard.audits.default_methods import PROFILES
from regard.audits.shard import Settings, compute
from regard.cli.root import root
from regard.datasets.examples import Examples
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.questions import edited, slopes_at, weight_function, with_weights
from regard.desk.site_questions import weight_gradients
from regard.experiments._map import maps
from regard.experiments._weight_batches import answers, edits, given, moved, read, without
from regard.experiments.adversary import adversary
from regard.experiments.erasure import erasure
from regard.experiments.exclusive import exclusive
from regard.experiments.pointing import pointing
from regard.experiments.rank_agreement import rank_agreement
from regard.experiments.replacement import replacement
from regard.experiments.route import route
from regard.experiments.top_word import top_word
from regard.measures.divergence import jsd
from regard.measures.tau_significance import kendall_p
from regard.models.adapter import TorchModel
from regard.models.ask import weight_batches
from regard.models.open.wrap import wrap
from regard.networks.classifier import AttentionClassifier
from regard.protocols import Findings, Point
from regard.records import Edit, Floats, Score, Spec
from regard.registry import entry

N = 16
CLASS = 40


class Stack(nn.Module):
    """A small Transformer that is read at a class token: two layers of self-attention, three classes."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(41, 8)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True) for _ in range(2))
        self.output = nn.Linear(8, 3)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=~mask)
        found: Tensor = 4 * self.output(x[:, 0])
        return found


def _ids(text: str) -> list[int]:
    return [int(word[1:]) for word in text.split()]


@cache
def bilstm() -> TorchModel:
    torch.manual_seed(3)
    network = AttentionClassifier(words=CLASS, classes=2, size=8, hidden=8).eval()
    with torch.no_grad():
        network.output.weight *= 20  # a sure model, so that other attention can change its mind
        network.attention.score.value.weight *= 6
    return wrap(network, _ids, labels=("no", "yes"), mask="mask", mask_id=1, device="cpu", name="a bilstm")


@cache
def stack() -> TorchModel:
    torch.manual_seed(0)
    return wrap(
        Stack().eval(), lambda text: [CLASS, *_ids(text)], labels=("a", "b", "c"), mask="mask", mask_id=1,
        special_ids=[CLASS], pooling="class", device="cpu", name="a stack",
    )  # fmt: skip


MODELS = {"bilstm": bilstm, "stack": stack}


def case_of(model: TorchModel, n: int = N) -> DeskCase:
    return DeskCase(Desk(model), texts(n))


def one(found: Findings, metric: str, method: str, **where: object) -> Score:
    where.setdefault("largest_weight", None)  # all bins together
    fitting = [
        s for s in found
        if (s.metric, s.method) == (metric, method) and all(s.where.get(k) == v for k, v in where.items())
    ]  # fmt: skip
    assert len(fitting) == 1, [(s.metric, s.method, dict(s.where)) for s in found]
    return fitting[0]


# ---------------------------------------------------------------------- many attentions at once


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("layers", ["last", "all", 0])
def test_many_attentions_at_once_are_answered_as_one_by_one(name: str, layers: str | int) -> None:
    case = case_of(MODELS[name]())
    found = maps(case, layers, "mean", "test")
    orders = [np.stack([case.rng(i, k).permutation(len(m)) for k in range(5)]) for i, m in enumerate(found)]
    shares = [case.rng(i, "s").dirichlet(np.ones(len(m)), 3) for i, m in enumerate(found)]
    swept = with_weights(case, [edits(m, moved(m, o)) for m, o in zip(found, orders, strict=True)])
    each = edited(case, [[m.moved(order) for order in o] for m, o in zip(found, orders, strict=True)])
    assert_allclose(swept.value, each.value, atol=1e-4)
    shared = with_weights(case, [edits(m, given(m, s)) for m, s in zip(found, shares, strict=True)])
    assert_allclose(
        shared.value,
        edited(case, [[m.given(x) for x in s] for m, s in zip(found, shares, strict=True)]).value,
        atol=1e-4,
    )
    assert np.ptp(swept.value) > 0.01, "the edits do something"


def test_a_linear_answer_is_foretold_and_others_are_not_taken_for_linear() -> None:
    case = case_of(bilstm())
    found, lines = read(case, "last", "mean", "test")
    assert lines is not None
    shares = [case.rng(i, "s").dirichlet(np.ones(len(m)), 4) for i, m in enumerate(found)]
    weights = [given(m, s) for m, s in zip(found, shares, strict=True)]
    for foretold, real in zip(answers(case, found, weights, lines), answers(case, found, weights, None), strict=True):
        assert_allclose(foretold, real, atol=1e-4)
    assert read(case_of(stack()), "last", "mean", "test")[1] is None


def test_without_a_unit_the_rest_makes_up_for_it() -> None:
    case = case_of(stack(), 2)
    (m, _) = maps(case, "last", "mean", "test")
    (weights,) = without(m, np.eye(len(m), dtype=np.bool_)[:2])
    (rows,) = m.sites
    assert_allclose(weights.sum(-1), np.broadcast_to(rows.weights.sum(-1), weights.shape[:-1]), atol=1e-9)
    assert (weights[0, ..., 0] == 0).all()
    kept = weights[0, ..., 1:] / rows.weights[..., 1:]
    assert_allclose(kept, np.broadcast_to(kept[..., :1], kept.shape))


@pytest.mark.parametrize("name", MODELS)
def test_steering_has_the_gradient_of_its_answer(name: str) -> None:
    case = case_of(MODELS[name](), 1)
    (m,) = maps(case, "last", "mean", "test")
    function = weight_function(case, 0, edits(m, given(m, m.alpha[None])))
    rng = np.random.default_rng(0)
    there = [torch.from_numpy(np.repeat(r.weights[None], 2, 0)).float().requires_grad_() for r in m.sites]
    slopes = torch.autograd.grad(function(there)[:, 0].sum(), there)
    ways = [torch.from_numpy(rng.standard_normal(w.shape)).float() for w in there]
    size = 1e-2
    up, down = (function([w + s * size * d for w, d in zip(there, ways, strict=True)])[:, 0] for s in (1, -1))
    foretold = sum((g * d).flatten(1).sum(1) for g, d in zip(slopes, ways, strict=True))
    assert_allclose(((up - down) / (2 * size)).detach().numpy(), foretold.numpy(), rtol=0.05, atol=2e-3)


@pytest.mark.parametrize("name", MODELS)
def test_attention_and_its_gradients_are_the_same_beside_others(name: str) -> None:
    examples = texts(N)
    together = DeskCase(Desk(MODELS[name]()), examples)
    for i, example in enumerate(examples):
        alone = DeskCase(Desk(MODELS[name]()), [example])
        for ours, theirs in zip(together.attention(i), alone.attention(0), strict=True):
            assert_allclose(ours.dense().weights, theirs.dense().weights, atol=1e-6)
            assert ours.shape == theirs.shape
        for mine, other in zip(
            weight_gradients(together, i, "frozen"), weight_gradients(alone, 0, "frozen"), strict=True
        ):
            assert_allclose(mine.gradient, other.gradient, atol=1e-5)


# ---------------------------------------------------------------------- null and ceiling beside what the judge reads


def test_what_the_judge_reads_has_its_null_and_its_ceiling() -> None:
    case = case_of(tiny("decides"), 3)
    made = [*route(case), *pointing(case, sizes=(1,)), *top_word(case), *exclusive(case)]
    parts = {(s.metric, s.method.partition(":")[0]): s.where.get("role", "method") for s in made}
    assert parts["route", "attention"] == parts["pointing", "attention"] == parts["agreement", "attention"] == "method"
    assert parts["route_null", "attention"] == parts["pointing", "random"] == parts["chance", "attention"] == "null"
    assert parts["displaceable_random", "attention"] == "null"
    assert parts["ceiling", "attention"] == parts["feasible_jsd", "attention"] == "ceiling"
    assert parts["pointing", "leave_one_out"] == "ceiling"


def test_the_decision_follows_a_donor_of_another_class_and_stays_with_one_of_the_same() -> None:
    def asked(kind: Kind) -> dict[str, Floats]:
        case = DeskCase(Desk(tiny(kind)), texts(8), companions=texts(8))
        return {s.metric: s.values for s in route(case)}

    found = asked("decides")
    assert (found["route"] == 1).all()
    assert (found["route_null"] == 0).all()
    assert (asked("bypassed")["route"] == 0).all()


# ---------------------------------------------------------------------- rank agreement


def test_tau_is_what_scipy_says_of_formulas_written_out() -> None:
    """Attention detached by hand, deletion by hand, Kendall by scipy."""
    case, model = case_of(bilstm()), bilstm()
    network, found = model.module, rank_agreement(case)
    assert isinstance(network, AttentionClassifier)
    for i, example in enumerate(case.examples):
        ids = torch.tensor([_ids(example.inputs["text"])])
        embedded = network.embedding(ids).detach().requires_grad_()
        real = torch.ones_like(ids, dtype=torch.bool)
        states = network.encoder(embedded, real, real)
        _, weights = network.attention(states, real)
        p = torch.softmax(network.output((weights.detach()[:, :, None] * states).sum(1)), -1)[0]
        (slope,) = torch.autograd.grad(p.max(), embedded)
        gradient = (slope * embedded).sum(-1).abs()[0].detach().numpy()
        left = []
        for t in range(ids.shape[1]):
            q = torch.softmax(network(torch.cat([ids[:, :t], ids[:, t + 1 :]], 1)), -1)[0]
            left.append(0.5 * float((q - p).abs().sum().detach()))
        alpha = weights[0].detach().numpy()
        for pair, (a, b) in {
            "attention~gradient": (alpha, gradient), "attention~leave_one_out": (alpha, np.array(left)),
            "gradient~leave_one_out": (gradient, np.array(left)),
        }.items():  # fmt: skip
            tau, p_value = stats.kendalltau(a, b)
            assert_allclose(one(found, "tau", pair).values[i], tau, atol=1e-9, err_msg=f"{pair} of {i}")
            assert one(found, "tau_significant", pair).values[i] == float(p_value <= 0.05)


def test_detached_gradients_are_others_than_those_through_attention() -> None:
    case = case_of(bilstm(), 4)
    through, past = slopes_at(case, [Point()]), slopes_at(case, [Point(detached=True)])
    assert max(np.abs(a.dot - b.dot).max() for a, b in zip(through, past, strict=True)) > 1e-3
    assert_allclose([s.value[0] for s in through], [s.value[0] for s in past], atol=1e-5)


def test_significance_is_exact_in_small_and_normal_in_large_texts() -> None:
    rng = np.random.default_rng(0)
    for n in (3, 8, 20, 33):
        x, y = rng.random(n), rng.random(n)
        tau, p = stats.kendalltau(x, y, method="exact")
        assert_allclose(kendall_p(tau, n), p, atol=1e-9)
    x, y = rng.random(300), rng.random(300)
    tau, p = stats.kendalltau(x, y, method="asymptotic")
    assert_allclose(kendall_p(tau, 300), p, rtol=1e-6)
    assert np.isnan(kendall_p(np.nan, 9))


def test_a_text_of_one_unit_has_no_ranking_and_is_counted() -> None:
    from regard.records import Example

    case = DeskCase(Desk(bilstm()), [Example("one", {"text": "w5"}), *texts(2)])
    for found in (rank_agreement(case), replacement(case, times=3), erasure(case), adversary(case)):
        for score in (s for s in found if s.metric not in ("replaced_correct",) and "one" in s.ids):
            assert np.isnan(score.values[0]), score.metric


# ---------------------------------------------------------------------- replacement


def test_uniform_weights_are_the_mean_of_the_states() -> None:
    case, network = case_of(bilstm()), bilstm().module
    assert isinstance(network, AttentionClassifier)
    found = one(replacement(case, times=4), "replaced_change", "uniform")
    for i, example in enumerate(case.examples):
        with torch.no_grad():
            read_ = network.read(torch.tensor([_ids(example.inputs["text"])]))
            p, q = (torch.softmax(z, -1) for z in (read_.logits, network.output(read_.states.mean(1))))
        assert_allclose(found.values[i], 0.5 * float((p - q).abs().sum()), atol=1e-5)


def test_bins_hold_every_text_once_and_the_ceiling_is_above() -> None:
    found = replacement(case_of(bilstm()), times=10)
    whole = one(found, "replaced_change", "permuted")
    bins = [s for s in found if (s.metric, s.method) == ("replaced_change", "permuted") and "largest_weight" in s.where]
    assert sorted(name for s in bins for name in s.ids) == sorted(whole.ids)
    top = one(found, "replaced_change", "one unit")
    assert top.where["role"] == "ceiling"
    assert (top.values >= whole.curves["distance"].max(-1) - 1e-9).all(), "two classes: the extremes are at one unit"


def test_accuracy_is_that_of_the_labels() -> None:
    case = case_of(tiny("decides"))
    assert one(replacement(case, times=3), "replaced_correct", "attention").values.tolist() == [1.0] * N
    bypassed = replacement(case_of(tiny("bypassed")), times=3)
    for way in ("permuted", "uniform", "random"):
        assert one(bypassed, "replaced_correct", way).values.tolist() == [1.0] * N, "attention has no say"
        assert one(bypassed, "replaced_change", way).values.max() < 1e-2


# ---------------------------------------------------------------------- erasure


def test_the_one_word_that_decides_is_the_largest_weight_and_its_loss_is_seen() -> None:
    found = erasure(case_of(tiny("decides")))
    assert one(found, "erased_js", "attention").values.min() > 10 * one(found, "erased_js", "random").values.max()
    attention, random = (one(found, "erased_units", by).values for by in ("attention", "random"))
    assert (one(found, "erased_units", "best of these").values <= attention).all()
    assert random.mean() > attention.mean()


def test_sets_are_erased_until_the_decision_goes() -> None:
    """Against a loop over the units, one pass each."""
    case = case_of(bilstm(), 8)
    base = case.base().distribution
    assert base is not None
    found, mine = maps(case, "last", "mean", "test"), one(erasure(case), "erased_units", "attention").values
    for i, m in enumerate(found):
        order, away, expected = np.argsort(-m.alpha), np.zeros(len(m), bool), 1.0
        for k in range(len(m) - 1):
            away[order[k]] = True
            left = np.where(away, 0, m.alpha)
            said = edited(case.subset([i]), [[m.given(left / left.sum())]]).distribution
            assert said is not None
            if said[0].argmax() != base[i].argmax():
                expected = (k + 1) / len(m)
                break
        assert mine[i] == pytest.approx(expected)
    for metric in ("erased_units", "erased_mass", "erased_never"):
        scores = [s for s in erasure(case) if s.metric == metric]
        assert {s.method for s in scores} == {"attention", "gradient", "product", "random", "best of these"}


# ---------------------------------------------------------------------- adversary


@pytest.mark.parametrize("name", MODELS)
def test_every_accepted_alternative_keeps_the_cap(name: str) -> None:
    case = case_of(MODELS[name](), 6)
    found = adversary(case, alternatives=3)
    ceiling = one(found, "adversary_jsd", "feasible").values
    before = np.zeros(len(case.ids))
    for cap in (0.01, 0.05, 0.1):
        by = one(found, "adversary_jsd", "search", cap=cap)
        assert (by.curves["change"][:, 0] <= cap).all()
        assert (by.values <= ceiling + 1e-6).all()
        assert (by.values >= before - 1e-3).all(), "a wider cap allows no less"
        assert by.where["bound"] == "lower"
        before = by.values
    assert before.mean() > one(found, "adversary_jsd", "random", cap=0.1).values.mean()
    assert ("exact" in {s.method for s in found}) is (name == "bilstm")


def test_no_search_finds_more_than_the_exact_optimum_and_the_search_comes_near() -> None:
    found = adversary(case_of(bilstm()))
    for cap in (0.01, 0.05, 0.1):
        exact, by = (one(found, "adversary_jsd", way, cap=cap) for way in ("exact", "search"))
        assert (by.values <= exact.values + 1e-6).all()
        assert (exact.curves["change"][:, 0] <= cap).all()
        assert exact.where["bound"] == "exact"
    assert by.values.mean() > 0.9 * exact.values.mean()


def test_the_divergence_is_that_of_attention_that_keeps_the_answer() -> None:
    """A random candidate that is within the cap is never better than what was found exactly."""
    case = case_of(bilstm(), 4)
    base = case.base().distribution
    assert base is not None
    exact = one(adversary(case), "adversary_jsd", "exact", cap=0.05).values
    for i, m in enumerate(maps(case, "last", "mean", "test")):
        shares = np.random.default_rng(i).dirichlet(np.full(len(m), 0.2), 400)
        said = with_weights(case.subset([i]), [edits(m, given(m, shares))]).distribution
        assert said is not None
        kept = 0.5 * np.abs(said - base[i]).sum(-1) <= 0.05
        assert all(float(jsd(s, m.alpha)) <= exact[i] + 5e-3 for s in shares[kept])


@cache
def three() -> TorchModel:
    torch.manual_seed(4)
    network = AttentionClassifier(words=CLASS, classes=3, size=8, hidden=8).eval()
    with torch.no_grad():
        network.output.weight *= 20
        network.attention.score.value.weight *= 6
    return wrap(network, _ids, labels=("a", "b", "c"), mask="mask", mask_id=1, device="cpu", name="three classes")


def test_with_several_classes_the_optimum_is_enclosed_and_never_below_the_search() -> None:
    case = case_of(three(), 8)
    found = adversary(case, caps=(0.05, 0.1))
    assert not any(s.method == "exact" for s in found), "two units are not always enough for three classes"
    for cap in (0.05, 0.1):
        best, by = (one(found, "adversary_jsd", way, cap=cap) for way in ("enumerated", "search"))
        there = np.isfinite(best.values)
        assert (by.values <= best.values + 1e-3)[there].all()
        assert (best.curves["change"][there] <= cap).all()
        assert (best.values <= best.curves["upper"][:, 0] + 1e-6)[there].all()
        closed = (best.curves["upper"][:, 0] - best.values <= 2e-3)[there]
        assert best.where["bound"] == ("exact" if closed.all() else "lower")
        assert best.values[there].mean() > by.values[there].mean(), "the search alone finds less"
    assert not any(s.method == "enumerated" for s in adversary(case_of(stack(), 2), alternatives=1))


def test_exclusive_enumerates_pairs_with_several_classes_and_says_exact_only_where_it_is_proved() -> None:
    case = case_of(three(), 8)
    found = {s.metric: s for s in exclusive(case)}
    jsds, changes_ = (found["max_jsd"].curves[k] for k in ("jsd", "change"))
    assert (changes_ <= np.array([0.01, 0.05, 0.1]) + 1e-4).all()
    assert (np.diff(jsds) >= -1e-6).all(), "a wider cap never allows less"
    upper = one(adversary(case, caps=(0.05,)), "adversary_jsd", "enumerated", cap=0.05).curves["upper"][:, 0]
    assert (found["max_jsd"].values <= upper + 1e-3).all()
    assert set(found["linear"].values) <= {0.0, 1.0}
    two = found["max_jsd"].curves["other"]
    assert (two[:, 3] > 0).any(), "pairs, not single units alone"


def test_a_sharp_map_below_a_curved_decoder_is_not_taken_for_linear() -> None:
    """All attention on one unit: its answer is trivially the weighted sum of the answers to one unit each."""

    class Curved(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(5)
            self.embedding = nn.Embedding(41, 8)
            self.score = nn.Embedding(41, 1)
            self.above = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 2))

        def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
            scores = (400 * self.score(tokens)[..., 0]).masked_fill(~mask, float("-inf"))
            weights = torch.softmax(scores, -1)
            found: Tensor = 6 * self.above(torch.bmm(weights[:, None], 3 * self.embedding(tokens))[:, 0])
            return found

    model = wrap(Curved().eval(), _ids, labels=("no", "yes"), mask="mask", mask_id=1, device="cpu", name="curved")
    found = {s.metric: s.values for s in exclusive(case_of(model))}
    assert not found["linear"].any()
    assert {s.metric: s.values for s in exclusive(case_of(bilstm()))}["linear"].all()


# ---------------------------------------------------------------------- in an audit


NAMES = ("rank_agreement", "replacement", "erasure", "adversary")


def test_they_are_part_of_standard_and_full_audits_and_not_of_quick_ones() -> None:
    for profile, there in (("quick", False), ("standard", True), ("full", True)):
        asked = {e.partition(":")[0] for e in PROFILES[profile].experiments}
        assert (set(NAMES) <= asked) is there
        assert there or not set(NAMES) & asked
    for name in NAMES:
        facts = entry("experiment", name).facts
        assert all(facts[k] for k in ("question", "cite", "formula", "cost", "misleads"))


@pytest.mark.parametrize("name", MODELS)
def test_findings_do_not_depend_on_the_shard(name: str) -> None:
    experiments = tuple(Spec.parse("experiment", e) for e in (*NAMES[:-1], "adversary:alternatives=2"))
    settings = Settings((Spec("explainer", "random"),), (), experiments=experiments)
    examples = texts(6)
    whole, part = (compute(MODELS[name](), some, settings) for some in (examples, examples[3:1:-1]))
    assert whole.problems == part.problems == ()
    assert dict(whole.skipped) == {}
    small = {(s.metric, s.method, str(sorted(s.where.items()))): s for s in part.findings}
    for score in whole.findings:
        other = small.get((score.metric, score.method, str(sorted(score.where.items()))))
        if other is not None:
            known = dict(zip(score.ids, score.values, strict=True))
            expected = [known[name] for name in other.ids]
            assert_allclose(other.values, expected, atol=2e-3, err_msg=f"{score.metric} {score.method} {score.where}")
    spent = {c.method: c for c in whole.costs if c.kind == "experiment"}
    assert spent["adversary"].forwards > 0
    assert spent["rank_agreement"].backwards == len(examples)


def test_what_cannot_be_swept_says_so() -> None:
    case = case_of(bilstm(), 1)
    (m,) = maps(case, "last", "mean", "test")
    with pytest.raises(Exception, match="attention, head, query, key"):
        weight_batches.with_weights(
            bilstm(), [bilstm().encode(case.examples[0])], [0], [[Edit("uniform", m.sites[0].read.site)]]
        )
    with pytest.raises(Exception, match="site"):
        weight_batches.with_weights(bilstm(),
            [bilstm().encode(case.examples[0])], [0],
            [[Edit("replace", "nowhere", values=np.ones((1, 1, 1, 1), np.float32))]],
        )  # fmt: skip


def test_the_findings_of_a_run_are_shown_with_n_interval_class_and_part(tmp_path: Path) -> None:
    data = Examples("tiny", tuple(texts(12)), ("no", "yes"), ())
    audit(
        bilstm(), data, out=tmp_path / "run", explainers=["random"], metrics=["entropy"], keep=0,
        experiments=["rank_agreement", "adversary:alternatives=2"],
    )  # fmt: skip
    shown = CliRunner().invoke(root, ["experiments", str(tmp_path / "run"), "--only", "rank_agreement"])
    assert shown.exit_code == 0, shown.output
    assert "gradient~leave_one_out" in shown.output
    assert "ceiling" in shown.output
    assert "significance" not in shown.output
    told = json.loads(CliRunner().invoke(root, ["experiments", str(tmp_path / "run"), "--json"]).output)
    tau = [row for row in told if row["metric"] == "tau" and row["method"] == "attention~gradient"]
    assert {row["where"].get("class", "all") for row in tau} <= {"all", "no", "yes"}
    assert [row["n"] for row in tau if "class" not in row["where"]] == [12]
    assert all(row["low"] <= row["estimate"] <= row["high"] for row in tau)
    assert {row["role"] for row in told} == {"method", "null", "ceiling"}
    wrong = CliRunner().invoke(root, ["experiments", str(tmp_path / "run"), "--only", "adversry"])
    assert wrong.exit_code == 2
    assert "adversary" in wrong.stderr
