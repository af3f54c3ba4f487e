"""Recipes, arms, the table of before and after: on texts that a tiny network learns in a second."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from benchmarks.improvement import MOST_LOST, answers

from regard.audits.resolve import improved
from regard.datasets.examples import Examples
from regard.errors import InputError, UnknownName, Unsupported
from regard.improve.before_after import compared
from regard.improve.improve import Improvement, improve
from regard.improve.measurements import NetworkMeasurements, Plan, drawn, plan_for, read_columns, write_columns
from regard.improve.origin import origin
from regard.improve.recipe import Recipe
from regard.improve.search import candidates, mixed
from regard.measures.keyed_random import keyed_rng
from regard.message import Message, Text
from regard.models.open.load import load
from regard.records import Example, Spec
from regard.registry import build, names
from regard.training.loss import weighted_terms
from regard.training.train import train
from regard.training.train_one import Splits

GOOD = ("lovely", "great", "warm", "funny", "wise", "bright")
BAD = ("awful", "dull", "cold", "bleak", "silly", "grim")
REST = ("the", "film", "was", "and", "plot", "cast", "with", "story", "music", "scenes", "quite", "really")
RECIPES = ("noise", "adversarial:epsilon=0.2", "attention-adversarial:epsilon=1")
SETTINGS = {"epochs": 2, "batch_size": 16, "rate": 0.02}


def texts(key: str, n: int) -> Examples:
    rng = keyed_rng(0, "improve", key)
    items = []
    for i in range(n):
        words = [*map(str, rng.choice(REST, 6)), str(rng.choice(GOOD if i % 2 else BAD))]
        rng.shuffle(words)
        items.append(Example(f"{key}{i}", {"text": " ".join(words)}, i % 2))
    return Examples("small", tuple(items), ("bad", "good"))


DATA = Splits(texts("train", 96), texts("dev", 20), texts("test", 24))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("improve") / "base"
    train("classifier:encoder=average,size=8,hidden=8,min_count=1", DATA, out=out, settings=SETTINGS)
    return out


@pytest.fixture(scope="module")
def found(base: Path) -> Improvement:
    out = base.parent / "out"
    return improve(str(base), RECIPES, DATA, out=out, seeds=2, examples=10, budget=15)


def test_every_recipe_adds_terms_that_exist_or_noise() -> None:
    assert set(names("recipe")) == {
        "noise", "adversarial", "attention_adversarial", "attention_effects", "attention_regularised", "masking",
        "smoothness",
    }  # fmt: skip
    for name in names("recipe"):
        recipe: Recipe = build(Spec("recipe", name))("text")
        assert bool(recipe.terms) + (recipe.augment is not None) + bool(recipe.learner) == 1, name
        if recipe.terms:
            weighted_terms(recipe.terms)
        if recipe.control is not None:
            assert all("random" in term for term in recipe.control.terms), name
    assert build(Spec("recipe", "attention_adversarial"))("text").control is not None
    assert build(Spec("recipe", "adversarial", {"control": True}))("text").control is not None
    for toward, term in {"rationales": "rationale_distance", "diversity": "conicity"}.items():
        assert build(Spec("recipe", "attention_regularised", {"toward": toward}))("text").terms == {term: 1.0}


def test_the_table_holds_pairs_of_every_quantity(found: Improvement) -> None:
    assert set(found.comparisons) == {
        ("noise", "plain"), ("adversarial", "plain"), ("attention-adversarial", "plain"),
        ("attention-adversarial", "attention-adversarial-control"), ("attention-adversarial-control", "plain"),
    }  # fmt: skip
    wanted = [q.name for q in found.plan.quantities()]
    for rows in found.comparisons.values():
        assert [row.quantity for row in rows] == wanted
    row = found.row("adversarial", "accuracy")
    assert (row.seeds, row.n, row.examples) == (2, 48, 24)
    assert row.difference == pytest.approx(row.after - row.before)
    assert row.low <= row.difference <= row.high
    assert row.verdict in row.sentence()
    close = found.row("adversarial", "gradient_agreement")
    assert close.examples <= 10
    assert set(found.plan.learned_noises).isdisjoint(found.plan.other_noises)


def test_the_bench_asks_its_three_questions_of_such_a_table(found: Improvement) -> None:
    told = answers(found)
    arms = ("noise", "adversarial", "attention-adversarial")
    assert len(told) == 1 + 3 * len(arms), "the control is no recipe"
    cheap = [a for a in arms if found.row(a, "accuracy").difference >= -MOST_LOST]
    better = [a for a in cheap if found.row(a, "attack_success").verdict == "better"]
    assert told["a recipe lowers the success of the greedy attack"] == bool(better)


def test_plain_is_the_model_that_was_given(base: Path, found: Improvement) -> None:
    """The same seed, data and settings: what is compared with is the user's own model, not another one."""
    before = json.loads((base / "regard.json").read_text("utf-8"))
    again = json.loads((found.folder("plain") / "seed-0/regard.json").read_text("utf-8"))
    assert again["sha256"] == before["sha256"]


