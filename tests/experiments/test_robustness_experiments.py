"""Noise, drift, attacks and certificates: known answers, invariants, and enumerations of all that may happen."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.desk.case import DeskCase
from regard.desk.changes import PerturbedBy
from regard.desk.desk import Desk
from regard.desk.questions import answers_to
from regard.errors import InputError, Unsupported
from regard.experiments._drift import aligned, drift, moved
from regard.experiments._robustness import USUAL, chosen_noises
from regard.experiments.attack_success import attack_success
from regard.experiments.certified import FIRST, _masked_bounds, _noisy_votes, _scale, _words, certified
from regard.experiments.explanation_attack import explanation_attack
from regard.experiments.explanation_drift import explanation_drift
from regard.experiments.noise import noise
from regard.measures.intervals import clopper_pearson
from regard.measures.keyed_random import keyed_rng
from regard.models.open.wrap import wrap
from regard.perturbations.apply import noises
from regard.records import Answers, Example, Relevance, Score, Threat, Units
from regard.testing.toy import TEXTS, ToyCase

WORDS = ("wonderful film with a dull end", "a dull plot and awful songs", "gorgeous and moving", *TEXTS)
CASE = ToyCase(WORDS)


def found(scores: list[Score], metric: str, **where: object) -> dict[tuple[str, ...], Score]:
    return {
        (s.method, *(str(s.where.get(k)) for k in ("noise", "severity", "attack"))): s
        for s in scores
        if s.metric == metric and all(s.where.get(k) == v for k, v in where.items())
    }


# ---------------------------------------------------------------------------------------------------------- noise


def test_noise_is_what_the_model_says_about_changed_texts() -> None:
    scores = list(noise(CASE, noises=("keyboard", "drop_words"), severities=(1, 5)))
    before = CASE.base().distribution
    for name, severity in itertools.product(("keyboard", "drop_words"), (1, 5)):
        after = CASE.variant(PerturbedBy(name, severity)).base().distribution
        key = ("model", name, str(severity), "None")
        flips = found(scores, "flips")[key].values
        assert flips.tolist() == (after.argmax(-1) != before.argmax(-1)).tolist()
        assert np.allclose(found(scores, "output_change")[key].values, 0.5 * np.abs(after - before).sum(-1))
        assert np.allclose(found(scores, "confidence")[key].values, after.max(-1))
    worst = {s.where["severity"]: s.values for s in scores if s.metric == "worst_case_flips"}
    each = [s.values for s in found(scores, "flips").values()]
    assert worst["all"].tolist() == np.max(each, 0).tolist()
    assert (worst[1] <= worst["all"]).all()


def test_labels_make_it_accuracy_and_calibration() -> None:
    labels = ["positive" if i % 2 else "unheard of" for i in range(len(WORDS))]
    case = ToyCase([replace(e, label=label) for e, label in zip(ToyCase(WORDS).examples, labels, strict=True)])
    scores = list(noise(case, noises=("keyboard",), severities=(3,)))
    right = found(scores, "accuracy")["model", "keyboard", "3", "None"].values
    said = case.variant(PerturbedBy("keyboard", 3)).base().distribution.argmax(-1)
    assert np.isnan(right[0::2]).all(), "a label that is no class of the model is no label"
    assert right[1::2].tolist() == (said[1::2] == 1).tolist()
    assert {s.where["noise"] for s in scores if s.metric == "nll"} == {"none", "keyboard"}
    (worst,) = [s for s in scores if s.metric == "worst_case_accuracy" and s.where["severity"] == 3]
    clean = case.base().distribution.argmax(-1) == 1
    assert worst.values[1::2].tolist() == ((right[1::2] > 0) & clean[1::2]).tolist()


@pytest.mark.parametrize(
    "experiment",
    [
        lambda case: noise(case, noises=2, severities=(3,)),
        lambda case: explanation_drift(case, noises=1, share=0.6),
        lambda case: attack_success(case, budget=30, share=0.6),
        lambda case: certified(case, samples=20, share=0.6),
        lambda case: explanation_attack(case, explainers=("attention",), budget=6, share=0.3),
    ],
    ids=["noise", "explanation_drift", "attack_success", "certified", "explanation_attack"],
)
def test_shards_do_not_change_a_number(experiment: object) -> None:
    whole = {(s.metric, s.method, str(dict(s.where))): s for s in experiment(CASE) if s.metric != "witness"}
    seen = dict.fromkeys(whole, 0)
    for part in ([0, 2], [5, 1], [4, 3], list(range(6, len(WORDS)))):
        for score in experiment(CASE.subset(part)):
            if score.metric == "witness":
                continue
            other = whole[score.metric, score.method, str(dict(score.where))]
            values = dict(zip(other.ids, other.values, strict=True))
            expected = [values[name] for name in score.ids]
            assert np.allclose(score.values, expected, equal_nan=True, atol=1e-6), score.metric
            seen[score.metric, score.method, str(dict(score.where))] += len(score.ids)
    assert all(seen[key] == len(whole[key].ids) for key in seen), "every example exactly once"


def test_noises_by_modality_and_script() -> None:
    assert [s.name for s in chosen_noises(CASE, 2, "x")] == ["keyboard", "drop_words"]
    assert all(set(some) <= {s.name for s in noises(kind)} for kind, some in USUAL.items())
    every = [s.name for s in chosen_noises(CASE, 50, "x")]
    assert len(every) == len(set(every)) >= 5
    assert "homophones" not in every, "a noise for Chinese leaves other texts as they are"
    texts = (Example("a", {"text": "这部电影很好"}),)
    chinese = SimpleNamespace(examples=texts, companions=SimpleNamespace(examples=texts))
    assert chosen_noises(chinese, 1, "x")[0].name in ("homophones", "similar_characters")
    odd = SimpleNamespace(examples=(Example("a", {"graph": 1}),), companions=SimpleNamespace(examples=()))
    with pytest.raises(Unsupported):
        chosen_noises(odd, 2, "x")
    with pytest.raises(InputError):
        explanation_drift(CASE, share=0.0)


# ---------------------------------------------------------------------------------------------------------- drift


def units(groups: list[int]) -> Units:
    n = len(groups)
    special = [g < 0 for g in groups]
    return Units(tuple("abcdefgh"[:n]), "piece", "span", np.zeros((n, 2)), special, groups, [0] * n, range(n), (n,))


def test_alignment_by_hand() -> None:
    original = units([-1, 0, 0, 1, 2])  # [CLS], a word of two pieces, two words of one
    before = np.array([0.0, 1.0, 2.0, -4.0, 3.0])
    # the copy: [CLS], the first word as one piece, an inserted word, the third word; the second was dropped
    after = np.array([0.0, 5.0, 7.0, 2.0])
    pair = aligned(before, after, original, np.array([0, 1, -1, 4]))
    assert pair.before.tolist() == [3.0, 3.0]
    assert pair.after.tolist() == [5.0, 2.0]
    assert pair.unaligned == pytest.approx((4 / 10 + 7 / 14) / 2)
    assert pair.places.ravel().tolist() == pytest.approx([1 / 6, 5 / 6])


def test_units_of_no_word_are_unaligned() -> None:
    free = Units(("a", "b"), "piece", "span", np.zeros((2, 2)), [False] * 2, [-1, -1], [0] * 2, range(2), (2,))
    pair = aligned(np.array([1.0, 2.0]), np.array([2.0, 1.0]), free, np.array([-1, -1]))
    assert len(pair.before) == 0
    assert pair.unaligned == 1.0


def test_drift_of_units_without_places_is_refused_once() -> None:
    model = wrap(Small(), lambda text: [3, 4] * len(text.split()), mask="mask", mask_id=1, labels=["no", "yes"])
    case = DeskCase(Desk(model), [Example("e", {"text": WORDS[0]})])
    for share in (0.01, 1.0):  # before the draw of examples: a reason, not a problem of those drawn
        with pytest.raises(Unsupported, match=r"regard\.wrap"):
            explanation_drift(case, explainers=("attention",), noises=("keyboard",), share=share)


@given(st.lists(st.floats(0.01, 9), min_size=4, max_size=8, unique=True))
def test_nothing_moves_where_nothing_changes(values: list[float]) -> None:
    x = np.array(values)
    place = units(list(range(len(x))))
    same = moved([aligned(x, x, place, np.arange(len(x)))])
    assert same["explanation_rank"][0] == pytest.approx(1.0)
    assert same["explanation_top_k"][0] == 1.0
    assert same["explanation_jsd"][0] == pytest.approx(0.0, abs=1e-9)
    assert same["explanation_centre"][0] == same["explanation_unaligned"][0] == 0.0
    back = moved([aligned(x, -x, place, np.arange(len(x)))])
    assert back["explanation_rank"][0] == pytest.approx(-1.0, abs=0.35), "near ties may be tied"
    assert back["explanation_jsd"][0] == pytest.approx(0.0, abs=1e-9), "magnitudes are the same"


def test_known_moves() -> None:
    place = units([0, 1, 2, 3])
    whole = Relevance.of("m", ["a"], [[1.0, 0.0, 0.0, 0.0]])
    other = Relevance.of("m", ["a"], [[0.0, 0.0, 0.0, 1.0]])
    apart = drift(whole, other, [place], [np.arange(4)], np.array([True]))
    assert apart["explanation_jsd"][0] == pytest.approx(1.0)
    assert apart["explanation_top_k"][0] == 0.0
    assert apart["explanation_centre"][0] == pytest.approx(0.75)
    flipped = drift(whole, other, [place], [np.arange(4)], np.array([False]))
    assert all(np.isnan(v).all() for v in flipped.values()), "another answer may have another explanation"


class Small(torch.nn.Module):
    """Embeddings, one head of attention, a mean, two classes."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.out = torch.nn.Embedding(64, 8), torch.nn.Linear(8, 2)
        self.query, self.key = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        h = self.embed(ids)
        scores = self.query(h) @ self.key(h).transpose(1, 2) / 8**0.5
        h = torch.softmax(scores.masked_fill(~mask[:, None, :], float("-inf")), -1) @ h
        return self.out((h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True))


