"""`regard.train`: families, a directory that survives a kill, imposed attention, terms that ask others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import toy_examples as toy
from killed import LEARNER, OPTIONS, family
from torch import Tensor

from regard.audits.audit import audit
from regard.datasets.examples import Examples
from regard.errors import InputError, RegardError, UnknownName
from regard.models.adapter import TorchModel
from regard.models.open.load import load
from regard.networks.checkpoint import load_checkpoint
from regard.networks.classifier import AttentionClassifier
from regard.networks.family import membership, read_family
from regard.networks.imposed import load_imposed
from regard.present.messages.messages import rendered
from regard.training.reference import open_reference
from regard.training.train import Trained, read_splits, train
from regard.training.train_one import Splits

DATA = toy.splits(toy.text)


def weights(folder: Path) -> dict[str, Tensor]:
    return load_checkpoint(folder)[0].state_dict()


def same(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    return all(torch.equal(a[name], b[name]) for name in a)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A family of three."""
    return family(tmp_path_factory.mktemp("trained") / "three")


def test_a_family_is_its_members_and_their_spread(three: Trained) -> None:
    found = read_family(three.directory)
    assert found.members == ("seed-0", "seed-1", "seed-2")
    values = [m["test"] for m in found.about["members"]]
    expected = {"mean": np.mean(values), "sd": np.std(values, ddof=1), "low": min(values), "high": max(values), "n": 3}
    assert found.about["test"] == pytest.approx(expected)
    assert three.spread("test") == pytest.approx(expected)
    dev = [m["dev"] for m in found.about["members"]]
    assert found.best == f"seed-{int(np.argmax(dev))}"
    assert found.about["test_examples"] == 20
    assert found.about["complete"]
    assert not (three.directory / "state").exists()
    assert not same(weights(three.directory / "seed-0"), weights(three.directory / "seed-1"))


def test_a_member_is_what_its_seed_gives_alone(three: Trained, tmp_path: Path) -> None:
    torch.rand(3)
    alone = train(LEARNER, DATA, out=tmp_path / "alone", seed=1, settings=OPTIONS)
    assert same(weights(alone.directory), weights(three.directory / "seed-1"))
    assert alone.members[0] == three.members[1]
    assert not (alone.directory / "state").exists()
    assert membership(alone.directory) is None


def test_a_family_opens_as_its_best_member_and_says_so(three: Trained) -> None:
    model = load(three.directory, device="cpu")
    assert isinstance(model, TorchModel)
    best = read_family(three.directory).best
    assert same(model.module.state_dict(), weights(three.directory / best))
    assert rendered(model.notes) == [f"family of 3: opened {best}, the best on dev"]
    assert model.name == f"three/{best}"


@pytest.mark.parametrize("opened", ["", "seed-1"], ids=["the family", "a member"])
def test_an_audit_knows_the_siblings(opened: str, three: Trained, tmp_path: Path) -> None:
    few = DATA.test.keep(DATA.test.items[:4])  # type: ignore[attr-defined]
    run = audit(
        str(three.directory / opened), few, out=tmp_path, explainers=["attention"], metrics=["comprehensiveness"]
    )
    told = run.manifest["model"]["family"]
    member = opened or read_family(three.directory).best
    assert (told["member"], told["of"], told["seed"]) == (member, 3, int(member[-1]))
    assert {*told["siblings"], member} == {"seed-0", "seed-1", "seed-2"}


def test_what_is_finished_is_not_trained_again(three: Trained) -> None:
    before = {p: p.stat().st_mtime_ns for p in three.directory.rglob("*") if p.is_file()}
    again = family(three.directory)
    assert again.again
    assert again.members == three.members
    assert {p: p.stat().st_mtime_ns for p in three.directory.rglob("*") if p.is_file()} == before


def test_killed_at_random_moments_it_ends_with_the_same_weights(three: Trained, tmp_path: Path) -> None:
    script = Path(__file__).with_name("killed.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "killed")], capture_output=True, text=True, check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert int(done.stdout) >= 3
    for member in ("seed-0", "seed-1", "seed-2"):
        assert same(weights(tmp_path / "killed" / member), weights(three.directory / member))
    assert json.loads((tmp_path / "killed/family.json").read_text()) == json.loads(
        (three.directory / "family.json").read_text()
    )


def test_a_directory_belongs_to_one_training(three: Trained, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"another training \(settings, rate: 0.01 there, 0.02 here\)"):
        train(LEARNER, DATA, out=three.directory, seeds=3, settings={**OPTIONS, "rate": 0.02})
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match=r"other files \(letter.txt\)"):
        family(tmp_path)
    with pytest.raises(InputError, match="a directory; got a file"):
        family(tmp_path / "letter.txt")


