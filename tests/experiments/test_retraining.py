"""Experiments that train the audited network again, on a task that is learned in a second."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from regard.audits.audit import audit
from regard.audits.default_methods import PROFILES
from regard.datasets.read import read
from regard.errors import Unsupported
from regard.experiments._retraining import Origin, looks, origin
from regard.experiments.deceptive_attention import deceptive_attention, telling
from regard.experiments.frozen_diagnostic import frozen_diagnostic
from regard.experiments.refitted import refitted
from regard.experiments.seed_variance import seed_variance
from regard.experiments.siblings import siblings
from regard.experiments.train_time_replacement import train_time_replacement, under
from regard.experiments.trained_adversary import trained_adversary
from regard.experiments.uniform_control import uniform_control
from regard.judge.verdicts import verdicts
from regard.measures.keyed_random import keyed_rng
from regard.models.open.load import load
from regard.protocols import Findings, Model
from regard.records import Example, Json, Score
from regard.registry import entry
from regard.training.reference import TrainedReference
from regard.training.train import train

GOOD, BAD, FILL = ("good", "fine"), ("bad", "poor"), [f"w{i}" for i in range(12)]
LEARNER = "classifier:encoder=average,attention=additive,size=8,hidden=8,dropout=0.0,noise=0.0"


@dataclass(frozen=True)
class Tried:
    """What an experiment is given, as the audit gives it."""

    model: Model
    examples: tuple[Example, ...]
    seed: int
    folder: Path


@pytest.fixture(scope="session")
def words_csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts of six words, one of which says the class: short of attention, the evidence drowns."""
    path = tmp_path_factory.mktemp("retraining") / "words.csv"
    rng = keyed_rng(0, "retraining toy")
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["text", "label", "split"])
        for split, n in (("train", 160), ("dev", 60), ("test", 60)):
            for i in range(n):
                words = [FILL[int(j)] for j in rng.integers(0, len(FILL), 6)]
                words[int(rng.integers(6))] = (BAD, GOOD)[i % 2][int(rng.integers(2))]
                out.writerow([" ".join(words), ("neg", "pos")[i % 2], split])
    return path