def small_case(texts: list[str], task: str = "classification", label: object = None) -> DeskCase:
    """A real model in front of a real desk, where the name of an example decides what is drawn for it."""
    model = wrap(
        Small(), lambda text: [3 + sum(map(ord, w)) % 60 for w in text.split()], mask="mask", mask_id=1, task=task,
        labels=[] if task == "regression" else ["negative", "positive"],
    )  # fmt: skip
    examples = [Example(f"e{i}", {"text": text}, label) for i, text in enumerate(texts)]
    return DeskCase(Desk(model), examples, companions=[replace(e, id=f"other {e.id}") for e in examples])


@pytest.mark.parametrize("task", ["regression", "multi_label"])
def test_numbers_and_labels_have_a_change_instead_of_an_accuracy(task: str) -> None:
    case = small_case([f"{text} {more}" for text in WORDS[:2] for more in WORDS[:4]], task, 0.5)
    scores = list(noise(case, noises=("keyboard", "drop_words"), severities=(1, 5)))
    parts = [s for part in ([0, 1, 2], [3, 4, 5, 6, 7]) for s in noise(case.subset(part), noises=1, severities=(1,))]
    assert len({str(dict(s.where)) for s in parts if s.metric == "flips"}) == 1, "shards are put together by `where`"
    assert not {"accuracy", "confidence", "nll"} & {s.metric for s in scores}
    assert {s.where["answer"] for s in scores if s.metric == "flips"} == {
        "number" if task == "regression" else "labels"
    }
    key = ("model", "keyboard", "5", "None")
    before, after = case.base(), case.variant(PerturbedBy("keyboard", 5)).base()
    if task == "regression":
        apart = np.abs(after.probability - before.probability)
        spread = case.companions.base().probability.std()
        assert np.allclose(found(scores, "output_shift")[key].values, apart)
        assert np.allclose(found(scores, "output_change")[key].values, apart / spread)
        changed = apart > spread / 4
        assert np.allclose(found(scores, "absolute_error")[key].values, np.abs(after.probability - 0.5))
        clean = found(scores, "absolute_error")["model", "none", "0", "None"].values
        assert np.allclose(clean, np.abs(before.probability - 0.5))
    else:
        assert np.allclose(
            found(scores, "output_change")[key].values, np.abs(after.distribution - before.distribution).mean(-1)
        )
        changed = ((after.distribution > 0.5) != (before.distribution > 0.5)).any(-1)
    assert found(scores, "flips")[key].values.tolist() == changed.tolist()
    (worst,) = [s for s in scores if s.metric == "worst_case_flips" and s.where["severity"] == "all"]
    assert worst.values.tolist() == np.max([s.values for s in found(scores, "flips").values()], 0).tolist()
    moved = list(explanation_drift(case, explainers=("leave_one_out",), noises=("keyboard",), severities=(5,), share=1))
    kept = found(moved, "prediction_kept")[key].values
    assert kept.tolist() == (1 - changed).tolist()
    rank = found(moved, "explanation_rank")["leave_one_out", "keyboard", "5", "None"].values
    assert (np.isnan(rank) | (kept > 0)).all()
    for refused in (attack_success, certified):
        with pytest.raises(Unsupported, match="a classifier"):
            refused(case, share=1.0)


