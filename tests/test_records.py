"""Floor 0: records are validated once, frozen, read-only, and survive a trip."""

from __future__ import annotations

import dataclasses
import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import InputError
from regard.records import Answers, Attention, Example, Relevance, Score, Site, Spec, Units, frozen

SITE = Site("encoder.0", 0, "self", 0, 2)


def units(n: int = 3, **other: Any) -> Units:
    made: dict[str, Any] = {
        "names": tuple("abcdefgh"[:n]), "kind": "word", "place_kind": "span", "places": np.zeros((n, 2)),
        "special": np.arange(n) == 0, "groups": np.arange(n), "part": np.zeros(n), "keys": np.arange(n), "shape": (n,),
    }  # fmt: skip
    return Units(**{**made, **other})


def relevance() -> Relevance:
    return Relevance.of("m", ("a", "b"), [[1.0, 2.0], [3.0]], extras={"error": [0.1, 0.2]})


ARRAYS = {
    "frozen": lambda: frozen([1.0]),
    "units.places": lambda: units().places,
    "units.special": lambda: units().special,
    "units.groups": lambda: units().groups,
    "units.keys": lambda: units().keys,
    "relevance.values": lambda: relevance().values,
    "relevance[i]": lambda: relevance()[0],
    "relevance.offsets": lambda: relevance().offsets,
    "relevance.extras": lambda: relevance().extras["error"],
    "score.values": lambda: Score("s", "m", ("a",), np.array([1.0]), "higher").values,
    "attention": lambda: Attention(SITE, np.ones((1, 2, 1, 1), np.float32)).weights,
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_are_read_only(name: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        ARRAYS[name]()[...] = 0


def test_the_givers_array_is_copied_not_locked() -> None:
    mine = np.array([1.0, 2.0])
    made = Relevance("m", ("a",), np.array([0, 2]), mine)
    mine[0] = 9
    assert made.values.tolist() == [1, 2]


@pytest.mark.parametrize(
    "record", [units(), relevance(), SITE, Example("a", {}), Spec("k", "n")], ids=lambda r: type(r).__name__
)
def test_records_are_frozen(record: Any) -> None:
    first = dataclasses.fields(record)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(record, first, None)


BAD = {
    "places of another width": (lambda: units(places=np.zeros((3, 4))), r"places of shape \(3, 2\).*got \(3, 4\)"),
    "boxes": (lambda: units(place_kind="box"), r"places of shape \(3, 4\)"),
    "special too short": (lambda: units(special=np.zeros(2)), r"special of shape \(3,\); got \(2,\)"),
    "keys missing": (lambda: units(keys=np.zeros((3, 1))), "keys of shape"),
    "flat attention": (lambda: Attention(SITE, np.ones((2, 2), np.float32)), r"encoder.0: expected weights of shape"),
    "values that do not fit": (lambda: Relevance("m", ("a",), np.array([0, 3]), np.zeros(2)), "relevance by m"),
    "offsets that do not fit": (lambda: Relevance("m", ("a", "b"), np.array([0, 2]), np.zeros(2)), "relevance by m"),
    "a score too many": (lambda: Score("s", "m", ("a",), np.zeros(2), "higher"), "score s: expected 1 value"),
    "half a parameter": (lambda: Spec.parse("explainer", "rollout:residual"), "name:key=value"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_records_say_what_was_expected(name: str) -> None:
    make, said = BAD[name]
    with pytest.raises(InputError, match=said):
        make()


def test_relevance_is_a_column_with_rows() -> None:
    got = relevance()
    assert [row.tolist() for row in got] == [[1, 2], [3]]
    assert got.offsets.tolist() == [0, 2, 3]
    empty = Relevance.of("m", (), [])
    assert list(empty) == []
    assert len(empty.values) == 0


def test_answers_know_their_rows_and_units_their_free_ones() -> None:
    answers = Answers(np.array([0, 2, 3]), np.arange(3.0), np.arange(3.0))
    assert answers.value[answers.rows(1)].tolist() == [2]
    assert units().free.tolist() == [False, True, True]
    assert len(units(2)) == 2


@pytest.mark.parametrize(
    ("example", "cluster"),
    [
        (Example("a", {}), "a"),
        (Example("a#1", {}, parent="a"), "a"),
        (Example("a#1", {}, parent="a", group="patient 7"), "patient 7"),
    ],
)
def test_clusters(example: Example, cluster: str) -> None:
    assert example.cluster == cluster


def test_sites_of_repeated_calls_have_keys_of_their_own() -> None:
    assert SITE.key == "encoder.0"
    assert dataclasses.replace(SITE, call=2).key == "encoder.0#2"


value = st.one_of(
    st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["mean", "max", "delete"]), st.lists(st.integers(), max_size=3), st.none(),
)  # fmt: skip


@given(
    st.from_regex(r"[a-z_]{1,9}", fullmatch=True),
    st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), value, max_size=4),
)
def test_specs_survive_json_pickle_and_text(name: str, params: dict[str, Any]) -> None:
    spec = Spec("explainer", name, params)
    assert Spec.from_json(json.loads(json.dumps(spec.to_json()))) == spec
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert Spec.parse("explainer", str(spec)) == spec
    assert hash(Spec("explainer", name, dict(reversed(params.items())))) == hash(spec)


def test_a_spec_cannot_be_changed_through_its_parameters() -> None:
    params = {"a": 1}
    spec = Spec("explainer", "m", params)
    params["a"] = 2
    assert spec.params["a"] == 1
    with pytest.raises(TypeError):
        spec.params["a"] = 3  # type: ignore[index]


def test_a_relevance_without_a_sign_has_no_negative_values() -> None:
    with pytest.raises(InputError, match=r"no negative values where signed=False; got -0\.5"):
        Relevance.of("m", ["a"], [[1.0, -0.5]])
    assert Relevance.of("m", ["a"], [[1.0, -0.5]], signed=True)[0].tolist() == [1.0, -0.5]


def test_a_score_is_undefined_but_never_infinite() -> None:
    assert np.isnan(Score("m", "a", ("x",), np.array([np.nan]), "higher").values).all()
    with pytest.raises(InputError, match="infinite"):
        Score("m", "a", ("x",), np.array([-np.inf]), "higher")
