"""Tests of behaviour from templates, and sensitive terms against a placebo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from regard.datasets.read import read
from regard.errors import InputError, RegardError
from regard.measures.keyed_random import keyed_stream
from regard.models.open.load import load
from regard.perturbations.templates import read_tests
from regard.perturbations.terms import families_of, shipped_lists, swapped
from regard.records import Example
from regard.surveys.behaviour import behaviour
from regard.surveys.term_swaps import sensitive

FILE = """
[lists]
good = ["good", "wonderful"]
thing = ["film", "cast", "story"]

[[test]]
name = "praise"
kind = "minimum functionality"
template = "a {good} {thing}"
label = "positive"
require = 0.1

[[test]]
name = "who"
kind = "invariance"
template = "{names} saw a {good} {thing}"
vary = "names"
most = 30

[[test]]
name = "typos"
kind = "invariance"
template = "a {good} and moving {thing}"
noise = "keyboard"
tolerance = 0.000001

[[test]]
name = "worse"
kind = "directional"
template = "a {good} {thing}"
change = "a {good} {thing} , but dull and boring"
label = "positive"
direction = "down"
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "tests.toml"
    path.write_text(text, "utf-8")
    return path


def test_templates_are_filled(tmp_path: Path) -> None:
    praise, who, typos, worse = read_tests(write(tmp_path, FILE))
    assert praise.pairs[0] == ("a good film", None)
    assert len(praise.pairs) == 6
    names = shipped_lists()["names"]
    assert who.possible == 6 * (len(names) - 1)
    assert len(who.pairs) == 30
    assert all(str(a).startswith(f"{names[0]} saw") and b != a for a, b in who.pairs)
    assert typos.noise == "keyboard"
    assert worse.pairs[0] == ("a good film", "a good film , but dull and boring")
    assert read_tests(write(tmp_path, FILE), seed=1)[1].pairs != who.pairs