def test_a_model_that_writes_text_is_refused_with_the_reason() -> None:
    said = CASE.base()
    written = SimpleNamespace(base=lambda: replace(said, distribution=None), companions=SimpleNamespace(ids=()))
    with pytest.raises(Unsupported, match="is another text"):
        noise(written)


def test_drift_has_its_null_and_its_share() -> None:
    names = ("attention", "leave_one_out", "random", "position")
    case = small_case([f"{text} {more}" for text in WORDS[:2] for more in WORDS[:4]])
    scores = list(explanation_drift(case, explainers=names, noises=("keyboard",), severities=(3,), share=1.0))
    at = ("keyboard", "3", "None")
    rank = {m: found(scores, "explanation_rank")[(m, *at)].values for m in names}
    seeds = {m: found(scores, "explanation_seed_rank")[(m, "None", "None", "None")].values for m in names}
    assert np.nanmin(seeds["attention"]) == np.nanmin(seeds["leave_one_out"]) == pytest.approx(1.0)
    assert abs(np.nanmean(seeds["random"])) < 0.35
    assert abs(np.nanmean(rank["random"])) < 0.35, "what draws anew is not stable because it draws the same numbers"
    assert np.nanmean(rank["position"]) == pytest.approx(1.0), "and what never looks is perfectly stable"
    excess = found(scores, "explanation_excess")[("random", *at)].values
    assert abs(np.nanmean(excess)) < 0.15, "all of its drift is its own seed noise"
    kept = found(scores, "prediction_kept")[("model", *at)].values
    for method in names:
        assert (np.isnan(rank[method]) | (kept > 0)).all()
    assert found(scores, "comprehensiveness")[("leave_one_out", *at)].where["operator"] == case.operators[0]