def test_what_comes_out_is_opened_like_any_model(found: Improvement) -> None:
    for arm in ("plain", "noise", "adversarial", "attention-adversarial"):
        model = load(found.folder(arm))
        assert model.labels == ("bad", "good")
    weights = {
        json.loads((found.folder(arm) / "seed-0/regard.json").read_text("utf-8"))["sha256"] for arm in found.recipes
    }
    assert len(weights) == len(found.recipes) == 5


def test_costs_say_what_a_step_took(found: Improvement) -> None:
    for arm in found.recipes:
        assert found.costs[arm]["milliseconds_per_step"] > 0
        assert found.costs[arm]["epochs"] == 2
    assert found.costs["adversarial"]["milliseconds_per_step"] > found.costs["plain"]["milliseconds_per_step"]


def test_the_record_is_json_and_the_same_call_only_reads(base: Path, found: Improvement) -> None:
    kept = json.loads((found.directory / "improvement.json").read_text("utf-8"))
    assert kept["format"] == "regard-improvement"
    assert kept == json.loads(json.dumps(found.to_json()))
    again = improve(str(base), RECIPES, DATA, out=found.directory, seeds=2, examples=10, budget=15)
    assert again.again
    assert again.to_json()["comparisons"] == found.to_json()["comparisons"]
    assert again.costs == found.costs
    for other in ({"examples": 9}, {"seeds": 3}):
        with pytest.raises(InputError, match="another training"):
            improve(
                str(base), RECIPES, DATA, out=found.directory, **{"seeds": 2, "examples": 10, "budget": 15, **other}
            )
    with pytest.raises(InputError, match="another training"):
        improve(str(base), ["adversarial:epsilon=3"], DATA, out=found.directory, seeds=2, examples=10, budget=15)


def test_a_further_recipe_is_compared_with_the_same_trainings(base: Path, found: Improvement) -> None:
    arms: list[Text] = []
    more = improve(
        str(base), ["smoothness"], DATA, out=found.directory, seeds=2, examples=10, budget=15,
        tell=lambda what, done, whole: arms.append(what),
    )  # fmt: skip
    assert arms == [Message.of("improvement.arm_seed", arm="smoothness", seed=seed) for seed in (0, 1)]
    assert set(more.comparisons) == {("smoothness", "plain")}
    kept = json.loads((found.directory / "improvement.json").read_text("utf-8"))
    assert {(c["arm"], c["against"]) for c in kept["comparisons"]} == {*found.comparisons, ("smoothness", "plain")}
    assert set(kept["recipes"]) == set(kept["costs"]) == {*found.recipes, "smoothness"}