def test_two_at_once_are_one_too_many(tmp_path: Path) -> None:
    from regard.training.cache import locked

    with locked(tmp_path / "lock"), pytest.raises(InputError, match="no other process at work"):
        train(LEARNER, DATA, out=tmp_path, settings=OPTIONS)


def test_frozen_attention_is_that_of_the_other_model_by_id(three: Trained, tmp_path: Path) -> None:
    spec = "classifier:encoder=average,attention=frozen,size=16,hidden=8"
    train(spec, DATA, out=tmp_path, settings=OPTIONS, reference=three.directory)
    stored = load_imposed(tmp_path)
    assert len(stored) == 88
    base, words = load(three.directory, device="cpu"), load(tmp_path, device="cpu")
    for example in list(DATA.test)[:5]:
        (theirs,) = base.capture([base.encode(example)], [1]).sites
        (mine,) = words.capture([words.encode(example)], [1]).sites
        assert mine.dense().weights[0, 0, 0] == pytest.approx(theirs.dense().weights[0, 0, 0], abs=1e-5)
        assert stored[example.id] == pytest.approx(theirs.dense().weights[0, 0, 0], abs=1e-5)


def test_attention_and_predictions_of_an_audit_are_those_of_the_model(three: Trained, tmp_path: Path) -> None:
    member = three.directory / "seed-0"
    everything = Examples("toy", (*DATA.train, *DATA.dev, *DATA.test), ("no", "yes"))
    audit(str(member), everything, out=tmp_path / "run", explainers=["attention"], metrics=["comprehensiveness"])
    from regard.records import Spec
    from regard.registry import build

    learner = build(Spec.parse("learner", LEARNER))(DATA.train)
    asked, kept = open_reference(member), open_reference(tmp_path / "run")
    for what in ("attention", "predictions"):
        for a, b in zip(getattr(asked, what)(DATA.dev, learner), getattr(kept, what)(DATA.dev, learner), strict=True):
            assert b.numpy() == pytest.approx(a.numpy(), abs=1e-5)
    others = Splits(DATA.train, DATA.dev, toy.examples(toy.text, "other", 8))
    with pytest.raises(InputError, match=r"attention of every example; got none of example 'other0'"):
        train("classifier:attention=frozen,size=8", others, out=tmp_path / "x", reference=tmp_path / "run")


def test_the_adversary_answers_alike_and_looks_elsewhere(three: Trained, tmp_path: Path) -> None:
    """Wiegreffe & Pinter 2019: TVD - lambda KL, trained from scratch on another model's answers."""
    terms = {"prediction_distance": 1.0, "attention_distance": -0.1}
    options = {"epochs": 30, "batch_size": 16, "rate": 0.01, "patience": 30}
    member = three.directory / "seed-0"
    made = train(LEARNER, DATA, out=tmp_path / "adversary", terms=terms, settings=options, reference=member)
    assert made.members[0]["chosen_by"] == "dev_loss"
    from regard.records import Spec
    from regard.registry import build

    learner = build(Spec.parse("learner", LEARNER))(DATA.train)

    def compared(folder: Path) -> tuple[float, float]:
        one, two = open_reference(member), open_reference(folder)
        pairs = zip(one.predictions(DATA.test, learner), two.predictions(DATA.test, learner), strict=True)
        tvd = np.mean([0.5 * float((a - b).abs().sum()) for a, b in pairs])
        pairs = zip(one.attention(DATA.test, learner), two.attention(DATA.test, learner), strict=True)
        return float(tvd), float(np.mean([0.5 * float((a - b).abs().sum()) for a, b in pairs]))

    adversary, sibling = compared(made.directory), compared(three.directory / "seed-1")
    assert adversary[0] < 0.1
    assert adversary[1] > sibling[1] + 0.2


@pytest.mark.parametrize(("term", "more"), [("rationale_distance", True), ("hidden_mass", False)])
def test_attention_goes_where_the_loss_sends_it(term: str, more: bool, three: Trained, tmp_path: Path) -> None:
    options = {"epochs": 12, "batch_size": 16, "rate": 0.01, "patience": 12}
    terms = {"cross_entropy": 1.0, term: 1.0}
    made = train(LEARNER, DATA, out=tmp_path, terms=terms, settings=options)
    from regard.records import Spec
    from regard.registry import build
    from regard.training.rationale_mask import rationale_marks

    learner = build(Spec.parse("learner", LEARNER))(DATA.train)
    marks = rationale_marks(DATA.test, learner, "test")

    def mass(folder: Path) -> float:
        found = open_reference(folder).attention(DATA.test, learner)
        return float(np.mean([float((a * m).sum()) for a, m in zip(found, marks, strict=True)]))

    assert (mass(made.directory) > 0.9) if more else (mass(made.directory) < 0.1)
    assert made.members[0]["test_accuracy"] == 1.0