def test_drift_removes_units_at_some_severities_only_and_changes_nothing_else() -> None:
    setting = {
        "explainers": ("attention",),
        "noises": ("keyboard",),
        "severities": (1, 3),
        "share": 1.0,
    }
    everything = list(explanation_drift(CASE, **setting))
    some = list(explanation_drift(CASE, **setting, removed_at=(3,)))
    severities = [s.where["severity"] for s in some if s.metric == "comprehensiveness"]
    assert severities == [3]
    left = [s for s in everything if s.metric != "comprehensiveness" or s.where["severity"] == 3]
    for one, other in zip(some, left, strict=True):
        assert (one.metric, one.method, one.where) == (other.metric, other.method, other.where)
        np.testing.assert_array_equal(one.values, other.values)


def test_cheap_drift_keeps_every_number_of_attention() -> None:
    names = ("attention", "leave_one_out", "random", "position")
    case = small_case([f"{text} {more}" for text in WORDS[:2] for more in WORDS[:4]])
    setting = {"explainers": names, "noises": ("keyboard",), "severities": (3,), "share": 1.0}
    everything = list(explanation_drift(case, **setting))
    cheap = list(explanation_drift(case, **setting, others=0.5))
    assert {s.method for s in cheap} == {"model", "attention", "random", "position"}, "no method of many passes"

    def of(scores: list[Score], method: str) -> dict[str, Score]:
        return {s.metric: s for s in scores if s.method == method}

    for method in ("attention", "model"):
        for metric, score in of(everything, method).items():
            other = of(cheap, method)[metric]
            assert other.ids == score.ids
            assert np.array_equal(other.values, score.values, equal_nan=True)
    sample = of(cheap, "random")["explanation_rank"]
    assert 0 < len(sample.ids) < len(case.ids)
    full = of(everything, "random")["explanation_rank"]
    same = [full.values[full.ids.index(name)] for name in sample.ids]
    assert np.array_equal(sample.values, same, equal_nan=True), "on a part of the examples, the same numbers"


# ---------------------------------------------------------------------------------------------------------- attacks


