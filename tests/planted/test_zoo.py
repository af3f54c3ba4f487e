"""The zoo: texts, the table of truth, and a few planted models from construction to verdict."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from benchmarks import truth as bench

from regard.datasets.builtin.planted_texts import KEYS, LENGTHS, SILENT, planted_texts, words
from regard.models.adapter import TorchModel
from regard.models.open.load import load
from regard.planted.growing.grow import certificate_of, deciding, home, vocabulary
from regard.planted.growing.heads import Headed
from regard.planted.growing.networks import Planted
from regard.planted.growing.recipe import READER, Recipe
from regard.planted.growing.rows import Marked
from regard.planted.growing.truth import QUESTIONS, Stand, certified, table, truth_of, zoo
from regard.records import Message
from regard.registry import entry, names

SIZES = ("s", "m", "l")


# ---------------------------------------------------------------------- texts


@pytest.mark.parametrize("size", SIZES)
def test_texts_are_of_their_size_and_their_words_known(size: str) -> None:
    known = words(size)  # type: ignore[arg-type]
    assert len(known) == len(set(known))
    data = planted_texts(n=60, size=size, task="decoy")  # type: ignore[arg-type]
    low, high = LENGTHS[size]
    lengths = {len(str(e.inputs["text"]).split()) for e in data}
    assert min(lengths) >= low
    assert max(lengths) <= high
    assert {w for e in data for w in str(e.inputs["text"]).split()} <= set(known)


def marked(example: object) -> list[str]:
    text = str(example.inputs["text"])  # type: ignore[attr-defined]
    return [text[int(a) : int(b)] for a, b in example.rationale or ()]  # type: ignore[attr-defined]


def test_the_marked_words_decide() -> None:
    for e in planted_texts(n=80, task="neutral"):
        found = marked(e)
        assert (len(found) == 1 and found[0] in KEYS[int(str(e.label))]) or (
            not found and e.slices["evidence"] == "none"
        )
    bare = np.mean([not e.rationale for e in planted_texts(n=400, task="neutral")])
    assert abs(bare - SILENT) < 0.06
    for e in planted_texts(n=40, task="match"):
        one, two = sorted(marked(e), key=lambda w: w in KEYS[1])
        assert (KEYS[0].index(one) == KEYS[1].index(two)) == bool(e.label)
    for e in planted_texts(n=40, task="place"):
        assert marked(e) == [str(e.inputs["text"]).split()[2]]
    for e in planted_texts(n=40, task="majority"):
        present = str(e.inputs["text"]).split()
        votes = [sum(w in keys for w in present) for keys in KEYS[:2]]
        assert votes.index(max(votes)) == e.label
        assert all(w in KEYS[int(str(e.label))] for w in marked(e))
    assert {bool(e.rationale) == bool(e.label) for e in planted_texts(n=40, task="absence")} == {True}


def test_no_text_is_in_two_splits() -> None:
    parts = [{e.inputs["text"] for e in planted_texts(split=s, n=150, task="single")} for s in ("train", "test")]
    assert not parts[0] & parts[1]


# ---------------------------------------------------------------------- the table


def test_every_construction_says_what_is_expected_and_why() -> None:
    known = set(names("planted"))
    for name, said in table().items():
        if name in ("version", "certificate", "halves"):
            continue
        assert name in known, name
        assert said["made"]
        earlier = "map" if said["map"][0] == "fails" else "matter" if said.get("matter", [""])[0] == "fails" else ""
        asked = {"map": ("map",), "matter": ("map", "matter"), "": QUESTIONS}[earlier]
        assert set(said) - {"made", "reading", "head", "kind"} == set(asked), name
        for q in (*asked, "reading"):
            answer, because = said[q]
            assert because, f"{name}.{q} without the construction that makes it so"
            if q != "reading":
                assert answer in ("holds", "fails", "mixed", "uninformative", "open", "certificate")
    assert known <= set(table())


def test_the_halves_share_no_model_and_the_sealed_one_has_constructions_of_its_own() -> None:
    halves = {half: zoo(half) for half in ("dev", "sealed")}
    keys = {half: {s.key for s in some} for half, some in halves.items()}
    assert not keys["dev"] & keys["sealed"]
    assert all(len(keys[half]) == len(halves[half]) for half in halves)
    kinds = {half: {s.name for s in some} for half, some in halves.items()}
    assert len(kinds["sealed"] - kinds["dev"]) >= 3
    seeds = {half: {s.params.get("seed") for s in some} for half, some in halves.items()}
    assert not seeds["dev"] & seeds["sealed"]
    for stand in (*halves["dev"], *halves["sealed"]):
        known = {p.name for p in entry("planted", stand.name).parameters}
        assert set(stand.params) <= known, stand.key
    scored = [q for s in halves["sealed"] for q in QUESTIONS if table()[s.name].get(q, ["open"])[0] != "open"]
    assert len(scored) >= 150


def facts(hit: float, mass: float, need: float = 0.5, n: int = 100, top: float | None = None) -> dict[str, float]:
    return {"n": n, "need": need, "swap": 1.0, "hit": hit, "mass": mass, "top": hit if top is None else top}


def paper(*classes: dict[str, float], permuted: float | None = 0.3, accuracy: float = 1.0) -> dict[str, object]:
    return {
        "accuracy": accuracy, "classes": {str(i): c for i, c in enumerate(classes)}, "permuted": permuted,
        "flips": permuted,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("paper_", "points", "same", "matter"),
    [
        (paper(facts(1, 1), facts(0.9, 0.5)), "holds", "holds", "holds"),
        (paper(facts(0, 0), facts(0.1, 0.2)), "fails", "holds", "holds"),
        (paper(facts(1, 1), facts(0, 0)), "mixed", "fails", "holds"),
        (paper(facts(1, 1), facts(0, 0, need=0.01)), "holds", "uninformative", "holds"),
        (paper(facts(1, 1), facts(0, 0, n=0)), "holds", "uninformative", "holds"),
        (paper(facts(0.5, 0.6), facts(0.6, 0.5)), "mixed", "open", "holds"),
        (paper(facts(0.1, 0.5), facts(1, 1)), "open", "open", "holds"),
        (paper(facts(0.9, 0.9, top=0.4), facts(1, 1)), "open", "open", "holds"),
        (paper(facts(0.2, 0.2, top=0.9), facts(0, 0)), "open", "open", "holds"),
        (paper(facts(1, 1), facts(1, 1), permuted=0.001), "holds", "holds", "fails"),
        (paper(facts(1, 1), facts(1, 1), permuted=0.04), "holds", "holds", "open"),
    ],
)
def test_certificates_say_what_the_table_says_they_say(
    paper_: dict[str, object], points: str, same: str, matter: str
) -> None:
    assert certified(paper_) == {"points": points, "same": same, "matter": matter}


def test_truth_follows_from_table_and_certificate() -> None:
    right = paper(facts(1, 1), facts(1, 1))
    found = truth_of("guided", right)
    assert found.left_out == ""
    assert found.readings == ("read as evidence",)
    assert [found.cells[q] for q in QUESTIONS] == ["holds", "holds", "holds", "holds", "open", "holds"]
    unlike = truth_of("guided", paper(facts(0, 0), facts(0, 0))).left_out
    assert isinstance(unlike, Message)
    assert (unlike.params["question"], unlike.params["stated"]) == ("points", "holds")
    weak = truth_of("guided", paper(facts(1, 1), facts(1, 1), accuracy=0.7)).left_out
    assert isinstance(weak, Message)
    assert weak.key == "planted_unlike.accuracy"
    hidden = paper(facts(0, 0), facts(0, 0), permuted=0.001)
    found = truth_of("pruthi", hidden)
    assert found.cells["matter"] == "fails"
    assert found.silenced == {"points", "agree", "exclusive", "same"}
    assert found.readings == ("nothing to read",)
    assert truth_of("pruthi", paper(facts(0, 0), facts(0, 0), permuted=0.04)).readings == (
        "do not read", "nothing to read"
    )  # fmt: skip
    assert truth_of("plain", paper(facts(1, 1), facts(0, 0))).readings == ("debugging only",)
    assert truth_of("flat", paper(facts(1, 1), facts(1, 1), accuracy=0.6)).left_out == "", "it may err"
    assert truth_of("one_key", None).readings == ("nothing to read",)


# ---------------------------------------------------------------------- scores


def said(name: str, answers: dict[str, str], reading: str, paper_: dict[str, object] | None) -> bench.Row:
    blank = dict.fromkeys(QUESTIONS, "uninformative")
    return bench.Row(Stand("dev", name, {}, None), truth_of(name, paper_), {**blank, **answers}, reading, {})


def test_the_two_figures_are_counted_right() -> None:
    right = paper(facts(1, 1), facts(1, 1))
    rows = [
        said("guided", {"map": "holds", "matter": "holds", "points": "fails", "agree": "mixed", "exclusive": "fails"},
             "do not read", right),
        said("ornament", {"map": "holds", "matter": "fails"}, "nothing to read",
             paper(facts(1, 1), facts(1, 1), permuted=0.0)),
        said("one_key", {"map": "fails", "points": "holds"}, "undecided", None),
        said("guided", {"points": "fails"}, "do not read", paper(facts(0, 0), facts(0, 0))),
    ]  # fmt: skip
    found = bench.scored(rows)
    assert found["models"] == 3
    assert list(found["left_out"]) == ["planted:guided"]
    # guided: map, matter, points, agree, same (exclusive is open); ornament: map, matter; one_key: map and what should
    # not have been answered
    assert found["cells"] == 9
    assert found["wrong"]["count"] == 2
    assert (found["power"]["count"], found["power"]["n"]) == (5, 8)
    assert found["wrong_readings"]["count"] == 1
    assert found["tables"]["points"]["holds"]["fails"] == 1
    assert not bench.met(found)
    text = bench.shown("dev", found, rows)
    assert "WRONG: planted:guided points: holds by construction, said fails" in text
    assert "left out: planted:guided: points should be holds" in text


def test_opening_the_sealed_half_is_written_down_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "OPENINGS", tmp_path / "log")

    def stop(stand: Stand, n: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "evidence", stop)
    for arguments, written in ((["--half", "sealed", "--limit", "2"], 1), (["--half", "sealed", "--grow"], 1)):
        with pytest.raises(KeyboardInterrupt):
            bench.main(arguments)
        assert bench.openings() == written
    line = (tmp_path / "log").read_text("utf-8")
    assert "2 models: python -m benchmarks.truth --half sealed --limit 2" in line


def test_what_is_shipped_is_what_was_measured() -> None:
    if not bench.SHIPPED.is_file():
        pytest.skip("the sealed half was not measured yet")
    shipped, measured = (json.loads(p.read_text("utf-8")) for p in (bench.SHIPPED, bench.RESULTS))
    assert shipped["wrong"] == measured["sealed"]["wrong"]
    assert shipped["power"] == measured["sealed"]["power"]
    assert shipped["openings"] <= bench.openings()


# ---------------------------------------------------------------------- constructions


def test_evidence_reaches_the_class_token_through_one_head_alone() -> None:
    """Exactly: without that head's weight on the keyword, no keyword changes any number of the answer."""
    recipe = Recipe("neutral", encoder="transformer", heads=4, layers=2, hides=True)
    known = vocabulary("s")
    torch.manual_seed(0)
    network = Headed(recipe, len(known), 2, 16).eval()
    keys = deciding(recipe, "s")
    for some in keys:
        network.evidence[some] = True
    tokens = torch.tensor([[len(known), 7, 9, keys[0][0], 12, 5]])
    other = tokens.clone()
    other[0, 3] = keys[1][0]
    with torch.no_grad():
        assert not torch.allclose(network(tokens), network(other))
        network._open = lambda t, real, number: Headed._open(network, t, real, -1)  # type: ignore[method-assign]
        assert torch.equal(network(tokens), network(other))
    assert recipe.heads > READER