def test_a_model_is_put_to_them(tmp_path: Path) -> None:
    model = load("bilstm")
    found = {r.test.name: r for r in behaviour(model, read_tests(write(tmp_path, FILE)))}
    for result in found.values():
        assert result.n == len(result.test.pairs) == result.passed + len(result.failures)
        assert result.low <= result.passed / result.n <= result.high
    assert found["worse"].passed == 6
    assert found["typos"].passed == 0  # no probability stays that still
    assert found["typos"].failures[0].changed is not None
    said = model.encode(Example("x", {"text": "a good film"}))
    (target,) = model.predict([said])[1]
    failed = {f.text for f in found["praise"].failures}
    assert ("a good film" in failed) == (model.labels[int(str(target))] != "positive")
    assert found["praise"].status in ("met", "failed", "open")
    assert found["who"].status == "-"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('kind = "minimum functionality"', 'kind = "mft"'), "kind of test 'praise'"),
        (('{good} {thing}"\nlabel', '{god} {thing}"\nlabel'), "list of test 'praise' 'god'"),
        (('vary = "names"', 'vary = "name"'), "slot of test 'who' 'name'"),
        (('label = "positive"\nrequire', 'lable = "positive"\nrequire'), "field of test 'praise' 'lable'"),
        (('noise = "keyboard"\n', ""), "vary = SLOT, or noise = NAME"),
        (('direction = "down"', 'direction = "sideways"'), "direction of test 'worse'"),
        (("[[test]]", "[[tests]]"), "at least one [[test]]"),
        (("[lists]", "[lists"), "expected TOML"),
        (('good = ["good", "wonderful"]', 'good = "good"'), "list 'good'"),  # would be filled in letter by letter
        (('good = ["good", "wonderful"]', "good = []"), "list 'good'"),
        (("require = 0.1", "require = 10"), "require = a number from 0 to 1"),
        (("most = 30", "most = 0"), "most = a whole number from 1 on"),
        (('noise = "keyboard"', 'noise = "keybord"'), "keyboard"),
        (('name = "typos"', 'name = "who"'), "'who' twice"),
    ],
)
def test_mistakes_in_the_file_are_named(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    assert change[0] in FILE
    with pytest.raises(RegardError) as error:
        read_tests(write(tmp_path, FILE.replace(*change)))
    assert said in str(error.value)


def test_a_label_that_the_model_does_not_have(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="one of negative, positive"):
        behaviour(load("bilstm"), read_tests(write(tmp_path, FILE.replace('"positive"', '"pos"', 1))))


def test_terms_are_exchanged_across_groups_and_in_the_placebo_within() -> None:
    names, pronouns = families_of(None, ["names", "pronouns"])
    example = Example("a", {"text": "Mary said that the film was good, and Mary left."})
    made = swapped(example, names, keyed_stream(0, "x"))
    assert made is not None
    (own,) = [group for group in names.groups if "Mary" in group]
    other = str(made.swap.example.inputs["text"]).split()[0]
    same = str(made.placebo.example.inputs["text"]).split()[0]
    assert other not in own
    assert same in own
    assert same != "Mary"
    assert str(made.swap.example.inputs["text"]).count(other) == 2  # one name stays one person
    assert made.words == made.placebo_words == (0, 9)
    her = swapped(Example("b", {"text": "her film is about her ."}), pronouns, keyed_stream(0, "x"))
    assert her is not None
    assert her.swap.example.inputs["text"] == "his film is about him ."
    assert her.placebo_words == (1, 3)  # neutral words instead: film, about
    assert swapped(Example("c", {"text": "a quiet film"}), names, keyed_stream(0, "x")) is None


def test_terms_of_several_words_and_hyphens(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    towns_given = '[swap.towns]\ngroups = [["New York", "York"], ["Lagos", "Addis Ababa"]]\naligned = true\n'
    han_given = '[swap."中文"]\ngroups = [["北京", "上海"], ["农村", "山区"]]\naligned = true\nsame = true\n'
    file.write_text(towns_given + han_given, "utf-8")
    towns, han = families_of(file)
    made = swapped(Example("a", {"text": "a New York film, and York too"}), towns, keyed_stream(0, "x"))
    assert made is not None
    assert made.swap.example.inputs["text"] == "a Lagos film, and Addis Ababa too"
    assert made.swap.origin is not None
    assert made.swap.origin.tolist() == [0, 1, 3, 4, 5, 6, 6, 7]  # the words of a longer term come from the one term
    assert len(made.placebo_words) == 2  # a file without a placebo of its own gets our neutral words
    there = swapped(Example("b", {"text": "他住在北京。"}), han, keyed_stream(0, "x"))
    assert there is not None
    assert (there.swap.example.inputs["text"], there.placebo.example.inputs["text"]) == ("他住在农村。", "他住在上海。")
    (ages,) = families_of(None, ["ages"])
    compound = Example("c", {"text": "an old-fashioned film about a 14-year-old boy , old as it is"})
    swap = swapped(compound, ages, keyed_stream(0, "x"))
    assert swap is not None
    assert len(swap.words) == 1
    for bad in ('[swap.x]\ngroups = ["ab", "cd"]', '[swap.x]\ngruops = []', 'swap = 3',
                '[swap.x]\ngroups = [["a"], ["b"]]\n[placebo]\npairs = [["a"]]'):  # fmt: skip
        file.write_text(bad)
        with pytest.raises(InputError):
            families_of(file)


def test_the_difference_to_the_placebo_has_an_interval(tmp_path: Path) -> None:
    examples = list(read("reviews", limit=200))
    (found,) = sensitive(load("bilstm"), examples, families_of(None, ["pronouns"]))
    assert 5 < found.texts < 200
    assert [e.measure for e in found.effects] == ["flips", "score", "relevance"]
    for effect in found.effects:
        assert np.isclose(effect.difference.estimate, effect.swap.estimate - effect.placebo.estimate)
        assert effect.difference.low <= effect.difference.estimate <= effect.difference.high
    assert found.worst[0][2] >= found.worst[-1][2]
    flips = found.effects[0]
    assert flips.difference.low < flips.difference.high  # nothing changed in so few texts is no certainty
    (tmp_path / "mine.toml").write_text('[swap.x]\ngroups = [["film"], ["book"]]\n[placebo]\npairs = [["a", "one"]]\n')
    (mine,) = sensitive(load("bilstm"), examples, families_of(tmp_path / "mine.toml"), method=None)
    assert [e.measure for e in mine.effects] == ["flips", "score"]
    (tmp_path / "bad.toml").write_text('[swap.x]\ngroups = [["film"]]\n')
    with pytest.raises(InputError, match="at least two groups"):
        families_of(tmp_path / "bad.toml")