@pytest.fixture(scope="session")
def tried(words_csv: Path, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    out = tmp_path_factory.mktemp("trained") / "base"
    train(LEARNER, words_csv, out=out, settings={"epochs": 6, "batch_size": 16, "rate": 2e-2})
    examples = tuple(read(words_csv, split="test", limit=None))
    return Tried(load(str(out), device="cpu"), examples, 0, tmp_path_factory.mktemp("studies"))


@pytest.fixture(scope="session")
def contextual(words_csv: Path, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    """States that know their neighbours: the only ones through which a word can be used without being looked at."""
    out = tmp_path_factory.mktemp("contextual") / "base"
    settings: dict[str, Json] = {"epochs": 8, "batch_size": 16, "rate": 2e-2, "patience": 8}
    train(LEARNER.replace("average", "bilstm"), words_csv, out=out, settings=settings)
    return Tried(load(str(out), device="cpu"), (), 0, tmp_path_factory.mktemp("contextual-studies"))


@pytest.fixture(scope="session")
def family(words_csv: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("siblings") / "family"
    train(LEARNER, words_csv, out=out, seeds=3, settings={"epochs": 6, "batch_size": 16, "rate": 2e-2})
    return out


@pytest.fixture(scope="session")
def made(tried: Tried, words_csv: Path) -> Origin:
    return origin(tried, str(words_csv), "test")


def the(found: Findings, metric: str, **where: object) -> Score:
    """The one over seeds in this setting; `rows="texts"` for the one that has a row for each text."""
    wanted = {"rows": None, **where}
    (one,) = [s for s in found if s.metric == metric and all(s.where.get(k) == v for k, v in wanted.items())]
    return one


def test_every_number_over_seeds_says_where_it_comes_from(tried: Tried, words_csv: Path) -> None:
    found = uniform_control(tried, seeds=2, data=str(words_csv))
    own = the(found, "accuracy", attention="trained")
    assert own.ids == ("seed 1", "seed 2")  # never the seed of the audited network itself
    assert own.where["n"] == 60
    assert own.where["baseline"] == 0.5
    assert own.where["mean"] == pytest.approx(own.values.mean())
    half = 12.706 * abs(own.values[0] - own.values[1]) / 2  # Student, one degree of freedom
    assert own.where["high"] == pytest.approx(own.where["mean"] + half, abs=1e-3)
    flat = the(found, "accuracy", attention="uniform")
    assert the(found, "uniform_gain").values == pytest.approx(own.values - flat.values)
    assert own.values.min() > 0.9


def test_what_was_trained_once_is_found_again(tried: Tried, words_csv: Path) -> None:
    first = uniform_control(tried, seeds=2, data=str(words_csv))
    before = {p: p.stat().st_mtime_ns for p in tried.folder.glob("same-*/model.safetensors")}
    assert len(before) >= 2
    again = uniform_control(tried, seeds=2, data=str(words_csv))
    assert {p: p.stat().st_mtime_ns for p in before} == before
    assert [s.values.tolist() for s in again] == [s.values.tolist() for s in first]


def test_seed_variance_is_about_every_audited_example(tried: Tried, words_csv: Path) -> None:
    found = seed_variance(tried, seeds=2, data=str(words_csv))
    apart = the(found, "seed_jsd")
    assert apart.ids == tuple(e.id for e in tried.examples)
    assert apart.curves["seeds"].shape == (60, 2)
    assert apart.values == pytest.approx(np.median(apart.curves["seeds"], -1))
    assert ((apart.values >= 0) & (apart.values <= np.log(2))).all()
    # siblings that all found the one telling word are closer to each other than to the same weights elsewhere
    assert apart.values.mean() < the(found, "seed_jsd_chance").values.mean()


def test_an_adversary_looks_elsewhere_and_its_weights_do_not_help_words(tried: Tried, words_csv: Path) -> None:
    found = trained_adversary(tried, weights=(0.0, 0.05), seeds=1, data=str(words_csv))
    still, far = (the(found, "adversary_jsd", weight=w).values[0] for w in (0.0, 0.05))
    assert far > still + 0.1
    assert the(found, "adversary_accuracy", weight=0.05).where["baseline"] > 0.9
    probe = frozen_diagnostic(tried, weight=0.05, seeds=1, data=str(words_csv))
    by = {s.where["attention"]: s.values[0] for s in probe if s.metric == "probe_accuracy"}
    assert by.keys() == {"base", "trained", "uniform", "adversary"}
    assert by["base"] >= by["adversary"]
    assert the(probe, "probe_gain").values[0] == pytest.approx(by["base"] - by["uniform"])


def test_own_weights_put_back_change_nothing(made: Origin) -> None:
    learner, test = made.made(), made.splits.test
    said = [row.numpy() for row in TrainedReference(made.folder).predictions(test, learner)]
    assert under(made.folder, test, looks(made.folder, test, learner)) == pytest.approx(np.stack(said), abs=1e-6)


def test_replacement_hurts_at_the_test(tried: Tried, words_csv: Path) -> None:
    found = train_time_replacement(tried, seeds=1, data=str(words_csv))
    assert len(found) == 6
    for way in ("uniform", "random", "permuted"):
        assert the(found, "replaced_accuracy", attention=way, when="training and test").values[0] > 0.4
    moved = the(found, "replaced_accuracy", attention="permuted", when="test")
    assert moved.values[0] < moved.where["baseline"] - 0.1


def test_deception_hides_the_words_and_uses_them(contextual: Tried, words_csv: Path) -> None:
    found = deceptive_attention(contextual, words=(*GOOD, *BAD), weight=1.0, seeds=1, data=str(words_csv))
    honest, hidden = (the(found, "hidden_attention", network=n).values[0] for n in ("honest", "deceptive"))
    assert hidden < 0.1 < honest  # equal weights give 1/6
    assert the(found, "hidden_use", network="deceptive").values[0] > 0.2  # it answers from them all the same
    without = the(found, "deceptive_accuracy", network="without")
    assert without.values[0] < 0.75  # there is nothing else to answer from
    assert the(found, "deceptive_accuracy", network="deceptive").values[0] > without.values[0] + 0.15


def test_a_last_layer_that_is_refitted_moves_the_answers_a_little_and_the_attention_not_at_all(tried: Tried) -> None:
    found = refitted(tried)
    change, apart = the(found, "seed_change"), the(found, "seed_jsd")
    assert change.curves["seeds"].shape == (60, 5)
    assert change.where["bound"] == "lower" == apart.where["bound"]
    assert 0 < change.values.max() < 0.3
    assert not apart.values.any()
    still = refitted(tried, pull=1e6)  # what must not move does not
    assert the(still, "seed_change").values.max() < 0.01
    few = Tried(tried.model, tried.examples[:20], 0, tried.folder)
    with pytest.raises(Unsupported, match="40 labelled examples"):
        refitted(few)


def test_siblings_of_a_family_are_compared_one_by_one(tried: Tried, family: Path, tmp_path: Path) -> None:
    out = family
    first = Tried(load(str(out / "seed-0"), device="cpu"), tried.examples, 0, tmp_path)
    found = siblings(first, folders=(str(out),))
    apart = the(found, "seed_jsd")
    assert apart.curves["seeds"].shape == (60, 2), "the audited one is not its own sibling"
    assert apart.values.mean() < the(found, "seed_jsd_chance").values.mean()
    gains = {s.method: s.values.mean() for s in found if s.metric == "transfer_gain"}
    # every network found the one telling word: it is as good for its siblings as their own
    assert gains["attention"] > 0.7 * gains["best"] > 0.1
    assert gains["own attention"] > 0.7 * gains["best"]
    itself = siblings(first, folders=(str(out / "seed-1"),))
    np.testing.assert_allclose(the(itself, "seed_jsd").curves["seeds"][:, 0], apart.curves["seeds"][:, 0], atol=1e-6)
    with pytest.raises(Unsupported, match="only itself"):
        siblings(first, folders=(str(out / "seed-0"),))
    with pytest.raises(Unsupported, match="--siblings"):
        siblings(first)


def test_an_audit_of_a_member_asks_its_siblings_and_the_judge_reads_it(
    family: Path, words_csv: Path, tmp_path: Path
) -> None:
    run = audit(
        str(family / "seed-0"), str(words_csv), out=tmp_path / "run", profile="quick", device="cpu", keep=0,
        explainers=["attention", "random"], metrics=["comprehensiveness"],
        experiments=["map_shape", "permutation:times=5", "route", "exclusive"],
    )  # fmt: skip
    (found,) = verdicts(run)
    said = {v.question: v.answer for v in found.verdicts}
    assert said["transfer"] == "holds"
    assert said["seeds"] in ("holds", "fails")


def test_telling_words(made: Origin) -> None:
    assert set(telling(made.splits.train, made.made(), 4)) == {*GOOD, *BAD}


def test_foreign_models_and_lost_data_are_refused_with_a_reason(tried: Tried) -> None:
    with pytest.raises(Unsupported, match="the training data of the network"):
        uniform_control(tried)  # the name alone does not lead to the file
    toy = Tried(_Foreign(), tried.examples, 0, tried.folder)  # type: ignore[arg-type]
    with pytest.raises(Unsupported, match="an external model"):
        seed_variance(toy)


class _Foreign:
    spec = None


def test_only_the_full_profile_trains() -> None:
    scopes = {
        name: {str(entry("experiment", e.partition(":")[0]).facts["needs"]) for e in profile.experiments}
        for name, profile in PROFILES.items()
    }
    assert "training" in str(scopes["full"])
    assert "training" not in str([scopes["quick"], scopes["standard"]])


def test_an_audit_keeps_findings_and_reasons(tried: Tried, words_csv: Path, tmp_path: Path) -> None:
    place = str(tried.model.spec.name) if tried.model.spec else ""
    asked = [f"uniform_control:seeds=1,data={words_csv}", "seed_variance"]

    def once() -> list[Score]:
        run = audit(
            place, str(words_csv), out=tmp_path / "run", profile="quick", limit=6, device="cpu", metrics=["entropy"],
            explainers=["attention"], experiments=asked,
        )  # fmt: skip
        assert "training data of the network" in run.skipped["experiment seed_variance"]
        return [s for s in run.findings() if s.where["experiment"] == "uniform_control"]

    first = once()
    assert {s.metric for s in first} == {"accuracy", "uniform_gain", "control_correct"}
    assert [s.values.tolist() for s in once()] == [s.values.tolist() for s in first]  # found again, not trained again
