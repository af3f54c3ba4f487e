"""Windows of a recording: their marks, their splits, and what is refused."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from regard.datasets.read import read
from regard.errors import InputError


def written(path: Path, *, marks: bool = True, gap: int | None = None, steps: int = 200) -> Path:
    lines = ["time,pulse,pressure" + (",anomaly" if marks else "")]
    for i in range(steps):
        at = i + (0.5 if gap is not None and i >= gap else 0)
        lines.append(f"{at},{i},{-i}" + (f",{int(50 <= i < 55)}" if marks else ""))
    path.write_text("\n".join(lines))
    return path


def test_windows_carry_their_marked_steps(tmp_path: Path) -> None:
    data = read(written(tmp_path / "r.csv"), window=20, stride=10)
    assert (data.modality, data.columns, data.labels) == ("series", ("pulse", "pressure"), ("normal", "anomaly"))
    assert len(data) == 19
    by_start = {int(np.asarray(e.inputs["series"])[0, 0]): e for e in data}
    assert [start for start, e in by_start.items() if e.label] == [40, 50]
    assert by_start[40].rationale == ((10.0, 15.0),)
    assert by_start[0].rationale is None
    assert np.asarray(by_start[40].inputs["series"]).shape == (20, 2)


def test_splits_are_consecutive_and_share_no_step(tmp_path: Path) -> None:
    path = written(tmp_path / "r.csv")
    steps = {}
    for split in ("train", "dev", "test"):
        data = read(path, window=10, split=split)
        steps[split] = {int(v) for e in data for v in np.asarray(e.inputs["series"])[:, 0]}
    assert max(steps["train"]) < min(steps["dev"])
    assert max(steps["dev"]) < min(steps["test"])


def test_without_marks_the_next_values_are_to_be_forecast(tmp_path: Path) -> None:
    data = read(written(tmp_path / "r.csv", marks=False), window=8, stride=8, horizon=3, label_column="pressure")
    first = data[0]
    assert first.label == [-8.0, -9.0, -10.0]
    assert np.asarray(first.inputs["series"])[-1].tolist() == [7.0, -7.0]
    targets = {}
    for split in ("train", "dev", "test"):
        part = read(tmp_path / "r.csv", window=30, label_column="pulse", split=split)
        targets[split] = [example.label for example in part]
    assert [len(labels) for labels in targets.values()] == [130, 20, 20]
    assert not [label for label in targets["test"] if label in targets["train"] + targets["dev"]]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (None, ["line 102", "regular recording, one step of 1", "a step of 1.5", "1 of 199", "resample"]),
        ("time,a\n0,1\n1,\n2,3\n", ["line 3", "channel 'a'", "interpolate"]),
        ("time,a\n0,1\nlater,2\n", ["line 3", "a time"]),
        ("time,a\n3,1\n2,2\n1,3\n", ["line 3", "in the order of time", "sort the rows"]),
        ("a,b\nx,y\nz,w\n", ["columns of numbers"]),
        ("a\n1\n2\n3\n", ["a window of 2 to 2 steps"]),
    ],
    ids=["gap", "missing", "no time", "backwards", "no channel", "too short"],
)
def test_an_unusable_recording_is_one_line(tmp_path: Path, lines: str | None, words: list[str]) -> None:
    path = tmp_path / "r.csv"
    if lines is None:
        written(path, gap=100)
    else:
        path.write_text(lines)
    with pytest.raises(InputError) as caught:
        read(path, window=8)
    assert not [word for word in words if word not in str(caught.value)], str(caught.value)


def test_months_are_regular(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("date,co2\n" + "\n".join(f"2020-{m:02d}-01,{m}" for m in range(1, 13)))
    assert len(read(path, window=4, stride=1)) == 8


def test_hours_are_regular_across_summer_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "h.csv"
    path.write_text("date,load\n" + "\n".join(f"2024-03-31 {h:02d}:00,{h}" for h in range(24)))
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    try:
        assert len(read(path, window=4, stride=1)) == 20
    finally:
        monkeypatch.undo()
        time.tzset()