def test_a_stop_between_networks_loses_nothing(base: Path, found: Improvement, tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(what: Text, done: int, whole: int) -> None:
        if done == 1:
            raise Stop

    def call(tell: object = None) -> Improvement:
        return improve(
            str(base), ["adversarial:epsilon=0.2"], DATA, out=tmp_path / "out", seeds=1, examples=6, budget=8,
            tell=tell,  # type: ignore[arg-type]
        )  # fmt: skip

    with pytest.raises(Stop):
        call(stop)
    assert (tmp_path / "out/measured/plain/seed-0.json").is_file()
    arms: list[Text] = []
    call(lambda what, done, whole: arms.append(what))
    assert arms == [Message.of("improvement.arm_seed", arm="adversarial", seed=0)]
    one = call()
    assert one.row("adversarial", "accuracy").p_seeds is None


PLAN = Plan(4, ("keyboard",), ("ocr",))
IDS = [f"e{i}" for i in range(12)]


def columns(shift: float, seeds: int = 5, spread: float = 0.02) -> list[dict[str, dict[str, float]]]:
    rng = np.random.default_rng(0)
    names = [q.name for q in PLAN.quantities()]
    base = {q: rng.normal(0.5, 0.1, len(IDS)) for q in names}
    return [
        {q: dict(zip(IDS, base[q] + shift + rng.normal(0, spread, len(IDS)), strict=True)) for q in names}
        for _ in range(seeds)
    ]


@pytest.mark.parametrize(("shift", "higher", "lower"), [
    (0.3, "better", "worse"), (-0.3, "worse", "better"), (0.0, "no significant change", "no significant change"),
])  # fmt: skip
def test_verdicts_follow_the_direction_and_nothing_is_called_nothing(shift: float, higher: str, lower: str) -> None:
    rows = {row.quantity: row for row in compared(columns(0.0), columns(shift), PLAN, {})}
    assert rows["accuracy"].verdict == higher
    assert rows["attack_success"].verdict == lower
    assert all(row.corrected >= row.p for row in rows.values())


def test_three_examples_that_agree_are_no_improvement() -> None:
    few = IDS[:3]
    before, after = (
        [{q: {i: some[i] for i in few} for q, some in one.items()} for one in columns(shift, 1)] for shift in (0.0, 0.3)
    )
    row = compared(before, after, PLAN, {})[0]
    assert (row.low > 0, row.p, row.verdict) == (True, 0.25, "no significant change")
    (undefined, *_) = compared([{"accuracy": {"e": float("nan")}}], [{"accuracy": {"e": 1.0}}], PLAN, {})
    assert (undefined.to_json()["low"], undefined.verdict) == (None, "too few examples")


def test_seeds_that_do_not_agree_are_no_improvement() -> None:
    after = [
        {q: {i: v + gain for i, v in some.items()} for q, some in one.items()}
        for one, gain in zip(columns(0.0), (0.9, 0.8, 0.0, -0.1, 0.1), strict=True)
    ]
    row = compared(columns(0.0), after, PLAN, {})[0]
    assert row.difference > 0.3
    assert row.verdict == "no significant change"
    assert row.p_seeds is not None
    assert row.p_seeds > 0.05


def test_columns_are_kept_with_what_is_undefined(tmp_path: Path) -> None:
    write_columns(tmp_path / "a/b.json", {"x": {"e": float("nan"), "f": 0.25}}, {"model": "m"})
    kept = read_columns(tmp_path / "a/b.json")
    assert kept is not None
    assert np.isnan(kept["x"]["e"])
    assert kept["x"]["f"] == 0.25
    assert read_columns(tmp_path / "none.json") is None


def test_the_same_examples_are_drawn_for_every_network() -> None:
    plan = plan_for(DATA.test, examples=7, budget=5, learned=("ocr",))
    assert [e.id for e in drawn(DATA.test, plan)] == [e.id for e in drawn(DATA.test, plan)]
    assert len(drawn(DATA.test, plan)) == 7
    assert plan.learned_noises == ("ocr",)
    assert "ocr" not in plan.other_noises


def test_accuracy_is_what_the_training_found_on_the_test_split(found: Improvement) -> None:
    for arm in ("plain", "adversarial"):
        facts = json.loads((found.folder(arm) / "seed-1/facts.json").read_text("utf-8"))
        kept = read_columns(found.directory / "measured" / arm / "seed-1.json")
        assert kept is not None
        assert np.mean(list(kept["accuracy"].values())) == pytest.approx(facts["test_accuracy"])


def test_looking_leaves_out_what_a_model_does_not_support(found: Improvement, monkeypatch: pytest.MonkeyPatch) -> None:
    measurements = NetworkMeasurements(found.folder("plain") / "seed-0", DATA.test, PLAN)

    def refuse() -> None:
        raise Unsupported("attention", expected="some", got="none")

    for question in ("_attention", "_readability", "_propagation", "_stability"):
        monkeypatch.setattr(measurements, question, refuse)
    assert set(measurements.columns()) == {
        "accuracy", "noise_accuracy", "other_noise_accuracy", "attack_success", "attack_accuracy",
    }  # fmt: skip


REFUSED: Sequence[tuple[Sequence[str], dict[str, int], type[Exception], str]] = [
    (["adverserial"], {}, UnknownName, "adversarial"),
    (["adversarial:epsilom=1"], {}, UnknownName, "epsilon"),
    (["noise", "noise:share=0.2"], {}, InputError, "each once"),
    ([], {}, InputError, "at least one"),
    (["noise"], {"seeds": 0}, InputError, "at least 1"),
    (["noise"], {"layers": 1}, InputError, "a Hugging Face model"),
    (["attention-regularised:toward=rationales"], {}, InputError, "rationale"),
]


@pytest.mark.parametrize(("recipes", "more", "error", "said"), REFUSED)
def test_what_cannot_be_is_said(
    base: Path, tmp_path: Path, recipes: list[str], more: dict[str, int], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        improve(str(base), recipes, DATA, out=tmp_path / "out", **more)  # type: ignore[arg-type]


def test_a_model_that_was_not_trained_here_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such directory"):
        origin(str(tmp_path / "nothing"), None)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"regard.json or config.json"):
        origin(str(tmp_path / "empty"), None)


def test_two_seeds_do_not_say_more_than_three() -> None:
    after = [
        {q: {i: v + gain for i, v in some.items()} for q, some in one.items()}
        for one, gain in zip(columns(0.0, 2), (0.1, 0.5), strict=True)
    ]
    row = compared(columns(0.0, 2), after, PLAN, {})[0]
    assert (row.low > 0, row.corrected < 0.05) == (True, True)
    assert row.verdict == "no significant change"


def test_a_search_is_the_same_for_the_same_budget_of_passes(base: Path, tmp_path: Path) -> None:
    def call(out: str, budget: str = "6000-passes") -> Improvement:
        return improve(
            str(base), ["attention-effects", "masking"], DATA, out=tmp_path / out, seeds=1, examples=8, budget=5,
            search_budget=budget,
        )  # fmt: skip

    one, two = call("one"), call("two")
    assert one.search is not None
    assert two.search is not None
    assert one.search == two.search
    assert 1 <= len(one.search.tried) < one.search.possible
    assert one.search.plain.passes + sum(c.passes for c in one.search.tried) <= 6000
    assert one.search.seed not in one.seeds
    assert set(one.comparisons) == {("searched", "plain")}
    assert one.search.best in [c.parts for c in one.search.tried]
    assert call("one").again
    with pytest.raises(InputError, match="at least"):
        call("three", "10-passes")
    with pytest.raises(InputError, match="a time"):
        call("four", "none")
    manifest = improved(load(one.folder("searched")))["improvement"]
    assert "search" in manifest  # type: ignore[operator]


def test_a_fixed_strength_is_not_searched() -> None:
    assert mixed(["masking:share=0.25", "attention_effects"], "text").learner == {"masking": 0.25}
    tried = list(candidates([Spec("recipe", "masking", {"share": 0.5})], 0))
    assert tried == [("masking:share=0.5",)]