def test_hidden_words_by_name(tmp_path: Path) -> None:
    options = {"epochs": 8, "batch_size": 16, "rate": 0.01, "patience": 8}
    made = train(
        LEARNER, DATA, out=tmp_path, terms={"cross_entropy": 1, "hidden_mass": 2}, hide=["Film", "the"],
        settings=options,
    )  # fmt: skip
    model = load(made.directory, device="cpu")
    (site,) = model.capture([model.encode(next(iter(DATA.test)))], [1]).sites
    words = str(next(iter(DATA.test)).inputs["text"]).split()
    found = dict(zip(words, site.dense().weights[0, 0, 0], strict=True))
    assert found["film"] + found["the"] < 0.1


def test_class_weights_are_those_asked_for(tmp_path: Path) -> None:
    options = {"epochs": 1, "batch_size": 16}
    with pytest.raises(InputError, match=r"balanced, none, or 2 numbers above 0 \(no, yes\); got 1, 2, 3"):
        train(LEARNER, DATA, out=tmp_path / "a", class_weights=[1, 2, 3], settings=options)
    plain = train(LEARNER, DATA, out=tmp_path / "b", class_weights="none", settings=options)
    turned = train(LEARNER, DATA, out=tmp_path / "c", class_weights=[1.0, 9.0], settings=options)

    def yes(made: Trained) -> float:
        network = load_checkpoint(made.directory)[0]
        assert isinstance(network, AttentionClassifier)
        return network(torch.tensor([[3, 4, 5]])).softmax(-1)[0, 1].item()

    assert yes(turned) > yes(plain) + 0.05


REFUSED = {
    "no reference": ({"terms": {"attention_distance": 1.0}}, "term attention_distance.*Try: --from MODEL or RUN"),
    "frozen alone": ({"learner": "classifier:attention=frozen"}, "attention frozen.*Try: --from"),
    "no such reference": ({"reference": "nowhere"}, "regard train.*got no such directory"),
    "not a reference": ({"reference": "."}, "got another directory"),
    "unknown term": ({"terms": {"concity": 1.0}}, "Try: conicity"),
    "unknown setting": ({"settings": {"epoch": 3}}, "Try: epochs"),
    "half an epoch": ({"settings": {"epochs": 0.5}}, "setting epochs: expected a whole number"),
    "no rate": ({"settings": {"rate": 0}}, "a number above 0"),
    "no seeds": ({"seeds": 0}, "seeds: expected at least 1"),
    "unknown learner": ({"learner": "clasifier"}, "Try: classifier"),
    "attention of columns": (
        {"learner": "tabular", "data": toy.splits(toy.row), "terms": {"cross_entropy": 1.0, "conicity": 1.0}},
        "term conicity: expected a network with one attention over words.*Try: regard train classifier",
    ),
    "no rationale": (
        {"data": Splits(*[toy.labelled(part, lambda e: e.label) for part in (DATA.train, DATA.dev, DATA.test)]),  # type: ignore[arg-type]
         "terms": {"rationale_distance": 1.0}},
        "examples with a rationale; got none in toy",
    ),
    "empty dev": (
        {"data": Splits(DATA.train, DATA.dev.keep([]), DATA.test)},  # type: ignore[attr-defined]
        "at least one example in every split; got none",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_done_is_said(what: str, tmp_path: Path) -> None:
    given, says = REFUSED[what]
    arguments = {"learner": LEARNER, "data": DATA, "settings": OPTIONS, **given}
    with pytest.raises(RegardError, match=says):
        train(out=tmp_path, **arguments)  # type: ignore[arg-type]


def test_a_file_without_enough_rows_for_three_splits(tmp_path: Path) -> None:
    (tmp_path / "few.csv").write_text("text,label\na,0\nb,1\n")
    with pytest.raises(
        InputError, match=r"split of .*few.csv: expected at least one example; got none.*column 'split'"
    ):
        read_splits(tmp_path / "few.csv")
    with pytest.raises(UnknownName):
        train("classifer", tmp_path / "few.csv", out=tmp_path / "out")