def test_attacks_turn_what_they_say_they_turn() -> None:
    scores = list(attack_success(CASE, attacks=("greedy_word", "random_words"), budget=60, share=1.0))
    (success,) = [s for s in scores if s.metric == "attack_success" and s.where["attack"] == "greedy_word"]
    assert success.where["constraints"] == Threat(budget=60).words().to_json()
    curve = success.curves["success"]
    tried = np.isfinite(success.values)
    assert tried.sum() >= 3
    assert (np.diff(curve[tried], axis=1) >= 0).all(), "more queries never help the model"
    assert curve[tried, -1].tolist() == success.values[tried].tolist()
    assert success.grid[-1] == 60
    (queries,) = [s for s in scores if s.metric == "attack_queries" and s.where["attack"] == "greedy_word"]
    assert np.nanmax(queries.values) <= 60
    (share,) = [s for s in scores if s.metric == "attack_perturbed" and s.where["attack"] == "greedy_word"]
    assert np.isnan(share.values[success.values == 0]).all()
    (beside,) = [s for s in scores if s.metric == "attack_similarity" and s.where["attack"] == "greedy_word"]
    assert beside.where["similarity"] == "ngram_overlap", "not called meaning"
    shown = [s for s in scores if s.metric == "witness"]
    assert shown
    for one in shown:
        i = CASE.ids.index(one.ids[0])
        text = Example("new", {"text": one.where["inputs"]["text"]})
        said = answers_to(CASE.subset([i]), [[text]]).distribution[0]
        assert said.argmax() != CASE.base().distribution[i].argmax()
        assert one.where["predicted"] == CASE.labels[int(said.argmax())]
        assert len(one.where["relevance"]["values"]) == len(one.where["units"]["names"])
    roles = {s.where["attack"]: s.where.get("role") for s in scores if s.metric == "attack_success"}
    assert roles == {"greedy_word": None, "random_words": "baseline"}


def test_usual_attacks_come_with_their_baseline() -> None:
    scores = list(attack_success(CASE, attacks=1, budget=20, share=1.0))
    assert {s.where["attack"] for s in scores if s.metric == "attack_success"} == {"greedy_word", "random_words"}


def test_attacks_on_explanations_keep_the_prediction() -> None:
    part = CASE.subset([0, 1])
    scores = list(explanation_attack(part, explainers=("attention",), budget=12, share=1.0))
    (tried,) = [s for s in scores if s.metric == "explanation_attack_success"]
    assert tried.where["aimed_at"] == tried.method == "attention"
    (rank,) = [s for s in scores if s.metric == "explanation_rank"]
    attacked = dict(zip(tried.ids, tried.values, strict=True))
    assert all(not np.isnan(attacked[name]) for name in rank.ids), "only what was attacked has drifted"
    (queries,) = [s for s in scores if s.metric == "explanation_attack_queries"]
    assert np.nanmax(queries.values) <= 12
    every = {s.method for s in explanation_attack(CASE.subset([2]), budget=2, share=1.0)}
    assert every == {"attention", "leave_one_out"}, "baselines are not attacked"


# ------------------------------------------------------------------------------------------------------- certified


def test_words_against_every_mask() -> None:
    """The certificate in words is what a count of all masks says, with the worst change of the votes."""
    for n, kept in ((5, 2), (6, 1), (7, 3)):
        masks = list(itertools.combinations(range(n), kept))
        for p in (0.55, 0.7, 0.9, 0.99):
            exact = 0
            for d in range(1, n - kept + 1):
                touched = sum(bool(set(m) & set(range(d))) for m in masks) / len(masks)
                if p - touched > 0.5 + 1e-12:
                    exact = d
                else:
                    break
            assert _words(p, n, kept) == exact, (n, kept, p)


def test_no_replacement_of_a_word_turns_what_is_certified() -> None:
    """Every word of a certified text is replaced by the worst words there are; the exact vote never changes."""
    text = "wonderful wonderful superb gorgeous moving film wonderful superb"
    case = ToyCase((text,))
    keep = 0.25
    scores = {s.metric: s for s in certified(case, samples=400, keep=keep, share=1.0) if "radius" not in s.where}
    radius = int(scores["certified_radius"].values[0])
    assert radius >= 1
    words, kept = text.split(), max(1, round(keep * len(text.split())))
    masks = list(itertools.combinations(range(len(words)), kept))

    def votes(some: list[str]) -> float:
        other = ToyCase((" ".join(some),))
        drops = np.ones((len(masks), len(words) + 1), bool)
        drops[:, 0] = False
        for row, mask in zip(drops, masks, strict=True):
            row[[1 + i for i in mask]] = False
        said = other.removed([drops], "mask").distribution
        return float((said[:, 1] > 0.5).mean())

    assert votes(words) > 0.5
    for i in range(len(words)):
        for worst in ("awful", "dull"):
            assert votes([*words[:i], worst, *words[i + 1 :]]) > 0.5