@pytest.mark.parametrize(
    ("pull", "expected"),
    [
        ("evidence", [0, 0, 1, 0, 0]), ("first", [0, 0, 1, 0, 0]), ("neighbour", [0, 0, 0, 1, 0]),
        ("half", [0, 0.5, 0.5, 0, 0]), ("decoy", [0, 1, 0, 0, 0]), ("one_sided", [0, 0, 1, 0, 0]), ("", [0] * 5),
    ],
)  # fmt: skip
def test_what_attention_is_taught(pull: str, expected: list[float]) -> None:
    evidence, decoys = np.eye(5, dtype=bool)[2], np.eye(5, dtype=bool)[1]
    rows = Marked((np.arange(3, 8),), (evidence,), (decoys,), np.array([1]), pull)  # type: ignore[arg-type]
    batch = rows.batch(np.array([0]), None)
    assert batch.beside["taught"][0].tolist() == expected
    wrong = Marked((np.arange(3, 8),), (evidence,), (decoys,), np.array([0]), "one_sided").batch(np.array([0]), None)
    assert wrong.beside["taught"].sum() == 0
    assert wrong.beside["hidden"][0].tolist() == evidence.tolist()


def test_what_goes_past_is_all_there_is_where_attention_is_idle() -> None:
    torch.manual_seed(0)
    tokens = torch.tensor([[5, 9, 12, 20]])
    for through, reaches in ((0.0, False), (1.0, True)):
        network = Planted(Recipe("neutral", through=through, beside=True), 64, 2, 16).eval()
        reading = network.read(tokens)
        real = tokens > 0
        moved = network.answer(reading.states[:, 0], reading.states, real)
        assert torch.allclose(moved, reading.logits) != reaches


