"""The built-in data: sizes, balance, no leak between splits; and the truth of what is planted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from itertools import product

import numpy as np
import pytest

from regard.datasets.builtin.cancer import cancer
from regard.datasets.builtin.digits import digits
from regard.datasets.builtin.documents import documents
from regard.datasets.builtin.planted import DISTRACTORS, KEYWORDS, NEGATION, SHORTCUTS, planted, truth
from regard.datasets.builtin.planted_patches import planted_patches, sign
from regard.datasets.builtin.planted_segments import planted_segments, shape
from regard.datasets.builtin.power import power
from regard.datasets.builtin.reviews import reviews
from regard.datasets.examples import Examples
from regard.datasets.read import read
from regard.datasets.series_file import parse_ts
from regard.datasets.splits import normalised
from regard.errors import InputError, UnknownName
from regard.present.messages.messages import rendered
from regard.records import Example
from regard.registry import describe, names

pytestmark = pytest.mark.wording  # reads the words of pages, tables or notes

Maker = Callable[..., Examples]
REAL: dict[str, tuple[Maker, int, int]] = {
    # examples in all, classes
    "reviews": (reviews, 8528, 2),
    "documents": (documents, 24901, 2),
    "digits": (digits, 1797, 10),
    "cancer": (cancer, 569, 2),
    "power": (power, 1096, 2),
}
GENERATED: dict[str, Maker] = {
    "planted": planted,
    "planted_patches": planted_patches,
    "planted_segments": planted_segments,
}


def content(example: Example) -> str | bytes:
    (value,) = example.inputs.values()
    return normalised(value) if isinstance(value, str) else value.tobytes()


NEEDS_SKTIME = pytest.mark.skipif(find_spec("sktime") is None, reason="sktime is an optional package")


@pytest.mark.parametrize("name", [pytest.param(n, marks=NEEDS_SKTIME) if n == "power" else n for n in REAL])
def test_real_data_has_its_size_its_classes_and_no_leak(name: str) -> None:
    make, size, classes = REAL[name]
    parts = [make(split=s) for s in ("train", "dev", "test")]
    assert sum(map(len, parts)) == len(make(split="all")) == size
    shares = (0.6, 0.1, 0.3) if name == "cancer" else (0.8, 0.1, 0.1)  # a small table
    for part, share in zip(parts, shares, strict=True):
        assert abs(len(part) / size - share) < 0.03
        assert {e.label for e in part} == set(range(classes))
        assert len(part.labels) == classes
        assert any("MIT" in note or "BSD" in note for note in rendered(part.notes)), "the licence is shown"
    seen = [{content(e) for e in part} for part in parts]
    assert not seen[0] & seen[1]
    assert not seen[0] & seen[2]
    assert not seen[1] & seen[2]
    assert sum(map(len, seen)) == size, "nothing twice"
    assert len({e.id for part in parts for e in part}) == size
    few = make(split="test", n=20, seed=1)
    assert len(few) == 20
    assert {e.id for e in few} <= {e.id for e in parts[2]}


def test_arrays_have_the_shapes_and_ranges_that_are_promised() -> None:
    images = np.stack([e.inputs["image"] for e in digits(split="all")])
    assert (images.shape[1:], images.min(), images.max()) == ((8, 8), 0.0, 1.0)
    rows = cancer()
    assert len(rows.columns) == 30 == len(set(rows.columns))
    # a malignant tumour is bigger: the columns and the names of the classes stand in the right order
    area = rows.columns.index("worst area")
    sizes = [np.mean([e.inputs["row"][area] for e in rows if e.label == label]) for label in (0, 1)]
    assert rows.labels[0] == "malignant"
    assert sizes[0] > 2 * sizes[1]


@NEEDS_SKTIME
def test_the_evening_peak_comes_later_in_summer() -> None:
    days = power(split="all")
    peak = [np.mean([e.inputs["series"][18:20, 0].mean() for e in days if e.label == label]) for label in (0, 1)]
    assert days.labels[1] == "April to September"
    assert peak[0] > peak[1] + 0.5


SETTINGS = [
    {"evidence": evidence, "negation": negation, "distractors": distractors, "shortcut": shortcut}
    for evidence, negation, distractors, shortcut in product((1, 3), (0.0, 0.5), (0, 2), (0.0, 0.9))
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(str(v) for v in s.values()))
@pytest.mark.parametrize("split", ["train", "test"])
def test_the_planted_words_alone_decide(settings: dict[str, float], split: str) -> None:
    data = planted(split=split, n=60, length=18, **settings)  # type: ignore[arg-type]
    assert Counter(e.label for e in data) == {0: 30, 1: 30}
    for example in data:
        text = example.inputs["text"]
        spans = [(int(a), int(b)) for a, b in example.rationale or ()]
        words = [text[a:b] for a, b in spans]
        assert len(text.split()) == 18
        assert all(w == NEGATION or w in KEYWORDS[0] + KEYWORDS[1] for w in words), "spans point at whole words"
        assert sum(w != NEGATION for w in words) == settings["evidence"]
        assert truth(text) == example.label
        assert truth(" ".join(words)) == example.label, "the evidence alone determines the label"
        rest = list(text)
        for a, b in spans:
            rest[a:b] = " " * (b - a)
        assert truth("".join(rest)) is None, "without the evidence nothing is left to decide by"
        for kept in (spans[i : i + 2] if NEGATION in words else spans[i : i + 1] for i in range(len(spans))):
            piece = " ".join(text[a:b] for a, b in kept)
            if piece.split()[0] == NEGATION or NEGATION not in words:
                assert truth(piece) == example.label, "every piece of evidence backs the others up"
        assert sum(w in DISTRACTORS for w in text.split()) == settings["distractors"]


def test_a_shortcut_holds_in_training_only() -> None:
    shares = {}
    for split in ("train", "dev", "test"):
        with_day = [e for e in planted(split=split, n=600, shortcut=0.9) if e.slices["shortcut"] != "none"]
        assert all(any(day in e.inputs["text"] for day in SHORTCUTS) for e in with_day)
        assert 0.85 < len(with_day) / 600 < 0.95
        shares[split] = np.mean([SHORTCUTS[int(str(e.label))] in e.inputs["text"].split() for e in with_day])
    assert shares["train"] == 1
    assert abs(shares["dev"] - 0.5) < 0.08
    assert abs(shares["test"] - 0.5) < 0.08


def test_fillers_and_distractors_say_nothing_about_the_label() -> None:
    data = planted(split="train", n=2000, distractors=1)
    words = [Counter(w for e in data if e.label == label for w in set(e.inputs["text"].split())) for label in (0, 1)]
    free = [w for w in words[0] | words[1] if w not in KEYWORDS[0] + KEYWORDS[1]]
    gaps = [abs(words[0][w] - words[1][w]) / np.sqrt(words[0][w] + words[1][w]) for w in free]
    assert max(gaps) < 4.5
    common = (words[0] + words[1]).most_common(1)[0][1]
    assert common > 10 * np.median([(words[0] + words[1])[w] for w in free]), "a power law: few words are very common"


def test_the_planted_patch_alone_decides() -> None:
    for example in planted_patches(n=60, distractors=2):
        top, left, bottom, right = map(int, example.rationale[0] if example.rationale else ())
        image = example.inputs["image"]
        patch = image[top:bottom, left:right]
        fits = [bool(((patch == 1) == (sign(label, 4) > 0)).all()) for label in (0, 1)]
        assert fits == [example.label == 0, example.label == 1]
        for r, c in product(range(0, 16, 4), repeat=2):
            other = image[r : r + 4, c : c + 4]
            if (r, c) != (top, left):
                assert not any(((other == 1) == (sign(label, 4) > 0)).all() for label in (0, 1)), "nowhere else"
        assert image.min() >= 0
        assert image.max() <= 1


def test_the_planted_segment_alone_decides() -> None:
    right = 0
    for example in planted_segments(n=200, channels=2):
        start, end = map(int, example.rationale[0] if example.rationale else ())
        series = example.inputs["series"]
        errors = [float(((series[start:end, 0] - shape(label, 8)) ** 2).sum()) for label in (0, 1)]
        right += int(np.argmin(errors)) == example.label
        rest = np.delete(series, np.s_[start:end], axis=0)
        assert abs(rest).max() < 0.8
    assert right == 200


@pytest.mark.parametrize("name", GENERATED)
def test_generators_are_seeded_prefixes_of_themselves_and_disjoint_by_split(name: str) -> None:
    make = GENERATED[name]
    assert make(n=40).fingerprint == make(n=40).fingerprint != make(n=40, seed=1).fingerprint
    assert make(n=40).items[:10][3].id == make(n=10)[3].id
    assert [content(e) for e in make(n=10)] == [content(e) for e in make(n=40)][:10]
    parts = [{content(e) for e in make(split=s, n=300)} for s in ("train", "dev", "test")]
    assert len(parts[0] | parts[1] | parts[2]) == 900
    with pytest.raises(UnknownName, match="split"):
        make(split="tset")
    with pytest.raises(InputError):
        make(n=0)


@pytest.mark.parametrize(
    ("make", "bad"),
    [
        (planted, {"length": 3, "evidence": 2, "distractors": 2}),
        (planted, {"evidence": 0}),
        (planted, {"evidence": 9}),
        (planted, {"negation": 1.5}),
        (planted, {"distractors": 99}),
        (planted, {"length": 1, "n": 500}),
        (planted_patches, {"size": 10}),
        (planted_patches, {"distractors": 16}),
        (planted_patches, {"patch": 0}),
        (planted_segments, {"steps": 30}),
        (planted_segments, {"channels": 0}),
    ],
)
def test_generators_refuse_what_cannot_be(make: Maker, bad: dict[str, float]) -> None:
    with pytest.raises(InputError) as caught:
        make(**bad)
    assert "expected" in str(caught.value)


def test_the_phone_book_knows_them_all_and_read_opens_them() -> None:
    assert {*REAL, *GENERATED} <= set(names("dataset"))
    for make in (*(make for make, _, _ in REAL.values()), *GENERATED.values()):
        assert set(describe(make).facts) == {"modality", "licence", "package", "real"}
    data = read("reviews", limit=50)
    assert len(data) == 50
    assert rendered(data.notes)[-1].startswith("50 of 8")
    assert max(Counter(e.label for e in data).values()) <= 27, "balanced as the whole"
    assert len(read("planted:n=30,length=9", split="train", limit=None)) == 30
    assert read("planted", split="train", limit=5)[0].id.startswith("train-")
    assert read("digits", labels=list("abcdefghij"), limit=3).labels == tuple("abcdefghij")


def test_ts_files_with_channels_and_their_errors() -> None:
    ((series, label),) = parse_ts("# comment\n@data\n1,2,3:4,5,6:yes\n")
    assert series.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert label == "yes"
    with pytest.raises(InputError, match="line 1"):
        parse_ts("1,x:yes")