def test_gaussian_radius_of_a_linear_model_is_below_its_margin() -> None:
    w, b = np.array([0.6, -0.8]), 0.1  # |w| = 1: the distance to the boundary is |w x + b|

    @dataclass
    class Plane:
        x: torch.Tensor
        user = True

        @property
        def free(self) -> torch.Tensor:
            return torch.ones_like(self.x, dtype=torch.bool)

        def logits(self, x: torch.Tensor, rows: object = None) -> torch.Tensor:
            score = x @ torch.from_numpy(w) + b
            return torch.stack([-score, score], -1)

    points = [np.array(p) for p in ((1.0, 0.2), (0.1, 0.15), (-2.0, 1.0))]
    examples = [Example(f"p{i}", {"row": p}) for i, p in enumerate(points)]
    case = SimpleNamespace(
        ids=tuple(e.id for e in examples), examples=examples, companions=SimpleNamespace(examples=examples),
        ask=lambda questions: [Plane(torch.from_numpy(questions[0].examples[0].inputs["row"])[None])],
        rng=lambda i, *keys: keyed_rng(0, f"p{i}", *keys),
    )  # fmt: skip
    spread = 0.25 * float(np.concatenate(points).std())
    for i, voted in enumerate(_noisy_votes(case, 1020, 0.25, "image")):
        margin = float(points[i] @ w + b)
        share = (voted[FIRST:] == int(margin > 0)).mean()
        expected = 0.5 * (1 + math.erf(abs(margin) / spread / math.sqrt(2)))
        assert share == pytest.approx(expected, abs=0.06), "the noise has the deviation that is claimed"
        low = clopper_pearson(round(share * 1000), 1000, level=0.998)[0]
        if low > 0.5:
            assert spread * NormalDist().inv_cdf(low) <= abs(margin)


def test_columns_are_measured_by_their_own_deviation() -> None:
    rows = [Example(str(i), {"row": np.array([i, 1000.0 * i, 7.0])}) for i in range(5)]
    case = SimpleNamespace(companions=SimpleNamespace(examples=rows), examples=rows)
    assert _scale(case, "table").tolist() == pytest.approx([2**0.5, 1000 * 2**0.5, 1.0])
    assert _scale(case, "image").shape == (1,)


@pytest.mark.parametrize("agreeing", [1.0, 0.9, 0.6, 0.5])
def test_a_vote_stops_only_when_no_further_copy_can_change_its_radius(agreeing: float) -> None:
    """The same votes, all of them asked for: the bound of a vote that stopped early gives the same words."""
    samples, alpha, drawn = 200, 0.001, 0
    votes = (np.random.default_rng(7).random(samples + FIRST) < agreeing).astype(np.int64)

    def removed(drops: list[np.ndarray], operator: str) -> Answers:
        nonlocal drawn
        new = votes[drawn : drawn + len(drops[0])]
        drawn += len(new)
        return Answers(np.array([0, len(new)]), np.zeros(len(new)), np.zeros(len(new)), np.eye(2)[new])

    case = ToyCase((" ".join(["film"] * 20),))
    case = SimpleNamespace(ids=case.ids, units=case.units, operators=("mask",), rng=case.rng, removed=removed)
    ((top, low),) = _masked_bounds(case, samples, 0.3, alpha)
    every = clopper_pearson(int((votes[FIRST:] == top).sum()), samples, level=1 - 2 * alpha / 3)[0]
    outcome = [(low > 0.5, _words(low, 20, 6)) for low in (low, every)]
    assert outcome[0] >= outcome[1], "an early look may certify what the last one no longer does, never less"
    assert (drawn == FIRST + 50) == (agreeing == 1.0), "a clear vote needs a quarter of the copies"
    assert drawn <= samples + FIRST


def test_certificates_are_about_right_answers() -> None:
    scores = list(certified(CASE, samples=30, share=1.0))
    names = {s.metric for s in scores}
    assert {"abstained", "certified_radius"} <= names
    assert "certified_accuracy" not in names, "without labels nothing is right"
    radius = next(s for s in scores if s.metric == "certified_radius").values
    abstained = next(s for s in scores if s.metric == "abstained").values
    assert (radius[abstained > 0] == 0).all()
    with pytest.raises(InputError):
        certified(CASE, samples=3)