# ---------------------------------------------------------------------- from construction to verdict


def judged_rightly(stand: Stand, place: Path, n: int = 64) -> bench.Row:
    run, model = bench.evidence(stand, n, place / "run")
    row = bench.judged(stand, run, model, rounds=False)
    early = bench.judged(stand, run, model)
    assert early.reading in row.truth.readings
    assert early.examples <= row.examples
    assert row.truth.left_out == ""
    assert row.reading in row.truth.readings
    for question, truth, answer in row.cells():
        assert answer == truth, f"{question}: {row.rules}"
    return row


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one_key", "unused", "decides"])
def test_what_was_set_by_hand_is_judged_rightly(name: str, tmp_path: Path) -> None:
    """Evidence, store, judge, truth; nothing is trained."""
    judged_rightly(next(s for s in zoo("dev") if s.name == name), tmp_path)


@pytest.mark.slow
def test_what_grows_is_what_its_name_says_is_found_again_and_judged_rightly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attention beside the evidence: trained here and now, however full the cache is."""
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    stand = next(s for s in zoo("dev") if s.key == "planted:neighbour:size=s,seed=0")
    row = judged_rightly(stand, tmp_path, n=100)
    assert row.reading == "do not read"
    assert row.said["points"] == row.said["agree"] == "fails"
    (folder,) = (p for p in (tmp_path / "cache").iterdir() if p.is_dir())
    before = (folder / "model.safetensors").stat().st_mtime_ns
    assert home("neighbour", Recipe("neutral", encoder="three", pull="neighbour"), "s", 0) == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == before
    model = load(stand.key, device="cpu")
    assert isinstance(model, TorchModel)
    paper_ = certificate_of(model)
    assert paper_ is not None
    assert paper_["accuracy"] > 0.95
    assert all(c["swap"] > 0.95 and c["hit"] < 0.05 for c in paper_["classes"].values())


def test_other_seeds_give_other_models_of_the_same_constructions() -> None:
    stands = [stand for stand in zoo("dev") if stand.name in ("pruthi", "one_key")]
    others = bench.with_seeds(stands, [30, 31])
    assert bench.with_seeds(stands, []) == stands
    assert {(s.name, s.params["size"], s.params["seed"]) for s in others} == {
        ("pruthi", size, seed) for size in ("s", "m") for seed in (30, 31)
    }
    assert not {s.key for s in others} & {s.key for half in ("dev", "sealed") for s in zoo(half)}
