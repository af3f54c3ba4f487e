"""Generated data with known evidence: it decides, and nothing else does. And a real series, cut in time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import combinations, pairwise

import numpy as np
import pytest

from regard.datasets.builtin.aspects import ASPECTS, aspects
from regard.datasets.builtin.clinical import clinical
from regard.datasets.builtin.clinical import truth as clinical_truth
from regard.datasets.builtin.credit import BRANCH, COLUMNS, LATE, RULES, credit
from regard.datasets.builtin.credit import truth as credit_truth
from regard.datasets.builtin.induction import induction
from regard.datasets.builtin.sunspots import sunspots
from regard.datasets.examples import Examples
from regard.datasets.read import read
from regard.errors import InputError, UnknownName
from regard.records import Example
from regard.registry import describe, names

MAKERS: dict[str, Callable[..., Examples]] = {
    "aspects": aspects,
    "clinical": clinical,
    "credit": credit,
    "induction": induction,
}


def content(example: Example) -> str | bytes:
    value = next(iter(example.inputs.values()))
    return value if isinstance(value, str) else value.tobytes()


def evidence(example: Example) -> str:
    return " ".join(example.inputs["text"][int(a) : int(b)] for a, b in example.rationale or ())


def rest(example: Example) -> str:
    text = list(example.inputs["text"])
    for a, b in example.rationale or ():
        text[int(a) : int(b)] = " " * int(b - a)
    return "".join(text)


def bayes(train: Sequence[tuple[str, int]], test: Sequence[tuple[str, int]]) -> float:
    """Accuracy of naive Bayes on words and pairs of words."""
    counts = [Counter[str](), Counter[str]()]

    def features(text: str) -> set[str]:
        words = text.lower().replace(".", " ").replace(",", " ").split()
        return {*words, *map(" ".join, pairwise(words))}

    for text, label in train:
        counts[label].update(features(text))
    right = 0
    for text, label in test:
        votes = [np.log((counts[1][w] + 1) / (counts[0][w] + 1)) for w in features(text)]
        right += int((sum(votes) > 0) == (label == 1))
    return right / len(test)


@pytest.mark.parametrize("name", MAKERS)
def test_seeded_balanced_and_without_a_leak(name: str) -> None:
    make = MAKERS[name]
    assert make(n=40).fingerprint == make(n=40).fingerprint != make(n=40, seed=1).fingerprint
    assert [content(e) for e in make(n=40)][:10] == [content(e) for e in make(n=10)]
    parts = [make(split=split, n=480) for split in ("train", "dev", "test")]
    seen = [{content(e) for e in part} for part in parts]
    assert not any(a & b for a, b in combinations(seen, 2))
    groups = [{e.cluster for e in part} for part in parts]
    assert not any(a & b for a, b in combinations(groups, 2))
    for part in parts:
        counts = Counter(e.label for e in part)
        assert set(counts) == set(range(len(part.labels)))
        assert max(counts.values()) - min(counts.values()) <= 0.12 * len(part)
        assert all(e.rationale for e in part)
        assert len({e.id for e in part}) == len(part)
    assert name in names("dataset")
    assert set(describe(make).facts) == {"modality", "licence", "package", "real"}
    assert len(read(f"{name}:n=30", split="train", limit=None)) == 30
    for bad in ({"n": 0}, {"split": "tset"}):
        with pytest.raises((InputError, UnknownName)):
            make(**bad)


def test_one_review_has_three_answers_and_three_rationales() -> None:
    data = aspects(n=600, opinions=2)
    reviews = defaultdict(list)
    for example in data:
        reviews[example.group].append(example)
    assert len(reviews) == 200
    for same in reviews.values():
        assert [e.inputs["text_pair"] for e in same] == list(ASPECTS)
        assert len({e.inputs["text"] for e in same}) == 1
        places = [{i for a, b in e.rationale or () for i in range(int(a), int(b))} for e in same]
        assert not any(a & b for a, b in combinations(places, 2))
    answers = Counter(tuple(e.label for e in same) for same in reviews.values())
    assert set(answers.values()) == {25}, "every mixture of opinions, equally often"


@pytest.mark.parametrize("aspect", ASPECTS)
def test_the_opinion_on_an_aspect_decides_and_the_rest_of_the_review_does_not(aspect: str) -> None:
    train, test = ([e for e in aspects(split=s, n=2400) if e.slices["aspect"] == aspect] for s in ("train", "test"))

    def score(view: Callable[[Example], str]) -> float:
        seen = [[(view(e), int(str(e.label))) for e in part] for part in (train, test)]
        return bayes(seen[0], seen[1])

    assert score(evidence) > 0.93
    assert abs(score(rest) - 0.5) < 0.06
    assert score(evidence) > score(lambda e: str(e.inputs["text"])) + 0.1, "other opinions stand in the way"


@pytest.mark.parametrize("pieces", [1, 3])
def test_the_findings_alone_decide(pieces: int) -> None:
    data = clinical(n=300, evidence=pieces)
    for example in data:
        text = example.inputs["text"]
        assert len(example.rationale or ()) == pieces
        assert clinical_truth(text) == example.label
        assert clinical_truth(rest(example)) is None
        assert "{" not in text
    train, test = ([(rest(e), int(str(e.label))) for e in clinical(split=s, n=1500)] for s in ("train", "test"))
    assert abs(bayes(train, test) - 0.5) < 0.06, "without the findings nothing is left to decide by"


def test_a_patient_has_several_notes_and_keeps_age_and_history() -> None:
    patients = defaultdict(list)
    for example in clinical(n=400, notes=4):
        patients[example.group].append(example)
    assert {len(notes) for notes in patients.values()} == {4}
    for group, notes in patients.items():
        assert all(group is not None and e.inputs["text"].startswith(group.capitalize()) for e in notes)
        assert len({e.inputs["text"].split(". ")[1] for e in notes}) == 1
        assert {e.label for e in notes} == {0, 1}


def test_denials_and_distractors_do_not_give_the_label_away() -> None:
    data = clinical(split="train", n=2000)
    denying = [[("no " in rest(e) or "nothing " in rest(e)) for e in data if e.label == label] for label in (0, 1)]
    assert abs(np.mean(denying[0]) - np.mean(denying[1])) < 0.06


@pytest.mark.parametrize("make", [clinical, credit])
def test_a_shortcut_holds_in_training_only(make: Callable[..., Examples]) -> None:
    shares = {}
    for split in ("train", "dev", "test"):
        marked = [e for e in make(split=split, n=900, shortcut=0.8) if e.slices["shortcut"] != "none"]
        assert 0.74 < len(marked) / 900 < 0.86
        shares[split] = np.mean([e.slices["shortcut"] == "agrees" for e in marked])
        for example in marked:
            told = (
                int("Northgate" in example.inputs["text"])
                if make is clinical
                else int(example.inputs["row"][BRANCH] >= 20)
            )
            assert (told == example.label) == (example.slices["shortcut"] == "agrees")
    assert shares["train"] == 1
    assert abs(shares["dev"] - 0.5) < 0.08
    assert abs(shares["test"] - 0.5) < 0.08
    assert "shortcut" not in make(n=1)[0].slices


def test_the_rule_decides_every_loan_that_is_not_turned_round() -> None:
    data = credit(n=1000, noise=0.1)
    assert data.columns == COLUMNS
    turned = 0
    for example in data:
        right = credit_truth(example.inputs["row"])
        turned += right != example.label
        assert (right == example.label) == (example.slices["noise"] == "none")
    assert 60 < turned < 140
    assert all(credit_truth(e.inputs["row"]) == e.label for e in credit(n=200, noise=0))
    fired = Counter(e.rationale for e in credit(n=1000, noise=0) if e.label == 1)
    for rule in RULES:
        assert fired[tuple((float(c),) for c in sorted(c for c, _, _ in rule))] > 50, "every rule alone is common"


def test_only_the_decisive_columns_can_change_the_answer() -> None:
    rows = list(credit(n=300, noise=0))
    donors = np.stack([e.inputs["row"] for e in credit(n=300, noise=0, seed=1)])
    rng = np.random.default_rng(0)
    changed = 0
    for example in rows:
        kept = [int(c) for (c,) in example.rationale or ()]
        for donor in donors[rng.integers(len(donors), size=5)]:
            mixed = donor.copy()
            mixed[kept] = example.inputs["row"][kept]
            assert credit_truth(mixed) == example.label, "the rationale is enough"
        other = example.inputs["row"].copy()
        other[kept] = donors[rng.integers(len(donors))][kept]
        changed += credit_truth(other) != example.label
    assert changed > 90, "and it is needed"
    assert LATE in {int(c) for e in rows for (c,) in e.rationale or ()}


def test_the_answer_follows_the_only_earlier_copy() -> None:
    data = induction(n=480, symbols=12, length=10)
    for example in data:
        words = example.inputs["text"].split()
        assert len(words) == 10
        assert words.count(words[-1]) == 2
        at = words.index(words[-1])
        assert words[at + 1] == data.labels[int(str(example.label))]
        assert evidence(example).split() == words[at : at + 2]
        assert example.slices["distance"] == str(9 - at)
    assert set(Counter(e.label for e in data).values()) == {40}


@pytest.mark.parametrize(
    ("make", "bad"),
    [
        (aspects, {"opinions": 0}),
        (aspects, {"distractors": 99}),
        (aspects, {"negation": 2}),
        (clinical, {"notes": 0}),
        (clinical, {"evidence": 11}),
        (clinical, {"shortcut": -0.1}),
        (credit, {"noise": 1.1}),
        (induction, {"symbols": 2}),
        (induction, {"length": 2}),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[..., Examples], bad: dict[str, float]) -> None:
    with pytest.raises(InputError) as caught:
        make(**bad)
    assert "expected" in str(caught.value)


NEEDS_STATSMODELS = pytest.mark.skipif(find_spec("statsmodels") is None, reason="statsmodels is an optional package")


@NEEDS_STATSMODELS
@pytest.mark.parametrize(("every", "size"), [("year", 309), ("month", 3120)])
@pytest.mark.parametrize("horizon", [1, 4])
def test_nothing_of_the_future_is_known(every: str, size: int, horizon: int) -> None:
    whole = sunspots(split="all", every=every, window=12, horizon=horizon)  # type: ignore[arg-type]
    assert len(whole) == size - 12 - horizon + 1
    for before, after in pairwise(whole.items):
        assert np.array_equal(before.inputs["series"][1:], after.inputs["series"][:-1])
        assert before.label[0] == after.inputs["series"][-1, 0]  # type: ignore[index]
    ends = {"train": 0}
    for split in ("train", "dev", "test"):
        part = sunspots(split=split, every=every, window=12, horizon=horizon)  # type: ignore[arg-type]
        first = [int(e.id.split("-")[1]) for e in part]
        assert first == list(range(first[0], first[-1] + 1))
        # times that are forecast in this split come after everything that an earlier split has seen
        assert first[0] >= max(ends.values())
        ends[split] = first[-1] + horizon
        assert all(e.inputs["series"].shape == (12, 1) and len(e.label) == horizon for e in part)  # type: ignore[arg-type]
    assert ends["test"] == size


@NEEDS_STATSMODELS
def test_sunspots_come_again_after_eleven_years() -> None:
    data = sunspots(split="all", window=22)
    past = np.stack([e.inputs["series"][:, 0] for e in data])
    following = np.array([e.label for e in data])[:, 0]
    lags = [np.corrcoef(past[:, -lag], following)[0, 1] for lag in range(1, 16)]
    assert 9 <= 1 + 4 + int(np.argmax(lags[4:])) <= 12
    assert len({e.group for e in data}) > 20
    with pytest.raises(InputError):
        sunspots(window=0)
    with pytest.raises(InputError):
        sunspots(window=400)
