"""A damaged state of a training is named and set aside; the training goes on to the same weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import toy_examples as toy
from torch import Tensor
from toy_data import QUICK, network, rows

from regard.errors import DamageWarning
from regard.training.directory import FILE
from regard.training.loop import fit
from regard.training.loss import weighted_terms
from regard.training.progress import Report, reporting
from regard.training.train import train

Damage = Callable[[Path], object]


class _Killed(BaseException):
    pass


def _kill_after(report: Report) -> None:
    if (report.epoch, report.step) == (3, 1):
        raise _Killed


def _fit(state: Path | None = None) -> dict[str, Tensor]:
    made = network()
    fit(made, rows(160, "train"), rows(60, "dev"), weighted_terms({"cross_entropy": 1}), QUICK, state=state)
    return {name: tensor.clone() for name, tensor in made.state_dict().items()}


@pytest.fixture(scope="module")
def whole() -> dict[str, Tensor]:
    return _fit()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Of a training that was killed in its third epoch."""
    with reporting(_kill_after), pytest.raises(_Killed):
        _fit(tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {
        "state.json", "previous.json", "state-1-0.safetensors", "state-2-0.safetensors"
    }  # fmt: skip
    return tmp_path


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(bytes(data))


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _of_another_type(path: Path) -> None:
    path.write_text('{"seal": 3}' if path.suffix == ".json" else "text", "utf-8")


@pytest.mark.parametrize("damage", [_cut, _flip, _empty, _of_another_type, Path.unlink])
@pytest.mark.parametrize("file", ["state.json", "state-2-0.safetensors"])
def test_it_goes_on_from_the_state_before(file: str, damage: Damage, state: Path, whole: dict[str, Tensor]) -> None:
    damage(state / file)
    first: list[Report] = []
    with warnings.catch_warnings(record=True) as told, reporting(first.append):
        warnings.simplefilter("always")
        weights = _fit(state)
    assert (first[0].epoch, first[0].step) == (2, 1)
    assert all((weights[name] == whole[name]).all() for name in whole)
    warned = [str(w.message) for w in told if w.category is DamageWarning]
    if damage is Path.unlink:
        assert len(warned) == (file != "state.json")  # without a commit there is nothing to be told about
        return
    assert len(warned) == 1
    assert f"{state / file} is damaged" in warned[0]
    assert f"set aside as {file}.damaged; the training goes on from the state saved before" in warned[0]
    assert (state / f"{file}.damaged").exists()


def test_where_both_are_damaged_it_begins_again(state: Path, whole: dict[str, Tensor]) -> None:
    _flip(state / "state-1-0.safetensors")
    _flip(state / "state-2-0.safetensors")
    with pytest.warns(DamageWarning) as told:
        weights = _fit(state)
    assert "the training goes on from the beginning" in str(told[-1].message)
    assert all((weights[name] == whole[name]).all() for name in whole)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _fit(state)  # the damage was told once; what was saved since is used


def test_what_a_killed_writer_left_is_swept_away(state: Path) -> None:
    (state / "state-3-0.safetensors.12ab.part").write_bytes(b"half")
    _fit(state)
    assert not list(state.glob("*.part"))


def test_a_damaged_record_of_a_family_is_not_the_end_of_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    call = {"out": out, "seeds": 2, "settings": {"epochs": 1, "batch_size": 16}}
    learner, splits = "classifier:size=16,hidden=8", toy.splits(toy.text, 16)
    before = train(learner, splits, **call)  # type: ignore[arg-type]
    weights = (out / "seed-1/model.safetensors").read_bytes()
    _cut(out / FILE)
    _cut(out / "seed-1/facts.json")
    with pytest.warns(DamageWarning) as told:
        after = train(learner, splits, **call)  # type: ignore[arg-type]
    assert [str(w.message).split(" is damaged")[0] for w in told] == [str(out / FILE), str(out / "seed-1")]
    assert (out / "seed-1/model.safetensors").read_bytes() == weights
    assert [m["seed"] if "seed" in m else m["settings"] for m in after.members] == [
        m["seed"] if "seed" in m else m["settings"] for m in before.members
    ]
    assert train(learner, splits, **call).again  # type: ignore[arg-type]
